package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// thumb32 decodes an instruction of four bytes: the first half is in the upper bits of d.w.
func (d armInst) thumb32() error {
	w := d.w
	switch {
	case w&0xec000000 == 0xec000000: // coprocessors, floating point, SIMD
		return d.thumbCoprocessor()
	case w&0xfe400000 == 0xe8000000:
		return d.thumbMultiple()
	case w&0xfe400000 == 0xe8400000:
		return d.thumbDual()
	case w&0xfe000000 == 0xea000000:
		d.thumbShifted()
	case w&0xfa008000 == 0xf0000000:
		d.thumbImmediate()
	case w&0xfa008000 == 0xf2000000:
		d.thumbPlain()
	case w&0xf8008000 == 0xf0008000:
		return d.thumbBranch()
	case w&0xff100000 == 0xf9000000, w&0xff100000 == 0xf9200000: // SIMD elements
		d.elements()
	case w&0xfe000000 == 0xf8000000:
		return d.thumbSingle()
	case w&0xff000000 == 0xfa000000:
		d.op(d.reg(8), d.reg(16), d.reg(0))
		if d.reg(16) == arch.ARMPC {
			d.Reads = arch.Mask(d.reg(0))
		}
	case w&0xff000000 == 0xfb000000:
		d.thumbMultiply()
	default:
		return ErrUnknown
	}
	return nil
}

// thumbCoprocessor decodes what A32 encodes with other upper bits.
func (d armInst) thumbCoprocessor() error {
	switch {
	case d.w&0x0f000000 == 0x0f000000: // SIMD data processing
		d.clobber(d.field(12, 4)|d.field(22, 1)<<4, 2)
		return nil
	case d.w&0x0e000000 == 0x0c000000:
		return d.coprocessorMemory()
	}
	d.coprocessor()
	return nil
}

// thumbMultiple decodes ldm, stm, and returns from exceptions.
func (d armInst) thumbMultiple() error {
	switch d.field(23, 2) {
	case 1:
		d.transfer(d.w&0x00100000 != 0, d.reg(16), d.w&0xffff, true, false, d.w&0x00200000 != 0)
	case 2:
		d.transfer(d.w&0x00100000 != 0, d.reg(16), d.w&0xffff, false, true, d.w&0x00200000 != 0)
	default:
		if d.w&0x00100000 != 0 {
			d.Kind = RetFar // rfe
		}
	}
	return nil
}

// thumbDual decodes pairs, exclusive accesses and table branches.
func (d armInst) thumbDual() error {
	load := d.w&0x00100000 != 0
	if d.w&0x01200000 != 0 {
		pre := d.w&0x01000000 != 0
		d.access(load, 4, d.reg(12), d.reg(8), d.reg(16), 2, d.gprOffset(d.field(0, 8)*4), pre, d.w&0x00200000 != 0)
		return nil
	}
	if d.w&0x00800000 == 0 { // ldrex, strex
		off := armOffset{disp: int64(d.field(0, 8)) * 4, index: arch.NoReg}
		d.access(load, 4, d.reg(12), arch.NoReg, d.reg(16), 1, off, true, false)
		if !load {
			d.Kind, d.Dst = Other, d.reg(8)
			d.Writes |= arch.Mask(d.Dst)
		}
		return nil
	}
	op := d.field(4, 4)
	if op < 2 { // tbb, tbh
		d.Kind, d.Reads = JumpIndirect, arch.Mask(d.reg(16), d.reg(0))
		d.Src = d.reg(0)
		return nil
	}
	status := d.reg(0)
	if op&0xc == 8 || load { // stl, lda
		status = arch.NoReg
	}
	d.exclusiveAccess(load, [...]uint8{1, 2, 4, 8}[op&3], d.reg(12), status, d.reg(8))
	return nil
}

// thumbShifted decodes data processing with a register that may be shifted.
func (d armInst) thumbShifted() {
	rd, rn, rm := d.reg(8), d.reg(16), d.reg(0)
	opcode, flags := d.field(21, 4), d.w&0x00100000 != 0
	switch {
	case rd == arch.ARMPC && flags: // tst, teq, cmn, cmp
		d.Dst, d.Src, d.Size, d.Reads = rn, rm, 4, arch.Mask(rn, rm)
	case (opcode == 2 || opcode == 3) && rn == arch.ARMPC:
		if opcode == 2 && d.w&0x70f0 == 0 {
			d.move(rd, rm)
			return
		}
		d.op(rd, rm)
	default:
		d.op(rd, rn, rm)
	}
}

// thumbImmediate decodes data processing with a modified immediate.
func (d armInst) thumbImmediate() {
	rd, rn := d.reg(8), d.reg(16)
	value := thumbExpand(d.field(26, 1)<<11 | d.field(12, 3)<<8 | d.field(0, 8))
	opcode, flags := d.field(21, 4), d.w&0x00100000 != 0
	if rd == arch.ARMPC && flags {
		compare := uint32(armTST)
		if opcode == 13 {
			compare = 10
		}
		d.immediate(compare, rd, rn, value)
		return
	}
	switch opcode {
	case 0:
		d.mask(rd, rn, value)
	case 1:
		d.mask(rd, rn, ^value)
	case 2:
		if rn == arch.ARMPC {
			d.setImmediate(rd, value)
			return
		}
		d.op(rd, rn)
	case 3:
		if rn == arch.ARMPC {
			d.setImmediate(rd, ^value)
			return
		}
		d.op(rd, rn)
	case 8:
		d.lea(rd, rn, int64(int32(value)))
	case 13:
		d.lea(rd, rn, -int64(int32(value)))
	default:
		d.op(rd, rn)
	}
}

