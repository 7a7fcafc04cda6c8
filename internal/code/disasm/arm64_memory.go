package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// memory decodes loads and stores.
func (d arm64Inst) memory() error {
	switch group := d.field(24, 6); {
	case group&^1 == 0x0c: // SIMD structures, 0x0c and 0x0d with V
		d.structures()
	case group == 0x08:
		d.exclusive()
	case group&0x3b == 0x18 && d.field(24, 1) == 0:
		d.literal()
	case group == 0x19 && d.w&0x3b200c00 == 0x19000400: // cpy, set
		d.Writes = arch.Mask(d.gpr(0), d.gpr(5), d.gpr(16))
		d.Reads = d.Writes
	case group == 0x19 && d.field(24, 8) == 0xd9 && d.field(21, 1) != 0:
		d.tags()
	case group == 0x19 && d.field(21, 1) != 0: // 128-bit atomics, compare and swap of pointers
		d.cell(Other, d.gprSP(5), 16, true, true)
		d.Writes = arch.Mask(d.gpr(0), d.gpr(16))
		d.Reads |= d.Writes
	case group&0x3b == 0x19:
		d.ordered()
	case group&0x38 == 0x28:
		d.pair()
	case group&0x38 == 0x38:
		return d.single()
	default:
		return ErrUnknown
	}
	return nil
}

// cell records a memory operand of size bytes at base.
func (d arm64Inst) cell(kind Kind, base arch.Reg, size uint16, read, write bool) {
	d.Kind = kind
	d.Reads |= arch.Mask(base)
	d.addMem(MemOperand{Base: base, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg, Size: size, AddrSize: 8, Read: read, Write: write})
}

// access records a load or store of registers of size bytes each.
func (d arm64Inst) access(load bool, size uint8, rt, rt2 arch.Reg, count int) {
	kind := Store
	if load {
		kind = Load
	}
	d.cell(kind, d.gprSP(5), uint16(size)*uint16(count), load, !load)
	d.Size = size
	if load {
		d.Dst, d.Dst2 = rt, rt2
		d.Writes |= arch.Mask(rt, rt2)
	} else {
		d.Src, d.Src2 = rt, rt2
		d.Reads |= arch.Mask(rt, rt2)
	}
}

// index records an addressing mode with an immediate: 1 is post-indexed, 3 pre-indexed, any
// other a plain offset.
func (d arm64Inst) index(mode uint32, imm int64) {
	if mode != 1 {
		d.mems[0].Disp = imm
	}
	if mode == 1 || mode == 3 {
		d.Writeback = imm
		d.Writes |= arch.Mask(d.mems[0].Base)
	}
}

// pair decodes ldp and stp.
func (d arm64Inst) pair() {
	opc, mode, load := d.field(30, 2), d.field(23, 2), d.field(22, 1) != 0
	if d.field(26, 1) != 0 {
		size := uint8(4) << opc
		rt, rt2 := arm64Vector(d.field(0, 5)), arm64Vector(d.field(10, 5))
		if size == 8 {
			d.access(load, size, rt, rt2, 2)
		} else {
			d.vectorAccess(load, uint16(size)*2, arch.Mask(rt, rt2))
			d.Size = size
		}
		d.index(mode, d.signed(15, 7)*int64(size))
		return
	}
	size, scale := uint8(4), int64(4)
	switch {
	case opc&2 != 0:
		size, scale = 8, 8
	case opc == 1 && !load: // stgp
		size, scale = 8, 16
	}
	d.access(load, size, d.gpr(0), d.gpr(10), 2)
	d.index(mode, d.signed(15, 7)*scale)
}

// vectorAccess records a load or store of vector registers: only what it overwrites is
// needed.
func (d arm64Inst) vectorAccess(load bool, size uint16, regs arch.RegMask) {
	kind := Store
	if load {
		kind = Load
		d.Writes |= regs
	} else {
		d.Reads |= regs
	}
	d.cell(kind, d.gprSP(5), size, load, !load)
}

