package dwarfvars

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// maxUsed is how many namespaces are looked at that using directives name.
const maxUsed = 16

// used are the namespaces that using directives of C++ name in the frame's function and outside of all: what is in them has a short name, too.
func (e *evaluation) used() []string {
	if e.usedKnown {
		return e.usedSpaces
	}
	e.usedKnown = true
	d := e.a.fn.DIE
	if d.Unit == nil || types.IsC(d.Unit.Language) || d.Unit.Language == dwarf.LangGo || d.Unit.Language == dwarf.LangRust {
		return nil
	}
	if d.Valid() {
		e.directives(d.Unit, d.Off)
	}
	e.directives(d.Unit, d.Unit.Root())
	return e.usedSpaces
}

// directives adds the namespaces that using directives directly in an entry name.
func (e *evaluation) directives(u *dwarf.Unit, off uint64) {
	var entry dwarf.Entry
	var v dwarf.Value
	cur := u.Cursor(off)
	cur.Next(&entry)
	for cur.Level() > 0 && len(e.usedSpaces) < maxUsed && cur.Next(&entry) {
		if at := cur; entry.Tag == dwarf.TagImportedModule && at.Find(dwarf.AttrImport, &v) {
			if space, err := u.Ref(&v); err == nil {
				if name := spaceName(space); name != "" && !slices.Contains(e.usedSpaces, name) {
					e.usedSpaces = append(e.usedSpaces, name)
				}
			}
		}
		if entry.Tag != dwarf.TagLexicalBlock || entry.Depth > maxOuter {
			cur.SkipChildren()
		}
	}
}

// spaceName is the name of a namespace with those around it; "" if it has none.
func spaceName(d dwarf.DIE) string {
	var v dwarf.Value
	if v = d.Unit.Value(d.Off, dwarf.AttrName); !v.Present() {
		return ""
	}
	name, named := d.Unit.Bytes(&v)
	scopes, _, ok := d.Scopes()
	if !named || !ok {
		return ""
	}
	return strings.Join(append(scopes, string(name)), "::")
}

// usedIn are the namespaces whose names a namespace of the function's unit has by using directives.
func (e *evaluation) usedIn(space string) []string {
	u := e.a.fn.Unit
	if u == nil || !types.IsCXX(u.Language) || e.dialect != paths.Plain {
		return nil
	}
	in := evaluation{a: e.a}
	var entry dwarf.Entry
	var v dwarf.Value
	cur := u.Cursor(u.Root())
	for cur.Next(&entry) && cur.Level() > 0 && len(in.usedSpaces) < maxUsed {
		switch entry.Tag {
		case 0, dwarf.TagCompileUnit:
			continue
		case dwarf.TagNamespace:
			if !cur.Find(dwarf.AttrName, &v) {
				continue
			}
			name := spaceName(dwarf.DIE{Unit: u, Off: entry.Off})
			if name == space {
				in.directives(u, entry.Off)
			}
			if name == space || strings.HasPrefix(space, name+"::") {
				continue
			}
		}
		cur.SkipChildren()
	}
	return in.usedSpaces
}
