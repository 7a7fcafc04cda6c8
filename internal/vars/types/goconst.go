package types

import (
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// maxConstants is how many constants of a package are kept.
const maxConstants = 1 << 16

// goPackages has the units of a file that are packages of Go, by their paths.
type goPackages struct {
	once  sync.Once
	units map[string]*dwarf.Unit
}

// goPackage returns the unit of a package by its path; nil if the file has none.
func (set *Set) goPackage(d *dwarf.Data, path string) *dwarf.Unit {
	v, _ := set.packages.LoadOrStore(d, new(goPackages))
	p := v.(*goPackages)
	p.once.Do(func() {
		p.units = map[string]*dwarf.Unit{}
		_ = d.Units(func(u *dwarf.Unit) bool { // of a damaged file, those that can be read
			p.units[u.Name()] = u
			return true
		})
	})
	return p.units[path]
}

// GoConstants returns the constants that the package of a named number of Go declares of its type, in the order of their
// declaration; nil for other types. Go's linker has only integers. Others must not change the list.
func (set *Set) GoConstants(t *Type) []Enumerator {
	if t.Language != dwarf.LangGo || t.Tag != dwarf.TagBaseType || !t.Ref.DIE.Valid() || t.Ref.DB != nil {
		return nil
	}
	slash := strings.LastIndex(t.BareName, "/") + 1
	name, _, _ := strings.Cut(t.BareName[slash:], ".")
	u := set.goPackage(t.Ref.Unit.Data, t.BareName[:slash]+name)
	if u == nil {
		return nil
	}
	of := set.typesOf(u)
	of.constantsOnce.Do(func() { of.constants = goConstants(u) })
	return of.constants[t.Ref.DIE]
}

// goConstants returns the constants of a unit by their types.
func goConstants(u *dwarf.Unit) map[dwarf.DIE][]Enumerator {
	var name, typ, value dwarf.Value
	list, left := map[dwarf.DIE][]Enumerator{}, maxConstants
	topOfGo(u, func(e *dwarf.Entry, cur *dwarf.Cursor) {
		if e.Tag != dwarf.TagConstant || !cur.Find(dwarf.AttrName, &name) || !cur.Find(dwarf.AttrType, &typ) || !cur.Find(dwarf.AttrConstValue, &value) {
			return
		}
		if d, _ := u.Ref(&typ); left > 0 {
			list[d] = append(list[d], Enumerator{Name: u.Text(&name), Val: value.U})
			left--
		}
	})
	return list
}
