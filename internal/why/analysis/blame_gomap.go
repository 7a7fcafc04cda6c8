package analysis

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Go's compiler calls functions of the runtime for maps, which take the map's type, the map, and the key or a pointer to it, and
// return where the element is:
//
//	func mapaccess1(t *maptype, m *Map, key unsafe.Pointer) unsafe.Pointer
//	func mapassign_fast64(t *maptype, m *Map, key uint64) unsafe.Pointer
//	func mapaccess2_faststr(t *maptype, m *Map, key string) (unsafe.Pointer, bool)
const (
	goMapArgument, goKeyArgument = 1, 2
	goMapAccess, goMapAssign     = "runtime.mapaccess", "runtime.mapassign"
)

// goElement names size bytes at an offset from what a function for maps returned; nothing for another function.
func (w *witness) goElement(v *provenance.Value, disp int64, size, depth int) named {
	if v.Kind != provenance.Result {
		return named{}
	}
	function := w.in.returnedBy(v)
	if !strings.HasPrefix(function, goMapAccess) && !strings.HasPrefix(function, goMapAssign) {
		return named{}
	}
	m := w.goMap(v.At, depth)
	if m.typ == nil {
		return named{}
	}
	elem := m.typ.GoType(dwarf.AttrGoElem)
	if elem == nil {
		return named{}
	}
	path, part, ok := elem.Part(uint64(disp), uint64(size))
	if !ok {
		return named{}
	}
	return named{text: m.text + "[" + w.goKey(v, function) + "]" + path, typ: part, doubt: m.doubt}
}

// goMap names the map that a call of such a function passes.
func (w *witness) goMap(call uint64, depth int) named {
	reg := arch.NoReg
	if len(w.abi.Args) > goMapArgument {
		reg = w.abi.Args[goMapArgument]
	}
	n := w.name(w.code.Argument(call, goMapArgument), call, reg, depth+1)
	if n.typ == nil || n.typ.GoKind != types.GoMap {
		return named{}
	}
	return n
}

// goKey is the text of the key that a call passes: a number, a string or a variable, "..." for anything else.
func (w *witness) goKey(v *provenance.Value, function string) string {
	const other, longest = "...", 40
	_, fast, _ := strings.Cut(function, "_")
	switch {
	case fast == "fast32" || fast == "fast64":
		return w.argument(v, goKeyArgument)
	case fast != "faststr":
		return other
	}
	at, reg := w.code.Argument(v.At, goKeyArgument), w.abi.Args[goKeyArgument]
	if n := w.code.Argument(v.At, goKeyArgument+1); at.Kind == provenance.Const && n.Kind == provenance.Const {
		if n.K < 0 || n.K > longest {
			return other
		}
		b := w.in.mem.Some(uint64(at.K), int(n.K))
		if len(b) != int(n.K) {
			return other
		}
		return strconv.Quote(string(b))
	}
	held := w.vars.InRegister(v.At, reg)
	if n := w.nameByOrigin(at, maxNameDepth-1); len(held) == 0 && n.held != nil {
		held = append(held, *n.held)
	}
	if len(held) > 0 {
		return held[0].Variable + strings.TrimSuffix(held[0].Path, ".str") // the first word of a string
	}
	return other
}

// goMethods reports whether a type is that of the first word of an interface, which points to its methods.
func goMethods(t *types.Type) bool {
	if t == nil || !t.IsPointer() {
		return false
	}
	name := t.Strip().Target().Strip().BareName
	return name == "internal/abi.ITab" || name == "runtime.itab"
}

// assigned names the nil map of the function of a frame, at a call that assigned to it; "" if it has no name.
func (c *crash) assigned(physical int) string {
	t := &tracer{in: c.question, stack: c.stack, out: report.Blame{}}
	defer t.close()
	w := t.witness(physical, nil)
	if w == nil || w.vars == nil {
		return ""
	}
	return w.goMap(w.state.PC, 0).text
}
