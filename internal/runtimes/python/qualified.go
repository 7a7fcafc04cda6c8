package python

import "strings"

// Before 3.11 a code object has a function's plain name. The qualified one, with the class, has the function object alone, to which a frame does not
// refer: it is found by the first argument, which of a method is the object or the class. The function that its type, or a base of it, has for this very code
// is the one that runs.

// Limits on a search for a function.
const (
	maxBases   = 16   // classes that are looked through
	maxMembers = 1024 // of a class
)

// A method is a code object, and the class that the first argument of a call of it tells.
type method struct{ code, class uint64 }

// functionOf returns the name of the function that runs in a frame: the qualified one, if the frame tells, otherwise the one in the code. It depends on
// this frame alone. The caller has the lock, or is alone.
func (r *runtime) functionOf(c *code, frame uint64) string {
	if r.has("code.qualname") || !r.has("function.code") || c.args == 0 {
		return c.function
	}
	self := r.word(frame + r.at("frame.localsplus"))
	if self == 0 {
		self = r.cellOfFirst(c, frame)
	}
	class := r.field(self, "object.type")
	t := r.typeAt(class)
	if self == 0 || t == nil {
		return c.function
	}
	if t.flags&flagType != 0 { // a method of the class
		if name := r.nameIn(c, self); name != "" {
			return name
		}
	}
	if name := r.nameIn(c, class); name != "" {
		return name
	}
	return c.function
}

// nameIn returns the qualified name of the function with a code object that a class or one of its bases has; "" for none.
func (r *runtime) nameIn(c *code, class uint64) string {
	key := method{c.at, class}
	name, ok := r.methods[key]
	if !ok {
		for _, base := range r.bases(class) {
			// A decorator may have given its function the name of another.
			if found := r.memberWith(base, c.at); strings.HasSuffix(found, "."+c.name) {
				name = found
				break
			}
		}
		r.methods[key] = name
	}
	return name
}

// cellOfFirst returns the first argument of a function whose inner functions use it: it is in a cell, and not among the variables.
func (r *runtime) cellOfFirst(c *code, frame uint64) uint64 {
	if !c.namesRead {
		c.namesRead = true
		r.readNames(c)
	}
	for i, name := range c.cells {
		if len(c.names) > 0 && name == c.names[0] {
			cell := r.word(frame + r.at("frame.localsplus") + 8*uint64(c.nlocals+i))
			if t := r.typeAt(r.field(cell, "object.type")); t != nil && t.name == "cell" {
				return r.field(cell, "cell.value")
			}
		}
	}
	return 0
}

// bases lists a class and those it is derived from, in the order in which members are looked up, or as far as each says its first base.
func (r *runtime) bases(class uint64) []uint64 {
	const order = 7 * 8 // from tp_dictoffset to tp_mro
	if mro := r.tuple(r.word(class+r.at("type.dictoffset")+order), maxBases); len(mro) > 0 && mro[0] == class {
		return mro
	}
	var list []uint64
	for at := class; at != 0 && len(list) < maxBases; at = r.field(at, "type.base") {
		if r.typeAt(at) == nil {
			break
		}
		list = append(list, at)
	}
	return list
}

// memberWith returns the qualified name of the function with a code object among the members of a class: also below the decorators of the language
// itself. It is "" if there is none.
func (r *runtime) memberWith(class, code uint64) string {
	members, _, _ := r.pairs(r.field(class, "type.dict"), maxMembers)
	if r.p.Spend(1+len(members)) != nil {
		return ""
	}
	for _, m := range members {
		t := r.typeAt(r.field(m.value, "object.type"))
		if t == nil {
			continue
		}
		inner := 0
		switch t.name {
		case "function":
			if name := r.qualname(m.value, code); name != "" {
				return name
			}
		case "staticmethod", "classmethod":
			inner = 1
		case "property":
			inner = 3 // getter, setter, deleter
		}
		for i := range inner {
			f := r.word(m.value + r.at("object.size") + 8*uint64(i))
			if t := r.typeAt(r.field(f, "object.type")); t != nil && t.name == "function" {
				if name := r.qualname(f, code); name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// qualname returns the qualified name of a function; "" if it has other code.
func (r *runtime) qualname(at, code uint64) string {
	if r.field(at, "function.code") != code {
		return ""
	}
	name, _ := r.str(r.field(at, "function.qualname"), maxName)
	return name
}
