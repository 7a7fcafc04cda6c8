package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// Opcodes completed by modrm.reg: Intel SDM volume 2, table A-6.

// setRM changes the access to modrm.rm.
func (d *x86Decoder) setRM(acc opAccess, size int) {
	in := d.in
	if d.raw.memForm() {
		in.mems[0].Read, in.mems[0].Write = acc&accR != 0, acc&accW != 0
		in.mems[0].Size = uint16(size)
		return
	}
	n := d.gprNumber(d.raw.rmExt(), in.Size)
	reg := d.mode.gpr[n]
	in.Reads &^= 1 << reg
	in.Writes &^= 1 << reg
	in.Dst, in.Src = arch.NoReg, arch.NoReg
	if acc != accNone {
		d.explicit(n, acc, acc&accW != 0)
	}
}

// immediateGroup decodes add, or, adc, sbb, and, sub, xor, cmp with an immediate.
func (d *x86Decoder) immediateGroup() {
	if d.raw.reg() == 7 {
		d.setRM(accR, int(d.in.Size))
		return
	}
	if d.raw.memForm() || d.raw.rmExt() != nSP || d.in.Size < d.mode.ptrLen {
		return
	}
	switch d.raw.reg() {
	case 0:
		d.in.Kind = AddSP
	case 4:
		d.in.Kind = AndSP
	case 5:
		d.in.Kind = SubSP
	}
}

// popMem decodes pop to modrm.rm. An address that uses SP uses its value after the pop.
func (d *x86Decoder) popMem() {
	in := d.in
	if !d.raw.memForm() {
		d.slot(false)
		return
	}
	if in.mems[0].Base == d.mode.gpr[nSP] {
		in.mems[0].Disp += int64(d.slotSize())
	}
	d.slot(false)
}

// movImmGroup decodes mov with an immediate, xabort, xbegin.
func (d *x86Decoder) movImmGroup(op uint8) {
	in, r := d.in, d.raw
	switch {
	case r.modrm == 0xf8 && op == 0xc7: // xbegin: control may continue at Target
		in.Writes, in.Dst = 0, arch.NoReg
		d.branch(CondJump)
		d.use(nAX, accW)
	case r.modrm == 0xf8:
		in.Writes, in.Dst = 0, arch.NoReg
	case r.reg() != 0:
		in.Kind = Trap
	case r.memForm():
		in.Kind = Store
	default:
		in.Kind = MovImm
		if in.Size == 4 {
			in.Imm = int64(uint32(in.Imm)) // the upper half of the register is cleared
		}
	}
}

// unaryGroup decodes test, not, neg, mul, imul, div, idiv.
func (d *x86Decoder) unaryGroup() {
	size := int(d.in.Size)
	switch d.raw.reg() {
	case 0, 1:
		d.setRM(accR, size)
		return
	case 2, 3:
		d.setRM(accRW, size)
		return
	}
	d.setRM(accR, size)
	d.use(nAX, accRW)
	if size > 1 {
		d.use(nDX, accW)
	}
	if d.raw.reg() >= 6 {
		d.in.Kind = Div
		if size > 1 {
			d.use(nDX, accR)
		}
	}
}

// incGroup decodes inc, dec, and indirect calls, jumps and pushes.
func (d *x86Decoder) incGroup(op uint8) {
	in, ext := d.in, d.raw.reg()
	if ext >= 2 && op == 0xfe || ext == 7 {
		in.Kind = Trap
		return
	}
	word := int(d.mode.wordLen)
	if ext < 2 {
		if op == 0xff {
			in.Size = d.sizeV()
		}
		d.setRM(accRW, int(in.Size))
		return
	}
	in.Size = d.mode.wordLen
	switch ext {
	case 2:
		in.Kind = CallIndirect
		d.setRM(accR, word)
		d.stack(accW, -int64(word), word)
	case 3: // far: offset and selector
		in.Kind = CallIndirect
		d.setRM(accR, int(d.sizeV())+2)
		d.stack(accW, -2*int64(d.sizeV()), 2*int(d.sizeV()))
	case 4:
		in.Kind = JumpIndirect
		d.setRM(accR, word)
	case 5:
		in.Kind = JumpIndirect
		d.setRM(accR, int(d.sizeV())+2)
	case 6:
		in.Size = d.slotSize()
		d.setRM(accR, int(in.Size))
		d.slot(true)
	}
}

// x87 sizes of the memory forms, by opcode and modrm.reg; positive for loads,
// negative for stores, 0 for none. Intel SDM volume 2, tables.
var x87Sizes = [8][8]int16{
	{4, 4, 4, 4, 4, 4, 4, 4},
	{4, 0, -4, -4, 28, 2, -28, -2},
	{4, 4, 4, 4, 4, 4, 4, 4},
	{4, -4, -4, -4, 0, 10, 0, -10},
	{8, 8, 8, 8, 8, 8, 8, 8},
	{8, -8, -8, -8, 108, 0, -108, -2},
	{2, 2, 2, 2, 2, 2, 2, 2},
	{2, -2, -2, -2, 10, 8, -10, -8},
}

func (d *x86Decoder) x87(op uint8) {
	if !d.raw.memForm() {
		if op == 0xdf && d.raw.modrm == 0xe0 { // fnstsw ax
			d.in.Size = 2
			d.explicit(nAX, accW, true)
		}
		return
	}
	n := int(x87Sizes[op-0xd8][d.raw.reg()])
	if n < 0 {
		d.setRM(accW, -n)
	} else if n > 0 {
		d.setRM(accR, n)
	}
}
