package analysis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
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

// accessors are members of containers and the like that take no argument and return an element.
var accessors = []string{"front", "back", "top", "value", "get"}

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
	case rest == "*", rest == "" && a.pointer:
		return "*" + a.text
	case a.pointer && strings.HasPrefix(rest, "."):
		return a.text + "->" + rest[1:]
	case a.pointer && strings.HasPrefix(rest, "["):
		return "(*" + a.text + ")" + rest
	case rest != "" && strings.HasPrefix(a.text, "*"):
		return "(" + a.text + ")" + rest
	}
	return a.text + rest
}

// accessedBy tells what a call returned, if it is of one of the members.
func (w *witness) accessedBy(v *provenance.Value, depth int) (a accessed, ok bool) {
	if v.Kind != provenance.Result || v.Target == 0 || w.vars == nil || w.in.Variables == nil || len(w.abi.Args) < 2 || depth > maxNameDepth { // which no name would come of
		return a, false
	}
	function := w.in.returnedBy(v)
	class, method, _ := cutLast(function, "::")
	typ, list := where.ProcessOf(w.in.Variables).Signature(v.Target)
	if a.typ = typ; a.typ == nil || !a.typ.IsPointer() {
		return a, false
	}
	params := len(list)
	reference := a.typ.Strip().Reference()
	if a.text = w.gotFrom(v, function, depth); a.text != "" {
		return a, params == 1 && reference
	}
	object := w.memberOf(v, class, depth)
	switch {
	case object == "":
	case method == "operator->" && !reference, method == "operator*" && reference && library(class): // whose iterators have both
		a.text, a.pointer = object, true
	case method == "operator*" && params == 1: // with two it multiplies
		a.text = "*" + object
	case method == "operator[]" && params == 2:
		a.text = object + "[" + w.argument(v, 1) + "]"
	case method == "at" && params == 2:
		a.text = object + ".at(" + w.argument(v, 1) + ")"
	case params == 1 && slices.Contains(accessors, method):
		a.text = object + "." + method + "()"
	}
	return a, a.text != ""
}

// gotFrom is the text of a call of std::get, which returned v: std::get<1>(pair); "" for another function.
func (w *witness) gotFrom(v *provenance.Value, function string, depth int) string {
	ns, args, ok := strings.Cut(function, "get<")
	if !ok || ns != "std::" && ns != "std::__1::" {
		return ""
	}
	nested, end := 0, strings.IndexFunc(args, func(r rune) bool { return r == ',' || r == '>' })
	for i, r := range args {
		switch r {
		case '<', '(':
			nested++
		case '>', ')':
			nested--
		}
		if nested < 0 || nested == 0 && r == ',' {
			end = i
			break
		}
	}
	if end <= 0 {
		return ""
	}
	for _, class := range []string{"tuple", "variant", "pair", "array"} {
		if object := w.memberOf(v, ns+class, depth); object != "" {
			return "std::get<" + strings.TrimSuffix(args[:end], "ul") + ">(" + object + ")"
		}
	}
	return ""
}

// madeBy is the text of the call of a member that returned an object of a class, an iterator or the like, which v is; "" for anything else.
func (w *witness) madeBy(v *provenance.Value, class string, depth int) string {
	if v.Kind != provenance.Result || v.Target == 0 || depth > maxNameDepth {
		return ""
	}
	of, method, _ := cutLast(w.in.returnedBy(v), "::")
	typ, list := where.ProcessOf(w.in.Variables).Signature(v.Target)
	params := len(list)
	if typ == nil || typ.IsPointer() || strings.HasPrefix(method, "operator") || params < 1 || params > 2 {
		return ""
	}
	path, ok := objectIn(typ, 0, class)
	object := w.memberOf(v, of, depth+1)
	switch {
	case !ok || object == "":
		return ""
	case params == 2:
		return object + "." + method + "(" + w.argument(v, 1) + ")" + path
	}
	return object + "." + method + "()" + path
}

// madeInto is madeBy for an object that the member wrote to the frame, at an offset from the CFA, as the last call before an instruction: weak.lock().
func (w *witness) madeInto(at uint64, off int64, class string, depth int) string {
	if depth > maxNameDepth {
		return ""
	}
	var last uint64
	for call := range w.code.Calls {
		if into := w.code.Before(call.PC, provenance.Reg(w.abi.Args[0])); call.PC < at && into.Kind == provenance.StackAddr && into.K == off {
			last = call.PC
		}
	}
	call, ok := w.code.Inst(last)
	if !ok || call.Kind != disasm.Call {
		return ""
	}
	v := &provenance.Value{Kind: provenance.Result, At: last, Target: call.Target}
	of, method, _ := cutLast(w.in.returnedBy(v), "::")
	typ, list := where.ProcessOf(w.in.Variables).Signature(call.Target)
	if typ == nil || !typ.Strip().Aggregate() || strings.HasPrefix(method, "operator") || len(list) != 1 {
		return ""
	}
	path, ok := objectIn(typ, 0, class)
	if object := w.memberIn(w.abi.Args[1], v, of, depth+1); ok && object != "" {
		return object + "." + method + "()" + path
	}
	return ""
}

