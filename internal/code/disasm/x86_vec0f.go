package disasm

// vec0F determines the size of the memory operand of a vector opcode in map 0F, and records
// the general registers it uses. Intel SDM volume 2, table A-3, and the tuple types on the
// instruction pages.
func (d *x86Decoder) vec0F() vecMem {
	switch op := d.raw.op; {
	case op < 0x30:
		return d.vec0FMoves()
	case op < 0x60:
		return d.vec0FFloat()
	case op < 0x78:
		return d.vec0FInt()
	case op < 0x80:
		return d.vec0FConvert()
	case op < 0xd0:
		return d.vec0FShuffle()
	}
	return d.vec0FHigh()
}

func (d *x86Decoder) vec0FMoves() vecMem {
	r := d.raw
	switch r.op {
	case 0x10, 0x11:
		v := d.float()
		v.elem = 0
		if r.op == 0x11 {
			v.acc = accW
		}
		return v
	case 0x12, 0x16:
		switch {
		case r.pp == ppF2 && r.vl == 0, r.pp < ppF3:
			return load(8)
		}
		return load(r.vlBytes())
	case 0x13, 0x17:
		return store(8)
	case 0x29, 0x2b:
		if r.enc == encLegacy && r.pp >= ppF3 { // movntss, movntsd of SSE4a
			return store(d.float().size)
		}
		return store(r.vlBytes())
	case 0x2a:
		if r.pp >= ppF3 {
			d.gprRM(accR, d.byGPR(), d.byGPR())
			return vecMem{}
		}
		return load(8)
	case 0x2c, 0x2d:
		return d.toGPR()
	case 0x2e, 0x2f:
		if r.is66() {
			return load(8)
		}
		return load(4)
	case 0x28:
		return load(r.vlBytes())
	}
	return d.full()
}

// toGPR decodes a conversion of a scalar to a general register; legacy encodings without F3
// and F2 convert to an MMX register.
func (d *x86Decoder) toGPR() vecMem {
	switch d.raw.pp {
	case ppF3:
		d.gprReg(accW)
		return load(4)
	case ppF2:
		d.gprReg(accW)
		return load(8)
	case pp66:
		return load(16)
	}
	return load(8)
}

func (d *x86Decoder) vec0FFloat() vecMem {
	r := d.raw
	switch r.op {
	case 0x50:
		d.gprReg(accW)
		return vecMem{}
	case 0x5a:
		if r.pp == ppNone {
			return d.part(2, 4)
		}
	case 0x5b:
		return d.full()
	}
	return d.float()
}

func (d *x86Decoder) vec0FInt() vecMem {
	r := d.raw
	switch r.op {
	case 0x60, 0x61, 0x62:
		if r.enc == encLegacy && r.pp == ppNone {
			return load(4) // the low half of an MMX register
		}
	case 0x6e:
		d.gprRM(accR, d.byGPR(), d.byGPR())
		return vecMem{}
	case 0x6f:
		v := d.whole()
		v.elem = 0
		return v
	case 0x70:
		if r.pp != pp66 {
			v := d.whole()
			v.elem = 0
			return v
		}
	}
	return d.whole()
}

// vec0FConvert decodes opcodes 78 to 7F; with EVEX, conversions of unsigned and 64-bit
// integers.
func (d *x86Decoder) vec0FConvert() vecMem {
	r := d.raw
	switch r.op {
	case 0x78, 0x79:
		if r.pp >= ppF3 {
			return d.toGPR()
		}
		if r.is66() && !r.w() {
			return d.part(2, 4)
		}
	case 0x7a:
		if r.is66() && !r.w() || r.pp == ppF3 && !r.w() {
			return d.part(2, 4)
		}
	case 0x7b:
		if r.pp >= ppF3 {
			d.gprRM(accR, d.byGPR(), d.byGPR())
			return vecMem{}
		}
		if !r.w() {
			return d.part(2, 4)
		}
	case 0x7e:
		if r.pp == ppF3 {
			return load(8)
		}
		d.gprRM(accW, d.byGPR(), d.byGPR())
		return vecMem{}
	case 0x7f:
		v := d.whole()
		v.elem, v.acc = 0, accW
		return v
	}
	return d.full()
}

func (d *x86Decoder) vec0FShuffle() vecMem {
	switch d.raw.op {
	case 0xae: // vldmxcsr, vstmxcsr
		if d.raw.reg() == 3 {
			return store(4)
		}
		return load(4)
	case 0xc2:
		return d.float()
	case 0xc4:
		d.gprRM(accR, 4, 2)
		return vecMem{}
	case 0xc5:
		d.gprReg(accW)
		return vecMem{}
	}
	return d.full()
}

func (d *x86Decoder) vec0FHigh() vecMem {
	r := d.raw
	switch r.op {
	case 0xd1, 0xd2, 0xd3, 0xe1, 0xe2, 0xf1, 0xf2, 0xf3: // shift counts
		if r.enc == encLegacy && r.pp == ppNone {
			return load(8)
		}
		return load(16)
	case 0xd6:
		return store(8)
	case 0xd7:
		d.gprReg(accW)
		return vecMem{}
	case 0xe6:
		if r.pp == ppF3 && !(r.w() && r.enc == encEVEX) {
			return d.part(2, 4)
		}
	case 0xe7:
		v := d.whole()
		v.elem, v.acc = 0, accW
		return v
	case 0xf7: // maskmovq, maskmovdqu
		size := 16
		if r.pp == ppNone && r.enc == encLegacy {
			size = 8
		}
		d.at(nDI, accW, size, true)
		return vecMem{}
	}
	return d.whole()
}
