package provenance

import (
	"math"
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/unwind/arch"
)

// below is how far before and after an array on the stack, in bytes, an indexed access may have its base:
// compilers fold the constant part of an index into it.
const below = 64

// frameOffset returns the offset from the CFA of an operand without an index.
func (f *Func) frameOffset(i int, m *disasm.MemOperand) (int64, bool) {
	if indexed(m) || m.Segment != arch.NoReg {
		return 0, false
	}
	off, ok := f.offsetOf(i, m.Base)
	return off + m.Disp, ok
}

// indexed reports whether the address of an operand is more than a register and a constant.
func indexed(m *disasm.MemOperand) bool {
	return m.Index != arch.NoReg || m.BitIndex != arch.NoReg || m.Vector
}

// offsetOf returns the offset from the CFA that a register, mostly the stack or frame pointer, has before an
// instruction.
func (f *Func) offsetOf(i int, r arch.Reg) (int64, bool) {
	if r == arch.NoReg {
		return 0, false
	}
	k := key{int32(i), Reg(r)}
	if o, ok := f.offsets[k]; ok {
		return o.off, o.ok
	}
	off, ok := f.findOffset(i, r)
	f.offsets[k] = frameOffset{off, ok}
	return off, ok
}

// A frameOffset is an offset from the CFA; ok is false if it is not known.
type frameOffset struct {
	off int64
	ok  bool
}

func (f *Func) findOffset(i int, r arch.Reg) (int64, bool) {
	f.rows, _ = f.flow.Rows(f.rows[:0], f.steps[i].Addr)
	if len(f.rows) != 1 {
		return 0, false
	}
	row := f.rows[0]
	for _, c := range [...]stackflow.CFARule{row.CFA, row.BySP} {
		if c.Reg == r && !c.Deref {
			return -c.Off, true
		}
	}
	return 0, false
}

// stackAddress makes v the value of the stack or frame pointer plus disp.
func (f *Func) stackAddress(i int, v *Value, r arch.Reg, disp int64) *Value {
	off, ok := f.offsetOf(i, r)
	if !ok {
		return unknown
	}
	v.Kind, v.K = StackAddr, off+disp
	return v
}

// stored returns what an instruction put into some bytes of the frame; nil if it did not write to them.
func (f *Func) stored(i int, in *disasm.Inst, p Place) *Value {
	switch {
	case in.Kind.IsCall():
		if sp, ok := f.offsetOf(i, f.arch.SP); f.open(p) || ok && p.off < sp {
			return unknown // what is below the stack pointer belongs to the called function
		}
		return nil
	case in.Kind == disasm.Syscall && f.open(p):
		return unknown
	}
	ms := in.Mems()
	for n := range ms {
		m := &ms[n]
		if !m.Write {
			continue
		}
		frame := m.Base == f.arch.SP || m.Base == f.arch.FP
		off, ok := f.frameOffset(i, m)
		switch {
		case ok:
			switch {
			case off >= p.off+int64(p.size): // behind it
			case m.Size == 0: // of unknown size
				return unknown
			case off+int64(m.Size) > p.off:
				return f.storedBy(i, in, m, off, p)
			}
		case frame && indexed(m):
			if base, ok := f.offsetOf(i, m.Base); !ok || f.near(base+m.Disp, p) {
				return unknown
			}
		case m.Base == f.arch.SP && m.Segment == arch.NoReg, f.open(p): // the stack pointer is not known
			return unknown
		}
	}
	return nil
}

