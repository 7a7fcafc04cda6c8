package provenance

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A State is the state of a frame at one of its instructions.
type State struct {
	PC     uint64 // the instruction; for a frame that made a call, the call
	Reg    func(arch.Reg) (uint64, bool)
	CFA    uint64
	HasCFA bool
	// Read reads an unsigned integer of 1 to 8 bytes from the process's memory.
	Read func(addr uint64, size int) (uint64, bool)
	// AtEntry returns what a callee-saved register held when the function was called; nil if that is not known.
	AtEntry func(arch.Reg) (uint64, bool)
	// Passed returns what another register held when the function was called, if that is certain; nil if nothing is.
	Passed func(arch.Reg) (uint64, bool)
}

// Limits on the depth and the number of the values that one value is computed from.
const (
	maxEval  = 16
	maxEvals = 256
)

// An Evaluator computes what Values were in one frame. It is not safe for concurrent use.
type Evaluator struct {
	f    *Func
	s    *State
	held map[*Value]uint64 // values that registers still hold
	left int               // evaluations left, from maxEvals
}

// Evaluator returns an Evaluator for a frame of f.
func (f *Func) Evaluator(s *State) *Evaluator { return &Evaluator{f: f, s: s} }

// Value computes what v was. The result is exact unless it was read from memory that may have changed since.
// past, if not 0, is the instruction of a join between v and the frame's instruction. Values computed again
// after that join may only be available from a later iteration, so Value returns nothing for them.
func (e *Evaluator) Value(v *Value, past uint64) (val uint64, exact, ok bool) {
	e.left = maxEvals
	return e.eval(v, past, 0)
}

// Address returns the address that v, a Load, was read from.
func (e *Evaluator) Address(v *Value, past uint64) (addr uint64, ok bool) {
	e.left = maxEvals
	if v.Kind != Load || !e.fresh(v, past) {
		return 0, false
	}
	addr, _, ok = e.sum(v, past, 0)
	return addr, ok
}

// Memory returns what the memory that v was read from holds now, whatever registers hold; false for values that were not
// read, and for memory that the code has changed since or that is not known.
func (e *Evaluator) Memory(v *Value, past uint64) (val uint64, ok bool) {
	switch {
	case !e.fresh(v, past):
	case v.Kind == Load:
		if addr, known := e.Address(v, past); known {
			return e.read(v, addr)
		}
	case v.Kind == Slot:
		val, _, ok = e.slot(v, e.f.Before(v.At, Frame(v.K, v.Size)), v.K)
	case v.Kind == EntrySlot:
		val, _, ok = e.slot(v, v, v.K)
	}
	return val, ok
}

func (e *Evaluator) eval(v *Value, past uint64, depth int) (val uint64, exact, ok bool) {
	if e.left--; depth > maxEval || e.left < 0 {
		return 0, false, false
	}
	switch v.Kind {
	case Const:
		return e.f.arch.Truncate(uint64(v.K)), true, true
	case StackAddr:
		return e.f.arch.Truncate(e.s.CFA + uint64(v.K)), true, e.s.HasCFA
	}
	if !e.fresh(v, past) {
		return 0, false, false
	}
	if val, ok := e.registers()[v]; ok {
		return val, true, true
	}
	switch v.Kind {
	case Entry:
		if e.f.abi.Preserved.Has(v.Reg) && e.s.AtEntry != nil {
			val, ok = e.s.AtEntry(v.Reg)
			return val, true, ok
		}
		if e.s.Passed != nil {
			val, ok = e.s.Passed(v.Reg)
			return val, true, ok
		}
	case EntrySlot:
		return e.slot(v, v, v.K)
	case Slot:
		from := e.f.Before(v.At, Frame(v.K, v.Size))
		if val, exact, ok = e.slot(v, from, v.K); ok {
			return val, exact, ok
		}
		if val, exact, ok = e.eval(from, past, depth+1); ok {
			val, ok = extend(v, val)
		}
		return val, exact, ok
	case Load:
		addr, _, ok := e.sum(v, past, depth)
		if !ok {
			return 0, false, false
		}
		val, ok = e.read(v, addr)
		return val, false, ok
	case Sum:
		return e.sum(v, past, depth)
	case Arith:
		return e.arith(v, past, depth)
	case Cut:
		if val, exact, ok = e.eval(e.f.Before(v.At, Reg(v.Base)), past, depth+1); ok {
			val, ok = extend(v, val)
		}
		return val, exact, ok
	}
	return 0, false, false
}

// fresh reports whether the last computation of v is the one asked for.
func (e *Evaluator) fresh(v *Value, past uint64) bool {
	if past == 0 || v.Kind == Entry || v.Kind == EntrySlot {
		return true
	}
	from, ok := e.f.index(past)
	to, found := e.f.index(v.At)
	return ok && found && !e.f.reaches(from, to)
}

// registers returns the values that registers hold at the frame's instruction.
func (e *Evaluator) registers() map[*Value]uint64 {
	if e.held != nil {
		return e.held
	}
	e.held = map[*Value]uint64{}
	var sums []*Value // in the order of registers
	for r := range arch.Reg(e.f.arch.NumRegs()) {
		if r == e.f.arch.PC {
			continue
		}
		val, ok := e.s.Reg(r)
		if !ok {
			continue
		}
		if v := e.f.Before(e.s.PC, Reg(r)); v.Kind != Unknown {
			e.held[v] = val
			if v.Kind == Sum {
				sums = append(sums, v)
			}
		}
	}
	if e.f.arch.RegSize == e.f.arch.WordSize { // else a sum may have lost half of what it was made of
		e.stepBack(sums)
	}
	return e.held
}

