package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// A Compare is what an instruction compares. Each operand is a register, the instruction's memory operand, or Imm;
// all have the instruction's Size.
type Compare struct {
	And        bool     // the flags are those of a & b, else those of a - b
	A, B       arch.Reg // NoReg if the operand is something else
	MemA, MemB bool
	Imm        int64 // b, if it is neither a register nor memory
}

// Compare returns what an instruction compares that does nothing else: cmp and test of x86, cmp and tst of A64. It returns false for other
// instructions, and if an operand is the high byte of a 16-bit register.
func (i *Inst) Compare() (c Compare, ok bool) {
	switch familyOf(i.arch) {
	case arch.FamilyX86:
		return i.x86Compare()
	case arch.FamilyARM64:
		return i.arm64Compare()
	}
	return c, false
}

func (i *Inst) x86Compare() (c Compare, ok bool) {
	if i.x86.opmap != mapOne || !i.x86.legacy {
		return c, false
	}
	c.A, c.B = arch.NoReg, arch.NoReg
	mem := i.nmem > 0
	only := i.x86Only()
	switch op, ext := i.x86.op, i.x86.modrm>>3&7; {
	case op == 0x3c || op == 0x3d || op == 0xa8 || op == 0xa9: // with the accumulator, always by its low part
		c.A, c.Imm, c.And = x86ModeOf(i.arch).gpr[nAX], i.Imm, op >= 0xa8
		return c, true
	case (op == 0x80 || op == 0x81 || op == 0x83) && ext == 7, (op == 0xf6 || op == 0xf7) && ext < 2:
		c.Imm, c.And, c.MemA = i.Imm, op >= 0xf6, mem
		if !mem {
			c.A = only
		}
	case op == 0x38 || op == 0x39 || op == 0x84 || op == 0x85: // r/m with a register
		c.And = op >= 0x84
		if c.MemA = mem; mem {
			c.B = only
		} else {
			c.A, c.B = i.Dst, i.Src
		}
	case op == 0x3a || op == 0x3b: // a register with r/m
		if c.MemB = mem; mem {
			c.A = only
		} else {
			c.A, c.B = i.Dst, i.Src
		}
	default:
		return c, false
	}
	return c, i.Size > 1 || !i.x86HighByte()
}

// x86HighByte reports whether an operand may be ah, ch, dh or bh. A modrm byte that holds part of an opcode there counts
// too if its register number does.
func (i *Inst) x86HighByte() bool {
	for _, c := range i.Bytes() {
		if c&0xf0 == 0x40 {
			return false // REX: spl and others instead
		}
		if c == i.x86.op {
			break
		}
	}
	group := i.x86.op == 0x80 || i.x86.op == 0xf6
	return !group && i.x86.modrm>>3&7 >= 4 || i.x86.modrm >= 0xc0 && i.x86.modrm&7 >= 4
}

// KeepsFlags reports whether an instruction of x86 or A64 surely leaves the flags as they are.
func (i *Inst) KeepsFlags() bool {
	switch familyOf(i.arch) {
	case arch.FamilyX86:
	case arch.FamilyARM64:
		return i.arm64KeepsFlags()
	default:
		return false
	}
	switch i.Kind {
	case Nop, Endbr, Jump, CondJump, Mov, Load, Store, Lea:
		return true
	case MovImm:
		return i.x86.opmap == mapOne && i.x86.op >= 0xb0 // not xor of a register with itself
	}
	return false
}

// Selects reports whether an instruction of x86 moves its source to its destination under a condition, and else leaves that as it is.
func (i *Inst) Selects() bool {
	return i.arch != nil && i.arch.Family == arch.FamilyX86 && i.x86.legacy && i.x86.opmap == map0F && i.x86.op&0xf0 == 0x40
}

// JumpsAfter reports whether a conditional jump jumps, or a conditional move moves, if it follows an instruction that compared a with b, operands of
// size bytes. It returns false, false for conditions that do not depend on that alone.
func (i *Inst) JumpsAfter(c *Compare, size uint8, a, b uint64) (jumps, ok bool) {
	if familyOf(i.arch) == arch.FamilyARM64 {
		return i.arm64JumpsAfter(c.And, size, a, b)
	}
	if i.Kind != CondJump && !i.Selects() || i.arch == nil || i.arch.Family != arch.FamilyX86 || !i.x86.legacy || size < 1 || size > 8 {
		return false, false
	}
	cond := i.x86.op - 0x70
	switch {
	case i.Selects():
		cond = i.x86.op - 0x40
	case i.x86.opmap == map0F:
		cond = i.x86.op - 0x80
	}
	if cond > 15 {
		return false, false // loop, jrcxz
	}
	top := uint64(1) << (8*size - 1)
	mask := top | (top - 1)
	a, b = a&mask, b&mask
	r, carry, overflow := (a-b)&mask, a < b, (a^b)&(a^(a-b))&top != 0
	if c.And {
		r, carry, overflow = a&b, false, false
	}
	zero, sign := r == 0, r&top != 0
	switch cond >> 1 {
	case 0:
		jumps = overflow
	case 1:
		jumps = carry
	case 2:
		jumps = zero
	case 3:
		jumps = carry || zero
	case 4:
		jumps = sign
	case 6:
		jumps = sign != overflow
	case 7:
		jumps = zero || sign != overflow
	default:
		return false, false // parity
	}
	return jumps != (cond&1 == 1), true
}
