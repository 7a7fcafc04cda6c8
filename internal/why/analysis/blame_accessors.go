package analysis

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where the compiler inlines nothing, elements are what members of C++ classes return: of iterators, containers and smart
// pointers. They are named as the source does: *it, it->second, v[i], v.back().

// An accessed is what a call of such a member returned.
type accessed struct {
	text    string      // the object, for operators * and ->, or else the expression
	typ     *types.Type // a pointer or a reference
	pointer bool        // the object is used as a pointer: *text, text->x
}

// accessors are members of the library's classes that take no argument and return an element.
var accessors = []string{"front", "back", "top", "value", "get"}

// maxAccessors is how many of them may be called for each other: v[i].back()->x.
const maxAccessors = 4

// referenced names the size bytes at an offset from the address that a call returned.
func (w *witness) referenced(v *provenance.Value, disp int64, size, depth int) named {
	if v.Kind == provenance.Slot { // kept while what was passed to the call is destroyed
		v = w.code.Stored(v)
	}
	a, ok := w.accessedBy(v, depth)
	if !ok {
		return named{}
	}
	const object = "\x00" // has its place in the expression
	var found []types.Arm
	for _, arm := range a.typ.FollowAll(object, disp, uint64(size)) {
		arm.Text = a.write(strings.Replace(arm.Text, object, "", 1))
		found = append(found, arm)
	}
	if len(found) == 0 {
		return named{}
	}
	return named{text: found[0].Text, typ: found[0].Type, arms: found[1:]}
}

// write puts the object into an expression without it: "", ".x" and "[3]" for references, "*", "->x", "[3]" for pointers.
func (a *accessed) write(rest string) string {
	switch {
	case rest == "" && a.pointer, rest == "*" && a.pointer:
		return "*" + a.text
	case rest == "*":
		return "*" + a.text
	case a.pointer && strings.HasPrefix(rest, "."):
		return a.text + "->" + rest[1:]
	case a.pointer && strings.HasPrefix(rest, "["):
		return "(*" + a.text + ")" + rest
	}
	return a.text + rest
}

// accessedBy tells what a call returned, if it is of one of the members.
func (w *witness) accessedBy(v *provenance.Value, depth int) (a accessed, ok bool) {
	if v.Kind != provenance.Result || v.Target == 0 || w.vars == nil || w.in.Variables == nil || len(w.abi.Args) < 2 || depth > maxAccessors {
		return a, false
	}
	code := codeReader{in: w.in}
	f, ok := code.function(v.Target)
	if !ok || f.Entry != v.Target {
		return a, false
	}
	name, _, _ := strings.Cut(f.Name, "@")
	class, method, ok := cutLast(name, "::")
	if !ok {
		return a, false
	}
	a.typ = where.ProcessOf(w.in.Variables).Result(v.Target)
	if a.typ == nil || !a.typ.IsPointer() {
		return a, false
	}
	object := w.memberOf(v, class, depth)
	switch {
	case object == "":
		return a, false
	case method == "operator*", method == "operator->":
		a.text, a.pointer = object, true
	case method == "operator[]":
		a.text = object + "[" + w.argument(v, 1) + "]"
	case !library(class):
		return a, false
	case method == "at":
		a.text = object + ".at(" + w.argument(v, 1) + ")"
	default:
		for _, m := range accessors {
			if m == method {
				a.text = object + "." + m + "()"
			}
		}
	}
	return a, a.text != ""
}

// library reports whether a class is one of the C++ library.
func library(class string) bool {
	return strings.HasPrefix(class, "std::") || strings.HasPrefix(class, "__gnu_cxx::")
}

// memberOf names the object whose member a call called; "" if the source has no name for it.
func (w *witness) memberOf(v *provenance.Value, class string, depth int) string {
	reg := w.abi.Args[0]
	object := w.code.Before(v.At, provenance.Reg(reg))
	off := int64(0)
	if object.Kind == provenance.Sum && object.Base != arch.NoReg && object.Index == arch.NoReg {
		at := object.At
		reg, off = object.Base, object.K
		object = w.code.Before(at, provenance.Reg(reg))
	}
	switch object.Kind {
	case provenance.StackAddr:
		if !w.state.HasCFA {
			return ""
		}
		at := w.state.CFA + uint64(object.K+off)
		n, low, ok := w.object(v.At, at)
		if !ok {
			return ""
		}
		return w.objectIn(n.text, n.typ, at-low, class)
	case provenance.Const:
		n, low, ok := w.object(v.At, uint64(object.K+off))
		if !ok {
			return ""
		}
		return w.objectIn(n.text, n.typ, uint64(object.K+off)-low, class)
	case provenance.Result:
		if a, ok := w.accessedBy(object, depth+1); ok && off == 0 {
			if a.pointer {
				return "(*" + a.text + ")"
			}
			return a.text
		}
		return ""
	}
	n := w.name(object, object.At, reg, depth+1)
	if n.typ == nil || !n.typ.IsPointer() || off < 0 {
		return ""
	}
	s := n.typ.Strip()
	text := n.text
	if !s.Reference() {
		text = "(*" + text + ")"
	}
	in := w.objectIn(text, s.Target(), uint64(off), class)
	if !s.Reference() {
		if rest, ok := strings.CutPrefix(in, text+"."); ok {
			return n.text + "->" + rest
		}
	}
	return in
}

// objectIn names the object of a class that begins at an offset in another: a variable, or a member of one.
func (w *witness) objectIn(text string, t *types.Type, off uint64, class string) string {
	if t == nil {
		return ""
	}
	want := unqualified(class)
	if off == 0 && (strings.HasPrefix(want, "_") || sameClass(t, want)) { // a base class of the library has no name in the source
		return text
	}
	path, part, ok := t.Part(off, 0)
	if !ok || !strings.HasPrefix(want, "_") && !sameClass(part, want) {
		return ""
	}
	return text + path
}

func sameClass(t *types.Type, want string) bool {
	return unqualified(t.Strip().BareName) == want || unqualified(t.Strip().FullName()) == want
}

// unqualified is the name of a class without its namespaces and template arguments.
func unqualified(class string) string {
	class, _, _ = strings.Cut(class, "<")
	_, name, ok := cutLast(class, "::")
	if !ok {
		return class
	}
	return name
}

// argument is the text of an argument of a call: a number or a variable, "..." for anything else.
func (w *witness) argument(v *provenance.Value, n int) string {
	reg := w.abi.Args[n]
	arg := w.code.Before(v.At, provenance.Reg(reg))
	if arg.Kind == provenance.Const {
		return strconv.FormatInt(arg.K, 10)
	}
	if i := w.name(arg, v.At, reg, maxAccessors); i.text != "" && (i.typ == nil || !i.typ.IsPointer()) {
		return i.text
	}
	return "..."
}
