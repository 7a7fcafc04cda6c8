package disasm

// A vecMem is the memory access of a vector instruction.
type vecMem struct {
	size int      // in bytes; 0 if unknown
	acc  opAccess // of the memory operand
	elem int      // EVEX: element size in bytes, the size read if broadcast; 0: no broadcast
	unit int      // EVEX: unit of 8-bit displacements if it is not size
}

func load(n int) vecMem  { return vecMem{size: n, acc: accR} }
func store(n int) vecMem { return vecMem{size: n, acc: accW} }

// vector handles what is not a general instruction: MMX, SSE, and everything with a VEX,
// EVEX or XOP prefix, including general instructions with these.
func (d *x86Decoder) vector() {
	r := d.raw
	var v vecMem
	switch r.opmap {
	case map0F:
		if r.enc != encLegacy && d.maskRegisters() {
			return
		}
		v = d.vec0F()
	case map38:
		if d.general38() {
			return
		}
		v = d.vec38()
	case map3A:
		if d.general3A() {
			return
		}
		v = d.vec3A()
	case map5:
		v = d.vec5()
	case map6:
		v = d.vec6()
	case map3DN:
		v = load(8)
	case mapX8, mapX9, mapXA:
		v = d.xop()
	default:
		v = vecMem{acc: accR}
	}
	d.vecOperands(v)
}

// vecOperands records the memory operand v, if there is one.
func (d *x86Decoder) vecOperands(v vecMem) {
	r := d.raw
	if !r.memForm() {
		return
	}
	if r.enc == encEVEX {
		if r.bcast && v.elem > 0 {
			v.size = v.elem
		}
		if r.dispLen == 1 {
			unit := v.size
			if v.unit > 0 {
				unit = v.unit
			}
			if unit > 0 {
				r.disp *= int64(unit)
			}
		}
	}
	d.memOperand(v.acc, v.size)
	d.in.mems[0].Aligned = v.acc != accNone && d.mustAlign(v.size)
}

// vsib reports whether the SIB byte's index is a vector: gathers and scatters.
func (d *x86Decoder) vsib() bool {
	r := d.raw
	if r.opmap != map38 || r.enc == encLegacy || r.pp != pp66 {
		return false
	}
	switch r.op {
	case 0x90, 0x91, 0x92, 0x93:
		return true
	case 0xa0, 0xa1, 0xa2, 0xa3, 0xc6, 0xc7:
		return r.enc == encEVEX
	}
	return false
}

// mustAlign reports whether the memory operand of size bytes must be aligned: most legacy
// SSE operands of 16 bytes, and explicitly aligned moves. Intel SDM volume 1, 14.9.
func (d *x86Decoder) mustAlign(size int) bool {
	r := d.raw
	if size < 16 {
		return false
	}
	if r.opmap == map0F {
		switch r.op {
		case 0x28, 0x29, 0x2b, 0xe7: // movaps, movntps, movntdq
			return true
		case 0x6f, 0x7f: // movdqa; movdqu with F3, F2
			return r.pp == pp66
		case 0x10, 0x11, 0xf0: // movups, lddqu
			return false
		}
	}
	if r.opmap == map38 && r.op == 0x2a && r.pp == pp66 { // movntdqa
		return true
	}
	if r.enc != encLegacy {
		return false
	}
	if r.opmap == map3A && r.op >= 0x60 && r.op <= 0x63 { // pcmpistri and similar
		return false
	}
	return size == 16
}

// byW returns the size of a scalar according to W.
func (d *x86Decoder) byW() int {
	if d.raw.w() {
		return 8
	}
	return 4
}

// byGPR is byW for a general register, which outside 64-bit mode has 4 bytes whatever W is.
func (d *x86Decoder) byGPR() int { return min(d.byW(), int(d.mode.wordLen)) }

// full returns a whole vector; with EVEX, of elements with a size according to W.
func (d *x86Decoder) full() vecMem {
	return vecMem{size: d.raw.vlBytes(), acc: accR, elem: d.byW()}
}

// part returns an n-th of a vector of elements of a size.
func (d *x86Decoder) part(n, elem int) vecMem {
	return vecMem{size: d.raw.vlBytes() / n, acc: accR, elem: elem}
}

// whole is full for VEX and SSE, 8 bytes for MMX.
func (d *x86Decoder) whole() vecMem {
	if d.raw.enc == encLegacy && d.raw.pp == ppNone {
		return load(8)
	}
	return d.full()
}

// float returns a packed operand, or with F3 or F2 a scalar one.
func (d *x86Decoder) float() vecMem {
	switch d.raw.pp {
	case ppF3:
		return load(4)
	case ppF2:
		return load(8)
	}
	return d.full()
}

// gprRM makes modrm.rm a general register, or that many bytes of memory.
func (d *x86Decoder) gprRM(acc opAccess, regSize, memSize int) {
	d.in.Size = uint8(regSize)
	if d.raw.memForm() {
		d.vecOperands(vecMem{size: memSize, acc: acc})
		return
	}
	d.explicit(d.raw.rmExt(), acc, acc&accW != 0)
}

// gprReg makes modrm.reg a general register.
func (d *x86Decoder) gprReg(acc opAccess) {
	d.explicit(d.raw.regExt(), acc, acc&accW != 0)
}

// gprV makes VEX.vvvv a general register.
func (d *x86Decoder) gprV(acc opAccess) {
	d.use(d.raw.vvvv, acc)
}

// maskRegisters handles AVX-512's instructions on mask registers, which are in VEX map 0F
// where the legacy map has conditional moves and sets.
func (d *x86Decoder) maskRegisters() bool {
	r := d.raw
	if r.enc != encVEX {
		return false
	}
	switch r.op {
	case 0x90, 0x91:
		size := 2
		switch {
		case r.w() && r.is66():
			size = 4
		case r.w():
			size = 8
		case r.is66():
			size = 1
		}
		acc := accR
		if r.op == 0x91 {
			acc = accW
		}
		d.vecOperands(vecMem{size: size, acc: acc})
	case 0x92:
		d.explicit(r.rmExt(), accR, false)
	case 0x93:
		d.gprReg(accW)
	default:
		return false
	}
	return true
}

// xop determines the size of the memory operand of AMD's XOP instructions.
func (d *x86Decoder) xop() vecMem {
	r := d.raw
	switch {
	case r.opmap == mapXA || r.opmap == mapX9 && (r.op == 1 || r.op == 2 || r.op == 0x12): // tbm, lwp, bextr
		d.in.Size = uint8(d.byGPR())
		if !r.memForm() {
			d.explicit(r.rmExt(), accR, false)
		}
		if r.opmap == mapX9 {
			d.gprV(accW)
		} else if r.op == 0x10 {
			d.gprReg(accW)
		}
		return load(d.byGPR())
	case r.opmap == mapX9 && r.op == 0x82:
		return load(4)
	case r.opmap == mapX9 && r.op == 0x83:
		return load(8)
	}
	return load(r.vlBytes())
}
