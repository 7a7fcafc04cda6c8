package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// six decodes instructions of six bytes.
func (d s390Inst) six() error {
	switch op := d.code[0]; op {
	case 0xc0:
		return d.longImmediate()
	case 0xc2:
		d.longArithmetic()
	case 0xc4:
		return d.loadRelative()
	case 0xc6:
		d.compareRelative()
	case 0xc5, 0xc7: // bprp, bpp: hints
		d.Kind = Nop
	case 0xc8:
		return d.twoOperands()
	case 0xcc:
		return d.high()
	case 0xe3:
		d.rxy()
	case 0xe5:
		d.storeConstant()
	case 0xe6, 0xe7:
		d.vector(op == 0xe7)
	case 0xeb:
		return d.rsy()
	case 0xec:
		return d.rie()
	case 0xed:
		d.rxe()
	default:
		return d.storage(op)
	}
	return nil
}

// longImmediate decodes opcode C0.
func (d s390Inst) longImmediate() error {
	r1, imm := d.field(2), d.full()
	switch sub := d.field(3); sub {
	case 0: // larl
		d.address(r1, d.PC+uint64(2*imm))
	case 1: // lgfi
		d.constant(8, r1, imm)
	case 4:
		d.branchTo(r1, imm)
	case 5:
		d.linkTo(r1, imm)
	case 6, 8, 10, 12, 7, 9, 11, 13: // xihf, iihf, nihf, oihf and their other halves
		d.set(8, r1, r1)
		d.Imm = imm & 0xffffffff
	case 14: // llihf
		d.constant(8, r1, imm<<32)
	case 15: // llilf
		d.constant(8, r1, imm&0xffffffff)
	default:
		return ErrUnknown
	}
	return nil
}

// longArithmetic decodes opcode C2.
func (d s390Inst) longArithmetic() {
	r1, imm := d.field(2), d.full()
	unsigned := imm & 0xffffffff
	switch d.field(3) {
	case 4: // slgfi
		d.add(8, r1, r1, -unsigned)
	case 5: // slfi
		d.add(4, r1, r1, -unsigned)
	case 8, 9: // agfi, afi
		d.add(8>>(d.field(3)&1), r1, r1, imm)
	case 10, 11: // algfi, alfi
		d.add(8>>(d.field(3)&1), r1, r1, unsigned)
	case 12, 13, 14, 15: // cgfi, cfi, clgfi, clfi
		d.Dst, d.Imm, d.Reads = d.gpr(r1), imm, arch.Mask(d.gpr(r1))
	default: // msgfi, msfi
		d.set(8, r1, r1)
	}
}

// loadRelative decodes opcode C4.
func (d s390Inst) loadRelative() error {
	r1, sub := d.field(2), d.field(3)
	sizes := [16]uint8{2: 2, 4: 2, 5: 2, 6: 2, 7: 2, 8: 8, 11: 8, 12: 4, 13: 4, 14: 4, 15: 4}
	size := sizes[sub]
	if size == 0 {
		return ErrUnknown
	}
	store := sub == 7 || sub == 11 || sub == 15
	d.relative(uint16(size), !store, store)
	d.mems[0].Aligned = true
	d.Size = size
	if store {
		d.Kind, d.Src, d.Reads = Store, d.gpr(r1), arch.Mask(d.gpr(r1))
	} else {
		d.Kind, d.Dst, d.Writes = Load, d.gpr(r1), arch.Mask(d.gpr(r1))
	}
	return nil
}

// compareRelative decodes opcode C6, including exrl, which executes another instruction.
func (d s390Inst) compareRelative() {
	r1, sub := d.field(2), d.field(3)
	switch sub {
	case 2: // pfdrl
		d.Kind = Nop
	case 0:
		d.Src, d.Reads = d.base(r1), arch.Mask(d.base(r1))
	default:
		sizes := [16]uint16{4: 2, 5: 2, 6: 2, 7: 2, 8: 8, 10: 8, 12: 4, 13: 4, 14: 4, 15: 4}
		d.relative(sizes[sub], true, false)
		d.Dst, d.Reads = d.gpr(r1), arch.Mask(d.gpr(r1))
	}
}

// twoOperands decodes opcode C8.
func (d s390Inst) twoOperands() error {
	r3 := d.field(2)
	first := func(size uint16, read, write bool) { d.memory(size, d.field(4), 0, d.short(2), read, write) }
	second := func(size uint16) { d.memory(size, d.field(8), 0, d.short(4), true, false) }
	switch d.field(3) {
	case 0: // mvcos
		first(0, false, true)
		second(0)
	case 1: // ectg
		d.Writes = arch.Mask(d.gpr(0), d.gpr(1), d.gpr(r3))
		first(8, true, false)
		second(8)
	case 2: // csst
		d.Writes = arch.Mask(d.gpr(r3))
		first(0, true, true)
		second(0)
	case 4, 5: // lpd, lpdg
		d.pair(r3)
		first(4<<(d.field(3)&1), true, false)
		second(4 << (d.field(3) & 1))
	default:
		return ErrUnknown
	}
	return nil
}

