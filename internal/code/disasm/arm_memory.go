package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// An armOffset is the offset added to the base of an access.
type armOffset struct {
	disp  int64
	index arch.Reg
	scale uint8
	// opaque: subtracted or shifted right.
	opaque bool
}

// gprOffset returns a constant offset, added or subtracted according to bit 23.
func (d armInst) gprOffset(n uint32) armOffset {
	if d.w&0x00800000 == 0 {
		return armOffset{disp: -int64(n), index: arch.NoReg}
	}
	return armOffset{disp: int64(n), index: arch.NoReg}
}

// indexOffset returns a register offset.
func (d armInst) indexOffset(rm arch.Reg, shift uint32, opaque bool) armOffset {
	return armOffset{index: rm, scale: 1 << (shift & 7), opaque: opaque || shift > 7 || d.w&0x00800000 == 0}
}

// access records a load or store of count registers of size bytes each, at rn plus an
// offset. pre and writeback are the bits P and W of A32; without P the base is always
// written back.
func (d armInst) access(load bool, size uint8, rt, rt2, rn arch.Reg, count int, off armOffset, pre, writeback bool) {
	m := MemOperand{Base: rn, Index: off.index, Scale: off.scale, Opaque: off.opaque, Segment: arch.NoReg, BitIndex: arch.NoReg,
		Size: uint16(size) * uint16(count), AddrSize: 4, Read: load, Write: !load}
	if rn == arch.ARMPC {
		m.Base, m.RIPRelative = arch.NoReg, off.index == arch.NoReg
		m.Disp, m.Opaque = int64(d.literal(off.disp)), !m.RIPRelative
		pre, writeback = true, false
	} else if pre {
		m.Disp = off.disp
	} else {
		m.Index, m.Opaque = arch.NoReg, false
	}
	d.Size = size
	d.Reads |= arch.Mask(m.Base, off.index)
	d.addMem(m)
	if load {
		d.Kind, d.Dst, d.Dst2 = Load, rt, rt2
		d.Writes |= arch.Mask(rt, rt2)
	} else {
		d.Kind, d.Src, d.Src2 = Store, rt, rt2
		d.Reads |= arch.Mask(rt, rt2)
	}
	if !pre || writeback {
		d.Writes |= arch.Mask(rn)
		d.Writeback = off.disp
		if off.index != arch.NoReg { // by an unknown amount
			d.Kind = Other
		}
	}
	if load && rt == arch.ARMPC {
		d.loadsPC(rn, !pre || writeback)
	}
}

// loadsPC records a load of the program counter: a return if it pops it from the stack or
// from an old frame pointer's frame.
func (d armInst) loadsPC(rn arch.Reg, pops bool) {
	d.Kind, d.Dst = JumpIndirect, arch.NoReg
	d.Writes &^= arch.Mask(arch.ARMPC)
	if rn == arch.ARMSP && pops || d.List != 0 && (rn == arch.ARMSP || rn == arch.ARMFP) {
		d.Kind = Ret
	}
}

// single decodes loads and stores of a word or byte.
func (d armInst) single(off armOffset) {
	size := uint8(4)
	if d.w&0x00400000 != 0 {
		size = 1
	}
	pre := d.w&0x01000000 != 0
	d.access(d.w&0x00100000 != 0, size, d.reg(12), arch.NoReg, d.reg(16), 1, off, pre, pre && d.w&0x00200000 != 0)
}

// registerOffset decodes single accesses with a register offset that is shifted by a
// constant.
func (d armInst) registerOffset() {
	shift, kind := d.field(7, 5), d.field(5, 2)
	d.single(d.indexOffset(d.reg(0), shift, kind != 0))
}

