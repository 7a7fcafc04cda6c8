package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// compressed decodes an instruction of two bytes: the C extension of RV64, and Zcb.
func (d riscvInst) compressed(h uint16) error {
	w := uint32(h)
	switch w & 3 {
	case 0:
		return d.quadrant0(w)
	case 1:
		return d.quadrant1(w)
	}
	return d.quadrant2(w)
}

// bitField returns bits hi to lo of w.
func bitField(w uint32, hi, lo uint) uint32 { return w >> lo & (1<<(hi-lo+1) - 1) }

func (d riscvInst) quadrant0(w uint32) error {
	rd, rs1 := 8+bitField(w, 4, 2), 8+bitField(w, 9, 7)
	disp8 := int64(bitField(w, 12, 10)<<3 | bitField(w, 6, 5)<<6)
	disp4 := int64(bitField(w, 12, 10)<<3 | bitField(w, 6, 6)<<2 | bitField(w, 5, 5)<<6)
	switch w >> 13 {
	case 0:
		imm := bitField(w, 12, 11)<<4 | bitField(w, 10, 7)<<6 | bitField(w, 6, 6)<<2 | bitField(w, 5, 5)<<3
		switch {
		case w == 0:
			d.Kind = Trap // unimp
		case imm == 0:
			return ErrUnknown
		default:
			d.add(rd, uint32(arch.RISCVSP), int64(imm))
		}
	case 1:
		d.access(Load, d.fpr(rd), rs1, disp8, 8)
	case 2:
		d.access(Load, d.gpr(rd), rs1, disp4, 4)
	case 3:
		d.access(Load, d.gpr(rd), rs1, disp8, 8)
	case 4:
		return d.narrow(w, rd, rs1)
	case 5:
		d.access(Store, d.fpr(rd), rs1, disp8, 8)
	case 6:
		d.access(Store, d.gpr(rd), rs1, disp4, 4)
	case 7:
		d.access(Store, d.gpr(rd), rs1, disp8, 8)
	}
	return nil
}

// narrow decodes Zcb's loads and stores of one and two bytes.
func (d riscvInst) narrow(w, rd, rs1 uint32) error {
	byteDisp := int64(bitField(w, 5, 5)<<1 | bitField(w, 6, 6))
	halfDisp := int64(bitField(w, 5, 5) << 1)
	switch bitField(w, 12, 10) {
	case 0:
		d.access(Load, d.gpr(rd), rs1, byteDisp, 1)
	case 1:
		d.access(Load, d.gpr(rd), rs1, halfDisp, 2)
	case 2:
		d.access(Store, d.gpr(rd), rs1, byteDisp, 1)
	case 3:
		d.access(Store, d.gpr(rd), rs1, halfDisp, 2)
	default:
		return ErrUnknown
	}
	return nil
}

func (d riscvInst) quadrant1(w uint32) error {
	rd := bitField(w, 11, 7)
	imm := signed(bitField(w, 12, 12)<<5|bitField(w, 6, 2), 6)
	switch w >> 13 {
	case 0:
		d.add(rd, rd, imm)
	case 1:
		if rd == 0 {
			return ErrUnknown
		}
		d.alu(rd, rd, 0)
		d.Size = 4
	case 2:
		d.add(rd, 0, imm)
	case 3:
		if imm == 0 {
			return ErrUnknown // includes Zcmop (may-be-operations)
		}
		if sp := uint32(arch.RISCVSP); rd == sp {
			d.add(sp, sp, signed(bitField(w, 12, 12)<<9|bitField(w, 6, 6)<<4|bitField(w, 5, 5)<<6|bitField(w, 4, 3)<<7|bitField(w, 2, 2)<<5, 10))
			break
		}
		d.alu(rd, 0, 0)
		d.Kind, d.Imm = MovImm, imm<<12
	case 4:
		d.arithmetic(w)
	case 5:
		d.jal(0, signed(bitField(w, 12, 12)<<11|bitField(w, 11, 11)<<4|bitField(w, 10, 9)<<8|bitField(w, 8, 8)<<10|bitField(w, 7, 7)<<6|
			bitField(w, 6, 6)<<7|bitField(w, 5, 3)<<1|bitField(w, 2, 2)<<5, 12))
	default:
		d.branch(8+bitField(w, 9, 7), 0, signed(bitField(w, 12, 12)<<8|bitField(w, 11, 10)<<3|bitField(w, 6, 5)<<6|bitField(w, 4, 3)<<1|bitField(w, 2, 2)<<5, 9))
	}
	return nil
}

// arithmetic decodes srli, srai, andi, and the operations on two of x8 to x15, which a walk
// does not need.
func (d riscvInst) arithmetic(w uint32) {
	rd := 8 + bitField(w, 9, 7)
	if bitField(w, 11, 10) == 3 {
		d.alu(rd, rd, 8+bitField(w, 4, 2))
		return
	}
	d.alu(rd, rd, 0)
}

func (d riscvInst) quadrant2(w uint32) error {
	rd, rs2, sp := bitField(w, 11, 7), bitField(w, 6, 2), uint32(arch.RISCVSP)
	load8 := int64(bitField(w, 12, 12)<<5 | bitField(w, 6, 5)<<3 | bitField(w, 4, 2)<<6)
	store8 := int64(bitField(w, 12, 10)<<3 | bitField(w, 9, 7)<<6)
	switch w >> 13 {
	case 0:
		d.alu(rd, rd, 0)
	case 1:
		d.access(Load, d.fpr(rd), sp, load8, 8)
	case 2, 3:
		if rd == 0 {
			return ErrUnknown
		}
		if w>>13 == 3 {
			d.access(Load, d.gpr(rd), sp, load8, 8)
		} else {
			d.access(Load, d.gpr(rd), sp, int64(bitField(w, 12, 12)<<5|bitField(w, 6, 4)<<2|bitField(w, 3, 2)<<6), 4)
		}
	case 4:
		return d.moves(w, rd, rs2)
	case 5:
		d.access(Store, d.fpr(rs2), sp, store8, 8)
	case 6:
		d.access(Store, d.gpr(rs2), sp, int64(bitField(w, 12, 9)<<2|bitField(w, 8, 7)<<6), 4)
	case 7:
		d.access(Store, d.gpr(rs2), sp, store8, 8)
	}
	return nil
}

// moves decodes c.jr, c.mv, c.ebreak, c.jalr and c.add.
func (d riscvInst) moves(w, rd, rs2 uint32) error {
	switch link := bitField(w, 12, 12) != 0; {
	case !link && rs2 == 0 && rd == 0:
		return ErrUnknown
	case !link && rs2 == 0:
		d.jump(0, rd, 0)
	case !link:
		d.add(rd, rs2, 0)
	case rs2 == 0 && rd == 0:
		d.Kind = Int3
	case rs2 == 0:
		d.jump(uint32(arch.RISCVRA), rd, 0)
	case rd == 0:
		d.Kind = Nop
	default:
		d.lea(rd, rd, rs2, 0)
	}
	return nil
}