// countedBy is the text of the call of a member without arguments, as of a container's size, which returned v; "" for another function.
func (w *witness) countedBy(v *provenance.Value) string {
	if v.Kind != provenance.Result || v.Target == 0 || w.vars == nil || w.in.Variables == nil || len(w.abi.Args) < 2 {
		return ""
	}
	class, method, _ := cutLast(w.in.returnedBy(v), "::")
	if _, params := where.ProcessOf(w.in.Variables).Signature(v.Target); len(params) != 1 || strings.HasPrefix(method, "operator") {
		return ""
	}
	object := w.memberOf(v, class, 0)
	if object == "" {
		return ""
	}
	return object + "." + method + "()"
}

// foundBy is the text of the call of find of a container of the library, which returned v, a node or none; "" for another function.
func (w *witness) foundBy(v *provenance.Value) string {
	if v.Kind != provenance.Result || v.Target == 0 || w.vars == nil || w.in.Variables == nil || len(w.abi.Args) < 2 {
		return ""
	}
	class, method, _ := cutLast(w.in.returnedBy(v), "::")
	object := ""
	if library(class) && method == "find" {
		object = plainPath(w.memberOf(v, class, 0))
	}
	if object == "" {
		return ""
	}
	return object + ".find(...)"
}

// library reports whether a class is one of the C++ library.
func library(class string) bool {
	return strings.HasPrefix(class, "std::") || strings.HasPrefix(class, "__gnu_cxx::")
}

// memberOf names the object whose member a call called; "" if the source has no name for it.
func (w *witness) memberOf(v *provenance.Value, class string, depth int) string {
	return w.memberIn(w.abi.Args[0], v, class, depth)
}

// memberIn is memberOf for an object that is passed in a register.
func (w *witness) memberIn(reg arch.Reg, v *provenance.Value, class string, depth int) string {
	object := w.code.Before(v.At, provenance.Reg(reg))
	off := int64(0)
	for n := 0; n < maxNameDepth && object.Kind == provenance.Sum && object.Index == arch.NoReg; n++ {
		reg = object.Base
		off += object.K
		object = w.code.Before(object.At, provenance.Reg(reg))
	}
	switch object.Kind {
	case provenance.StackAddr:
		if !w.state.HasCFA {
			return ""
		}
		if name := w.memberAt(v.At, w.state.CFA+uint64(object.K+off), class); name != "" {
			return name
		}
		if name := w.madeBy(w.code.Before(v.At, provenance.Frame(object.K+off, w.in.arch.WordSize)), class, depth); name != "" {
			return name
		}
		return w.madeInto(v.At, object.K+off, class, depth)
	case provenance.Const:
		return w.memberAt(v.At, uint64(object.K+off), class)
	case provenance.Result:
		a, ok := w.accessedBy(object, depth+1)
		if !ok {
			return ""
		}
		path, ok := objectIn(a.typ.Strip().Target(), uint64(off), class)
		switch {
		case !ok:
			return ""
		case path == "" && a.pointer:
			return "(*" + a.text + ")"
		}
		return a.write(path)
	}
	n := w.name(object, object.At, reg, depth+1)
	if n.text == "" { // an argument that was passed in memory
		if at, exact, ok := w.eval.Value(object, 0); ok && exact {
			return w.memberAt(v.At, at+uint64(off), class)
		}
	}
	if n.typ == nil || !n.typ.IsPointer() {
		return ""
	}
	path, ok := objectIn(n.typ.Strip().Target(), uint64(off), class)
	switch {
	case !ok:
		return ""
	case n.typ.Strip().Reference():
		return n.text + path
	case path == "":
		return "(*" + n.text + ")"
	}
	return (&accessed{text: n.text, pointer: true}).write(path)
}

// memberAt is memberOf for an object at an address that the code of the function has.
func (w *witness) memberAt(at, addr uint64, class string) string {
	n, low, ok := w.object(at, addr)
	if !ok {
		return ""
	}
	path, ok := objectIn(n.typ, addr-low, class)
	if !ok {
		return ""
	}
	return n.text + path
}

// objectIn finds the object of a class that begins at an offset in one of type t: the path to it, "" for the whole.
func objectIn(t *types.Type, off uint64, class string) (path string, ok bool) {
	class = template(class)
	_, name, _ := cutLast(class, "::")
	base := library(class) && strings.HasPrefix(name, "_") // a base class of the library has no name in the source
	is := func(t *types.Type) bool {
		of := template(t.Strip().FullName())
		return of == class || base && library(of)
	}
	if off == 0 && is(t) {
		return "", true
	}
	path, part, ok := t.Part(off, 0)
	return path, ok && is(part)
}

// template is the name of a class without template arguments.
func template(class string) string {
	class, _, _ = strings.Cut(class, "<")
	return class
}

// argument is the text of an argument of a call: a number or a variable, "..." for anything else.
func (w *witness) argument(v *provenance.Value, n int) string {
	reg := w.abi.Args[n]
	arg := w.code.Before(v.At, provenance.Reg(reg))
	if arg.Kind == provenance.Const {
		return strconv.FormatInt(arg.K, 10)
	}
	if i := w.name(arg, v.At, reg, maxNameDepth-1); i.text != "" && (i.typ == nil || !i.typ.IsPointer()) {
		return i.text
	}
	return "..."
}
