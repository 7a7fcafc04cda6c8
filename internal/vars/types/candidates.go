package types

import "github.com/corewalk/corewalk/internal/format/dwarf"

// unitsOf says which units of a file may define types that a language declares.
type unitsOf struct {
	data   *dwarf.Data
	lang   dwarf.Language
	scoped bool
}

// candidates calls yield for the units of a file that may define types that a language declares, until it returns false.
// Which they are is remembered: a program in C++ may declare many types, and libc has 2,000 units, none of which defines them.
func (set *Set) candidates(d *dwarf.Data, lang dwarf.Language, scoped bool, yield func(*dwarf.Unit) bool) {
	key := unitsOf{d, lang, scoped}
	if all, ok := set.others.Load(key); ok {
		for _, u := range all.([]*dwarf.Unit) {
			if !yield(u) {
				return
			}
		}
		return
	}
	var all []*dwarf.Unit
	complete := true
	d.Units(func(u *dwarf.Unit) bool {
		if !sameTypeNames(u.Language, lang) || scoped && IsC(u.Language) {
			return true
		}
		all = append(all, u)
		complete = yield(u)
		return complete
	})
	if complete {
		set.others.Store(key, all)
	}
}
