package types

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
)

// VirtualFunction returns the virtual function that a class t declares with a number in its table of virtual functions, with its
// parameters: "id(int)"; "" if it declares none.
func (t *Type) VirtualFunction(slot uint64) string {
	if t.Ref.DB != nil || !t.Ref.Valid() {
		return ""
	}
	var e dwarf.Entry
	u := t.Ref.Unit
	c := u.Cursor(t.Ref.Off)
	c.Next(&e)
	for n := 0; n < MaxMembers && c.Level() > 0 && c.Next(&e); n++ {
		if e.Tag == dwarf.TagSubprogram {
			if at, ok := tableSlot(u, &c); ok && at == slot {
				d := dwarf.DIE{Unit: u, Off: e.Off}
				name := u.Value(e.Off, dwarf.AttrName)
				_, params, _ := strings.Cut(t.set.Function(d, Ref{}).Name(), "(")
				return u.Text(&name) + "(" + withoutThis(params)
			}
		}
		c.SkipChildren()
	}
	return ""
}

// withoutThis returns the parameters of a method, "this, int)", without the first.
func withoutThis(params string) string {
	depth := 0
	for i := range len(params) {
		switch params[i] {
		case '<', '(', '[':
			depth++
		case '>', ']':
			depth--
		case ')':
			depth--
		case ',':
			if depth == 0 {
				return strings.TrimLeft(params[i+1:], " ")
			}
		}
	}
	return ")"
}

// tableSlot returns the number of a virtual function in the table: DW_OP_constu N.
func tableSlot(u *dwarf.Unit, c *dwarf.Cursor) (uint64, bool) {
	var v dwarf.Value
	c.Find(dwarf.AttrVtableElemLoc, &v)
	if len(v.B) < 2 || op.Op(v.B[0]) != op.Constu {
		return 0, false
	}
	b := binbuf.New(v.B, 1, u.Data.Big())
	n := b.ULEB()
	return n, b.Error == nil && !b.More()
}
