package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// oneByte adds to what the table says about an opcode of the one-byte map.
func (d *x86Decoder) oneByte() {
	op := d.raw.op
	switch {
	case op < 0x40:
		d.aluOrSegment(op)
	case op < 0x50: // inc, dec: 32-bit mode
		d.explicit(op&7, accRW, true)
	case op < 0x60:
		d.pushPopReg(op)
	case op >= 0x70 && op < 0x80:
		d.branch(CondJump)
	case op >= 0xb0 && op < 0xc0:
		d.movImm(op)
	case op >= 0xd8 && op <= 0xdf:
		d.x87(op)
	default:
		d.oneByteRest(op)
	}
}

// aluOrSegment decodes the eight arithmetic operations, push and pop of segments.
func (d *x86Decoder) aluOrSegment(op uint8) {
	switch op & 7 {
	case 0, 1, 2, 3:
		d.clearing()
	case 4, 5: // accumulator and immediate
		acc := accRW
		if op >= 0x38 {
			acc = accR
		}
		if op&7 == 4 {
			d.in.Size = 1
		}
		d.explicit(nAX, acc, acc == accRW)
	default:
		if op == 0x27 || op == 0x2f || op == 0x37 || op == 0x3f { // daa, das, aaa, aas
			d.use(nAX, accRW)
			return
		}
		d.slot(op&7 == 6 || op == 0x0e)
	}
}

// clearing recognises xor and sub of a register with itself, which read nothing.
func (d *x86Decoder) clearing() {
	r := d.raw
	alu := r.op >> 3
	if (alu == 6 || alu == 5) && !r.memForm() && d.in.Size >= 4 && r.regExt() == r.rmExt() {
		d.in.Kind, d.in.Imm, d.in.Reads = MovImm, 0, 0
		d.in.Src = arch.NoReg
	}
}

// slot decodes a push or pop of something other than a general register.
func (d *x86Decoder) slot(push bool) {
	n := int(d.slotSize())
	d.in.Size = uint8(n)
	if push {
		d.in.Kind = Push
		d.stack(accW, -int64(n), n)
		return
	}
	d.in.Kind = Pop
	d.stack(accR, 0, n)
}

func (d *x86Decoder) pushPopReg(op uint8) {
	n := op&7 | d.raw.rex&rexB<<3
	d.slot(op < 0x58)
	if op < 0x58 {
		d.explicit(n, accR, false)
	} else {
		d.explicit(n, accW, true)
	}
}

// branch decodes direct branches and calls.
func (d *x86Decoder) branch(kind Kind) {
	d.in.Kind = kind
	d.in.Size = 0
	target := d.in.PC + uint64(d.raw.len) + uint64(d.raw.imm)
	if d.mode.bits == 32 && d.raw.opsize {
		target &= 0xffff
	}
	d.in.Target = d.in.arch.Truncate(target)
	d.in.Imm = 0
}

func (d *x86Decoder) movImm(op uint8) {
	n := op&7 | d.raw.rex&rexB<<3
	if op < 0xb8 {
		d.in.Size = 1
		n = d.gprNumber(n, 1)
	}
	if d.in.Size == 4 {
		d.in.Imm = int64(uint32(d.in.Imm)) // the upper half of the register is cleared
	}
	d.in.Kind = MovImm
	d.explicit(n, accW, true)
}