// high decodes opcode CC: operations on the upper halves of registers.
func (d s390Inst) high() error {
	r1 := d.field(2)
	switch d.field(3) {
	case 6: // brcth
		d.branchTo(7, d.full())
		d.set(8, r1, r1)
	case 8, 10, 11: // aih, alsih, alsihn
		d.set(8, r1, r1)
	case 13, 15: // cih, clih
		d.Dst, d.Reads = d.gpr(r1), arch.Mask(d.gpr(r1))
	default:
		return ErrUnknown
	}
	return nil
}

// storeConstant decodes opcode E5: stores of constants, and transactions.
func (d s390Inst) storeConstant() {
	base, disp, imm := d.field(4), d.short(2), d.half(4)
	switch d.code[1] {
	case 0x44:
		d.storeImm(imm, 2, base, disp)
	case 0x48:
		d.storeImm(imm, 8, base, disp)
	case 0x4c:
		d.storeImm(imm, 4, base, disp)
	case 0x54, 0x55, 0x58, 0x59, 0x5c, 0x5d: // chhsi to clfhsi
		size := map4(uint32(d.code[1]>>2), 0, 0x55>>2, 0x5c>>2, 0x58>>2)
		d.Imm = imm
		d.memory(uint16(size), base, 0, disp, true, false)
	case 0x60, 0x61: // tbegin, tbeginc
	default:
		d.Kind = Halt
	}
}

// storage decodes operations on strings in memory: formats SS.
func (d s390Inst) storage(op byte) error {
	n := uint16(d.code[1]) + 1
	first := func(read, write bool) { d.memory(n, d.field(4), 0, d.short(2), read, write) }
	second := func(size uint16) { d.memory(size, d.field(8), 0, d.short(4), true, false) }
	switch op {
	case 0xd2, 0xd1, 0xd3, 0xe8: // mvc, mvn, mvz, mvcin
		first(op == 0xd1 || op == 0xd3, true)
		second(n)
	case 0xd4, 0xd6, 0xd7: // nc, oc, xc
		first(true, true)
		second(n)
	case 0xd5: // clc
		first(true, false)
		second(n)
	case 0xdc, 0xde: // tr, ed
		first(true, true)
		second(0)
	case 0xdd, 0xd0: // trt, trtr
		first(true, false)
		second(0)
		d.Writes = arch.Mask(d.gpr(1), d.gpr(2))
	case 0xdf: // edmk
		first(true, true)
		second(0)
		d.Writes = arch.Mask(d.gpr(1))
	case 0xd9, 0xda, 0xdb, 0xe1, 0xe2, 0xe9, 0xea: // mvck, mvcp, mvcs, pku, unpku, pka, unpka
		n = 0
		first(false, true)
		second(0)
	case 0xee: // plo
		d.Writes = arch.Mask(d.gpr(d.field(2)), d.gpr(d.field(3)))
	case 0xef: // lmd
		return d.many(Load, 8, d.field(2), d.field(3), d.field(4), d.short(2))
	case 0xf0, 0xf1, 0xf2, 0xf3, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd: // decimal
		n = uint16(d.field(2)) + 1
		first(op != 0xf8, op != 0xf9)
		if op != 0xf0 {
			second(uint16(d.field(3)) + 1)
		}
	default:
		return ErrUnknown
	}
	return nil
}

