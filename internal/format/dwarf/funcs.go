package dwarf

import "sync"

// The functions of a unit: one fast pass over its entries that reads only the attributes of
// functions with code.

// funcIndex is built in two steps. The first skips the contents of functions and types
// whose entries say where they end (gcc's do, clang's do not). Only if an address is not
// found does the second step read these, too, for nested functions and for compilers that
// define methods inside their class.
type funcIndex struct {
	once    sync.Once
	quick   spanIndex
	skipped bool // the first step skipped something

	deepOnce sync.Once
	deep     spanIndex
}

// The id of a function's span combines the entry's offset from the unit's start and whether
// the entry is directly below the first one, that is, outside all scopes.
func funcID(off uint64, top bool) uint64 {
	if top {
		return off<<1 | 1
	}
	return off << 1
}

// functions returns the index of the unit's functions, the complete one if deep.
func (u *Unit) functions(deep bool) *spanIndex {
	x := &u.funcs
	x.once.Do(func() {
		w := funcWalk{u: u}
		x.quick = newSpanIndex(w.run())
		x.skipped = w.skipped
	})
	if !deep || !x.skipped {
		return &x.quick
	}
	x.deepOnce.Do(func() {
		w := funcWalk{u: u, deep: true}
		x.deep = newSpanIndex(w.run())
	})
	return &x.deep
}

// A Func is a function with code of its own.
type Func struct {
	DIE
	// Range is the part of the function that contains the requested address. Entry is where
	// the function begins; for the cold part of a split function it is elsewhere.
	Range
	Entry uint64
	top   bool
}

// FuncAt returns the function whose code contains pc. For a skeleton unit it is an entry of
// the attached split unit.
func (u *Unit) FuncAt(pc uint64) (Func, bool) {
	if u.Type == UnitSkeleton {
		s, err := u.Split()
		if err != nil || s == nil {
			return Func{}, false
		}
		u = s
	}
	skip := 0
	s, ok := u.functions(false).find(pc, &skip)
	if !ok && u.funcs.skipped {
		s, ok = u.functions(true).find(pc, &skip)
	}
	if !ok {
		return Func{}, false
	}
	f := Func{DIE: DIE{u, u.Off + s.id>>1}, Range: Range{s.low, s.high}, top: s.id&1 != 0}
	f.Entry = u.entryOf(f.Off, s.low)
	return f, true
}

// entryOf returns where the code of the entry at off begins: DW_AT_entry_pc, or
// DW_AT_low_pc, or the first of its ranges; otherwise low.
func (u *Unit) entryOf(off, low uint64) uint64 {
	var e Entry
	var v, entry Value
	var p pcAttrs
	c := u.Cursor(off)
	if !c.Next(&e) {
		return low
	}
	for c.Attr(&v) {
		if v.Attr == AttrEntryPC {
			entry = v
		}
		p.take(&v)
	}
	return u.entryFrom(&p, &entry, low)
}

func (u *Unit) entryFrom(p *pcAttrs, entry *Value, low uint64) uint64 {
	if a, ok := u.Address(entry); ok {
		return a
	}
	if a, ok := u.Address(&p.low); ok {
		low = a
	} else if p.ranges.Present() {
		it := u.rangesOf(p)
		if r, ok := it.next(); ok {
			low = r.Low
		}
	}
	if entry.Form.Class() == ClassConstant { // DWARF 5: an offset from the base
		return low + entry.U
	}
	return low
}

// A funcWalk collects the spans of functions.
type funcWalk struct {
	u       *Unit
	deep    bool
	skipped bool
	spans   []span
	budget  int
}

// maxFuncRanges limits the average number of ranges per function, so that a few may have
// many.
const maxFuncRanges = 64

func (w *funcWalk) run() []span {
	w.budget = 1 << 16
	c := w.u.Cursor(w.u.entries)
	var e Entry
	for c.Next(&e) && c.Level() >= 0 {
		switch e.Tag {
		case 0, TagCompileUnit, TagPartialUnit, TagNamespace, TagModule:
			continue
		case TagSubprogram:
			if c.ab.hasPC {
				w.function(&c, &e)
			}
		}
		if e.HasChildren && !w.deep && c.hasSibling() {
			w.skipped = true
			c.SkipChildren()
		}
	}
	return w.spans
}

func (w *funcWalk) function(c *Cursor, e *Entry) {
	var v Value
	var p pcAttrs
	for c.Attr(&v) {
		p.take(&v)
	}
	w.budget += maxFuncRanges
	id := funcID(e.Off-w.u.Off, e.Depth == 1)
	it := w.u.rangesOf(&p)
	for w.budget > 0 {
		r, ok := it.next()
		if !ok {
			return
		}
		w.budget--
		w.spans = append(w.spans, span{r.Low, r.High, id})
	}
}
