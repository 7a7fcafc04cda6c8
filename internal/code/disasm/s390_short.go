package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// two decodes instructions of two bytes: formats E, I and RR.
func (d s390Inst) two() error {
	op, r1, r2 := d.code[0], d.field(2), d.field(3)
	switch {
	case op == 0x00 && d.code[1] == 0x01: // undefined: the second half of a branch into its own middle, and Linux's breakpoint
		d.Kind = Trap
	case op == 0x01:
		return d.noOperands()
	case op == 0x05, op == 0x0d, op == 0x0c: // balr, basr, bassm
		d.link(r1, r2)
	case op == 0x06: // bctr
		d.countDown(4, r1, r2)
	case op == 0x07: // bcr
		d.branchReg(r1, r2)
	case op == 0x0a: // svc
		d.Kind, d.Imm, d.Writes = Syscall, int64(d.code[1]), arch.Mask(d.gpr(2))
	case op == 0x0b: // bsm
		if d.branchReg(15, r2); r1 != 0 {
			d.Writes |= arch.Mask(d.gpr(r1))
		}
	case op == 0x04: // spm
		d.Src, d.Reads = d.gpr(r1), arch.Mask(d.gpr(r1))
	case op == 0x0e, op == 0x0f: // mvcl, clcl
		d.pair(r1)
		d.pair(r2)
		d.Dst = arch.NoReg
		d.memory(0, r1, 0, 0, op == 0x0f, op == 0x0e)
		d.memory(0, r2, 0, 0, true, false)
	case op >= 0x20 && op < 0x40:
		d.hexFloat(op, r1, r2)
	case op >= 0x10 && op < 0x20:
		d.twoRegs(op, r1, r2)
	case op == 0x00 && d.code[1] == 1: // a debugger's breakpoint
		d.Kind = Int3
	default:
		return ErrUnknown
	}
	return nil
}

func (d s390Inst) noOperands() error {
	switch d.code[1] {
	case 0x01: // pr
		d.Kind = RetFar
	case 0xff: // trap2
		d.Kind = Trap
	case 0x02, 0x0a: // upt, pfpo
		d.Writes = arch.Mask(d.gpr(0), d.gpr(1), d.gpr(2), d.gpr(3), d.gpr(5))
	case 0x04, 0x07, 0x0b, 0x0c, 0x0d, 0x0e: // ptff, sckpf, tam, sam24, sam31, sam64
	default:
		return ErrUnknown
	}
	return nil
}

// countDown records bctr and similar: r1 is decremented, and the branch taken unless it is
// 0.
func (d s390Inst) countDown(size, r1, r2 uint8) {
	if r2 == 0 {
		d.add(size, r1, r1, -1)
		return
	}
	d.branchReg(7, r2)
	d.Kind = JumpIndirect
	d.Reads |= arch.Mask(d.gpr(r1))
	d.Writes |= arch.Mask(d.gpr(r1))
}

// hexFloat decodes the original (hexadecimal) floating-point operations.
func (d s390Inst) hexFloat(op, r1, r2 uint8) {
	switch op {
	case 0x28: // ldr
		d.mov(d.fpr(r1), d.fpr(r2))
		d.Size = 8
	case 0x29, 0x39: // cdr, cer
	case 0x26, 0x36, 0x37, 0x27: // extended: two registers
		d.Writes = arch.Mask(d.fpr(r1), d.fpr(r1+2))
	default:
		d.Writes = arch.Mask(d.fpr(r1))
	}
}