// extra decodes multiplications, exclusive accesses, and accesses to halves, signed bytes
// and pairs.
func (d armInst) extra() error {
	if d.w&0x60 == 0 {
		if d.w&0x01000000 != 0 {
			d.exclusive()
			return nil
		}
		d.multiply()
		return nil
	}
	off := d.gprOffset(d.field(8, 4)<<4 | d.field(0, 4))
	if d.w&0x00400000 == 0 {
		off = d.indexOffset(d.reg(0), 0, false)
	}
	load, size, count, rt2 := d.w&0x00100000 != 0, uint8(2), 1, arch.Reg(arch.NoReg)
	switch op := d.field(5, 2); {
	case op == 2 && load:
		size = 1
	case op >= 2 && !load: // ldrd, strd
		load, size, count, rt2 = op == 2, 4, 2, d.reg(12)|1
	}
	pre := d.w&0x01000000 != 0
	d.access(load, size, d.reg(12), rt2, d.reg(16), count, off, pre, pre && d.w&0x00200000 != 0)
	return nil
}

// multiply decodes mul to smlal.
func (d armInst) multiply() {
	d.op(d.reg(16), d.reg(0), d.reg(8))
	if d.w&0x00e00000 == 0 {
		return // mul has no third source
	}
	d.Reads |= arch.Mask(d.reg(12))
	if d.w&0x00800000 != 0 || d.w&0x00600000 == 0x00400000 { // products of 64 bits
		d.Reads |= arch.Mask(d.reg(16))
		d.Writes |= arch.Mask(d.reg(12))
	}
}

// exclusive decodes exclusive and ordered accesses of A32, and swp.
func (d armInst) exclusive() {
	op := d.field(20, 4)
	if op&8 == 0 {
		size := uint8(4 - 3*(op>>2&1))
		d.access(true, size, d.reg(12), arch.NoReg, d.reg(16), 1, armOffset{index: arch.NoReg}, true, false)
		d.Kind, d.mems[0].Write, d.Src = Other, true, d.reg(0)
		d.Reads |= arch.Mask(d.reg(0))
		return
	}
	size := [...]uint8{4, 8, 1, 2}[op>>1&3]
	ordered := d.field(8, 2) == 0 // lda, stl
	if op&1 != 0 {
		d.exclusiveAccess(true, size, d.reg(12), arch.NoReg, d.reg(12)|1)
		return
	}
	status := d.reg(12)
	if ordered {
		status = arch.NoReg
	}
	d.exclusiveAccess(false, size, d.reg(0), status, d.reg(0)|1)
}

// exclusiveAccess records an exclusive or ordered access at the register in bits 16 to 19.
// A store that may fail does not count as a Store.
func (d armInst) exclusiveAccess(load bool, size uint8, rt, status, rt2 arch.Reg) {
	count := 1
	if size == 8 {
		size, count = 4, 2
	} else {
		rt2 = arch.NoReg
	}
	d.access(load, size, rt, rt2, d.reg(16), count, armOffset{index: arch.NoReg}, true, false)
	if status != arch.NoReg {
		d.Kind, d.Dst = Other, status
		d.Writes |= arch.Mask(status)
	}
}

// multiple decodes ldm and stm. mode has the bits U and P.
func (d armInst) multiple(mode uint32, user bool) {
	d.transfer(d.w&0x00100000 != 0, d.reg(16), d.w&0xffff, mode&1 != 0, mode&2 != 0, d.w&0x00200000 != 0)
	if user && d.w&0x00108000 == 0x00108000 {
		d.Kind = RetFar // also restores the status
	}
}

// transfer records a load or store of a list of registers.
func (d armInst) transfer(load bool, rn arch.Reg, list uint32, up, before, writeback bool) {
	mask := arch.RegMask(list & 0xffff)
	n := int64(mask.Count()) * 4
	m := MemOperand{Base: rn, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg, Size: uint16(n), AddrSize: 4, Read: load, Write: !load}
	switch {
	case up && before:
		m.Disp = 4
	case before:
		m.Disp = -n
	case !up:
		m.Disp = 4 - n
	}
	d.addMem(m)
	d.Kind, d.List, d.Size = Store, mask, 4
	d.Reads = arch.Mask(rn) | mask
	if load {
		d.Kind, d.Reads, d.Writes = Load, arch.Mask(rn), mask
	}
	if writeback {
		d.Writeback = n
		if !up {
			d.Writeback = -n
		}
		d.Writes |= arch.Mask(rn)
	}
	if load && mask.Has(arch.ARMPC) {
		d.loadsPC(rn, writeback)
	}
}