func (d *x86Decoder) oneByteRest(op uint8) {
	switch op {
	case 0x60: // pusha
		d.in.Kind = Push
		d.in.Size = 8 * d.sizeV()
		d.stack(accW, -int64(d.in.Size), int(d.in.Size))
		d.in.Reads |= d.mode.masks(nAX, nCX, nDX, nBX, nBP, nSI, nDI)
	case 0x61: // popa
		d.in.Kind = Pop
		d.in.Size = 8 * d.sizeV()
		d.stack(accR, 0, int(d.in.Size))
		d.in.Writes |= d.mode.masks(nAX, nCX, nDX, nBX, nBP, nSI, nDI)
	case 0x62: // bound
		if len(d.in.Mems()) > 0 {
			d.in.mems[0].Size *= 2
		}
	case 0x63: // movsxd; arpl in 32-bit mode
		if d.mode.bits == 32 {
			d.in.Reads |= d.mode.mask(d.raw.reg())
			if len(d.in.Mems()) > 0 {
				d.in.mems[0].Size, d.in.mems[0].Write = 2, true
			}
		}
	case 0x68, 0x6a:
		d.slot(true)
	case 0x80, 0x81, 0x82, 0x83:
		d.immediateGroup()
	case 0x8c:
		if !d.raw.memForm() {
			d.in.Size = d.sizeV()
		}
	case 0x8d:
		d.in.Kind = Lea
		if !d.raw.memForm() {
			d.in.Kind = Trap
		}
	case 0x8f:
		d.popMem()
	case 0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97:
		d.exchangeAX(op)
	case 0x98: // cbw, cwde, cdqe
		d.use(nAX, accRW)
	case 0x99: // cwd, cdq, cqo
		d.use(nAX, accR)
		d.use(nDX, accW)
	case 0x9a:
		d.in.Kind = CallIndirect
		d.stack(accW, -2*int64(d.sizeV()), 2*int(d.sizeV()))
	case 0x9c, 0x9d: // pushf, popf
		d.slot(op == 0x9c)
	case 0x9e: // sahf
		d.use(nAX, accR)
	case 0x9f: // lahf
		d.use(nAX, accW)
	case 0xa0, 0xa1, 0xa2, 0xa3:
		d.absoluteMov(op)
	case 0xa8, 0xa9:
		if op == 0xa8 {
			d.in.Size = 1
		}
		d.explicit(nAX, accR, false)
	case 0x6c, 0x6d, 0x6e, 0x6f, 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf:
		d.stringOp(op)
	default:
		d.oneByteHigh(op)
	}
}

func (d *x86Decoder) oneByteHigh(op uint8) {
	in := d.in
	switch op {
	case 0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3: // shifts
		if op == 0xd2 || op == 0xd3 {
			d.use(nCX, accR)
		}
	case 0xc2, 0xc3:
		in.Kind = Ret
		in.Imm &= 0xffff
		d.stack(accR, 0, int(d.mode.wordLen))
	case 0xc4, 0xc5: // les, lds: offset and selector
		d.setRM(accR, int(d.sizeV())+2)
		in.Dst = d.mode.gpr[d.raw.reg()]
	case 0xc6, 0xc7:
		d.movImmGroup(op)
	case 0xc8:
		in.Kind = Enter
		d.stack(accW, -int64(d.slotSize()), int(d.slotSize()))
		d.use(nBP, accRW)
	case 0xc9:
		in.Kind = Leave
		d.at(nBP, accR, int(d.slotSize()), false)
		d.use(nBP, accW)
		d.use(nSP, accW)
	case 0xca, 0xcb, 0xcf:
		in.Kind = RetFar
		in.Imm &= 0xffff
		n := 2 * int(d.sizeV())
		if op == 0xcf {
			n = 3 * int(d.sizeV())
			if d.mode.bits == 64 {
				n = 5 * int(d.sizeV())
			}
		}
		d.stack(accR, 0, n)
	case 0xcc:
		in.Kind = Int3
	case 0xcd, 0xce, 0xf1:
		in.Kind = Interrupt
		in.Imm &= 0xff
		if in.Imm == 0x80 && op == 0xcd { // i386 system calls
			in.Kind = Syscall
			in.Reads |= d.mode.masks(nAX, nBX, nCX, nDX, nSI, nDI, nBP)
			in.Writes |= d.mode.mask(nAX)
		}
	case 0xd4, 0xd5, 0xd6: // aam, aad, salc
		d.use(nAX, accRW)
	case 0xd7: // xlat: al is added to the address, without scaling
		d.at(nBX, accR, 1, true)
		d.use(nAX, accRW)
		in.mems[0].Index = arch.NoReg
		in.mems[0].Vector = true // al is not a full register: the address is not computed
	case 0xe0, 0xe1, 0xe2, 0xe3: // loops, jrcxz
		d.branch(CondJump)
		d.use(nCX, accRW)
		if op == 0xe3 {
			in.Writes &^= d.mode.mask(nCX)
		}
	case 0xe4, 0xe5, 0xec, 0xed, 0xe6, 0xe7, 0xee, 0xef: // in, out
		d.port(op)
	case 0xe8:
		d.branch(Call)
		d.stack(accW, -int64(d.mode.wordLen), int(d.mode.wordLen))
	case 0xe9, 0xeb:
		d.branch(Jump)
	case 0xea:
		in.Kind = JumpIndirect
	case 0xf4, 0xfa, 0xfb: // hlt, cli, sti
		in.Kind = Halt
	case 0xf6, 0xf7:
		d.unaryGroup()
	case 0xfe, 0xff:
		d.incGroup(op)
	}
}

