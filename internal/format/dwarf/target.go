package dwarf

import "sync"

// The way from the entry in a call site to the function's code. The entry is often a
// declaration, or the abstract instance of a function that was inlined elsewhere. The code
// then belongs to another entry that refers back to it.

// A Resolver returns the address of the function with a linkage name (in C, the plain
// name), from the file's symbol table.
type Resolver func(name string) (entry uint64, ok bool)

// originIndex maps abstract entries and declarations to the unit's functions with code. It
// is built for tail calls only.
type originIndex struct {
	once sync.Once
	of   map[DIE][]uint64 // offsets of functions
}

func (u *Unit) originsOf(d DIE) []uint64 {
	x := &u.origins
	x.once.Do(func() {
		x.of = make(map[DIE][]uint64)
		onward := make(map[DIE]DIE)
		seen := make(map[uint64]bool) // a function with two ranges occurs twice
		for _, s := range u.outline.all(u) {
			off := u.Off + s.id&^leftover>>1
			if seen[off] {
				continue
			}
			seen[off] = true
			at := DIE{u, off}
			for range maxOrigins {
				next, known := onward[at]
				if !known {
					next = at.origin()
					onward[at] = next
				}
				if !next.Valid() || next == at {
					break
				}
				x.of[next] = append(x.of[next], off)
				at = next
			}
		}
	})
	return x.of[d]
}

// origin returns the entry to which d refers for the attributes that it lacks.
func (d DIE) origin() DIE {
	var e Entry
	var v Value
	c := d.Unit.Cursor(d.Off)
	if !c.Next(&e) {
		return DIE{}
	}
	for c.Attr(&v) {
		if v.Attr == AttrAbstractOrigin || v.Attr == AttrSpecification {
			to, _ := d.Unit.Ref(&v)
			return to
		}
	}
	return DIE{}
}

// funcOf returns the function whose own entry is at off, if it has code.
func (u *Unit) funcOf(off uint64) (Func, bool) {
	var e Entry
	var v Value
	var p pcAttrs
	c := u.Cursor(off)
	if !c.Next(&e) || e.Tag != TagSubprogram {
		return Func{}, false
	}
	for c.Attr(&v) {
		p.take(&v)
	}
	it := u.rangesOf(&p, maxFuncRanges)
	r, ok := it.next()
	if !ok {
		return Func{}, false
	}
	return Func{DIE: DIE{u, off}, Range: r, Entry: u.entryOf(off, r.Low)}, true
}

// maxTargets limits the clones of a function that one call may lead to.
const maxTargets = 16

// targets returns the functions of this file that a call to d, made in unit from, may
// reach: one, or several if the compiler cloned the function. If DWARF does not describe it,
// it has only an entry. name is the name of d in symbol tables.
func (d DIE) targets(from *Unit, resolve Resolver) (all []Func, name string) {
	if f, ok := d.Unit.funcOf(d.Off); ok {
		return []Func{f}, ""
	}
	units := [...]*Unit{d.Unit, from}
	for i, u := range units {
		if i > 0 && u == d.Unit {
			break
		}
		for _, off := range u.originsOf(d) {
			if f, ok := u.funcOf(off); ok && len(all) < maxTargets {
				all = append(all, f)
			}
		}
	}
	info := d.rawInfo() // names in symbol tables have no scopes
	if name = info.LinkageName; name == "" {
		name = info.Name
	}
	if len(all) > 0 || resolve == nil || name == "" {
		return all, name
	}
	if entry, ok := resolve(name); ok {
		all = append(all, from.linked().funcFrom(entry))
	}
	return all, name
}
