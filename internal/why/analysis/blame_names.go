package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A named is an expression of the source with its type.
type named struct {
	text   string // "" if there is none
	typ    *types.Type
	held   *where.Held // the variable, if the expression is just a variable
	at     uint64      // the instruction at which it is that variable
	global bool
	used   []types.Index // the indexes in text
	doubt  bool          // text depends on memory that may have changed since
	arms   []types.Arm   // other names that members of unions give the same bytes
}

// all returns the names with their types.
func (n *named) all() []types.Arm { return append([]types.Arm{{Text: n.text, Type: n.typ}}, n.arms...) }

// pick leaves the names that do for a use; all if none does.
func (n *named) pick(does func(types.Arm) bool) {
	if len(n.arms) == 0 {
		return
	}
	var left []types.Arm
	for _, a := range n.all() {
		if does(a) {
			left = append(left, a)
		}
	}
	if len(left) > 0 {
		n.text, n.typ, n.arms = left[0].Text, left[0].Type, left[1:]
	}
}

// or writes all names.
func (n *named) or() string {
	text := n.text
	for _, a := range n.arms {
		text += " or " + a.Text
	}
	return text
}

// maxNameDepth is how many pointers a name may follow.
const maxNameDepth = 6

// variable picks the best of the variables in a place: the innermost call's, those of the C++ library's own functions last.
func variable(held []where.Held, at uint64) (named, bool) {
	var best *where.Held
	for i := range held {
		h := &held[i]
		if h.Type == nil || h.Variable == "" || h.Artificial && h.Variable != "this" && h.Variable != "self" {
			continue
		}
		if !library(h.Function) {
			best = h
			break
		}
		if best == nil {
			best = h
		}
	}
	if best == nil {
		return named{}, false
	}
	return named{text: best.Name(), typ: best.Type, held: best, at: at}, true
}

// name returns the source's name for a value that register reg holds at an instruction; reg is NoReg if no
// register does.
func (w *witness) name(v *provenance.Value, at uint64, reg arch.Reg, depth int) named {
	if w.vars == nil || depth > maxNameDepth {
		return named{}
	}
	if reg != arch.NoReg {
		if n, ok := variable(w.vars.InRegister(at, reg), at); ok {
			return n
		}
	}
	if n := w.nameByOrigin(v, depth); n.text != "" || v.Kind != provenance.Entry || at == 0 {
		return n
	}
	for size := w.in.arch.RegSize; size > 0; size /= 2 {
		for _, off := range w.code.SavedAt(at, v.Reg, size) {
			if n, ok := w.inFrame(at, off, size); ok {
				return n
			}
		}
	}
	return named{}
}

// nameByOrigin names a value by how the code got it.
func (w *witness) nameByOrigin(v *provenance.Value, depth int) named {
	switch v.Kind {
	case provenance.Slot:
		if n, ok := w.inFrame(v.At, v.K, v.Size); ok {
			return n
		}
		if from := w.code.Stored(v); from.Kind != provenance.Slot || from != v {
			return w.name(from, v.At, arch.NoReg, depth+1)
		}
	case provenance.EntrySlot:
		if n, ok := w.inFrame(w.state.PC, v.K, v.Size); ok {
			return n
		}
	case provenance.Entry:
		if n, ok := variable(w.vars.InRegister(v.At, v.Reg), v.At); ok {
			return n
		}
	case provenance.Load:
		return w.target(v.At, v.Base, v.Index, v.Scale, v.K, v.Size, depth)
	case provenance.Cut:
		n := w.name(w.code.Before(v.At, provenance.Reg(v.Base)), v.At, v.Base, depth+1)
		n = n.ofBytes(v.Size)
		n.typ = nil
		return n
	}
	return named{}
}

func (w *witness) inFrame(at uint64, off int64, size int) (named, bool) {
	if !w.state.HasCFA {
		return named{}, false
	}
	return variable(w.vars.InMemory(at, w.state.CFA+uint64(off), size), at)
}

