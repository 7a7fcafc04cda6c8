package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// S/390 and z/Architecture: z/Architecture Principles of Operation (SA22-7832), as far as
// its instructions can change a general or floating-point register or control flow. The
// first two bits of an instruction give its length.
//
// Package words supplies mnemonics. Neither its table nor golang.org/x/arch/s390x/s390xasm v0.32.0, of which it is made,
// says which operands are read and which are written.

const (
	s390SP = uint8(arch.S390SP)
	s390LR = uint8(arch.S390LR)
)

// s390Decode decodes one instruction.
func s390Decode(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	if len(code) == 0 || len(code) < s390Len(code[0]) {
		return ErrTruncated
	}
	in.arch, in.PC, in.Len = a, pc, s390Len(code[0])
	copy(in.code[:], code[:in.Len])
	d := s390Inst{in}
	switch in.Len {
	case 2:
		return d.two()
	case 4:
		return d.four()
	}
	return d.six()
}

// s390Len returns the length of the instruction that begins with op.
func s390Len(op byte) int {
	switch op >> 6 {
	case 0:
		return 2
	case 3:
		return 6
	}
	return 4
}

// An s390Inst is an instruction being decoded.
type s390Inst struct{ *Inst }

// field returns the nibble with number n: the register fields of most formats.
func (d s390Inst) field(n int) uint8 { return d.code[n/2] >> (4 - n&1*4) & 15 }

// half returns the signed 16-bit number at byte off.
func (d s390Inst) half(off int) int64 { return int64(int16(binary.BigEndian.Uint16(d.code[off:]))) }

// full returns the signed 32-bit number at byte 2.
func (d s390Inst) full() int64 { return int64(int32(binary.BigEndian.Uint32(d.code[2:]))) }

// short returns the 12-bit displacement at byte off, after a base register.
func (d s390Inst) short(off int) int64 {
	return int64(binary.BigEndian.Uint16(d.code[off:]) & 0xfff)
}

// long returns the 20-bit displacement of the formats RXY, RSY and SIY.
func (d s390Inst) long() int64 { return int64(int8(d.code[4]))<<12 | d.short(2) }

func (s390Inst) gpr(n uint8) arch.Reg { return arch.S390R0 + arch.Reg(n&15) }

func (s390Inst) fpr(n uint8) arch.Reg { return arch.S390F0 + arch.Reg(n&15) }

// base returns general register n as part of an address, where 0 means none.
func (d s390Inst) base(n uint8) arch.Reg {
	if n&15 == 0 {
		return arch.NoReg
	}
	return d.gpr(n)
}

// narrow reports whether registers are wider than size bytes.
func (d s390Inst) narrow(size uint8) bool { return int(size) < d.arch.RegSize }

// set records an operation on size bytes with its result in r1.
func (d s390Inst) set(size, r1 uint8, reads ...uint8) {
	d.Dst, d.Size = d.gpr(r1), size
	d.Writes |= arch.Mask(d.Dst)
	for _, r := range reads {
		d.Reads |= arch.Mask(d.gpr(r))
	}
	if d.narrow(size) {
		d.Reads |= arch.Mask(d.Dst) // the upper half stays
	}
}

// pair records a result in the registers r1 and r1+1.
func (d s390Inst) pair(r1 uint8) {
	both := arch.Mask(d.gpr(r1), d.gpr(r1+1))
	d.Reads |= both
	d.Writes |= both
}

// compare records registers that are only read.
func (d s390Inst) compare(r1, r2 uint8) {
	d.Dst, d.Src = d.gpr(r1), d.gpr(r2)
	d.Reads |= arch.Mask(d.Dst, d.Src)
}