// s390Far are the instructions of format RXY, opcode E3, that s390RX describes completely.
var s390Far = [256]s390RX{
	0x02: {s390Load, 8}, 0x04: {s390Load, 8}, 0x06: {s390Word, 8}, 0x0e: {s390Double, 16},
	0x08: {s390Double, 8}, 0x09: {s390Double, 8}, 0x0a: {s390Double, 8}, 0x0b: {s390Double, 8}, 0x0c: {s390Double, 8}, 0x0d: {s390Divide, 8},
	0x0f: {s390Double, 8}, 0x12: {s390Load, 4}, 0x14: {s390Load, 4}, 0x15: {s390Load, 2}, 0x16: {s390Load, 4}, 0x17: {s390Load, 4},
	0x18: {s390Double, 4}, 0x19: {s390Double, 4}, 0x1a: {s390Double, 4}, 0x1b: {s390Double, 4}, 0x1c: {s390Double, 4}, 0x1d: {s390Divide, 4},
	0x1e: {s390Word, 4}, 0x1f: {s390Word, 2}, 0x20: {s390Compare, 8}, 0x21: {s390Compare, 8}, 0x24: {s390Store, 8}, 0x25: {s390Store, 8},
	0x26: {s390Keep, 8}, 0x2a: {s390Double, 8}, 0x2e: {s390Keep, 16}, 0x2f: {s390Keep, 8}, 0x30: {s390Compare, 4}, 0x31: {s390Compare, 4},
	0x32: {s390Load, 4}, 0x34: {s390Compare, 2}, 0x38: {s390Double, 2}, 0x39: {s390Double, 2}, 0x3a: {s390Double, 4}, 0x3b: {s390Word, 4},
	0x3c: {s390Double, 2}, 0x3e: {s390Keep, 4}, 0x3f: {s390Keep, 2}, 0x48: {s390Double, 8}, 0x49: {s390Keep, 8}, 0x4c: {s390Double, 4},
	0x4d: {s390None, 8}, 0x50: {s390Store, 4}, 0x51: {s390Word, 4}, 0x53: {s390Word, 4}, 0x54: {s390Word, 4}, 0x55: {s390Compare, 4},
	0x56: {s390Word, 4}, 0x57: {s390Word, 4}, 0x58: {s390Load, 4}, 0x59: {s390Compare, 4}, 0x5a: {s390Word, 4}, 0x5b: {s390Word, 4},
	0x5c: {s390Pair, 4}, 0x5e: {s390Word, 4}, 0x5f: {s390Word, 4}, 0x70: {s390Store, 2}, 0x72: {s390Store, 1}, 0x73: {s390Word, 1},
	0x76: {s390Load, 1}, 0x77: {s390Load, 1}, 0x78: {s390Load, 2}, 0x79: {s390Compare, 2}, 0x7a: {s390Word, 2}, 0x7b: {s390Word, 2},
	0x7c: {s390Word, 2}, 0x80: {s390Double, 8}, 0x81: {s390Double, 8}, 0x82: {s390Double, 8}, 0x83: {s390Double, 8}, 0x84: {s390Pair, 8},
	0x85: {s390Load, 8}, 0x86: {s390Pair, 8}, 0x87: {s390Divide, 8}, 0x88: {s390Double, 8}, 0x89: {s390Double, 8}, 0x8e: {s390Keep, 16},
	0x8f: {s390Pair, 16}, 0x90: {s390Load, 1}, 0x91: {s390Load, 2}, 0x94: {s390Load, 1}, 0x95: {s390Load, 2}, 0x96: {s390Pair, 4},
	0x97: {s390Divide, 4}, 0x98: {s390Word, 4}, 0x99: {s390Word, 4}, 0x9c: {s390Load, 4}, 0x9d: {s390Load, 4}, 0x9f: {s390Word, 4},
	0xc0: {s390Double, 1}, 0xc2: {s390Double, 1}, 0xc3: {s390Keep, 1}, 0xc4: {s390Double, 2}, 0xc6: {s390Double, 2}, 0xc7: {s390Keep, 2},
	0xc8: {s390Double, 4}, 0xca: {s390Double, 4}, 0xcb: {s390Keep, 4}, 0xcd: {s390Compare, 4}, 0xcf: {s390Compare, 4},
}

// rxy decodes opcode E3.
func (d s390Inst) rxy() {
	r1, index, base, disp := d.field(2), d.field(3), d.field(4), d.long()
	switch sub := d.code[5]; sub {
	case 0x71, 0x75: // lay, laey
		d.loadAddress(disp)
	case 0x36: // pfd
		d.Kind = Nop
	case 0x46: // bctg
		d.branchMem(7, base, index, disp)
		d.Kind = JumpIndirect
		d.set(8, r1, r1)
	case 0x47: // bic, to the address in memory
		d.Kind, d.Conditional = JumpIndirect, r1 != 15
		d.memory(8, base, index, disp, true, false)
	default:
		if rx := s390Far[sub]; rx.do != s390None {
			d.operate(rx, disp)
		} else {
			d.set(8, r1, r1)
		}
	}
}

// rxe decodes opcode ED: floating point with memory.
func (d s390Inst) rxe() {
	r1, index, base, disp := d.field(2), d.field(3), d.field(4), d.short(2)
	switch sub := d.code[5]; sub {
	case 0x65:
		d.load(d.fpr(r1), 8, base, index, d.long())
	case 0x67:
		d.store(d.fpr(r1), 8, base, index, d.long())
	case 0x66:
		d.store(d.fpr(r1), 4, base, index, d.long())
	case 0x64: // ley: the upper half
		d.Writes = arch.Mask(d.fpr(r1))
		d.memory(4, base, index, d.long(), true, false)
	case 0x10, 0x11, 0x12, 0x50, 0x51, 0x54, 0x55, 0x58, 0x59: // tests of data classes: the address is the operand
	default:
		size := uint16(8)
		if sub < 0x10 || sub == 0x24 || sub == 0x26 || sub == 0x34 || sub == 0x37 || sub == 0x17 || sub == 0x14 {
			size = 4
		}
		if sub >= 0x40 || sub == 0x0e || sub == 0x0f || sub == 0x1e || sub == 0x1f || sub >= 0x38 {
			to := d.code[4] >> 4 // the accumulator
			d.Writes = arch.Mask(d.fpr(to), d.fpr(to+2), d.fpr(r1))
		} else if sub != 0x08 && sub != 0x09 && sub != 0x18 && sub != 0x19 {
			d.Writes = arch.Mask(d.fpr(r1))
			if sub >= 0x05 && sub <= 0x07 || sub == 0x25 || sub == 0x26 {
				d.Writes |= arch.Mask(d.fpr(r1 + 2))
			}
		}
		if sub < 0x40 {
			d.memory(size, base, index, disp, true, false)
		}
	}
}
