package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// Primary opcode 31: Power ISA 3.1, book I, chapter 3, and the map of extended opcodes in
// appendix C.

// A ppcForm says where an instruction with opcode 31 puts its result.
type ppcForm uint8

const (
	ppcUnknown ppcForm = iota
	ppcToRT            // general register rt, from ra and rb
	ppcToRA            // general register ra, from rs and rb
	ppcResult          // general register rt, from no other register
	ppcCompare         // no register, from ra and rb
	ppcNoGPR           // no general register, from any
	ppcSpecial         // decoded separately
)

// ppcFormOf returns the form of an extended opcode that is not a load or store.
func ppcFormOf(xo uint32) ppcForm {
	switch xo {
	case 8, 9, 10, 11, 40, 73, 74, 75, 104, 136, 138, 200, 202, 232, 233, 234, 235, 393, 395, 425, 427, 457, 459, 489, 491,
		520, 521, 522, 523, 552, 585, 587, 616, 648, 650, 712, 714, 744, 745, 746, 747, 905, 907, 937, 939, 969, 971, 1001, 1003, // with overflow
		170, 265, 267, 777, 779, 426, 682, 938: // addex, modulo
		return ppcToRT
	case 28, 60, 412, 316, 124, 476, 284, 24, 27, 536, 539, 792, 794, 824, 826, 827, 890, 891, 922, 954, 986, 26, 58, 538, 570,
		122, 378, 506, 154, 186, 252, 508, 282, 314, 155, 187, 219, 59, 571, 156, 188, 220, 51, 307, 115:
		return ppcToRA
	case 19, 83, 128, 302, 371, 384, 416, 448, 480, 595, 659, 755, 851, 915: // mfcr, mfmsr, setb, setbc, mftb, darn, ...
		return ppcResult
	case 0, 32, 192, 224:
		return ppcCompare
	case 512, 576, 179, 211, 243, 403, 435, 144, 146, 178, 210, 242, // mcrxr, mtvsr*, mtcrf, mtmsr, mtsr
		54, 86, 246, 278, 22, 470, 982, 454, 486, 502, 966, 998, 262, // caches
		598, 854, 30, 62, 131, 163, 142, 174, 206, 238, 518, 566, // sync, wait, messages
		274, 306, 370, 402, 434, 466, 498, 850, 994, 978, 1010, 914, 946, 818, 338, // translation
		654, 686, 718, 750, 782, 814, 846, 878, 910, 942, 1006, // transactions
		774, 838, 902, 430, 722, 177, 822, // copy, paste, ...
		6, 38: // lvsl, lvsr
		return ppcNoGPR
	case 4, 68, 266, 778, 444, 339, 467, 1014, 533, 597, 661, 725, 276, 182, 582, 614, 710, 742:
		return ppcSpecial
	}
	if xo&31 == 15 { // isel
		return ppcToRT
	}
	return ppcUnknown
}