// mov records dst = src of the whole register.
func (d s390Inst) mov(dst, src arch.Reg) {
	d.Kind, d.Dst, d.Src, d.Size = Mov, dst, src, uint8(d.arch.RegSize)
	d.Reads, d.Writes = arch.Mask(src), arch.Mask(dst)
	switch {
	case dst == arch.S390FP && src == arch.S390SP:
		d.Kind = MovSPtoFP
	case dst == arch.S390SP && src == arch.S390FP:
		d.Kind = MovFPtoSP
	}
}

// constant records r1 = v.
func (d s390Inst) constant(size, r1 uint8, v int64) {
	d.set(size, r1)
	d.Imm = v
	if !d.narrow(size) {
		d.Kind = MovImm
	}
}

// add records r1 = r3 + imm, of size bytes.
func (d s390Inst) add(size, r1, r3 uint8, imm int64) {
	d.set(size, r1, r3)
	d.Src, d.Imm = d.gpr(r3), imm
	switch {
	case d.narrow(size):
	case r1 == s390SP && r3 == s390SP && imm < 0:
		d.Kind, d.Imm = SubSP, -imm
	case r1 == s390SP && r3 == s390SP:
		d.Kind = AddSP
	default:
		d.lea(r1, d.gpr(r3), arch.NoReg, imm)
	}
}

// loadAddress records la and lay.
func (d s390Inst) loadAddress(disp int64) {
	r1, x2, b2 := d.field(2), d.field(3), d.field(4)
	if x2 != 0 && b2 == 0 {
		x2, b2 = 0, x2
	}
	switch {
	case b2 == 0:
		d.constant(uint8(d.arch.RegSize), r1, disp)
	case x2 == 0 && disp == 0:
		d.mov(d.gpr(r1), d.gpr(b2))
	case x2 == 0 && r1 == s390SP && b2 == s390SP:
		d.add(uint8(d.arch.RegSize), r1, b2, disp)
	default:
		d.set(uint8(d.arch.RegSize), r1)
		d.lea(r1, d.gpr(b2), d.base(x2), disp)
	}
}

// lea records r1 = base + index + disp.
func (d s390Inst) lea(r1 uint8, base, index arch.Reg, disp int64) {
	if r1 == s390SP && index == arch.S390SP {
		base, index = index, base
	}
	d.Kind = Lea
	if r1 == s390SP {
		d.Kind = LeaSP
	}
	d.Dst, d.Size = d.gpr(r1), uint8(d.arch.RegSize)
	d.Writes |= arch.Mask(d.Dst)
	d.Reads |= arch.Mask(base, index)
	d.addMem(d.operand(0, base, index, disp))
}

// address records r1 = addr, computed from the program counter.
func (d s390Inst) address(r1 uint8, addr uint64) {
	d.lea(r1, arch.NoReg, arch.NoReg, int64(d.arch.Truncate(addr)))
	d.mems[0].RIPRelative = true
}

func (d s390Inst) operand(size uint16, base, index arch.Reg, disp int64) MemOperand {
	return MemOperand{Base: base, Index: index, Segment: arch.NoReg, BitIndex: arch.NoReg, Disp: disp,
		Scale: 1, Size: size, AddrSize: uint8(d.arch.WordSize)}
}

// memory records an access to size bytes.
func (d s390Inst) memory(size uint16, base, index uint8, disp int64, read, write bool) {
	m := d.operand(size, d.base(base), d.base(index), disp)
	m.Read, m.Write = read, write
	d.Reads |= arch.Mask(m.Base, m.Index)
	d.addMem(m)
}

// relative records an access to size bytes at an address relative to the instruction.
func (d s390Inst) relative(size uint16, read, write bool) {
	d.memory(size, 0, 0, int64(d.arch.Truncate(d.PC+uint64(2*d.full()))), read, write)
	d.mems[0].RIPRelative = true
}