// single decodes loads and stores of one register.
func (d arm64Inst) single() error {
	size := d.field(30, 2)
	vector := d.field(26, 1) != 0
	mode := d.field(10, 2)
	if d.field(24, 1) == 0 && d.field(21, 1) != 0 {
		switch {
		case mode == 0 && !vector:
			d.atomic(size)
			return nil
		case mode&1 != 0 && !vector && size == 3: // ldraa, ldrab
			d.access(true, 8, d.gpr(0), arch.NoReg, 1)
			imm := (d.signed(22, 1)<<9 | int64(d.field(12, 9))) * 8
			d.index(mode&^1|mode>>1, imm) // pre-indexed or not
			return nil
		case mode == 0: // 16-bit floating-point atomics
			d.cell(Other, d.gprSP(5), 1<<size, true, true)
			d.Writes = arch.Mask(arm64Vector(d.w))
			return nil
		}
	}
	bytes := d.register(size, vector)
	if bytes == 0 {
		return nil // prefetch
	}
	switch {
	case d.field(24, 1) != 0:
		d.index(0, int64(d.field(10, 12))*int64(bytes))
	case d.field(21, 1) == 0:
		d.index(mode, d.signed(12, 9))
	case mode == 2:
		d.offset(bytes)
	default:
		return ErrUnknown
	}
	return nil
}

// register records the register that a single load or store moves, and returns the number
// of bytes; 0 for a prefetch.
func (d arm64Inst) register(size uint32, vector bool) uint16 {
	opc := d.field(22, 2)
	if vector {
		bytes := uint16(1) << (size | opc>>1<<2)
		rt := arm64Vector(d.w)
		if bytes == 8 {
			d.access(opc&1 != 0, 8, rt, arch.NoReg, 1)
		} else {
			d.vectorAccess(opc&1 != 0, bytes, arch.Mask(rt))
			d.Size = uint8(bytes)
		}
		return bytes
	}
	if size == 3 && opc == 2 {
		d.Kind, d.Reads = Nop, arch.Mask(d.gprSP(5))
		if d.field(24, 1) == 0 && d.field(21, 1) != 0 {
			d.Reads |= arch.Mask(d.gpr(16))
		}
		return 0
	}
	d.access(opc != 0, 1<<size, d.gpr(0), arch.NoReg, 1)
	return 1 << size
}

// offset records a register offset.
func (d arm64Inst) offset(bytes uint16) {
	m := &d.mems[0]
	m.Index, m.Scale = d.gpr(16), 1
	d.Reads |= arch.Mask(m.Index)
	if d.field(12, 1) != 0 {
		m.Scale = uint8(bytes)
	}
	switch d.field(13, 3) {
	case 2:
		m.IndexBits = 32
	case 6:
		m.IndexBits = -32
	}
}

// atomic decodes the atomics of FEAT_LSE, and loads with acquire semantics.
func (d arm64Inst) atomic(size uint32) {
	rs, rt := d.gpr(16), d.gpr(0)
	d.Size = 1 << size
	opc := d.field(12, 4)
	switch {
	case opc == 12: // ldapr
		d.access(true, 1<<size, rt, arch.NoReg, 1)
	case opc == 9 || opc == 10 || opc == 11 || opc == 13: // st64b, st64bv, ld64b
		d.cell(Other, d.gprSP(5), 64, opc == 13, opc != 13)
		for i := uint32(0); opc == 13 && i < 8; i++ {
			d.Writes |= arch.Mask(d.number(d.w&31 + i))
		}
		if opc != 13 {
			d.Writes = arch.Mask(rs)
		}
	default:
		d.cell(Other, d.gprSP(5), 1<<size, true, true)
		d.Dst, d.Src = rt, rs
		d.Reads |= arch.Mask(rs)
		d.Writes = arch.Mask(rt)
		d.Lock = true
	}
}

// exclusive decodes exclusive and ordered accesses, and compare and swap.
func (d arm64Inst) exclusive() {
	size, load := d.field(30, 2), d.field(22, 1) != 0
	rs, rt := d.gpr(16), d.gpr(0)
	switch ordered, pair := d.field(23, 1) != 0, d.field(21, 1) != 0; {
	case ordered && pair: // cas
		d.cell(Other, d.gprSP(5), 1<<size, true, true)
		d.Dst, d.Src, d.Size, d.Lock = rs, rt, 1<<size, true
		d.Reads |= arch.Mask(rs, rt)
		d.Writes = arch.Mask(rs)
	case ordered:
		d.access(load, 1<<size, rt, arch.NoReg, 1)
	case pair && size < 2: // casp
		d.Size, d.Lock = 4<<(size&1), true
		d.cell(Other, d.gprSP(5), 8<<(size&1), true, true)
		d.Writes = arch.Mask(rs, d.number(d.field(16, 5)+1))
		d.Reads |= d.Writes | arch.Mask(rt, d.number(d.field(0, 5)+1))
	case pair:
		d.access(load, 1<<size, rt, d.gpr(10), 2)
		d.status(rs, load)
	default:
		d.access(load, 1<<size, rt, arch.NoReg, 1)
		d.status(rs, load)
	}
}