// ofBytes is the name of a value of which the code took so many bytes: not what the source has the name for, if that is larger.
func (n named) ofBytes(size int) named {
	if n.typ == nil || size <= 0 || n.typ.Size() <= uint64(size) {
		return n
	}
	mark := func(text string) string {
		if size == 1 {
			return "1 byte of " + text
		}
		return fmt.Sprintf("%d bytes of %s", size, text)
	}
	n.text, n.typ, n.arms = mark(n.text), nil, slices.Clone(n.arms)
	for i := range n.arms {
		n.arms[i] = types.Arm{Text: mark(n.arms[i].Text)}
	}
	return n
}

// heldNow returns the value of a variable that is a number or a pointer, if the frame still has it.
func (w *witness) heldNow(n named) (uint64, bool) {
	if n.held == nil || n.held.Path != "" {
		return 0, false
	}
	return w.vars.Number(n.held)
}

// target names what an operand of the instruction at addr accesses.
func (w *witness) target(addr uint64, base, index arch.Reg, scale uint8, disp int64, size, depth int) named {
	n := w.targetByNames(addr, base, index, scale, disp, size, depth)
	if n.text == "" && w.vars != nil && depth <= maxNameDepth {
		n = w.computed(addr, base, index, scale, disp, size, depth)
	}
	return n
}

// targetByNames is target for operands whose registers are pointers and indexes themselves.
func (w *witness) targetByNames(addr uint64, base, index arch.Reg, scale uint8, disp int64, size, depth int) named {
	if w.vars == nil {
		return named{}
	}
	if base == arch.NoReg && index == arch.NoReg {
		return w.global(uint64(disp), size)
	}
	if base == arch.NoReg {
		i := w.name(w.code.Before(addr, provenance.Reg(index)), addr, index, depth+1)
		return w.element(uint64(disp), i, scale, size)
	}
	v := w.code.Before(addr, provenance.Reg(base))
	if index == arch.NoReg {
		return w.follow(v, addr, base, disp, size, depth)
	}
	return w.indexed(v, addr, base, index, scale, disp, size, depth)
}

// follow names the size bytes at offset disp from pointer v, which is in register base at addr.
func (w *witness) follow(v *provenance.Value, addr uint64, base arch.Reg, disp int64, size, depth int) named {
	n := w.name(v, addr, base, depth+1)
	if n.text == "" {
		if n := w.referenced(v, disp, size, depth); n.text != "" {
			return n
		}
		if n := w.goElement(v, disp, size, depth); n.text != "" {
			return n
		}
	}
	if goMethods(n.typ) {
		return named{} // a call through an interface, whose methods have no names there
	}
	if n.typ != nil {
		var found []types.Arm
		for _, a := range n.all() {
			if a.Type != nil {
				found = append(found, a.Type.FollowAll(a.Text, disp, uint64(size))...)
			}
		}
		if len(found) > 0 {
			return named{text: found[0].Text, typ: found[0].Type, used: n.used, doubt: n.doubt, arms: found[1:]}
		}
	}
	switch v.Kind {
	case provenance.Const:
		return w.global(uint64(v.K+disp), size)
	case provenance.Load: // an address from the global offset table
		if v.Base == arch.NoReg && v.Index == arch.NoReg && n.text == "" {
			if at, _, ok := w.eval.Value(v, 0); ok {
				return w.global(at+uint64(disp), size)
			}
		}
	case provenance.Sum:
		switch from := w.code.Before(v.At, provenance.Reg(v.Base)); {
		case v.Base == arch.NoReg:
		case v.Index == arch.NoReg:
			return w.follow(from, v.At, v.Base, disp+v.K, size, depth+1)
		default:
			return w.indexed(from, v.At, v.Base, v.Index, v.Scale, disp+v.K, size, depth+1)
		}
	}
	if at, exact, ok := w.eval.Value(v, 0); ok && exact && n.text == "" { // an argument that was passed in memory
		n, _ = variable(w.vars.InMemory(addr, at+uint64(disp), size), addr)
		return n
	}
	return named{}
}

