package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// group decodes opcode B2; most of its instructions are for the kernel.
func (d s390Inst) group(sub byte) error {
	r1, r2 := d.field(6), d.field(7)
	base, disp := d.field(4), d.short(2)
	switch sub {
	case 0x22, 0x26, 0x27, 0x4f, 0x24, 0xec: // ipm, epar, esar, ear, iac, etnd
		d.set(4, r1)
	case 0x52: // msr
		d.set(4, r1, r1, r2)
	case 0x41: // cksm
		d.pair(r2)
		d.set(4, r1, r1)
	case 0x55, 0x57, 0x5d, 0x5e: // mvst, cuse, clst, srst
		d.Writes = arch.Mask(d.gpr(r1), d.gpr(r2))
		d.Reads = d.Writes | arch.Mask(d.gpr(0))
		if sub == 0x57 {
			d.pair(r1)
			d.pair(r2)
		}
	case 0x4e, 0x4d: // sar, cpya
		d.wroteAccess(r1)
	case 0x63, 0xa5, 0xa6, 0xa7: // cmpsc, tre, cu21, cu12
		d.pair(r1)
		if sub != 0xa5 {
			d.pair(r2)
		} else {
			d.Reads |= arch.Mask(d.gpr(r2))
		}
	case 0x05, 0x7c: // stck, stckf
		d.memory(8, base, 0, disp, false, true)
	case 0x78: // stcke
		d.memory(16, base, 0, disp, false, true)
	case 0xb0: // stfle
		d.memory(0, base, 0, disp, false, true)
		d.Writes = arch.Mask(d.gpr(0))
	case 0x9c: // stfpc
		d.memory(4, base, 0, disp, false, true)
	case 0x9d, 0x99, 0xb8, 0xb9, 0xbd: // lfpc, srnm, srnmb, srnmt, lfas
		if sub == 0x9d || sub == 0xbd {
			d.memory(4, base, 0, disp, true, false)
		}
	case 0x2d: // dxr
		d.Writes = arch.Mask(d.fpr(r1), d.fpr(r1+2))
	case 0x44, 0x45: // sqdr, sqer
		d.Writes = arch.Mask(d.fpr(r1))
	case 0xf8, 0xfa, 0xfc, 0xe8, 0xff, 0x5c: // tend, niai, tabort, ppa, trap4
		if sub == 0xff {
			d.Kind = Trap
		}
	case 0xb2: // lpswe
		d.Kind = RetFar
	default:
		return d.unlisted(r1, r2)
	}
	return nil
}

// unlisted handles an unknown instruction. It may write either of its registers, and is an
// error if a walk needs one of them.
func (d s390Inst) unlisted(r1, r2 uint8) error {
	either := arch.Mask(d.gpr(r1), d.gpr(r2))
	if either&arch.Mask(arch.S390SP, arch.S390FP, arch.S390LR) != 0 {
		return ErrUnknown
	}
	d.Writes = either
	return nil
}

// floats decodes opcode B3: floating point.
func (d s390Inst) floats(sub byte) {
	r1, r2 := d.field(6), d.field(7)
	switch sub {
	case 0xc1: // ldgr
		d.mov(d.fpr(r1), d.gpr(r2))
		d.Size = 8
	case 0xcd: // lgdr
		d.mov(d.gpr(r1), d.fpr(r2))
		d.Size = 8
		if d.arch.RegSize < 8 {
			d.Kind = Other
		}
	case 0x98, 0x99, 0x9a, 0x9c, 0x9d, 0x9e, 0xb8, 0xb9, 0xba, 0x8c: // cfebr, clfebr, cfer and similar; efpc
		d.set(4, r1)
	case 0xa8, 0xa9, 0xaa, 0xac, 0xad, 0xae, 0xc8, 0xc9, 0xca, 0xe1, 0xe9, 0xe2, 0xe3, 0xe5, 0xe7, 0xed, 0xef: // cgebr and similar
		d.set(8, r1)
	case 0xea, 0xeb: // cuxtr, csxtr
		d.pair(r1)
	case 0x84, 0x85, 0x08, 0x09, 0x18, 0x19, 0x48, 0x49, 0x59, 0x69, 0xe0, 0xe4, 0xe8, 0xec, 0xf4, 0xfc: // sfpc, sfasr, comparisons
	default:
		d.Writes = arch.Mask(d.fpr(r1))
		if s390Extended(sub) {
			d.Writes |= arch.Mask(d.fpr(r1 + 2))
		}
	}
}

// s390Extended reports whether the result of an operation with opcode B3 occupies two
// floating-point registers.
func s390Extended(sub byte) bool {
	switch sub {
	case 0x05, 0x06, 0x25, 0x26, 0x40, 0x41, 0x42, 0x43, 0x47, 0x4a, 0x4b, 0x4c, 0x4d, 0x60, 0x61, 0x62, 0x63, 0x65, 0x67,
		0x76, 0x96, 0xa2, 0xa6, 0x92, 0xb6, 0xc6, 0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xde, 0xdf, 0xf9, 0xfa, 0xfb, 0xfd, 0xfe, 0xff:
		return true
	}
	return false
}

// group64 decodes opcode B9: 64-bit registers, and later additions.
func (d s390Inst) group64(sub byte) {
	r1, r2, r3 := d.field(6), d.field(7), d.field(4)
	switch sub {
	case 0x04, 0x02: // lgr, ltgr
		d.mov(d.gpr(r1), d.gpr(r2))
		d.Size = 8
	case 0x20, 0x21, 0x30, 0x31, 0x60, 0x61, 0x72, 0x73, 0xcd, 0xcf, 0xdd, 0xdf, 0x25: // comparisons, traps under conditions, sturg
		d.compare(r1, r2)
	case 0x46: // bctgr
		d.countDown(8, r1, r2)
	case 0x0d, 0x1d, 0x87, 0x97: // dsgr, dsgfr, dlgr, dlr
		d.pair(r1)
		d.Kind, d.Src, d.Size = Div, d.gpr(r2), 8
		d.Reads |= arch.Mask(d.Src)
		if sub == 0x1d || sub == 0x97 {
			d.Size = 4
		}
	case 0x86, 0x96, 0x83, 0xec: // mlgr, mlr, flogr, mgrk
		d.pair(r1)
		d.Reads |= arch.Mask(d.gpr(r2))
	case 0x90, 0x91, 0x92, 0x93, 0x8d, 0xb0, 0xb1, 0xb2, 0xb3, 0xbd, 0xbf, 0xbe, // trtt, epsw, cu14, trtre, srstu
		0x1e, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3e, 0x3f: // kmac and other cryptography
		d.pair(r1)
		d.pair(r2)
		d.Writes |= arch.Mask(d.gpr(0), d.gpr(1))
	case 0x41, 0x42, 0x43, 0x49, 0x4a, 0x4b: // cfdtr and similar
		d.set(8, r1)
	case 0x51, 0x52, 0x53, 0x59, 0x5a, 0x5b: // cdftr and similar
		d.Writes = arch.Mask(d.fpr(r1), d.fpr(r1+2))
		d.Reads = arch.Mask(d.gpr(r2))
	case 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x80, 0x81, 0x82, 0x88, 0x89: // agr and similar
		d.set(8, r1, r1, r2)
		d.Src = d.gpr(r2)
	case 0xe8, 0xea: // agrk, algrk
		d.set(8, r1)
		d.lea(r1, d.gpr(r2), d.gpr(r3), 0)
	default: // all others change r1
		d.set(8, r1, r1, r2, r3)
	}
}
