package disasm

import "github.com/corewalk/corewalk/unwind/arch"

func armDecode(in *Inst, a *arch.Arch, code []byte, pc uint64) error      { return unsupported(a) }
func armText(i *Inst, opts TextOptions) string                            { return i.rawText() }
func armCallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) { return CallSite{}, false }
func (i *Inst) armALU() (op ALUOp, dst, a, b arch.Reg, imm int64) {
	return NoALU, arch.NoReg, arch.NoReg, arch.NoReg, 0
}