// twoRegs decodes operations on words.
func (d s390Inst) twoRegs(op, r1, r2 uint8) {
	switch op {
	case 0x15, 0x19: // clr, cr
		d.compare(r1, r2)
	case 0x18, 0x12: // lr, ltr
		if d.narrow(4) {
			d.set(4, r1, r2)
			d.Src = d.gpr(r2)
		} else {
			d.mov(d.gpr(r1), d.gpr(r2))
		}
	case 0x1c, 0x1d: // mr, dr
		d.pair(r1)
		d.Reads |= arch.Mask(d.gpr(r2))
		if op == 0x1d {
			d.Kind, d.Src, d.Size = Div, d.gpr(r2), 4
		}
	case 0x10, 0x11, 0x13: // lpr, lnr, lcr
		d.set(4, r1, r2)
	default:
		d.set(4, r1, r1, r2)
		d.Src = d.gpr(r2)
	}
}

// four decodes instructions of four bytes.
func (d s390Inst) four() error {
	op, r1 := d.code[0], d.field(2)
	base, disp := d.field(4), d.short(2)
	switch {
	case op >= 0x40 && op < 0x80:
		return d.indexed(op)
	case op >= 0x88 && op < 0x8c: // shifts
		d.set(4, r1, r1)
		d.Reads |= arch.Mask(d.base(base))
	case op >= 0x8c && op < 0x90:
		d.pair(r1)
	case op >= 0x91 && op < 0x98 && op != 0x92: // tm, ts, ni, cli, oi, xi
		d.memory(1, base, 0, disp, true, op != 0x91 && op != 0x95)
	}
	switch op {
	case 0x80, 0x82, 0x83, 0xac, 0xad, 0xae, 0xb6, 0xb7, 0x99: // privileged
		d.Kind = Halt
	case 0x84, 0x85: // brxh, brxle
		d.index(r1, d.field(3))
		d.branchTo(7, d.half(2))
	case 0x86, 0x87: // bxh, bxle
		d.index(r1, d.field(3))
		d.branchMem(7, base, 0, disp)
		d.Kind = JumpIndirect
	case 0x90:
		return d.many(Store, 4, r1, d.field(3), base, disp)
	case 0x98:
		return d.many(Load, 4, r1, d.field(3), base, disp)
	case 0x92:
		d.storeImm(int64(d.code[1]), 1, base, disp)
	case 0x9a, 0x9b: // lam, stam
		d.accessRegs(op == 0x9a, base, disp)
	case 0xa5:
		d.insert()
	case 0xa7:
		d.immediate()
	case 0xa8, 0xa9: // mvcle, clcle
		d.pair(r1)
		d.pair(d.field(3))
		d.memory(0, r1, 0, 0, op == 0xa9, op == 0xa8)
		d.memory(0, d.field(3), 0, 0, true, false)
	case 0xb1: // lra
		d.set(uint8(d.arch.RegSize), r1)
	case 0xb2:
		return d.group(d.code[1])
	case 0xb3:
		d.floats(d.code[1])
	case 0xb9:
		d.group64(d.code[1])
	case 0xba, 0xbb: // cs, cds
		d.swap(op == 0xbb, 4, disp)
	case 0xbd, 0xbe, 0xbf: // clm, stcm, icm
		d.bytes(disp, op == 0xbe, op == 0xbf)
	case 0xaf, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f, 0x91, 0x93, 0x94, 0x95, 0x96, 0x97:
	default:
		return ErrUnknown
	}
	return nil
}

// index records the registers of a branch on index: r3 is added to r1, which is compared
// with r3 or the register after it.
func (d s390Inst) index(r1, r3 uint8) {
	d.Reads |= arch.Mask(d.gpr(r1), d.gpr(r3), d.gpr(r3|1))
	d.Writes |= arch.Mask(d.gpr(r1))
}

// accessRegs records loads and stores of access registers.
func (d s390Inst) accessRegs(load bool, base uint8, disp int64) {
	r1, r3 := d.field(2), d.field(3)
	n := (r3-r1)&15 + 1
	d.memory(4*uint16(n), base, 0, disp, load, !load)
	if load {
		for i := range n {
			d.wroteAccess(r1 + i)
		}
	}
}

// wroteAccess records a change of access register n; the register file has a0 and a1.
func (d s390Inst) wroteAccess(n uint8) {
	if n &= 15; n < 2 {
		d.Writes |= arch.Mask(arch.S390A0 + arch.Reg(n))
	}
}