// port decodes input and output, which fault in user mode.
func (d *x86Decoder) port(op uint8) {
	d.in.Kind = Halt
	acc := accR
	if op&2 == 0 {
		acc = accW
	}
	d.use(nAX, acc)
	if op >= 0xec {
		d.use(nDX, accR)
	}
}

// exchangeAX decodes xchg with the accumulator, including nop.
func (d *x86Decoder) exchangeAX(op uint8) {
	n := op&7 | d.raw.rex&rexB<<3
	if n == nAX {
		d.in.Kind, d.in.Size = Nop, 0
		return
	}
	d.explicit(n, accRW, true)
	d.explicit(nAX, accRW, false)
}

// absoluteMov decodes mov between the accumulator and an absolute address.
func (d *x86Decoder) absoluteMov(op uint8) {
	if op&1 == 0 {
		d.in.Size = 1
	}
	acc, kind := accR, Load
	if op >= 0xa2 {
		acc, kind = accW, Store
	}
	m := d.newMem(acc, int(d.in.Size))
	m.Implicit = false
	m.Disp = d.raw.imm
	if d.mode.bits == 32 || d.raw.addr {
		m.Disp = int64(uint32(d.raw.imm))
	}
	m.Segment = d.mode.segment(d.raw)
	d.in.addMem(m)
	d.in.Kind, d.in.Imm = kind, 0
	if kind == Load {
		d.explicit(nAX, accW, true)
	} else {
		d.explicit(nAX, accR, false)
	}
}

// stringOp decodes ins, outs, movs, cmps, stos, lods, scas.
func (d *x86Decoder) stringOp(op uint8) {
	in := d.in
	if op&1 == 0 {
		in.Size = 1
	} else if op < 0x70 && in.Size == 8 {
		in.Size = 4 // ports are 32 bits wide
	}
	n := int(in.Size)
	in.Rep = d.raw.rep != 0
	source, dest := accNone, accNone
	switch op &^ 1 {
	case 0x6c:
		dest = accW
		in.Reads |= d.mode.mask(nDX)
	case 0x6e:
		source = accR
		in.Reads |= d.mode.mask(nDX)
	case 0xa4:
		source, dest = accR, accW
	case 0xa6:
		source, dest = accR, accR
	case 0xaa:
		dest = accW
		d.use(nAX, accR)
	case 0xac:
		source = accR
		d.use(nAX, accW)
	case 0xae:
		dest = accR
		d.use(nAX, accR)
	}
	if source != accNone {
		d.at(nSI, source, n, true)
		d.use(nSI, accRW)
	}
	if dest != accNone {
		d.at(nDI, dest, n, false)
		d.use(nDI, accRW)
	}
	if in.Rep {
		d.use(nCX, accRW)
	}
}