// ppcIndexed returns the access of an indexed load or store; its size is 0 for other
// extended opcodes.
func ppcIndexed(xo uint32) ppcAccess {
	switch xo {
	case 87, 119: // lbzx, lbzux
		return ppcAccess{kind: Load, size: 1, update: xo == 119}
	case 215, 247:
		return ppcAccess{kind: Store, size: 1, update: xo == 247}
	case 279, 311, 343, 375, 790: // lhzx, lhax, lhbrx
		return ppcAccess{kind: Load, size: 2, update: xo == 311 || xo == 375}
	case 407, 439, 918:
		return ppcAccess{kind: Store, size: 2, update: xo == 439}
	case 23, 55, 341, 373, 534, 789: // lwzx, lwax, lwbrx, lwzcix
		return ppcAccess{kind: Load, size: 4, update: xo == 55 || xo == 373}
	case 151, 183, 662:
		return ppcAccess{kind: Store, size: 4, update: xo == 183}
	case 21, 53, 532:
		return ppcAccess{kind: Load, size: 8, update: xo == 53}
	case 149, 181, 660:
		return ppcAccess{kind: Store, size: 8, update: xo == 181}
	case 52, 116, 20, 84: // load and reserve
		return ppcAccess{kind: Load, size: map4(xo, 52, 116, 20, 84), align: true}
	case 694, 726, 150, 214: // store conditional
		return ppcAccess{kind: Store, size: map4(xo, 694, 726, 150, 214), align: true}
	case 535, 567:
		return ppcAccess{kind: Load, size: 4, float: true, update: xo == 567}
	case 599, 631:
		return ppcAccess{kind: Load, size: 8, float: true, update: xo == 631}
	case 663, 695:
		return ppcAccess{kind: Store, size: 4, float: true, update: xo == 695}
	case 727, 759:
		return ppcAccess{kind: Store, size: 8, float: true, update: xo == 759}
	case 855, 887: // lfiwax, lfiwzx
		return ppcAccess{kind: Load, size: 4, float: true}
	case 983:
		return ppcAccess{kind: Store, size: 4, float: true}
	}
	return ppcIndexedVector(xo)
}

// map4 returns 1, 2, 4 or 8 if v is the first, second, third or fourth argument.
func map4(v, one, two, four, eight uint32) uint8 {
	switch v {
	case one:
		return 1
	case two:
		return 2
	case four:
		return 4
	case eight:
		return 8
	}
	return 0
}

// ppcIndexedVector is ppcIndexed for vector registers.
func ppcIndexedVector(xo uint32) ppcAccess {
	switch xo {
	case 7, 39, 71, 135, 167, 199: // lvebx and similar
		return ppcAccess{kind: loadOrStore(xo >> 7), size: map4(xo>>5&3, 0, 1, 2, 3), none: true}
	case 103, 359:
		return ppcAccess{kind: Load, size: 16, none: true}
	case 231, 487:
		return ppcAccess{kind: Store, size: 16, none: true}
	case 781, 13:
		return ppcAccess{kind: Load, size: 1, float: true}
	case 813, 45:
		return ppcAccess{kind: Load, size: 2, float: true}
	case 524, 76, 12, 364, 77:
		return ppcAccess{kind: Load, size: 4, float: true}
	case 588, 332, 109:
		return ppcAccess{kind: Load, size: 8, float: true}
	case 844, 780, 812, 876, 268, 300, 269, 301, 791:
		return ppcAccess{kind: Load, size: 16, float: true}
	case 333:
		return ppcAccess{kind: Load, size: 32, float: true}
	case 909, 141:
		return ppcAccess{kind: Store, size: 1, none: true}
	case 941, 173:
		return ppcAccess{kind: Store, size: 2, none: true}
	case 652, 140, 205:
		return ppcAccess{kind: Store, size: 4, none: true}
	case 716, 237:
		return ppcAccess{kind: Store, size: 8, none: true}
	case 972, 908, 940, 1004, 396, 428, 397, 429, 919:
		return ppcAccess{kind: Store, size: 16, none: true}
	case 461:
		return ppcAccess{kind: Store, size: 32, none: true}
	}
	return ppcAccess{}
}

// extended decodes an instruction of primary opcode 31.
func (d ppcInst) extended(w uint32) error {
	rt, ra, rb := w>>21&31, w>>16&31, w>>11&31
	xo := w >> 1 & 0x3ff
	if acc := ppcIndexed(xo); acc.size != 0 {
		d.access(acc, rt, d.base(ra), d.gpr(rb), 0)
		return nil
	}
	switch ppcFormOf(xo) {
	case ppcToRT:
		d.set(rt, d.gpr(ra), d.gpr(rb))
	case ppcToRA:
		d.set(ra, d.gpr(rt), d.gpr(rb))
	case ppcResult:
		d.set(rt)
	case ppcCompare:
		d.Reads = arch.Mask(d.gpr(ra), d.gpr(rb))
	case ppcNoGPR:
		d.Reads = arch.Mask(d.gpr(rt), d.gpr(ra), d.gpr(rb))
	case ppcSpecial:
		d.special(xo, rt, ra, rb)
	default:
		return d.unlisted(rt, ra)
	}
	return nil
}

