package disasm

// general3A handles rorx, the only instruction of map 0F3A that uses just general
// registers.
func (d *x86Decoder) general3A() bool {
	r := d.raw
	if r.enc != encVEX || r.op != 0xf0 || r.pp != ppF2 {
		return false
	}
	d.gprRM(accR, d.byGPR(), d.byGPR())
	d.gprReg(accW)
	return true
}

// vec3A determines the size of the memory operand of a vector opcode in map 0F3A, and
// records the general registers it uses.
func (d *x86Decoder) vec3A() vecMem {
	r := d.raw
	switch op := r.op; {
	case op >= 0x14 && op <= 0x17, op >= 0x20 && op <= 0x22:
		return d.vec3AInsert()
	case op >= 0x60 && op <= 0x63 && r.enc != encEVEX:
		d.compareStrings()
		return load(16)
	case op >= 0x68 && op < 0x80 && r.enc == encVEX:
		return d.fma4()
	case op == 0x0a && r.pp == ppNone, op == 0xc2 && r.pp == ppF3:
		return load(2) // half precision
	case op == 0x0a:
		return load(4)
	case op == 0x0b:
		return load(8)
	case op == 0x27, op == 0x51, op == 0x55, op == 0x57, op == 0x67:
		if r.pp == ppNone {
			return load(2)
		}
		return load(d.byW())
	case op == 0x0f:
		return d.whole()
	}
	return d.vec3ALanes()
}

// vec3ALanes decodes inserts and extracts of parts of vectors, and the remaining opcodes.
func (d *x86Decoder) vec3ALanes() vecMem {
	r := d.raw
	switch r.op {
	case 0x18, 0x38:
		return load(16)
	case 0x19, 0x39:
		return store(16)
	case 0x1a, 0x3a:
		return load(32)
	case 0x1b, 0x3b:
		return store(32)
	case 0x1d:
		return store(r.vlBytes() / 2)
	}
	v := d.full()
	if r.pp == ppNone && r.enc == encEVEX { // half precision
		v.elem = 2
	}
	return v
}

// vec3AInsert decodes moves of single elements, mostly from and to general registers.
func (d *x86Decoder) vec3AInsert() vecMem {
	r := d.raw
	switch r.op {
	case 0x14:
		d.gprRM(accW, 4, 1)
	case 0x15:
		d.gprRM(accW, 4, 2)
	case 0x16:
		d.gprRM(accW, d.byGPR(), d.byGPR())
	case 0x17:
		d.gprRM(accW, 4, 4)
	case 0x20:
		d.gprRM(accR, 4, 1)
	case 0x21:
		return load(4)
	case 0x22:
		d.gprRM(accR, d.byGPR(), d.byGPR())
	}
	return vecMem{}
}

// compareStrings records the implicit registers of pcmpestrm, pcmpestri, pcmpistrm,
// pcmpistri.
func (d *x86Decoder) compareStrings() {
	if d.raw.op < 0x62 {
		d.in.Reads |= d.mode.masks(nAX, nDX)
	}
	if d.raw.op&1 == 1 {
		d.use(nCX, accW)
	}
}

// fma4 determines the operand sizes of AMD's four-operand multiplications: of every eight
// opcodes, four are packed, two scalar single and two scalar double.
func (d *x86Decoder) fma4() vecMem {
	switch d.raw.op & 3 {
	case 2:
		return load(4)
	case 3:
		return load(8)
	}
	return d.full()
}

// vec5 determines the size of memory operands in EVEX map 5, half precision.
func (d *x86Decoder) vec5() vecMem {
	r := d.raw
	switch r.op {
	case 0x10:
		return load(2)
	case 0x11, 0x7e:
		if r.op == 0x7e {
			d.gprRM(accW, 4, 2)
			return vecMem{}
		}
		return store(2)
	case 0x1d:
		if r.is66() {
			return d.fullOf(4)
		}
		return load(4)
	case 0x2a:
		d.gprRM(accR, d.byGPR(), d.byGPR())
		return vecMem{}
	case 0x2c, 0x2d:
		d.gprReg(accW)
		return load(2)
	case 0x2e, 0x2f:
		return load(2)
	case 0x6e:
		d.gprRM(accR, 4, 2)
		return vecMem{}
	case 0x5a, 0x5b, 0x78, 0x79, 0x7a, 0x7b:
		return d.vec5Convert()
	}
	if r.pp == ppF3 && r.op < 0x70 {
		return load(2)
	}
	return d.fullOf(2)
}

// fullOf returns a whole vector of elements of a size.
func (d *x86Decoder) fullOf(elem int) vecMem {
	return vecMem{size: d.raw.vlBytes(), acc: accR, elem: elem}
}

func (d *x86Decoder) vec5Convert() vecMem {
	r := d.raw
	switch {
	case r.op == 0x5a:
		switch r.pp {
		case ppNone:
			return d.part(4, 2)
		case pp66:
			return d.fullOf(8)
		case ppF3:
			return load(2)
		}
		return load(8)
	case r.op == 0x5b && r.pp == ppNone:
		return d.full()
	case r.op == 0x5b:
		return d.part(2, 2)
	case r.op <= 0x79:
		switch r.pp {
		case ppNone:
			return d.part(2, 2)
		case pp66:
			return d.part(4, 2)
		}
		d.gprReg(accW)
		return load(2)
	case r.op == 0x7b && r.pp == ppF3:
		d.gprRM(accR, d.byGPR(), d.byGPR())
		return vecMem{}
	case r.op == 0x7a && r.pp == ppF2:
		return d.full()
	}
	return d.part(4, 2)
}

// vec6 determines the size of memory operands in EVEX map 6, half precision.
func (d *x86Decoder) vec6() vecMem {
	r := d.raw
	complex16 := r.op&0x7e == 0x56 // fmaddc, fmulc: pairs of halves
	switch {
	case r.op == 0x13 && r.pp == ppNone:
		return load(2)
	case r.op == 0x13:
		return d.part(2, 2)
	case complex16 && r.op&1 == 1:
		return load(4)
	case complex16:
		return d.fullOf(4)
	case r.op == 0x2d, r.op == 0x43, r.op == 0x4d, r.op == 0x4f, r.op >= 0x98 && r.op&15 >= 8 && r.op&1 == 1:
		return load(2)
	}
	return d.fullOf(2)
}
