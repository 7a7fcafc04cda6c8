package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// x86ALU is ALU for x86: the register operations of the one-byte map (Intel SDM volume 2,
// table A-2).
func (i *Inst) x86ALU() (op ALUOp, dst, a, b arch.Reg, imm int64) {
	if i.x86.opmap != mapOne || !i.x86.legacy || i.nmem > 0 {
		return NoALU, arch.NoReg, arch.NoReg, arch.NoReg, 0
	}
	switch opcode := i.x86.op; {
	case opcode == 0x98: // cwde, cdqe
		r := x86ModeOf(i.arch).gpr[nAX]
		return ALUExtend, r, r, arch.NoReg, 0
	case opcode == 0x80 || opcode == 0x81 || opcode == 0x83:
		return i.x86Group1(i.x86.modrm >> 3 & 7)
	case opcode == 0x04 || opcode == 0x05:
		return ALUAddImm, i.Dst, i.Dst, arch.NoReg, i.Imm
	case opcode == 0x24 || opcode == 0x25:
		return ALUAndImm, i.Dst, i.Dst, arch.NoReg, i.Imm
	case opcode == 0x2c || opcode == 0x2d:
		return ALUAddImm, i.Dst, i.Dst, arch.NoReg, -i.Imm
	case opcode == 0x3c || opcode == 0x3d:
		return ALUCmpImm, arch.NoReg, i.x86Only(), arch.NoReg, i.Imm
	case opcode < 0x40 && opcode&7 < 4:
		switch opcode >> 3 {
		case 0:
			return ALUAdd, i.Dst, i.Dst, i.Src, 0
		case 5:
			return ALUSub, i.Dst, i.Dst, i.Src, 0
		case 7:
			return ALUCmp, arch.NoReg, i.Dst, i.Src, 0
		}
	}
	return NoALU, arch.NoReg, arch.NoReg, arch.NoReg, 0
}

// x86Only returns the register operand of an instruction with one.
func (i *Inst) x86Only() arch.Reg {
	if i.Dst != arch.NoReg {
		return i.Dst
	}
	return i.Src
}

// x86Group1 returns the operations with an immediate, selected by modrm.reg.
func (i *Inst) x86Group1(ext byte) (op ALUOp, dst, a, b arch.Reg, imm int64) {
	r := i.x86Only()
	switch ext {
	case 0:
		return ALUAddImm, r, r, arch.NoReg, i.Imm
	case 4:
		return ALUAndImm, r, r, arch.NoReg, i.Imm
	case 5:
		return ALUAddImm, r, r, arch.NoReg, -i.Imm
	case 7:
		return ALUCmpImm, arch.NoReg, r, arch.NoReg, i.Imm
	}
	return NoALU, arch.NoReg, arch.NoReg, arch.NoReg, 0
}

// x86UpToEqual recognises ja and jbe.
func (i *Inst) x86UpToEqual() bool {
	if i.x86.opmap == map0F {
		return i.x86.op&^1 == 0x86
	}
	return i.x86.op&^1 == 0x76
}

// DecodeInto is Decode without copying an Inst, for loops over code.
func DecodeInto(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	return decodeInto(in, a, code, pc)
}

// KeepsMemory reports whether an instruction writes back to memory what it read there: or,
// xor, add and sub of zero, with which compilers touch each page of a stack
// (-fstack-clash-protection).
func (i *Inst) KeepsMemory() bool {
	if i.arch == nil || i.arch.Family != arch.FamilyX86 || i.x86.opmap != mapOne || !i.x86.legacy || i.nmem == 0 || i.Imm != 0 {
		return false
	}
	switch i.x86.op {
	case 0x80, 0x81, 0x83:
		switch i.x86.modrm >> 3 & 7 {
		case 0, 1, 5, 6:
			return true
		}
	}
	return false
}