// unlisted handles an unknown instruction. It may write either of its registers, and is an
// error if a walk needs one of them.
func (d ppcInst) unlisted(rt, ra uint32) error {
	either := arch.Mask(d.gpr(rt), d.gpr(ra))
	if either&arch.Mask(arch.PPCSP, arch.PPCFP) != 0 {
		return ErrUnknown
	}
	d.Writes = either
	return nil
}

// special decodes instructions that belong to no group.
func (d ppcInst) special(xo, rt, ra, rb uint32) {
	switch xo {
	case 4, 68: // tw, td
		d.trap(rt, ra, d.gpr(rb))
	case 266, 778: // add
		if rt == ppcSP && ra != ppcSP {
			ra, rb = rb, ra
		}
		d.lea(rt, d.gpr(ra), d.gpr(rb), 0)
	case 444: // or; mr and the hints
		switch {
		case rt == rb && rt == ra:
			d.Kind = Nop
		case rt == rb:
			d.mov(d.gpr(ra), d.gpr(rt))
		default:
			d.set(ra, d.gpr(rt), d.gpr(rb))
		}
	case 339: // mfspr
		if spr := ppcSPR(ra, rb); spr != arch.NoReg {
			d.mov(d.gpr(rt), spr)
		} else {
			d.set(rt)
		}
	case 467: // mtspr
		if spr := ppcSPR(ra, rb); spr != arch.NoReg {
			d.mov(spr, d.gpr(rt))
		} else {
			d.Src, d.Reads = d.gpr(rt), arch.Mask(d.gpr(rt))
		}
	case 1014: // dcbz
		d.access(ppcAccess{kind: Store, none: true}, 0, d.base(ra), d.gpr(rb), 0)
		d.Kind = Other
	case 276: // lqarx
		d.pairIndexed(Load, rt, ra, rb)
	case 182: // stqcx.
		d.pairIndexed(Store, rt, ra, rb)
	default:
		d.strings(xo, rt, ra, rb)
	}
}

func (d ppcInst) pairIndexed(kind Kind, rt, ra, rb uint32) {
	d.pair(kind, rt, ra, 0)
	d.mems[0].Index = d.gpr(rb)
	d.Reads |= arch.Mask(d.gpr(rb))
}

// strings decodes loads and stores of bytes in several registers, and atomic operations on
// memory.
func (d ppcInst) strings(xo, rt, ra, rb uint32) {
	load := xo == 533 || xo == 597 || xo == 582 || xo == 614
	kind := Store
	if load {
		kind = Load
	}
	index := arch.NoReg
	if xo == 533 || xo == 661 {
		index = d.gpr(rb)
	}
	d.access(ppcAccess{kind: kind, none: true}, rt, d.base(ra), index, 0)
	d.Kind = Other
	n := rb
	switch {
	case xo == 582 || xo == 614: // lwat, ldat: rt and the two after it
		n = 12
		d.mems[0].Write = true
	case xo == 710 || xo == 742: // stwat, stdat
		n = 4
		d.mems[0].Read = true
	case xo == 533 || xo == 661 || n == 0: // the length is in XER, or 32
		n = 32 * 4
		if xo == 597 || xo == 725 {
			n = 32
		}
	}
	for i := range (n + 3) / 4 {
		if load {
			d.Writes |= arch.Mask(d.gpr(rt + i))
		} else {
			d.Reads |= arch.Mask(d.gpr(rt + i))
		}
	}
}

// ppcSPR returns the register for a special purpose register number, given in two halves.
func ppcSPR(low, high uint32) arch.Reg {
	switch high<<5 | low {
	case 1:
		return arch.PPCXER
	case 8:
		return arch.PPCLR
	case 9:
		return arch.PPCCTR
	}
	return arch.NoReg
}