// swap records compare and swap.
func (d s390Inst) swap(double bool, size uint8, disp int64) {
	r1, r3 := d.field(2), d.field(3)
	if double {
		d.pair(r1)
		d.Reads |= arch.Mask(d.gpr(r3), d.gpr(r3+1))
		size *= 2
	} else {
		d.set(size, r1, r1, r3)
	}
	d.memory(uint16(size), d.field(4), 0, disp, true, true)
	d.mems[0].Aligned = true
}

// bytes records instructions on the bytes of r1 selected by a mask.
func (d s390Inst) bytes(disp int64, store, load bool) {
	n := uint16(0)
	for mask := d.field(3); mask != 0; mask &= mask - 1 {
		n++
	}
	if r1 := d.field(2); load {
		d.set(4, r1, r1)
	} else {
		d.Reads = arch.Mask(d.gpr(r1))
	}
	d.memory(n, d.field(4), 0, disp, !store, store)
}

// s390RX describes an instruction with an indexed operand.
type s390RX struct {
	do   s390Do
	size uint8 // bytes of memory
}

// An s390Do is the effect of an instruction on r1 and its memory operand.
type s390Do uint8

const (
	s390None      s390Do = iota
	s390Load             // r1 = memory, extended to size's word
	s390Store            // memory = r1
	s390Compare          // r1 is compared with memory
	s390Word             // r1 op= memory, of 32 bits
	s390Double           // r1 op= memory, of 64 bits
	s390Pair             // r1 and r1+1 op= memory
	s390Divide           // r1 and r1+1, by memory
	s390Float            // floating-point register r1 op= memory
	s390FloatLoad        // floating-point register r1 = memory
	s390FloatSave        // memory = floating-point register r1
	s390FloatRead        // floating-point register r1 is compared with memory
	s390Keep             // memory = something derived from r1
)

// s390Indexed are the instructions of format RX, by opcode minus 0x40.
var s390Indexed = [0x40]s390RX{
	0x00: {s390Store, 2}, 0x02: {s390Store, 1}, 0x03: {s390Word, 1}, 0x08: {s390Load, 2}, 0x09: {s390Compare, 2},
	0x0a: {s390Word, 2}, 0x0b: {s390Word, 2}, 0x0c: {s390Word, 2}, 0x0e: {s390Keep, 8}, 0x0f: {s390Word, 8},
	0x10: {s390Store, 4}, 0x14: {s390Word, 4}, 0x15: {s390Compare, 4}, 0x16: {s390Word, 4}, 0x17: {s390Word, 4},
	0x18: {s390Load, 4}, 0x19: {s390Compare, 4}, 0x1a: {s390Word, 4}, 0x1b: {s390Word, 4}, 0x1c: {s390Pair, 4}, 0x1d: {s390Divide, 4},
	0x1e: {s390Word, 4}, 0x1f: {s390Word, 4}, 0x31: {s390Word, 4},
	0x20: {s390FloatSave, 8}, 0x27: {s390Float, 8}, 0x28: {s390FloatLoad, 8}, 0x29: {s390FloatRead, 8}, 0x2a: {s390Float, 8},
	0x2b: {s390Float, 8}, 0x2c: {s390Float, 8}, 0x2d: {s390Float, 8}, 0x2e: {s390Float, 8}, 0x2f: {s390Float, 8},
	0x30: {s390FloatSave, 4}, 0x38: {s390Float, 4}, 0x39: {s390FloatRead, 4}, 0x3a: {s390Float, 4}, 0x3b: {s390Float, 4},
	0x3c: {s390Float, 4}, 0x3d: {s390Float, 4}, 0x3e: {s390Float, 4}, 0x3f: {s390Float, 4},
}

