package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// An ALUOp is an arithmetic operation that matters for following the stack pointer and jump
// tables.
type ALUOp uint8

// The operations. dst, a and b are general registers.
const (
	NoALU     ALUOp = iota
	ALUAdd          // dst = a + b
	ALUSub          // dst = a - b
	ALUAddImm       // dst = a + imm; also subtraction of a constant
	ALUAndImm       // dst = a & imm
	ALUCmp          // flags of a - b
	ALUCmpImm       // flags of a - imm
	ALUExtend       // dst = a, extended
)

// ALU returns what an instruction of Kind Other computes, if its operands are registers of
// Size bytes or the constant imm. For all other instructions it returns NoALU.
func (i *Inst) ALU() (op ALUOp, dst, a, b arch.Reg, imm int64) {
	if i.Kind == Other {
		switch familyOf(i.arch) {
		case arch.FamilyX86:
			return i.x86ALU()
		case arch.FamilyARM64:
			return i.arm64ALU()
		case arch.FamilyARM:
			return i.armALU()
		}
	}
	return NoALU, arch.NoReg, arch.NoReg, arch.NoReg, 0
}

// UpToEqual reports whether a conditional jump treats equal operands like a first operand
// below the second: unsigned "above" and "below or equal".
func (i *Inst) UpToEqual() bool {
	return i.Kind == CondJump && familyOf(i.arch) == arch.FamilyX86 && i.x86UpToEqual()
}
