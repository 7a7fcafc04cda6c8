package golang

import (
	"strings"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Go's linker writes all types into the unit of package runtime.
const typesUnit = "runtime"

// Limits on what debug information can ask for.
const (
	maxTypeNames = 1 << 22 // entries of the unit
	maxMembers   = 1 << 10 // fields of a structure
	maxNesting   = 8       // structures within structures
	// entryCost is what an entry costs of the budget.
	entryCost = 1
)

// A dwarfReader finds the layout of structures in the debug information of a Go program.
type dwarfReader struct {
	r     *runtime
	types map[string]dwarf.DIE
	sema  dwarf.DIE // the variable runtime.semtable
}

// dwarfLayout reads the layout from the program's own debug information; nil if it has none, or not all that is needed to list
// goroutines.
func (r *runtime) dwarfLayout() *layout {
	data := r.im.DWARF()
	if data == nil {
		return nil
	}
	d := dwarfReader{r: r, types: map[string]dwarf.DIE{}}
	wanted := map[string]bool{}
	for _, s := range Structures() {
		for name := range strings.SplitSeq(s.Of, "|") {
			wanted[name] = true
		}
	}
	_ = data.Units(func(u *dwarf.Unit) bool {
		if u.Name() == typesUnit {
			d.find(u, wanted)
		}
		return r.p.Spend(entryCost) == nil
	})
	l := &layout{records: map[string]*record{}, minor: image.GoMinor(r.version), source: "DWARF", reasons: r.ownReasons()}
	if l.minor == 0 {
		l.minor = newest(r.table)
	}
	for _, s := range Structures() {
		for name := range strings.SplitSeq(s.Of, "|") {
			if at, ok := d.types[name]; ok {
				l.records[s.Name] = d.record(at, s.Fields)
				break
			}
		}
	}
	if t := d.semtable(); t != nil {
		l.records["semtable"] = t
	}
	for _, field := range []string{"stack.lo", "stack.hi", "sched.sp", "sched.pc", "atomicstatus", "goid", "m"} {
		if _, ok := l.of("g").off(field); !ok {
			return nil
		}
	}
	return l
}

// find takes note of the wanted types of a unit, and of the table of semaphores.
func (d *dwarfReader) find(u *dwarf.Unit, wanted map[string]bool) {
	var e dwarf.Entry
	var v dwarf.Value
	c := u.Cursor(u.Root())
	if !c.Next(&e) {
		return
	}
	for n := 0; n < maxTypeNames && c.Level() > 0 && c.Next(&e); n++ {
		if d.r.p.Spend(entryCost) != nil {
			return
		}
		switch e.Tag {
		case dwarf.TagStructureType, dwarf.TagVariable:
			if !c.Find(dwarf.AttrName, &v) {
				break
			}
			name := u.Text(&v)
			if e.Tag == dwarf.TagVariable && name == "runtime.semtable" {
				d.sema = dwarf.DIE{Unit: u, Off: e.Off}
			} else if _, have := d.types[name]; e.Tag == dwarf.TagStructureType && wanted[name] && !have {
				d.types[name] = dwarf.DIE{Unit: u, Off: e.Off}
			}
		}
		c.SkipChildren()
	}
}

// record finds fields of a structure.
func (d *dwarfReader) record(at dwarf.DIE, fields string) *record {
	r := &record{size: d.number(at, dwarf.AttrByteSize), fields: map[string]uint64{}}
	for field := range strings.FieldsSeq(fields) {
		first, _, _ := strings.Cut(field, "|")
		for name := range strings.SplitSeq(field, "|") {
			if off, ok := d.offset(at, strings.Split(name, ".")); ok {
				r.fields[strings.ToLower(first)] = off
				break
			}
		}
	}
	return r
}

func (d *dwarfReader) number(at dwarf.DIE, attr dwarf.Attr) uint64 {
	v := at.Unit.Value(at.Off, attr)
	return v.U
}

// offset follows a path of fields.
func (d *dwarfReader) offset(at dwarf.DIE, path []string) (sum uint64, ok bool) {
	for n := 0; len(path) > 0; n++ {
		member, ok := d.member(at, path[0])
		if !ok || n > maxNesting {
			return 0, false
		}
		sum += d.number(member, dwarf.AttrDataMemberLoc)
		if path = path[1:]; len(path) > 0 {
			if at, ok = d.typeOf(member); !ok {
				return 0, false
			}
		}
	}
	return sum, true
}

// member finds a field of a structure by its name.
func (d *dwarfReader) member(at dwarf.DIE, name string) (dwarf.DIE, bool) {
	var e dwarf.Entry
	var v dwarf.Value
	c := at.Unit.Cursor(at.Off)
	if !c.Next(&e) || !e.HasChildren {
		return dwarf.DIE{}, false
	}
	for n := 0; n < maxMembers && c.Level() > 0 && c.Next(&e); n++ {
		if e.Tag == dwarf.TagMember && c.Find(dwarf.AttrName, &v) && at.Unit.Text(&v) == name {
			return dwarf.DIE{Unit: at.Unit, Off: e.Off}, true
		}
		c.SkipChildren()
	}
	return dwarf.DIE{}, false
}

// typeOf follows the type of a field or variable, through other names for it.
func (d *dwarfReader) typeOf(at dwarf.DIE) (dwarf.DIE, bool) {
	for range maxNesting {
		v := at.Unit.Value(at.Off, dwarf.AttrType)
		to, err := at.Unit.Ref(&v)
		if !v.Present() || err != nil || !to.Valid() {
			return dwarf.DIE{}, false
		}
		if e, err := to.Unit.Entry(to.Off); err != nil || e.Tag != dwarf.TagTypedef {
			return to, err == nil
		}
		at = to
	}
	return dwarf.DIE{}, false
}

// semtable returns the size of the table of semaphores: an array of padded roots.
func (d *dwarfReader) semtable() *record {
	if !d.sema.Valid() {
		return nil
	}
	array, ok := d.typeOf(d.sema)
	if !ok {
		return nil
	}
	elem, ok := d.typeOf(array)
	stride := d.number(elem, dwarf.AttrByteSize)
	var e dwarf.Entry
	c := array.Unit.Cursor(array.Off)
	if !ok || stride == 0 || !c.Next(&e) || !e.HasChildren || !c.Next(&e) {
		return nil
	}
	count := d.number(dwarf.DIE{Unit: array.Unit, Off: e.Off}, dwarf.AttrCount)
	if count == 0 || count > maxQueue {
		return nil
	}
	return &record{size: stride * count, fields: map[string]uint64{"stride": stride, "count": count}}
}