// indexed decodes format RX.
func (d s390Inst) indexed(op byte) error {
	r1, index, base, disp := d.field(2), d.field(3), d.field(4), d.short(2)
	switch op {
	case 0x41, 0x51: // la, lae
		d.loadAddress(disp)
	case 0x44: // ex
		d.Src, d.Reads = d.base(r1), arch.Mask(d.base(r1), d.base(base), d.base(index))
	case 0x45, 0x4d: // bal, bas
		if index == 0 && disp == 0 && base != 0 {
			d.link(r1, base)
			return nil
		}
		d.Kind = CallIndirect
		d.memory(0, base, index, disp, false, false)
		d.Writes = arch.Mask(d.gpr(r1))
	case 0x46: // bct
		d.Reads, d.Writes = arch.Mask(d.gpr(r1)), arch.Mask(d.gpr(r1))
		d.branchMem(7, base, index, disp)
		d.Kind = JumpIndirect
	case 0x47: // bc
		d.branchMem(r1, base, index, disp)
	default:
		rx := s390Indexed[op-0x40]
		if rx.do == s390None {
			return ErrUnknown
		}
		d.operate(rx, disp)
	}
	return nil
}

// operate records an operation of r1 with base+index+disp.
func (d s390Inst) operate(rx s390RX, disp int64) {
	r1, index, base := d.field(2), d.field(3), d.field(4)
	switch rx.do {
	case s390Load:
		d.load(d.gpr(r1), rx.size, base, index, disp)
		return
	case s390Store:
		d.store(d.gpr(r1), rx.size, base, index, disp)
		return
	case s390FloatLoad:
		d.load(d.fpr(r1), rx.size, base, index, disp)
		return
	case s390FloatSave:
		d.store(d.fpr(r1), rx.size, base, index, disp)
		return
	case s390Word:
		d.set(4, r1, r1)
	case s390Double:
		d.set(8, r1, r1)
	case s390Pair, s390Divide:
		d.pair(r1)
		if rx.do == s390Divide {
			d.Kind, d.Size = Div, rx.size
		}
	case s390Compare, s390Keep:
		d.Dst, d.Reads = d.gpr(r1), arch.Mask(d.gpr(r1))
	case s390Float:
		d.Writes = arch.Mask(d.fpr(r1))
	}
	d.memory(uint16(rx.size), base, index, disp, rx.do != s390Keep, rx.do == s390Keep)
}

// insert decodes opcode A5: sets halves of registers to constants.
func (d s390Inst) insert() {
	r1, sub := d.field(2), d.field(3)
	imm := int64(uint16(d.half(2)))
	switch {
	case sub >= 12: // llihh, llihl, llilh, llill
		d.constant(8, r1, imm<<(16*(15-sub)))
	case sub == 7 && r1 == s390SP: // nill
		d.set(uint8(d.arch.RegSize), r1, r1)
		d.Kind, d.Imm = AndSP, d.half(2)|^0xffff
	default:
		d.set(8, r1, r1)
		d.Imm = imm
	}
}

// immediate decodes opcode A7: operations with a constant, and branches.
func (d s390Inst) immediate() {
	r1, imm := d.field(2), d.half(2)
	switch sub := d.field(3); sub {
	case 0, 1, 2, 3, 14, 15: // tmlh to tmhl, chi, cghi
		d.Dst, d.Imm, d.Reads = d.gpr(r1), imm, arch.Mask(d.gpr(r1))
	case 4:
		d.branchTo(r1, imm)
	case 5:
		d.linkTo(r1, imm)
	case 6, 7: // brct, brctg
		d.branchTo(7, imm)
		d.Reads, d.Writes = arch.Mask(d.gpr(r1)), arch.Mask(d.gpr(r1))
	case 8, 9: // lhi, lghi
		d.constant(4<<(sub&1), r1, imm)
	case 10, 11: // ahi, aghi
		d.add(4<<(sub&1), r1, r1, imm)
	default: // mhi, mghi
		d.set(4<<(sub&1), r1, r1)
		d.Imm = imm
	}
}