// stepBack adds what registers were before they stepped on, as one does through an array: values that no register holds any more, and of which no two
// registers tell otherwise. What a Sum was made of was not computed again since, as all paths to the frame's instruction lead from there through the Sum.
func (e *Evaluator) stepBack(sums []*Value) {
	told := map[*Value]uint64{}
	for _, v := range sums {
		val := e.held[v]
		for n := 0; n < maxEval && v.Kind == Sum && v.Index == arch.NoReg; n++ {
			v, val = e.f.Before(v.At, Reg(v.Base)), e.f.arch.Truncate(val-uint64(v.K))
			_, held := e.held[v]
			other, also := told[v]
			if v.Kind == Unknown || held && !also {
				break // nobody knows, or a register does
			}
			if !also {
				told[v], e.held[v] = val, val
			} else if val != other {
				delete(e.held, v)
			}
		}
	}
}

// slot reads a value from the frame, if the bytes still hold it.
func (e *Evaluator) slot(v, from *Value, off int64) (val uint64, exact, ok bool) {
	if !e.s.HasCFA || from.Kind == Unknown || e.f.Before(e.s.PC, Frame(off, v.Size)) != from {
		return 0, false, false
	}
	val, ok = e.read(v, e.s.CFA+uint64(off))
	return val, true, ok
}

// read reads the memory that v was read from.
func (e *Evaluator) read(v *Value, addr uint64) (val uint64, ok bool) {
	if v.Size > 8 {
		return 0, false
	}
	if val, ok = e.s.Read(addr, v.Size); ok {
		val, ok = extend(v, val)
	}
	return val, ok
}

func (e *Evaluator) sum(v *Value, past uint64, depth int) (val uint64, exact, ok bool) {
	val, exact, ok = uint64(v.K), true, true
	if v.Base != arch.NoReg {
		b, x, known := e.eval(e.f.Before(v.At, Reg(v.Base)), past, depth+1)
		val, exact, ok = val+b, x, known
	}
	if ok && v.Index != arch.NoReg {
		i, x, known := e.eval(e.f.Before(v.At, Reg(v.Index)), past, depth+1)
		val, exact, ok = val+i*uint64(max(v.Scale, 1)), exact && x, known
	}
	return e.f.arch.Truncate(val), exact, ok
}

// arith computes the arithmetic of one instruction.
func (e *Evaluator) arith(v *Value, past uint64, depth int) (val uint64, exact, ok bool) {
	a, exact, ok := e.eval(e.f.Before(v.At, Reg(v.Base)), past, depth+1)
	if !ok {
		return 0, false, false
	}
	b := uint64(v.K)
	if v.Index != arch.NoReg || v.Mem {
		from := e.f.Second(v)
		var x bool
		if b, x, ok = e.eval(from, past, depth+1); !ok {
			return 0, false, false
		}
		exact = exact && x
	}
	bits := 8 * v.Size
	low := ^uint64(0) >> (64 - bits)
	switch v.Op {
	case disasm.Plus:
		a += b
	case disasm.Minus:
		a -= b
	case disasm.Times:
		a *= b
	case disasm.Negate:
		a = -a
	case disasm.BitAnd:
		a &= b
	case disasm.BitOr:
		a |= b
	case disasm.ShiftLeft:
		a <<= b & 63
	case disasm.ShiftRight:
		a = a & low >> (b & 63)
	case disasm.ShiftSigned:
		a = uint64(int64(a<<(64-bits)) >> (64 - bits) >> (b & 63))
	default:
		return 0, false, false
	}
	return a & low, exact, true
}

// Second returns the second operand of an Arith, if that is not a constant.
func (f *Func) Second(v *Value) *Value {
	if !v.Mem {
		return f.Before(v.At, Reg(v.Index))
	}
	if i, ok := f.index(v.At); ok {
		return f.memory(i)
	}
	return unknown
}

// extend extends a value of 1 to 8 bytes to a register. It returns false if that may be by a sign that is set.
func extend(v *Value, val uint64) (uint64, bool) {
	bits := 8 * v.Size
	val &= 1<<bits - 1
	if v.Into != 0 {
		val = uint64(int64(val<<(64-bits))>>(64-bits)) & (^uint64(0) >> (64 - 8*v.Into))
		return val, true
	}
	return val, !v.Signed || val>>(bits-1) == 0
}

// Operand returns the target of an indirect call or jump at an address, or the divisor of a division.
func (f *Func) Operand(addr uint64) *Value {
	i, ok := f.index(addr)
	if !ok {
		return unknown
	}
	in := f.inst(i)
	if in == nil {
		return unknown
	}
	if in.Src != arch.NoReg {
		return f.Before(addr, Reg(in.Src))
	}
	return f.memory(i)
}

// memory returns what the memory operand of instruction i held before it.
func (f *Func) memory(i int) *Value {
	in := f.inst(i)
	if in == nil {
		return unknown
	}
	m := in.Mem()
	if m == nil {
		return unknown
	}
	k := key{int32(i), Place{reg: arch.NoReg}}
	if v := f.made[k]; v != nil {
		return v
	}
	v := f.fromMemory(i, newValue(f.steps[i].Addr), m, int(m.Size))
	f.made[k] = v
	return v
}

// Stored returns what was stored in the frame bytes that v, a Slot, was read from.
func (f *Func) Stored(v *Value) *Value { return f.Before(v.At, Frame(v.K, v.Size)) }

// Opaque reports whether control may take unknown paths through the function. Traced values are then certain
// only if no paths meet on the way.
func (f *Func) Opaque() bool { return f.opaque }
