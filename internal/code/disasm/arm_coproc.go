package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// clobber records a write of count double registers from n on, as far as they are in the
// register file: d8 to d15.
func (d armInst) clobber(n uint32, count int) {
	d.Writes |= armDoubles(n, count)
}

func armDoubles(n uint32, count int) (m arch.RegMask) {
	for ; count > 0; count-- {
		if n >= 8 && n <= 15 {
			m |= arch.Mask(arch.ARMD8 + arch.Reg(n-8))
		}
		n++
	}
	return m
}

// vectorRegister returns the number of the double register that is or contains the
// instruction's destination.
func (d armInst) vectorRegister() uint32 {
	if d.w&0x100 != 0 {
		return d.field(12, 4) | d.field(22, 1)<<4
	}
	return (d.field(12, 4)<<1 | d.field(22, 1)) / 2
}

// isVFP reports whether the coprocessor is the floating-point unit.
func (d armInst) isVFP() bool { return d.field(9, 3) == 5 }

// coprocessorMemory decodes vldm, vstm, vldr, vstr, and moves of two registers.
func (d armInst) coprocessorMemory() error {
	load := d.w&0x00100000 != 0
	pre, writeback := d.w&0x01000000 != 0, d.w&0x00200000 != 0
	if d.w&0x0fa00000 == 0x0c000000 { // mcrr, mrrc, vmov: bit 22 is set, or it is undefined
		if d.w&0x00400000 == 0 {
			return ErrUnknown
		}
		pair := arch.Mask(d.reg(12), d.reg(16))
		if load {
			d.Writes = pair
			return nil
		}
		d.Reads = pair
		if d.isVFP() {
			d.clobber(d.field(0, 4), 1) // of a single register, or of two
			d.clobber((d.field(0, 4)<<1|d.field(5, 1))/2, 2)
		}
		return nil
	}
	imm := d.field(0, 8)
	if !d.isVFP() || pre && !writeback {
		off := d.gprOffset(imm * 4)
		size := uint8(4)
		if d.w&0x100 != 0 && d.isVFP() {
			size = 8
		}
		rt := arch.Reg(arch.NoReg)
		if d.isVFP() && size == 8 && armDoubles(d.vectorRegister(), 1) != 0 {
			rt = arch.ARMD8 + arch.Reg(d.vectorRegister()-8)
		}
		d.access(load, size, rt, arch.NoReg, d.reg(16), 1, off, pre, writeback)
		if load && d.isVFP() {
			d.clobber(d.vectorRegister(), 1)
		}
		return nil
	}
	d.vectorList(load, writeback, imm)
	return nil
}

// vectorList records a load or store of several floating-point registers.
func (d armInst) vectorList(load, writeback bool, words uint32) {
	rn, n := d.reg(16), int64(words)*4
	m := MemOperand{Base: rn, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg, Size: uint16(n), AddrSize: 4, Read: load, Write: !load}
	up := d.w&0x00800000 != 0
	if !up {
		m.Disp = -n
	}
	d.Kind, d.Size = Store, 8
	d.Reads = arch.Mask(rn)
	if load {
		d.Kind = Load
		d.clobber(d.vectorRegister(), int(words+1)/2+1)
	}
	if writeback {
		d.Writeback = n
		if !up {
			d.Writeback = -n
		}
		d.Writes |= arch.Mask(rn)
	}
	d.addMem(m)
}

// coprocessor decodes moves between registers and coprocessors, and coprocessor operations.
func (d armInst) coprocessor() {
	rt := d.reg(12)
	switch {
	case d.w&0x10 == 0:
		if d.isVFP() {
			d.clobber(d.vectorRegister(), 1)
		} else {
			d.clobber(d.field(12, 4)|d.field(22, 1)<<4, 2) // newer SIMD
		}
	case d.w&0x00100000 != 0: // mrc, vmov, vmrs
		if rt != arch.ARMPC { // the flags
			d.Dst, d.Size, d.Writes = rt, 4, arch.Mask(rt)
		}
	default:
		d.Src, d.Size, d.Reads = rt, 4, arch.Mask(rt)
		if d.isVFP() {
			d.clobber(d.field(16, 4)|d.field(7, 1)<<4, 2)
			d.clobber((d.field(16, 4)<<1|d.field(7, 1))/2, 1)
		}
	}
}

// elements decodes loads and stores of SIMD elements and structures.
func (d armInst) elements() {
	rn, rm := d.reg(16), d.reg(0)
	load := d.w&0x00200000 != 0
	d.Reads = arch.Mask(rn)
	if load {
		d.clobber(d.field(12, 4)|d.field(22, 1)<<4, 8)
	}
	d.addMem(MemOperand{Base: rn, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg, AddrSize: 4, Read: load, Write: !load})
	if rm != arch.ARMPC {
		d.Writes |= arch.Mask(rn)
		if rm != arch.ARMSP {
			d.Reads |= arch.Mask(rm)
		}
	}
}