// status records the register that receives an exclusive store's result. The store may
// fail, so it does not count as saving a register.
func (d arm64Inst) status(rs arch.Reg, load bool) {
	if !load {
		d.Kind, d.Dst = Other, rs
		d.Writes |= arch.Mask(rs)
	}
}

// literal decodes loads from a constant address.
func (d arm64Inst) literal() {
	opc := d.field(30, 2)
	at := d.PC + uint64(d.signed(5, 19)*4)
	if opc == 3 && d.field(26, 1) == 0 {
		d.Kind = Nop
		return
	}
	size := uint8(4) << opc
	rt := d.gpr(0)
	switch {
	case d.field(26, 1) != 0:
		rt = arm64Vector(d.w)
	case opc == 2: // ldrsw
		size = 4
	}
	d.Kind, d.Dst, d.Size, d.Writes = Load, rt, size, arch.Mask(rt)
	d.addMem(MemOperand{Base: arch.NoReg, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg,
		Disp: int64(at), RIPRelative: true, Size: uint16(size), AddrSize: 8, Read: true})
}

// ordered decodes unscaled accesses with acquire or release semantics, and pairs of them.
func (d arm64Inst) ordered() {
	size, opc := d.field(30, 2), d.field(22, 2)
	switch {
	case d.field(26, 1) != 0: // vector registers
		d.vectorAccess(opc&1 != 0, 1<<(size|opc>>1<<2), arch.Mask(arm64Vector(d.w)))
		d.index(0, d.signed(12, 9))
	case d.field(10, 2) == 2 && size >= 2: // ldiapp, stilp
		d.access(opc&1 != 0, 1<<size, d.gpr(0), d.gpr(16), 2)
		if d.field(12, 1) == 0 {
			n := int64(2) << size
			if opc&1 != 0 {
				d.index(1, n)
			} else {
				d.index(3, -n)
			}
		}
	case d.field(10, 2) == 2: // ldapr, stlr with writeback are of sizes 2 and 3
		d.access(opc&1 != 0, 1<<size, d.gpr(0), arch.NoReg, 1)
	default:
		d.access(opc != 0, 1<<size, d.gpr(0), arch.NoReg, 1)
		d.index(0, d.signed(12, 9))
	}
}

// tags decodes loads and stores of memory tags.
func (d arm64Inst) tags() {
	mode := d.field(10, 2)
	imm := d.signed(12, 9) * 16
	if mode == 0 { // ldg; stgm, ldgm, stzgm
		d.Reads = arch.Mask(d.gprSP(5))
		d.Writes = arch.Mask(d.gpr(0))
		return
	}
	size := uint16(16)
	if d.field(23, 1) != 0 {
		size = 32
	}
	d.cell(Other, d.gprSP(5), size, false, true)
	d.index(mode, imm)
}

// structures decodes loads and stores of vectors in structures.
func (d arm64Inst) structures() {
	load := d.field(22, 1) != 0
	count := uint32(4)
	if d.field(24, 1) == 0 {
		switch d.field(12, 4) {
		case 7:
			count = 1
		case 8, 10:
			count = 2
		case 4, 6:
			count = 3
		}
	} else {
		count = 1 + d.field(21, 1) + d.field(13, 1)*2
	}
	var regs arch.RegMask
	for i := range count {
		regs |= arch.Mask(arm64Vector(d.w + i))
	}
	size := uint16(count) * uint16(8<<d.field(30, 1))
	if d.field(24, 1) != 0 {
		size = 0 // one lane of each, of unknown size
	}
	d.vectorAccess(load, size, regs)
	if d.field(23, 1) == 0 {
		return
	}
	d.Writes |= arch.Mask(d.gprSP(5))
	if rm := d.gpr(16); rm != arch.NoReg {
		d.Reads |= arch.Mask(rm)
		d.Kind = Other // the change of the base is unknown
	} else if size != 0 {
		d.Writeback = int64(size)
	} else {
		d.Kind = Other
	}
}
