package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// armALU is Inst.ALU for both sets: of registers that are not shifted.
func (i *Inst) armALU() (op ALUOp, dst, a, b arch.Reg, imm int64) {
	none := arch.Reg(arch.NoReg)
	if i.Len == 4 {
		w := binary.LittleEndian.Uint32(i.code[:])
		if i.Wide {
			w = w<<16 | w>>16
			return i.thumbALU(w)
		}
		switch {
		case w&0x0fe00ff0 == 0x00800000:
			return ALUAdd, i.Dst, i.Src, arch.Reg(w & 15), 0
		case w&0x0fe00ff0 == 0x00400000:
			return ALUSub, i.Dst, i.Src, arch.Reg(w & 15), 0
		case w&0x0ff0fff0 == 0x01500000:
			return ALUCmp, none, i.Dst, i.Src, 0
		case w&0x0ff0f000 == 0x03500000:
			return ALUCmpImm, none, i.Dst, none, i.Imm
		}
		return NoALU, none, none, none, 0
	}
	w := uint32(binary.LittleEndian.Uint16(i.code[:]))
	switch {
	case w>>9 == 0x1800>>9:
		return ALUAdd, i.Dst, i.Src, arch.Reg(w >> 6 & 7), 0
	case w>>9 == 0x1a00>>9:
		return ALUSub, i.Dst, i.Src, arch.Reg(w >> 6 & 7), 0
	case w>>8 == 0x44:
		return ALUAdd, i.Dst, i.Src, arch.Reg(w >> 3 & 15), 0
	case w>>11 == 5:
		return ALUCmpImm, none, i.Dst, none, i.Imm
	case w>>8 == 0x45, w>>6 == 0x4280>>6:
		return ALUCmp, none, i.Dst, i.Src, 0
	}
	return NoALU, none, none, none, 0
}

func (i *Inst) thumbALU(w uint32) (op ALUOp, dst, a, b arch.Reg, imm int64) {
	none := arch.Reg(arch.NoReg)
	switch {
	case w&0xffe0f0f0 == 0xeb000000:
		return ALUAdd, i.Dst, i.Src, arch.Reg(w & 15), 0
	case w&0xffe0f0f0 == 0xeba00000 && w&0xf00 != 0xf00:
		return ALUSub, i.Dst, i.Src, arch.Reg(w & 15), 0
	case w&0xfff0fff0 == 0xebb00f00:
		return ALUCmp, none, i.Dst, i.Src, 0
	case w&0xfbf08f00 == 0xf1b00f00:
		return ALUCmpImm, none, i.Dst, none, i.Imm
	}
	return NoALU, none, none, none, 0
}
