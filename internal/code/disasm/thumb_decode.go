package disasm

import (
	"encoding/binary"
	mathbits "math/bits"

	"github.com/corewalk/corewalk/unwind/arch"
)

// thumbDecode decodes an instruction of T32, of two or four bytes.
func thumbDecode(in *Inst, code []byte) error {
	if len(code) < 2 {
		return ErrTruncated
	}
	half := uint32(binary.LittleEndian.Uint16(code))
	in.Len = 2
	d := armInst{in, half, in.PC + 4}
	if half>>11 < 0x1d {
		copy(in.code[:], code[:2])
		return d.thumb16()
	}
	if len(code) < 4 {
		return ErrTruncated
	}
	in.Len, in.Wide = 4, true
	copy(in.code[:], code[:4])
	d.w = half<<16 | uint32(binary.LittleEndian.Uint16(code[2:]))
	return d.thumb32()
}

// low returns the register in a field of three bits.
func (d armInst) low(at uint) arch.Reg { return arch.Reg(d.field(at, 3)) }

func (d armInst) thumb16() error {
	none := armOffset{index: arch.NoReg}
	switch top := d.w >> 11; {
	case top < 3: // shifts; none is a move
		if d.w>>6 == 0 {
			d.move(d.low(0), d.low(3))
			return nil
		}
		d.op(d.low(0), d.low(3))
	case top == 3:
		d.thumbAdd()
	case top == 4:
		d.setImmediate(d.low(8), d.w&0xff)
	case top == 5:
		d.immediate(10, d.low(8), d.low(8), d.w&0xff)
	case top == 6:
		d.lea(d.low(8), d.low(8), int64(d.w&0xff))
	case top == 7:
		d.lea(d.low(8), d.low(8), -int64(d.w&0xff))
	case top == 8:
		return d.thumbRegisters()
	case top == 9:
		d.access(true, 4, d.low(8), arch.NoReg, arch.ARMPC, 1, armOffset{disp: int64(d.w&0xff) * 4, index: arch.NoReg}, true, false)
	case top < 12:
		op := d.field(9, 3)
		size := [...]uint8{4, 2, 1, 1, 4, 2, 1, 2}[op]
		d.access(op >= 3, size, d.low(0), arch.NoReg, d.low(3), 1, armOffset{index: d.low(6), scale: 1}, true, false)
	case top < 18: // immediate offsets
		size := [...]uint8{4, 1, 2}[(top-12)/2]
		none.disp = int64(d.field(6, 5)) * int64(size)
		d.access(top&1 != 0, size, d.low(0), arch.NoReg, d.low(3), 1, none, true, false)
	case top < 20:
		none.disp = int64(d.w&0xff) * 4
		d.access(top&1 != 0, 4, d.low(8), arch.NoReg, arch.ARMSP, 1, none, true, false)
	case top == 20:
		d.lea(d.low(8), arch.ARMPC, int64(d.w&0xff)*4)
	case top == 21:
		d.lea(d.low(8), arch.ARMSP, int64(d.w&0xff)*4)
	case top < 24:
		return d.thumbMiscellaneous()
	case top < 26:
		rn, load := d.low(8), top == 25
		d.transfer(load, rn, d.w&0xff, true, false, !load || d.w>>uint(rn)&1 == 0)
	case top < 28:
		d.thumbCondition()
	default:
		d.Kind, d.Target = Jump, d.address(signExtend(uint64(d.w), 11)*2)
	}
	return nil
}

// thumbAdd decodes additions and subtractions of three operands.
func (d armInst) thumbAdd() {
	rd, rn := d.low(0), d.low(3)
	imm := int64(d.field(6, 3))
	switch d.field(9, 2) {
	case 2:
		d.lea(rd, rn, imm)
	case 3:
		d.lea(rd, rn, -imm)
	default:
		d.op(rd, rn, d.low(6))
	}
}

// thumbRegisters decodes operations on two registers, and branches to one.
func (d armInst) thumbRegisters() error {
	rd, rm := d.reg(0)&7|arch.Reg(d.field(7, 1)<<3), d.reg(3)
	switch d.field(8, 3) {
	case 4: // add
		d.op(rd, rd, rm)
	case 5:
		d.Dst, d.Src, d.Size, d.Reads = rd, rm, 4, arch.Mask(rd, rm)
	case 6:
		d.move(rd, rm)
	case 7:
		if d.w&0x80 != 0 {
			d.callTo(rm)
		} else {
			d.branchTo(rm)
		}
	default:
		rd, rm = d.low(0), d.low(3)
		switch d.field(6, 4) {
		case 8, 10, 11: // tst, cmp, cmn
			d.Dst, d.Src, d.Size, d.Reads = rd, rm, 4, arch.Mask(rd, rm)
		case 9, 15: // rsb, mvn
			d.op(rd, rm)
		default:
			d.op(rd, rd, rm)
		}
	}
	return nil
}

// thumbMiscellaneous decodes encodings that begin with 1011.
func (d armInst) thumbMiscellaneous() error {
	switch op := d.field(8, 4); op {
	case 0:
		d.lea(arch.ARMSP, arch.ARMSP, thumbStack(d.w))
	case 1, 3, 9, 11: // cbz, cbnz
		d.Kind, d.Src, d.Reads = CondJump, d.low(0), arch.Mask(d.low(0))
		d.Target = d.address(int64(d.field(9, 1)<<6 | d.field(3, 5)<<1))
	case 2: // sxth and similar
		d.op(d.low(0), d.low(3))
	case 4, 5:
		d.transfer(false, arch.ARMSP, d.w&0xff|d.w&0x100<<6, false, true, true)
	case 6: // setend, cps
	case 10:
		if d.field(6, 2) == 2 {
			d.Kind = Halt // hlt
			return nil
		}
		d.op(d.low(0), d.low(3))
	case 12, 13:
		d.transfer(true, arch.ARMSP, d.w&0xff|d.w&0x100<<7, true, false, true)
	case 14:
		d.Kind = Int3
	case 15:
		d.Kind = Nop
		if mask := d.w & 15; mask != 0 {
			d.Predicates = uint8(4 - mathbits.TrailingZeros32(mask))
		}
	default:
		return ErrUnknown
	}
	return nil
}

// thumbStack returns by how much add or sub changes the stack pointer.
func thumbStack(w uint32) int64 {
	n := int64(w&0x7f) * 4
	if w&0x80 != 0 {
		return -n
	}
	return n
}

// thumbCondition decodes b<cond>, udf and svc.
func (d armInst) thumbCondition() {
	switch cond := d.field(8, 4); cond {
	case 14:
		d.Kind, d.Imm = Trap, int64(d.w&0xff)
	case 15:
		d.Kind, d.Imm = Syscall, int64(d.w&0xff)
	default:
		d.Kind, d.Target = CondJump, d.address(signExtend(uint64(d.w), 8)*2)
	}
}