// branchTo records a branch to the instruction disp halfwords away under the conditions in
// mask; a mask of all conditions makes it unconditional.
func (d s390Inst) branchTo(mask uint8, disp int64) {
	d.Target = d.arch.Truncate(d.PC + uint64(2*disp))
	switch {
	case mask == 0:
		d.Kind, d.Target = Nop, 0
	case mask == 15 && disp == 1: // into its own middle, which is not an instruction: used by compilers as a trap
		d.Kind, d.Target = Trap, 0
	case mask == 15:
		d.Kind = Jump
	case disp == 1: // a conditional trap
		d.Kind, d.Target = Other, 0
	default:
		d.Kind = CondJump
	}
}

// branchReg records a branch to register r under the conditions in mask.
func (d s390Inst) branchReg(mask, r uint8) {
	if mask == 0 || r == 0 {
		d.Kind = Nop
		return
	}
	d.Kind, d.Src, d.Conditional = JumpIndirect, d.gpr(r), mask != 15
	if r == s390LR {
		d.Kind = Ret
	}
	d.Reads |= arch.Mask(d.Src)
}

// branchMem records a branch to the address base+index+disp.
func (d s390Inst) branchMem(mask, base, index uint8, disp int64) {
	if index == 0 && disp == 0 && base != 0 {
		d.branchReg(mask, base)
		return
	}
	if mask == 0 {
		d.Kind = Nop
		return
	}
	d.Kind, d.Conditional = JumpIndirect, mask != 15
	d.memory(0, base, index, disp, false, false)
}

// link records a call that saves its return address in r1. Without a target it only gets
// its own address.
func (d s390Inst) link(r1, r2 uint8) {
	if r2 == 0 {
		d.address(r1, d.PC+uint64(d.Len))
		return
	}
	d.Kind, d.Src = CallIndirect, d.gpr(r2)
	d.Reads |= arch.Mask(d.Src)
	d.Writes |= arch.Mask(d.gpr(r1))
}

// linkTo records a direct call. If it saves the return address in the literal pool
// register, it jumps over such a pool.
func (d s390Inst) linkTo(r1 uint8, disp int64) {
	d.Kind, d.Target = Call, d.arch.Truncate(d.PC+uint64(2*disp))
	d.Writes = arch.Mask(d.gpr(r1))
	if r1 != s390LR && r1 != 0 {
		d.Kind, d.Dst = Jump, d.gpr(r1)
	}
}

// many records loads and stores of the registers from r1 to r3, size bytes each. Ranges
// that wrap from r15 to r0 are not used to save registers.
func (d s390Inst) many(kind Kind, size, r1, r3 uint8, base uint8, disp int64) error {
	n := (r3-r1)&15 + 1
	var list arch.RegMask
	for i := range n {
		list |= arch.Mask(d.gpr(r1 + i))
	}
	if r1 > r3 && kind == Load {
		return ErrUnknown
	}
	d.memory(uint16(size)*uint16(n), base, 0, disp, kind == Load, kind == Store)
	if kind == Load {
		d.Writes |= list
	} else {
		d.Reads |= list
	}
	if r1 <= r3 && int(size) == d.arch.RegSize {
		d.Kind, d.List, d.Size = kind, list, size
	}
	return nil
}

// load records a load of size bytes into a register.
func (d s390Inst) load(reg arch.Reg, size uint8, base, index uint8, disp int64) {
	d.Kind, d.Dst, d.Size = Load, reg, size
	d.Writes |= arch.Mask(reg)
	d.memory(uint16(size), base, index, disp, true, false)
}

// store records a store of size bytes of a register.
func (d s390Inst) store(reg arch.Reg, size uint8, base, index uint8, disp int64) {
	d.Kind, d.Src, d.Size = Store, reg, size
	d.Reads |= arch.Mask(reg)
	d.memory(uint16(size), base, index, disp, false, true)
}

// storeImm records a store of a constant.
func (d s390Inst) storeImm(v int64, size uint8, base uint8, disp int64) {
	d.Kind, d.Imm, d.Size = Store, v, size
	d.memory(uint16(size), base, 0, disp, false, true)
}
