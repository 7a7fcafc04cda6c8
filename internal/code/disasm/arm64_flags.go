package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// arm64Compare is Inst.Compare for A64: cmp, cmn with a constant, and tst, without shifted or extended operands.
func (i *Inst) arm64Compare() (c Compare, ok bool) {
	d := arm64Inst{i, binary.LittleEndian.Uint32(i.code[:])}
	c.A, c.B = d.gpr(5), arch.NoReg
	switch {
	case d.w&0x7f80001f == 0x7100001f: // cmp with a constant
		c.A, c.Imm = d.gprSP(5), -i.Imm
	case d.w&0x7f80001f == 0x3100001f && i.Imm != 0: // cmn: without 0 the flags are those of a - -imm
		c.A, c.Imm = d.gprSP(5), -i.Imm
	case d.w&0x7f80001f == 0x7200001f:
		c.And, c.Imm = true, i.Imm
	case d.w&0x7fe0fc1f == 0x6b00001f:
		c.B = d.gpr(16)
	case d.w&0x7fe0fc1f == 0x6a00001f:
		c.And, c.B = true, d.gpr(16)
	default:
		return Compare{}, false
	}
	return c, c.A != arch.NoReg // not of the zero register
}

// arm64KeepsFlags is Inst.KeepsFlags for A64, where what sets flags has a kind of its own or none.
func (i *Inst) arm64KeepsFlags() bool {
	switch i.Kind {
	case Nop, Jump, CondJump, Mov, MovImm, Load, Store, Lea, AddSP, SubSP:
		return true
	}
	return false
}

// arm64JumpsAfter is Inst.JumpsAfter for b.cond of A64.
func (i *Inst) arm64JumpsAfter(and bool, size uint8, a, b uint64) (jumps, ok bool) {
	w := binary.LittleEndian.Uint32(i.code[:])
	if i.Kind != CondJump || w>>24 != 0x54 || size != 4 && size != 8 {
		return false, false
	}
	top := uint64(1) << (8*size - 1)
	mask := top | (top - 1)
	a, b = a&mask, b&mask
	r, carry, overflow := (a-b)&mask, a >= b, (a^b)&(a^(a-b))&top != 0
	if and {
		r, carry, overflow = a&b, false, false
	}
	zero, sign := r == 0, r&top != 0
	switch w >> 1 & 7 {
	case 0:
		jumps = zero
	case 1:
		jumps = carry
	case 2:
		jumps = sign
	case 3:
		jumps = overflow
	case 4:
		jumps = carry && !zero
	case 5:
		jumps = sign == overflow
	case 6:
		jumps = !zero && sign == overflow
	}
	return jumps != (w&1 == 1), true
}
