package disasm

// general38 handles the instructions of map 0F38 on general registers, and reports whether
// this is one.
func (d *x86Decoder) general38() bool {
	r := d.raw
	if r.enc == encVEX {
		return d.bmi()
	}
	if r.enc != encLegacy {
		return false
	}
	switch r.op {
	case 0xf0, 0xf1:
		d.movbeCRC()
	case 0xf5, 0xf6:
		d.in.Size = uint8(d.byGPR())
		switch {
		case r.op == 0xf6 && (r.is66() || r.pp == ppF3): // adcx, adox
			d.gprRM(accR, d.byGPR(), d.byGPR())
			d.gprReg(accRW)
		default: // wrss, wruss
			d.gprRM(accW, d.byGPR(), d.byGPR())
			d.gprReg(accR)
		}
	case 0xf8: // movdir64b, enqcmd: the destination's address is in modrm.reg
		d.vecOperands(load(64))
		d.gprReg(accR)
		d.at(r.regExt(), accW, 64, false)
	case 0xfc: // aadd and similar
		d.gprRM(accRW, d.byGPR(), d.byGPR())
		d.gprReg(accR)
	case 0xf9: // movdiri
		d.gprRM(accW, d.byGPR(), d.byGPR())
		d.gprReg(accR)
	case 0x80, 0x81, 0x82: // invept, invvpid, invpcid
		d.in.Kind = Halt
		d.gprReg(accR)
		d.vecOperands(load(16))
	default:
		return false
	}
	return true
}

// movbeCRC decodes movbe, and crc32 with F2.
func (d *x86Decoder) movbeCRC() {
	r := d.raw
	size := int(d.sizeV())
	if r.pp == ppF2 {
		if r.op == 0xf0 {
			size = 1
		}
		d.in.Size = uint8(size)
		d.rmOperand(accR, size)
		d.gprReg(accRW)
		return
	}
	if r.op == 0xf0 {
		d.gprRM(accR, size, size)
		d.gprReg(accW)
		return
	}
	d.gprRM(accW, size, size)
	d.gprReg(accR)
}

// bmi handles BMI1, BMI2 and CMPccXADD.
func (d *x86Decoder) bmi() bool {
	r := d.raw
	size := d.byGPR()
	switch {
	case r.op >= 0xe0 && r.op <= 0xef && r.is66(): // cmpccxadd
		d.gprRM(accRW, size, size)
		d.gprReg(accRW)
		d.gprV(accR)
	case r.op == 0xf3: // blsr, blsmsk, blsi: the destination is vvvv
		d.gprRM(accR, size, size)
		d.explicit(r.vvvv, accW, true)
	case r.op == 0xf6 && r.pp == ppF2: // mulx
		d.gprRM(accR, size, size)
		d.gprReg(accW)
		d.gprV(accW)
		d.use(nDX, accR)
	case r.op == 0xf2, r.op == 0xf5, r.op == 0xf7: // andn; bzhi, pdep, pext; bextr, shlx, sarx, shrx
		d.gprRM(accR, size, size)
		d.gprReg(accW)
		d.gprV(accR)
	default:
		return false
	}
	return true
}

// vec38 determines the size of the memory operand of a vector opcode in map 0F38.
func (d *x86Decoder) vec38() vecMem {
	switch op := d.raw.op; {
	case op < 0x10:
		return d.whole()
	case op < 0x20:
		return d.vec38Broadcast()
	case op < 0x40:
		return d.vec38Extend()
	case op < 0x80:
		return d.vec38Mid()
	case op < 0x96:
		return d.vec38Gather()
	}
	return d.vec38High()
}

// downConvert decodes the store of a vector's elements truncated to 1/n of their size
// (EVEX.F3).
func (d *x86Decoder) downConvert() vecMem {
	n := [6]int{2, 4, 8, 2, 4, 2}
	return store(d.raw.vlBytes() / n[d.raw.op&15])
}

func (d *x86Decoder) vec38Broadcast() vecMem {
	r := d.raw
	evex := r.enc == encEVEX
	switch r.op {
	case 0x10, 0x11, 0x12, 0x13, 0x14, 0x15:
		if evex && r.pp == ppF3 {
			return d.downConvert()
		}
		if r.op == 0x13 && r.enc != encLegacy {
			return d.part(2, 0)
		}
	case 0x18:
		return load(4)
	case 0x19:
		return load(8)
	case 0x1a:
		return load(16)
	case 0x1b:
		return load(32)
	case 0x1c, 0x1d, 0x1e, 0x1f:
		return d.whole()
	}
	return d.full()
}

