package dwarfvars

import (
	"iter"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
)

// A Named is a type, or a variable outside of functions, that a module declares.
type Named struct {
	Name string // with the scopes around it, as the language writes it
	Kind string // "struct", "class", "union", "enum", "typedef", "type" for those that a language has by itself, "variable"
	File string // where it is declared; "" if that is not known
	Line int
}

// maxNameDepth is how deep scopes nest in which names are looked for.
const maxNameDepth = 16

// Names calls yield for the types of a module, or for its variables, whose names match, until it returns false: unit by unit, each name of a
// unit once. All of the debugging information is read, and work is called for each piece of it: Names ends when that returns false. ok is false
// if the module has none in the form of DWARF.
func (r *Reader) Names(lib *libstate.Library, variables bool, match func(name string) bool, work func() bool) (names iter.Seq[Named], ok bool) {
	d := r.file(lib).DWARF()
	if d == nil {
		return nil, false
	}
	return func(yield func(Named) bool) {
		_ = d.Units(func(u *dwarf.Unit) bool { // of a damaged file, those that can be read
			if s, err := u.Split(); err == nil && s != nil {
				u = s
			}
			n := nameLister{u: u, variables: variables, match: match, work: work, yield: yield}
			return n.run()
		})
	}, true
}

// A nameLister lists the names of one unit.
type nameLister struct {
	u         *dwarf.Unit
	variables bool
	match     func(string) bool
	work      func() bool
	yield     func(Named) bool
	scopes    [maxNameDepth + 2]string // by depth: what comes before a name
	classes   [maxNameDepth + 2]bool   // by depth: the scope around is a type
	mentioned map[uint64]Named         // by offset: variables that are declared in a namespace, and may be defined behind it
}

// kindOfName is the kind of what has a name; "" for what is not listed.
func kindOfName(tag dwarf.Tag) string {
	switch tag {
	case dwarf.TagStructureType:
		return "struct"
	case dwarf.TagClassType:
		return "class"
	case dwarf.TagUnionType:
		return "union"
	case dwarf.TagEnumerationType:
		return "enum"
	case dwarf.TagTypedef:
		return "typedef"
	case dwarf.TagBaseType:
		return "type"
	case dwarf.TagVariable:
		return "variable"
	}
	return ""
}

// run returns false if nothing more is wanted.
func (n *nameLister) run() bool {
	var e dwarf.Entry
	var v dwarf.Value
	cur := n.u.Cursor(n.u.Root())
	cur.Next(&e)
	for cur.Level() > 0 && cur.Next(&e) {
		if !n.work() {
			return false
		}
		kind := kindOfName(e.Tag)
		inside := types.HasScope(e.Tag)
		wanted := kind != "" && (kind == "variable") == n.variables
		if e.Tag == 0 {
			continue
		}
		if e.Depth > maxNameDepth || !inside && !wanted {
			cur.SkipChildren()
			continue
		}
		at := cur // the attributes are read twice: in between, others of the entry may be looked at
		name := ""
		if cur.Find(dwarf.AttrName, &v) {
			b, _ := n.u.Bytes(&v)
			name = string(b)
		}
		if name == "" && e.Tag == dwarf.TagVariable && n.variables {
			if c := at; c.Find(dwarf.AttrSpecification, &v) {
				if d, err := n.u.Ref(&v); err == nil && d.Unit == n.u {
					if out, ok := n.mentioned[d.Off]; ok && !n.yield(out) {
						return false
					}
				}
			}
		}
		if name == "" && inside && e.Tag != dwarf.TagNamespace || name == "" && !inside {
			cur.SkipChildren()
			continue
		}
		if name == "" {
			name = "(anonymous namespace)"
		}
		before := n.scopes[e.Depth]
		if inside && e.HasChildren {
			n.classes[e.Depth+1] = kind != ""
			if n.scopes[e.Depth+1] = before + name + "::"; n.u.Language == dwarf.LangGo {
				n.scopes[e.Depth+1] = ""
			}
		} else {
			cur.SkipChildren()
		}
		if n.u.Language == dwarf.LangGo && kind != "variable" {
			kind = "type" // each has two entries
		}
		if wanted && n.match(before+name) {
			out, ok := n.declared(at, before+name, kind, n.classes[e.Depth])
			if ok && !n.yield(out) {
				return false
			}
			if !ok && n.variables && before != "" {
				if n.mentioned == nil {
					n.mentioned = map[uint64]Named{}
				}
				n.mentioned[e.Off] = out
			}
		}
	}
	return true
}

// declared says where what the cursor is at is declared; false if it is only mentioned here. A static variable of a class is declared there, and its
// definition has no name.
func (n *nameLister) declared(cur dwarf.Cursor, name, kind string, static bool) (Named, bool) {
	out := Named{Name: name, Kind: kind}
	var v dwarf.Value
	for cur.Attr(&v) {
		switch v.Attr {
		case dwarf.AttrDeclaration:
			if v.Flag() && !static {
				return out, false
			}
		case dwarf.AttrDeclLine:
			out.Line = int(v.U & (1<<31 - 1))
		case dwarf.AttrDeclFile:
			out.File = n.u.File(v.U).Path
		}
	}
	return out, true
}