// thumbExpand returns the value of a modified immediate (ThumbExpandImm).
func thumbExpand(imm uint32) uint32 {
	b := imm & 0xff
	switch imm >> 8 {
	case 0:
		return b
	case 1:
		return b<<16 | b
	case 2:
		return b<<24 | b<<8
	case 3:
		return b<<24 | b<<16 | b<<8 | b
	}
	return armRotate(imm&0x7f|0x80, imm>>7)
}

// thumbPlain decodes data processing with a plain immediate.
func (d armInst) thumbPlain() {
	rd, rn := d.reg(8), d.reg(16)
	imm := d.field(26, 1)<<11 | d.field(12, 3)<<8 | d.field(0, 8)
	switch d.field(20, 5) {
	case 0:
		d.lea(rd, rn, int64(imm))
	case 10:
		d.lea(rd, rn, -int64(imm))
	case 4:
		d.setImmediate(rd, d.field(16, 4)<<12|imm)
	case 12: // movt
		d.op(rd)
		d.Reads = d.Writes
	default:
		d.op(rd, rn)
		d.Reads |= d.Writes // bfi keeps the rest
	}
}

// thumbBranch decodes branches and control instructions.
func (d armInst) thumbBranch() error {
	w := d.w
	s, j1, j2 := w>>26&1, w>>13&1, w>>11&1
	far := func(low uint32) int64 {
		i1, i2 := ^(j1^s)&1, ^(j2^s)&1
		return signExtend(uint64(s<<24|i1<<23|i2<<22|w>>16&0x3ff<<12|low), 25)
	}
	switch w & 0xd000 {
	case 0x9000:
		d.Kind, d.Target = Jump, d.address(far(w&0x7ff<<1))
	case 0xd000:
		d.Kind, d.Target, d.Writes = Call, d.address(far(w&0x7ff<<1)), arch.Mask(arch.ARMLR)
	case 0xc000: // blx
		d.Kind, d.Writes, d.Switches = Call, arch.Mask(arch.ARMLR), true
		d.Target = d.literal(far(w & 0x7fe << 1))
	default:
		if w&0x03800000 == 0x03800000 {
			return d.thumbControl()
		}
		off := s<<20 | j2<<19 | j1<<18 | w>>16&0x3f<<12 | w&0x7ff<<1
		d.Kind, d.Target = CondJump, d.address(signExtend(uint64(off), 21))
	}
	return nil
}

func (d armInst) thumbControl() error {
	switch w := d.w; {
	case w&0xfff0f000 == 0xf7f0a000:
		d.Kind, d.Imm = Trap, int64(d.field(16, 4)<<12|d.field(0, 12))
	case w&0xfff0f000 == 0xf7f08000, w&0xfff0f000 == 0xf7e08000: // smc, hvc
		d.Kind = Halt
	case w&0xffe0d000 == 0xf3e08000: // mrs
		d.op(d.reg(8))
	case w&0xfff0d000 == 0xf3d08000: // subs pc, lr; eret
		d.Kind = RetFar
	case w&0xfff0d000 == 0xf3c08000: // bxj
		d.branchTo(d.reg(16))
	case w&0xfff0d700 == 0xf3a08000:
		d.Kind = Nop
	}
	return nil // msr, barriers
}

// thumbSingle decodes loads and stores of one register.
func (d armInst) thumbSingle() error {
	load := d.w&0x00100000 != 0
	size := uint8(1) << d.field(21, 2)
	rt, rn := d.reg(12), d.reg(16)
	if size == 8 {
		return ErrUnknown
	}
	if load && size < 4 && rt == arch.ARMPC {
		d.Kind = Nop // pld, pli
		return nil
	}
	off := armOffset{index: arch.NoReg}
	pre, writeback := true, false
	switch {
	case rn == arch.ARMPC:
		off = d.gprOffset(d.field(0, 12))
	case d.w&0x00800000 != 0:
		off.disp = int64(d.field(0, 12))
	case d.w&0x800 != 0:
		off.disp = int64(d.field(0, 8))
		if d.w&0x200 == 0 {
			off.disp = -off.disp
		}
		pre, writeback = d.w&0x400 != 0, d.w&0x100 != 0
	case d.w&0xfc0 == 0:
		off.index, off.scale = d.reg(0), 1<<d.field(4, 2)
	default:
		return ErrUnknown
	}
	if !pre && !writeback {
		return ErrUnknown
	}
	d.access(load, size, rt, arch.NoReg, rn, 1, off, pre, writeback)
	return nil
}

// thumbMultiply decodes multiplications and divisions.
func (d armInst) thumbMultiply() {
	d.op(d.reg(8), d.reg(16), d.reg(0))
	if ra := d.reg(12); ra != arch.ARMPC {
		d.Reads |= arch.Mask(ra)
		if d.w&0x00800000 != 0 { // products of 64 bits
			d.Reads |= arch.Mask(d.reg(8))
			d.Writes |= arch.Mask(ra)
		}
	}
}