func (d *x86Decoder) vec38Extend() vecMem {
	r := d.raw
	evex := r.enc == encEVEX
	switch low := r.op & 15; {
	case low < 6:
		if evex && r.pp == ppF3 {
			return d.downConvert()
		}
		return d.part([6]int{2, 4, 8, 2, 4, 2}[low], 0)
	case r.op == 0x2a:
		return load(r.vlBytes())
	case r.op == 0x2d && evex:
		return load(d.byW())
	case r.op == 0x2e || r.op == 0x2f:
		if r.enc == encVEX {
			return store(r.vlBytes()) // vmaskmovps, vmaskmovpd
		}
	}
	return d.full()
}

func (d *x86Decoder) vec38Mid() vecMem {
	r := d.raw
	switch r.op {
	case 0x43, 0x4d, 0x4f:
		return load(d.byW())
	case 0x49: // ldtilecfg, sttilecfg
		if r.is66() {
			return store(64)
		}
		return load(64)
	case 0x4b: // tile loads and stores
		if r.enc == encVEX {
			if r.pp == ppF3 {
				return store(0)
			}
			return load(0)
		}
	case 0x52, 0x53:
		if r.enc == encEVEX && r.pp == ppF2 {
			return load(16)
		}
	case 0x58:
		return load(4)
	case 0x59:
		return load(8)
	case 0x5a:
		return load(16)
	case 0x5b:
		return load(32)
	case 0x62, 0x63: // vpexpandb, vpcompressb: displacements count elements
		v := vecMem{size: r.vlBytes(), acc: accR, unit: 1}
		if r.w() {
			v.unit = 2
		}
		if r.op == 0x63 {
			v.acc = accW
		}
		return v
	case 0x78:
		return load(1)
	case 0x79:
		return load(2)
	case 0x7a, 0x7b, 0x7c: // broadcasts of general registers
		if !r.memForm() {
			d.explicit(r.rmExt(), accR, false)
		}
		return vecMem{}
	case 0x72:
		if r.pp == ppF3 {
			return vecMem{size: r.vlBytes(), acc: accR, elem: 4}
		}
	}
	return d.full()
}

func (d *x86Decoder) vec38Gather() vecMem {
	r := d.raw
	switch r.op {
	case 0x88, 0x89: // vexpandps, vpexpandd
		return vecMem{size: r.vlBytes(), acc: accR, unit: d.byW()}
	case 0x8a, 0x8b: // vcompressps, vpcompressd
		return vecMem{size: r.vlBytes(), acc: accW, unit: d.byW()}
	case 0x8e: // vpmaskmov
		return store(r.vlBytes())
	case 0x90, 0x91, 0x92, 0x93:
		return load(d.byW())
	}
	return d.full()
}

func (d *x86Decoder) vec38High() vecMem {
	r := d.raw
	switch op := r.op; {
	case op < 0xc0 && op >= 0x96 && op&15 >= 6:
		if (op == 0x9a || op == 0x9b || op == 0xaa || op == 0xab) && r.enc == encEVEX && r.pp == ppF2 {
			return load(16) // v4fmaddps and similar
		}
		if op&15 >= 8 && op&1 == 1 {
			return load(d.byW())
		}
	case op == 0xb1 && r.enc == encVEX:
		return load(2)
	case op >= 0xa0 && op <= 0xa3:
		return store(d.byW())
	case op == 0xc6 || op == 0xc7: // prefetches of gathers
		return vecMem{unit: d.byW()}
	case (op == 0xcb || op == 0xcd) && r.enc == encEVEX:
		return load(d.byW())
	case op == 0xd8 && r.pp == ppF3: // Key Locker handles
		size := 48
		if r.reg() >= 2 {
			size = 64
		}
		return load(size)
	case op >= 0xdc && op <= 0xdf && r.pp == ppF3:
		if op >= 0xde {
			return load(64)
		}
		return load(48)
	}
	return d.full()
}
