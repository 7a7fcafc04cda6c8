package provenance

import (
	"encoding/binary"
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// unknown is the only Value of kind Unknown.
var unknown = newValue(0)

// newValue returns a Value that the instruction at an address makes, without a kind and without registers.
func newValue(at uint64) *Value {
	return &Value{At: at, Reg: arch.NoReg, Base: arch.NoReg, Index: arch.NoReg}
}

// Before returns what a place held before the instruction at an address: never nil, nor a Join that has turned out to be another value.
func (f *Func) Before(addr uint64, p Place) *Value {
	i, ok := f.index(addr)
	if !ok {
		return unknown
	}
	return f.before(i, p).resolve()
}

// before goes back from instruction i to the definition of p. It visits each join once per place: in a loop the
// join stands for itself until its value is known (Braun et al., Simple and Efficient Construction of Static
// Single Assignment Form, CC 2013).
func (f *Func) before(i int, p Place) *Value {
	if p.reg == f.arch.SP {
		return f.stackPointer(i)
	}
	for {
		if f.left--; f.left < 0 {
			return unknown
		}
		preds := f.preds[i]
		switch {
		case i == f.entry && len(preds) == 0:
			return f.atEntry(p)
		case len(preds) != 1 || i == f.entry:
			if len(preds) == 0 || f.opaque {
				return unknown
			}
			return f.join(i, p)
		}
		if v := f.after(int(preds[0]), p); v != nil {
			return v
		}
		i = int(preds[0])
	}
}

// stackPointer returns what the stack pointer held before instruction i.
func (f *Func) stackPointer(i int) *Value {
	k := key{int32(i), Reg(f.arch.SP)}
	if v := f.made[k]; v != nil {
		return v
	}
	v := f.stackAddress(i, newValue(f.steps[i].Addr), f.arch.SP, 0)
	f.made[k] = v
	return v
}

// atEntry returns what a place held when the function was called.
func (f *Func) atEntry(p Place) *Value {
	k := key{-1, p} // not what the first instruction made of it
	if v := f.made[k]; v != nil {
		return v
	}
	v := newValue(f.steps[f.entry].Addr)
	v.Kind, v.Reg = Entry, p.reg
	if p.size > 0 {
		v.Kind, v.K, v.Size = EntrySlot, p.off, p.size
	}
	f.made[k] = v
	return v
}

// join returns what a place holds where paths meet.
func (f *Func) join(i int, p Place) *Value {
	k := key{int32(i), p}
	if v := f.known[k]; v != nil {
		return v
	}
	if len(f.known) >= maxJoins || f.nested >= maxNested {
		return unknown
	}
	f.nested++
	v := newValue(f.steps[i].Addr)
	v.Kind = Join
	f.known[k] = v
	add := func(w *Value) {
		if w = w.resolve(); w != v && !slices.Contains(v.alts, w) {
			v.alts = append(v.alts, w)
		}
	}
	if i == f.entry {
		add(f.atEntry(p))
	}
	for _, n := range f.preds[i] {
		w := f.after(int(n), p)
		if w == nil {
			w = f.before(int(n), p)
		}
		add(w)
	}
	// A join of a single value, even through other joins, is that value. Which values those have is known when none waits for another.
	if len(v.alts) == 1 {
		v.same = v.alts[0]
	} else {
		f.undecided = append(f.undecided, v)
	}
	if f.nested--; f.nested == 0 {
		for _, w := range f.undecided {
			if all := w.alternatives(maxMeet); len(all) == 1 {
				w.same = all[0]
			}
		}
		f.undecided = f.undecided[:0]
	}
	return v.resolve()
}

// after returns what instruction i left in a place; nil if it did not change the place.
func (f *Func) after(i int, p Place) *Value {
	if p.size > 0 && !f.scanned {
		f.scan()
	}
	b := f.brief(i)
	switch {
	case b.failed:
		return unknown
	case b.calls:
		// Which registers, and which memory, depends on what is called.
	case p.size == 0 && !b.writes.Has(p.reg), p.size > 0 && !b.stores:
		return nil
	}
	k := key{int32(i), p}
	if v := f.made[k]; v != nil {
		return v
	}
	in := f.inst(i)
	if in == nil {
		return unknown
	}
	var v *Value
	if p.size == 0 {
		v = f.register(i, in, p.reg)
	} else {
		v = f.stored(i, in, p)
	}
	if v != nil {
		f.made[k] = v
	}
	return v
}

// register returns what an instruction put into register r; nil if it did not write to r.
func (f *Func) register(i int, in *disasm.Inst, r arch.Reg) *Value {
	v := newValue(f.steps[i].Addr)
	if in.Kind.IsCall() {
		switch {
		case f.asksForPC(in, r):
			v.Kind, v.K = Const, int64(in.Next())
			return v
		case f.abi.Preserved.Has(r), !f.changes(in).Has(r):
			return nil
		case r == f.abi.Return:
			v.Kind, v.Target = Result, in.Target
			return v
		}
		return unknown
	}
	if in.Conditional {
		return unknown
	}
	word := f.arch.WordSize
	size := int(in.Size)
	switch in.Kind { // moves and lea write only their destination
	case disasm.MovImm:
		if size >= 4 {
			v.Kind, v.K = Const, in.Imm
			return v
		}
	case disasm.Mov:
		from, to, signed, extends := in.Extends()
		switch {
		case extends:
			v.Kind, v.Base, v.Size = Cut, in.Src, from
			v.extended(signed, to)
			return v
		case size < 4:
		case size >= word:
			return f.before(i, Reg(in.Src))
		default:
			v.Kind, v.Base, v.Size = Cut, in.Src, size
			v.extended(f.signed(in), f.into(in))
			return v
		}
	case disasm.MovSPtoFP:
		return f.stackAddress(i, v, f.arch.SP, 0)
	case disasm.Lea:
		m := in.Mem()
		switch {
		case size >= word:
			return f.address(i, v, m)
		case size == 4 && f.plain(m) && m.Base != arch.NoReg && m.Base != f.arch.SP && (m.Index == arch.NoReg || m.Scale == 1 && m.Disp == 0):
			v.Kind, v.Op, v.Base, v.Index, v.K, v.Size = Arith, disasm.Plus, m.Base, m.Index, m.Disp, size
			return v
		}
	case disasm.Load, disasm.Pop, disasm.Leave:
		return f.load(i, in, r, v)
	case disasm.Other:
		if in.Selects() {
			return f.selected(i, in, v)
		}
		return f.computed(in, v)
	}
	return unknown
}

// selected makes v the Join of what a conditional move leaves and what it moves.
func (f *Func) selected(i int, in *disasm.Inst, v *Value) *Value {
	if int(in.Size) < f.arch.WordSize || in.Src == f.arch.SP {
		return unknown
	}
	left, from := in.Dst, in.Src // going back decodes other instructions into in
	var moved *Value
	if m := in.Mem(); m != nil {
		moved = f.fromMemory(i, newValue(v.At), m, f.arch.WordSize)
	} else {
		moved = f.before(i, Reg(from)).resolve()
	}
	v.Kind = Join
	if v.alts = []*Value{f.before(i, Reg(left)).resolve(), moved}; v.alts[0] == moved {
		return moved
	}
	return v
}

// computed returns the result of arithmetic.
func (f *Func) computed(in *disasm.Inst, v *Value) *Value {
	op, _, a, b, imm := in.ALU()
	switch {
	case int(in.Size) < f.arch.WordSize:
		return f.arithmetic(in, v)
	case op == disasm.ALUExtend && in.Size == 8:
		v.Kind, v.Base, v.Size = Cut, a, 4
		v.extended(true, f.into(in))
		return v
	case op == disasm.ALUAddImm && a != f.arch.SP:
		v.Kind, v.Base, v.K = Sum, a, imm
		return v
	case op == disasm.ALUAdd && a != f.arch.SP && b != f.arch.SP:
		v.Kind, v.Base, v.Index, v.Scale = Sum, a, b, 1
		return v
	}
	return f.arithmetic(in, v)
}

// arithmetic returns the result of arithmetic that is not the sum of an address.
func (f *Func) arithmetic(in *disasm.Inst, v *Value) *Value {
	const most = 3 // bits by which an operand's index can be shifted
	a, ok := in.Arith()
	switch sp := f.arch.SP; {
	case !ok || a.A == sp || a.B == sp:
		return unknown
	case a.Op == disasm.ShiftLeft && int(in.Size) == f.arch.WordSize && a.Imm <= most: // what lea does in other places
		v.Kind, v.Index, v.Scale = Sum, a.A, 1<<a.Imm
	case a.Op == disasm.Plus && int(in.Size) == f.arch.WordSize && a.B == arch.NoReg && !a.Mem: // inc, dec
		v.Kind, v.Base, v.K = Sum, a.A, a.Imm
	default:
		v.Kind, v.Op, v.Base, v.Index, v.K, v.Mem, v.Size = Arith, a.Op, a.A, a.B, a.Imm, a.Mem, int(in.Size)
	}
	return v
}

// extended says that a value is extended to a number of bytes.
func (v *Value) extended(signed bool, to int) {
	if v.Signed = signed; signed {
		v.Into = to
	}
}

// into returns to how many bytes an instruction for which signed holds certainly extends by the sign; 0 if that is not known.
func (f *Func) into(in *disasm.Inst) int {
	if f.arch.Family == arch.FamilyX86 && in.Bytes()[0]&0xf8 == 0x48 { // REX.W, before movsxd or cdqe
		return 8
	}
	return 0
}

// address makes v the address of an operand.
func (f *Func) address(i int, v *Value, m *disasm.MemOperand) *Value {
	if off, ok := f.frameOffset(i, m); ok {
		v.Kind, v.K = StackAddr, off
		return v
	}
	if !f.plain(m) {
		return unknown
	}
	if m.Base == f.arch.SP {
		if _, known := f.offsetOf(i, m.Base); !known {
			return unknown
		}
	}
	v.Base, v.Index, v.Scale, v.K = m.Base, m.Index, m.Scale, m.Disp
	v.Kind = Sum
	if m.Base == arch.NoReg && m.Index == arch.NoReg {
		v.Kind = Const
	}
	return v
}

// plain reports whether the address of an operand is a sum of registers and a constant.
func (f *Func) plain(m *disasm.MemOperand) bool {
	return m.Segment == arch.NoReg && !m.Opaque && m.IndexBits == 0 && int(m.AddrSize) >= f.arch.WordSize
}

// load returns what a load put into register r.
func (f *Func) load(i int, in *disasm.Inst, r arch.Reg, v *Value) *Value {
	ms := in.Mems()
	if len(ms) != 1 {
		return unknown
	}
	first := in.Dst
	if in.Kind == disasm.Leave {
		first = f.arch.FP
	}
	off, size, ok := transferred(f.arch, in, &ms[0], r, first, in.Dst2)
	at := ms[0]
	at.Disp += off
	if _, to, signed, extends := in.Extends(); extends {
		v.extended(signed, to)
		return f.fromMemory(i, v, &at, size)
	}
	if !ok || size < 4 {
		return unknown // the updated base register, or a part of the register
	}
	v.extended(size < f.arch.WordSize && f.signed(in), f.into(in))
	return f.fromMemory(i, v, &at, size)
}

// signed reports whether a move or load of 32 bits may extend them by their sign.
func (f *Func) signed(in *disasm.Inst) bool {
	code := in.Bytes()
	switch f.arch.Family {
	case arch.FamilyX86:
		return opcode(code) == 0x63 // movsxd
	case arch.FamilyARM64:
		w := binary.LittleEndian.Uint32(code)
		switch {
		case w>>24 == 0x98, w>>25 == 0x68>>1: // ldrsw of a literal, ldpsw
			return true
		}
		return w>>25 == 0xb8>>1 && w>>23&1 == 1 // ldrsw
	}
	return true
}

// opcode returns the first byte of an x86 instruction that is no operand size or REX prefix.
func opcode(code []byte) byte {
	for _, c := range code {
		if c != 0x66 && c&0xf0 != 0x40 {
			return c
		}
	}
	return 0
}

// fromMemory makes v the value of size bytes at an operand.
func (f *Func) fromMemory(i int, v *Value, m *disasm.MemOperand, size int) *Value {
	v.Size = size
	if off, ok := f.frameOffset(i, m); ok {
		v.Kind, v.K = Slot, off
		return v
	}
	if v = f.address(i, v, m); v.Kind == Sum || v.Kind == Const {
		v.Kind, v.Size = Load, size
		return v
	}
	return unknown
}

// transferred returns which bytes of an operand are loaded into a register, or stored from it.
func transferred(a *arch.Arch, in *disasm.Inst, m *disasm.MemOperand, r, first, second arch.Reg) (off int64, size int, ok bool) {
	size = int(m.Size)
	switch {
	case in.List != 0:
		below := in.List & (1<<r - 1)
		return int64(below.Count() * a.RegSize), a.RegSize, in.List.Has(r)
	case r == second:
		return int64(size / 2), size / 2, r != first
	case second != arch.NoReg:
		size /= 2
	}
	return 0, size, r == first
}