// indexed names an element of the array that v points to.
func (w *witness) indexed(v *provenance.Value, addr uint64, base, index arch.Reg, scale uint8, disp int64, size, depth int) named {
	if depth > maxNameDepth {
		return named{}
	}
	at := addr
	iv := w.code.Before(addr, provenance.Reg(index))
	if scale <= 1 && multiple(v) && !multiple(iv) { // the operands are swapped
		v, iv, base, index = iv, v, index, base
	}
	if scale <= 1 && multiple(iv) {
		addr, index, scale = iv.At, iv.Index, iv.Scale
		iv = w.code.Before(addr, provenance.Reg(index))
	}
	i := w.name(iv, addr, index, depth+1)
	if i.text == "" || i.typ != nil && i.typ.IsPointer() {
		// The index was scaled before, so the second register is the pointer; only for elements of one byte.
		if scale == 1 && i.text != "" {
			if b := w.name(v, at, base, depth+1); b.text != "" && (b.typ == nil || !b.typ.IsPointer()) {
				if text, t, ok := i.typ.Element(i.text, b.text, 1, disp, uint64(size)); ok {
					return named{text: text, typ: t}
				}
			}
		}
		return named{}
	}
	switch v.Kind {
	case provenance.Const:
		return w.element(uint64(v.K+disp), i, scale, size)
	case provenance.StackAddr:
		if !w.state.HasCFA {
			return named{}
		}
		at := w.state.CFA + uint64(v.K+disp)
		if h, low, _, ok := w.vars.Object(addr, at); ok {
			if text, t, ok := h.Type.Element(h.Variable, i.text, uint64(scale), int64(at-low), uint64(size)); ok {
				return named{text: text, typ: t}
			}
		}
		return named{}
	}
	if n := w.name(v, at, base, depth+1); n.typ != nil {
		if text, t, ok := n.typ.Element(n.text, i.text, uint64(scale), disp, uint64(size)); ok {
			return named{text: text, typ: t}
		}
	}
	return named{}
}

// multiple reports whether a value is a register times a number.
func multiple(v *provenance.Value) bool {
	return v.Kind == provenance.Sum && v.Base == arch.NoReg && v.Index != arch.NoReg && v.K == 0
}

// global names size bytes of memory that belong to no function.
func (w *witness) global(addr uint64, size int) named {
	if n, ok := variable(w.vars.InMemory(w.state.PC, addr, size), w.state.PC); ok {
		return n // a static variable of the function
	}
	name, t, off := w.vars.Global(addr)
	if name == "" || strings.Contains(name, "@") || t == nil && strings.Contains(name, "+") {
		return named{}
	}
	n := named{text: name, global: true}
	if t == nil {
		return n
	}
	path, part, ok := t.Part(off, uint64(size))
	if !ok {
		return named{}
	}
	n.text, n.typ = name+path, part
	return n
}

// element names an element of a global array.
func (w *witness) element(addr uint64, index named, scale uint8, size int) named {
	name, t, off := w.vars.Global(addr)
	if name == "" || t == nil || index.text == "" {
		return named{}
	}
	text, part, ok := t.Element(name, index.text, uint64(scale), int64(off), uint64(size))
	if !ok {
		return named{}
	}
	return named{text: text, typ: part}
}

// operandText formats an operand as in assembly: "[rdi+0x10]".
func (w *witness) operandText(base, index arch.Reg, scale uint8, disp int64) string {
	var parts []string
	if base != arch.NoReg {
		parts = append(parts, w.in.arch.RegName(base))
	}
	if index != arch.NoReg {
		s := w.in.arch.RegName(index)
		if scale > 1 {
			s += fmt.Sprintf("*%d", scale)
		}
		parts = append(parts, s)
	}
	text := strings.Join(parts, "+")
	switch {
	case text == "":
		return fmt.Sprintf("[%#x]", uint64(disp))
	case disp > 0:
		text += fmt.Sprintf("+%#x", disp)
	case disp < 0:
		text += fmt.Sprintf("-%#x", -disp)
	}
	return "[" + text + "]"
}
