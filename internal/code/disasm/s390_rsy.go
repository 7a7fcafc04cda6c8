package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// rsy decodes opcode EB: ranges of registers, shifts, atomic operations.
func (d s390Inst) rsy() error {
	r1, r3, base, disp := d.field(2), d.field(3), d.field(4), d.long()
	switch sub := d.code[5]; sub {
	case 0x04:
		return d.many(Load, 8, r1, r3, base, disp)
	case 0x24:
		return d.many(Store, 8, r1, r3, base, disp)
	case 0x98:
		return d.many(Load, 4, r1, r3, base, disp)
	case 0x90:
		return d.many(Store, 4, r1, r3, base, disp)
	case 0x96, 0x26: // lmh, stmh: upper halves
		return d.manyHigh(sub == 0x96, r1, r3, base, disp)
	case 0x0a, 0x0b, 0x0c, 0x0d, 0x1c, 0x1d: // srag, slag, srlg, sllg, rllg, rll
		d.set(8, r1, r3)
		d.Reads |= arch.Mask(d.base(base))
	case 0xdc, 0xdd, 0xde, 0xdf: // srak, slak, srlk, sllk
		d.set(4, r1, r3)
		d.Reads |= arch.Mask(d.base(base))
	case 0x14, 0x31: // csy, cdsy
		d.swap(sub == 0x31, 4, disp)
	case 0x30, 0x3e: // csg, cdsg
		d.swap(sub == 0x3e, 8, disp)
	case 0x44, 0x45: // bxhg, bxleg
		d.index(r1, r3)
		d.branchMem(7, base, 0, disp)
		d.Kind = JumpIndirect
	case 0x4c: // ecag
		d.set(8, r1)
	case 0x52:
		d.storeImm(int64(d.code[1]), 1, base, disp)
	case 0x51, 0x55, 0x54, 0x56, 0x57: // tmy, cliy, niy, oiy, xiy
		d.memory(1, base, 0, disp, true, sub != 0x51 && sub != 0x55)
	case 0x6a, 0x6e: // asi, alsi
		d.memory(4, base, 0, disp, true, true)
	case 0x7a, 0x7e: // agsi, algsi
		d.memory(8, base, 0, disp, true, true)
	case 0x80, 0x81, 0x20, 0x21, 0x2c, 0x2d: // icmh, icmy, clmh, clmy, stcmh, stcmy
		d.bytes(disp, sub >= 0x2c && sub < 0x80, sub >= 0x80)
	case 0x8e, 0x8f: // mvclu, clclu
		d.pair(r1)
		d.pair(r3)
	case 0x9a, 0x9b: // lamy, stamy
		d.accessRegs(sub == 0x9a, base, disp)
	case 0xe2, 0xf2, 0xe0: // locg, loc, locfh
		d.load(d.gpr(r1), 8>>(sub>>4&1), base, 0, disp)
		d.Reads |= arch.Mask(d.gpr(r1))
		d.Conditional = true
	case 0xe3, 0xf3, 0xe1: // stocg, stoc, stocfh
		d.store(d.gpr(r1), 8>>(sub>>4&1), base, 0, disp)
		d.Conditional = true
	case 0xf4, 0xf6, 0xf7, 0xf8, 0xfa: // lan, lao, lax, laa, laal
		d.set(4, r1, r3)
		d.memory(4, base, 0, disp, true, true)
	case 0xe4, 0xe6, 0xe7, 0xe8, 0xea: // lang, laog, laxg, laag, laalg
		d.set(8, r1, r3)
		d.memory(8, base, 0, disp, true, true)
	case 0x23, 0x2b: // clt, clgt
		d.Reads = arch.Mask(d.gpr(r1))
		d.memory(4<<(sub>>3&1), base, 0, disp, true, false)
	case 0xc0: // tp
		d.memory(uint16(r1)+1, base, 0, disp, true, false)
	case 0x0f, 0x17, 0x25, 0x2f, 0x60, 0x61, 0x62, 0x71, 0x8a, 0x8b: // for the kernel
		d.Kind = Halt
	default:
		return d.unlisted(r1, r3)
	}
	return nil
}

// manyHigh records the transfer of the upper halves of registers.
func (d s390Inst) manyHigh(load bool, r1, r3, base uint8, disp int64) error {
	kind := Store
	if load {
		kind = Load
	}
	err := d.many(kind, 4, r1, r3, base, disp)
	d.Kind, d.List = Other, 0
	return err
}

