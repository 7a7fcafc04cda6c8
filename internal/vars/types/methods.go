package types

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// methods writes the functions of a class that its programmer declared.
func (w *definition) methods(t *Type, in string) {
	u := t.Ref.Unit
	var e dwarf.Entry
	var v dwarf.Value
	c := u.Cursor(t.Ref.Off)
	c.Next(&e)
	for n, first := 0, true; n < MaxMembers && c.Level() > 0 && c.Next(&e); n++ {
		if e.Tag != dwarf.TagSubprogram {
			c.SkipChildren()
			continue
		}
		name, virtual, made := "", false, false
		var result Ref
		for c.Attr(&v) {
			switch v.Attr {
			case dwarf.AttrName:
				name = u.Text(&v)
			case dwarf.AttrType:
				result = RefTo(u, &v)
			case dwarf.AttrVirtuality:
				virtual = v.U != 0
			case dwarf.AttrArtificial:
				made = v.Flag()
			}
		}
		params, static, fixed := methodParams(t, &c, e.Depth)
		if name == "" || made {
			continue
		}
		text := name + "(" + params + ")" + fixed + ";"
		if plain, _, _ := strings.Cut(t.BareName, "<"); (result.Valid() || name != plain && name != "~"+plain) && !conversion(name) {
			text = strings.TrimSuffix(t.set.Of(result).Name(), " ") + " " + text
		}
		switch {
		case virtual:
			text = "virtual " + text
		case static:
			text = "static " + text
		}
		if first {
			first = false
			w.line("")
		}
		w.line(w.blank() + in + text)
	}
}

// conversion reports whether a function is one of those that C++ names by their result: operator bool.
func conversion(name string) bool {
	rest, ok := strings.CutPrefix(name, "operator ")
	return ok && rest != "new" && rest != "delete" && !strings.HasPrefix(rest, "new[") && !strings.HasPrefix(rest, "delete[") && !strings.HasPrefix(rest, `""`) && rest != "co_await"
}

// methodParams are the types of a method's parameters without those that the compiler adds; static says that this is not among
// them, and fixed is " const" and the like of methods whose this is so.
func methodParams(t *Type, c *dwarf.Cursor, depth int) (text string, static bool, fixed string) {
	var e dwarf.Entry
	var v dwarf.Value
	var list []string
	static = true
	for c.Level() > depth && c.Next(&e) {
		if e.Tag == dwarf.TagFormalParameter {
			var typ Ref
			made := false
			for c.Attr(&v) {
				switch v.Attr {
				case dwarf.AttrType:
					typ = RefTo(t.Ref.Unit, &v)
				case dwarf.AttrArtificial:
					made = v.Flag()
				}
			}
			switch {
			case made && len(list) == 0 && static:
				static = false
				at := t.set.Of(typ)
				if at.Tag == dwarf.TagConstType { // GCC has it so
					at = at.Target()
				}
				in := at.Target() // in damaged debugging information perhaps const of itself
				for n := 0; n < MaxChain && in.qualifier(); n, in = n+1, in.Target() {
					fixed += map[dwarf.Tag]string{dwarf.TagConstType: " const", dwarf.TagVolatileType: " volatile"}[in.Tag]
				}
			case made: // whether virtual bases are destroyed, too
			case len(list) < maxParams:
				list = append(list, t.set.Of(typ).Name())
			}
		}
		c.SkipChildren()
	}
	if len(list) == 0 {
		return "void", static, fixed
	}
	return strings.Join(list, ", "), static, fixed
}
