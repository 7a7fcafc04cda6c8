package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// vector decodes floating point and SIMD: its writes of general registers and of d8 to d15.
func (d arm64Inst) vector() {
	w := d.w
	rd, rn := d.gpr(0), d.gpr(5)
	switch {
	case w&0x5f20fc00 == 0x1e200000: // between floating point and integers
		d.convert(rd, rn, w>>16&7)
	case w&0x5f200000 == 0x1e000000: // fixed point
		d.convert(rd, rn, w>>16&7)
	case w&0xff203c00 == 0x1e202000, w&0xff200c00 == 0x1e200400: // fcmp, fccmp
	case w&0xbfe0fc00 == 0x0e003c00, w&0xbfe0fc00 == 0x0e002c00: // umov, smov
		d.Dst, d.Writes = rd, arch.Mask(rd)
	case w&0xbfe0fc00 == 0x0e000c00, w&0xffe0fc00 == 0x4e001c00: // dup, ins from a general register
		d.Src, d.Reads = rn, arch.Mask(rn)
		d.Writes = arch.Mask(arm64Vector(w))
	default:
		d.Writes = arch.Mask(arm64Vector(w))
	}
}

// convert records a conversion or move between a general and a vector register.
func (d arm64Inst) convert(rd, rn arch.Reg, opcode uint32) {
	switch opcode {
	case 2, 3, 7: // scvtf, ucvtf, fmov
		d.Src, d.Reads = rn, arch.Mask(rn)
		d.Writes = arch.Mask(arm64Vector(d.w))
	default:
		d.Dst, d.Writes = rd, arch.Mask(rd)
	}
}

// sve decodes the scalable vector extension: its writes of general registers and of d8 to
// d15, the low halves of z8 to z15.
func (d arm64Inst) sve() {
	w := d.w
	switch {
	case w&0xff20f000 == 0x04205000: // addvl, addpl, rdvl
		d.Dst = d.gprSP(0)
		if w&0x00800000 != 0 {
			d.Dst = d.gpr(0)
		} else {
			d.Reads = arch.Mask(d.gprSP(16))
		}
	case w&0xff30fc00 == 0x0420e000, // cntb and similar
		w&0xff30f800 == 0x0430e000, // incb, decb
		w&0xff20f000 == 0x0420f000, // sqincb and similar
		w&0xff3ee000 == 0x0520a000, // lasta, lastb
		w&0xff3ee000 == 0x0530a000, // clasta, clastb
		w&0xff38c000 == 0x25208000, // cntp
		w&0xff38f800 == 0x25288800: // incp and similar
		d.Dst = d.gpr(0)
		d.Reads = arch.Mask(d.Dst)
	default:
		if w>>29 != 7 { // all but stores
			d.Writes = arch.Mask(arm64Vector(w))
		}
		return
	}
	d.Writes = arch.Mask(d.Dst)
}