// rie decodes opcode EC: compare and branch, and operations with three operands.
func (d s390Inst) rie() error {
	r1, r3 := d.field(2), d.field(3)
	switch sub := d.code[5]; sub {
	case 0x44, 0x45: // brxhg, brxlg
		d.index(r1, r3)
		d.branchTo(7, d.half(2))
	case 0x64, 0x65, 0x76, 0x77: // cgrj, clgrj, crj, clrj
		d.compare(r1, r3)
		d.branchTo(d.comparison(d.field(8)), d.half(2))
	case 0x7c, 0x7d, 0x7e, 0x7f: // cgij, clgij, cij, clij
		d.Dst, d.Reads, d.Imm = d.gpr(r1), arch.Mask(d.gpr(r1)), int64(int8(d.code[4]))
		d.branchTo(d.comparison(r3), d.half(2))
	case 0xe4, 0xe5, 0xf6, 0xf7: // cgrb, clgrb, crb, clrb
		d.branchMem(d.comparison(d.field(8)), d.field(4), 0, d.short(2))
		d.Reads |= arch.Mask(d.gpr(r1), d.gpr(r3))
	case 0xfc, 0xfd, 0xfe, 0xff: // cgib, clgib, cib, clib
		d.branchMem(d.comparison(r3), d.field(4), 0, d.short(2))
		d.Reads |= arch.Mask(d.gpr(r1))
	case 0x70, 0x71, 0x72, 0x73: // cgit and similar
		d.Dst, d.Reads = d.gpr(r1), arch.Mask(d.gpr(r1))
	case 0xd8, 0xda: // ahik, alhsik
		d.add(4, r1, r3, d.half(2))
	case 0xd9, 0xdb: // aghik, alghsik
		d.add(8, r1, r3, d.half(2))
	case 0x42, 0x46, 0x4e: // lochi, locghi, lochhi
		d.set(8, r1, r1)
		d.Imm, d.Conditional = d.half(2), true
	case 0x51, 0x54, 0x55, 0x56, 0x57, 0x59, 0x5d: // rotate and insert
		d.set(8, r1, r1, r3)
	default:
		return ErrUnknown
	}
	return nil
}

// comparison widens the condition of a compare and branch, whose lowest bit has no meaning,
// to four bits.
func (s390Inst) comparison(mask uint8) uint8 {
	switch mask &= 14; mask {
	case 14:
		return 15
	default:
		return mask
	}
}

// vector decodes opcodes E6 and E7. The leftmost halves of the first sixteen vector
// registers are the floating-point registers.
func (d s390Inst) vector(e7 bool) {
	v1, base, disp := d.field(2), d.field(4), d.short(2)
	sub := d.code[5]
	if size, store, ok := s390VectorMem(e7, sub); ok {
		index := d.field(3)
		last := v1
		if e7 && (sub == 0x36 || sub == 0x3e || sub == 0x37 || sub == 0x3f) { // vlm, vstm, vll, vstl
			last, index = index, 0
			if sub == 0x37 || sub == 0x3f {
				last = v1
			} else {
				size = 16 * (uint16(last-v1)&15 + 1)
			}
		}
		d.memory(size, base, index, disp, !store, store)
		for n := v1; !store && d.code[4]&8 == 0; n = (n + 1) & 15 {
			d.Writes |= arch.Mask(d.fpr(n))
			if n == last {
				break
			}
		}
		return
	}
	switch {
	case e7 && (sub == 0x21 || sub == 0x27), !e7 && (sub == 0x50 || sub == 0x52): // vlgv, lcbb, vcvb, vcvbg
		d.set(8, v1)
	case e7 && (sub == 0xd8 || sub == 0xd9 || sub == 0xdb || sub == 0xef || sub == 0xca || sub == 0xcb), !e7 && (sub == 0x5f || sub == 0x77): // tests
	case d.code[4]&8 == 0:
		d.Writes = arch.Mask(d.fpr(v1))
		if e7 && (sub == 0x22 || sub == 0x62) { // vlvg, vlvgp
			d.Reads = arch.Mask(d.gpr(d.field(3)))
		}
	}
}

// s390VectorMem returns the access of a vector instruction; its size is 0 if the
// instruction does not give it.
func s390VectorMem(e7 bool, sub byte) (size uint16, store, ok bool) {
	if !e7 {
		switch sub {
		case 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x34, 0x35, 0x37: // vlebrh, vllebrz, vlbr, vler, vpkz, vlrl
			return 0, false, true
		case 0x09, 0x0a, 0x0b, 0x0e, 0x0f, 0x3c, 0x3d, 0x3f: // vstebrh, vstbr, vster, vupkz, vstrl
			return 0, true, true
		}
		return 0, false, false
	}
	switch sub {
	case 0x00, 0x08:
		return 1, sub == 0x08, true
	case 0x01, 0x09:
		return 2, sub == 0x09, true
	case 0x02, 0x0a:
		return 8, sub == 0x0a, true
	case 0x03, 0x0b:
		return 4, sub == 0x0b, true
	case 0x06, 0x0e:
		return 16, sub == 0x0e, true
	case 0x04, 0x05, 0x07, 0x12, 0x13, 0x36, 0x37: // vllez, vlrep, vlbb, vgeg, vgef, vlm, vll
		return 0, false, true
	case 0x1a, 0x1b, 0x3e, 0x3f: // vsceg, vscef, vstm, vstl
		return 0, true, true
	}
	return 0, false, false
}