// storedBy returns what a store that overlaps p put there.
func (f *Func) storedBy(i int, in *disasm.Inst, m *disasm.MemOperand, off int64, p Place) *Value {
	if k, ok := in.Adds(); ok && off == p.off && int(m.Size) == p.size {
		v := newValue(f.steps[i].Addr)
		v.Kind, v.K, v.Size = Added, k, p.size
		return v
	}
	if in.Conditional || in.StoresHigh() || in.Kind != disasm.Store && in.Kind != disasm.Push {
		return unknown
	}
	whole := off == p.off && int(m.Size) == p.size
	if ms := in.Mems(); len(ms) > 1 { // a push of memory
		if !whole {
			return unknown
		}
		return f.fromMemory(i, newValue(f.steps[i].Addr), &ms[0], p.size)
	}
	for regs := in.List | arch.Mask(in.Src, in.Src2); regs != 0; regs &= regs - 1 {
		r := regs.First()
		at, size, ok := transferred(f.arch, in, m, r, in.Src, in.Src2)
		if ok && off+at == p.off && size == p.size && r != f.arch.SP {
			return f.before(i, Reg(r))
		}
	}
	if whole && f.immediate(in) {
		v := newValue(f.steps[i].Addr)
		v.Kind, v.K, v.Size = Const, in.Imm, p.size
		return v
	}
	return unknown
}

// immediate reports whether a store or push is x86's of a constant.
func (f *Func) immediate(in *disasm.Inst) bool {
	if f.arch.Family != arch.FamilyX86 {
		return false
	}
	switch opcode(in.Bytes()) {
	case 0x68, 0x6a, 0xc6, 0xc7:
		return true
	}
	return false
}

// open reports whether other code may write to a place, because its address escapes.
func (f *Func) open(p Place) bool {
	if open, ok := f.opened[p]; ok {
		return open
	}
	open := f.isOpen(p)
	f.opened[p] = open
	return open
}

// scan collects the frame addresses that the code computes. It decodes the whole function.
func (f *Func) scan() {
	f.scanned = true
	f.taken = f.addressesTaken()
	slices.Sort(f.taken)
	f.taken = slices.Compact(f.taken)
}

func (f *Func) isOpen(p Place) bool {
	for _, off := range f.taken {
		low, high, ok := int64(0), int64(0), false
		if f.Object != nil {
			low, high, ok = f.Object(off)
		}
		if !ok {
			low, high = off, math.MaxInt64 // what is above it may be a part of the same variable
		}
		if p.off < high && p.off+int64(p.size) > low {
			return true
		}
	}
	return false
}

// near reports whether an indexed access at off may touch p.
func (f *Func) near(off int64, p Place) bool {
	if f.Object != nil {
		if low, high, ok := f.Object(off); ok {
			return p.off < high+below && p.off+int64(p.size) > low-below
		}
	}
	return true
}

// addressesTaken lists the frame offsets whose address the code computes.
func (f *Func) addressesTaken() []int64 {
	const everything = -1 << 62
	var out []int64
	for i := range f.steps {
		in := f.inst(i)
		if in == nil {
			return []int64{everything}
		}
		take := func(r arch.Reg, disp int64) {
			if off, ok := f.offsetOf(i, r); ok {
				out = append(out, off+disp)
			} else if r == f.arch.SP {
				out = append(out, everything)
			}
		}
		switch in.Kind {
		case disasm.Lea:
			if m := in.Mem(); in.Dst != f.arch.FP {
				take(m.Base, m.Disp)
				take(m.Index, 0)
			}
		case disasm.Mov:
			take(in.Src, 0)
		case disasm.Store, disasm.Push:
			take(in.Src, 0)
			take(in.Src2, 0)
		case disasm.Other:
			if in.Selects() {
				take(in.Src, 0)
			} else if _, dst, a, b, imm := in.ALU(); dst != arch.NoReg && dst != f.arch.SP {
				take(a, imm)
				take(b, 0)
			}
		}
	}
	return out
}

// FrameOffset is the offset from the CFA of what the instruction at an address reads or writes in the frame; false if it does neither, or that is not known.
func (f *Func) FrameOffset(addr uint64) (int64, bool) {
	i, ok := f.index(addr)
	if !ok {
		return 0, false
	}
	in := f.inst(i)
	if in == nil {
		return 0, false
	}
	m := in.Mem()
	if m == nil {
		return 0, false
	}
	return f.frameOffset(i, m)
}
