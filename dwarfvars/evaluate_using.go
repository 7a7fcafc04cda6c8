package dwarfvars

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
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
