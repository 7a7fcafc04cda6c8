package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// branch decodes branches, exceptions and system instructions.
func (d arm64Inst) branch() error {
	switch w := d.w; {
	case w&0x7c000000 == 0x14000000:
		d.direct(Jump, d.signed(0, 26))
		if w>>31 != 0 {
			d.Kind, d.Writes = Call, arch.Mask(d.arch.RA)
		}
	case w&0x7e000000 == 0x34000000: // cbz, cbnz
		d.direct(CondJump, d.signed(5, 19))
		d.test()
	case w&0x7e000000 == 0x36000000: // tbz, tbnz
		d.direct(CondJump, d.signed(5, 14))
		d.test()
	case w&0x7e000000 == 0x74000000: // cb<cond>
		d.direct(CondJump, d.signed(5, 9))
		d.Reads = arch.Mask(d.gpr(0))
		if w&0x01000000 == 0 {
			d.Reads |= arch.Mask(d.gpr(16))
		}
	case w&0xff000000 == 0x54000000: // b.cond, bc.cond
		d.direct(CondJump, d.signed(5, 19))
		if w&0xe == 0xe {
			d.Kind = Jump
		}
	case w&0xffc0001f == 0x5500001f: // retaasppc, retabsppc
		d.returns(d.arch.RA)
	case w>>24 == 0xd4:
		return d.exception()
	case w>>24 == 0xd5:
		d.system()
	case w>>25 == 0xd6>>1:
		return d.toRegister()
	default:
		return ErrUnknown
	}
	return nil
}

// direct records a branch by a number of words.
func (d arm64Inst) direct(kind Kind, words int64) {
	d.Kind, d.Target = kind, d.PC+uint64(words*4)
}

// test records the register on which a branch depends.
func (d arm64Inst) test() {
	d.Src = d.gpr(0)
	d.Reads = arch.Mask(d.Src)
}

// TestsZero returns the register, of which size bytes, that decides alone whether a conditional branch jumps: jumps says whether it does if they are
// zero. These are cbz and cbnz of aarch64; false for others.
func (i *Inst) TestsZero() (r arch.Reg, size uint8, jumps, ok bool) {
	b := i.Bytes()
	if i.arch == nil || i.arch.Family != arch.FamilyARM64 || i.Kind != CondJump || len(b) != 4 || b[3]&0x7e != 0x34 {
		return arch.NoReg, 0, false, false
	}
	return i.Src, 4 << (b[3] >> 7), b[3]&1 == 0, true
}

// TestsSign is TestsZero for branches that jump, or do not, if the register is below zero: tbz and tbnz of its highest bit.
func (i *Inst) TestsSign() (r arch.Reg, size uint8, jumps, ok bool) {
	b := i.Bytes()
	if i.arch == nil || i.arch.Family != arch.FamilyARM64 || i.Kind != CondJump || len(b) != 4 || b[3]&0x7e != 0x36 || b[2]>>3 != 31 {
		return arch.NoReg, 0, false, false
	}
	return i.Src, 4 << (b[3] >> 7), b[3]&1 != 0, true
}

func (d arm64Inst) returns(to arch.Reg) {
	d.Kind, d.Src, d.Reads = Ret, to, arch.Mask(to)
}

// exception decodes instructions that enter another exception level. brk 0 is a debugger's
// breakpoint; compilers use other numbers to stop programs.
func (d arm64Inst) exception() error {
	d.Imm = int64(d.field(5, 16))
	switch d.w & 0x00e0001f {
	case 0x01:
		d.Kind = Syscall
	case 0x02, 0x03:
		d.Kind = Halt
	case 0x00200000, 0x00600000: // brk, tcancel
		d.Kind = Trap
		if d.Imm == 0 {
			d.Kind = Int3
		}
	case 0x00400000:
		d.Kind = Interrupt
	case 0x00a00001, 0x00a00002, 0x00a00003:
		d.Kind = Halt
	default:
		return ErrUnknown
	}
	return nil
}

// toRegister decodes branches to registers.
func (d arm64Inst) toRegister() error {
	rn := d.gpr(5)
	auth := d.field(10, 6)
	if d.field(16, 5) != 31 || auth > 3 || auth == 1 {
		return ErrUnknown
	}
	opc := d.field(21, 4)
	switch {
	case opc == 2 && auth != 0: // retaa, retab
		d.returns(d.arch.RA)
	case opc == 2:
		d.returns(rn)
	case opc == 0 || opc == 8:
		d.Kind, d.Src, d.Reads = JumpIndirect, rn, arch.Mask(rn)
	case opc == 1 || opc == 9:
		d.Kind, d.Src, d.Reads, d.Writes = CallIndirect, rn, arch.Mask(rn), arch.Mask(d.arch.RA)
	case opc == 4 || opc == 5:
		d.Kind = Halt // eret, drps
	default:
		return ErrUnknown
	}
	if opc >= 8 && d.field(0, 5) != 31 {
		d.Reads |= arch.Mask(d.gprSP(0)) // the modifier
	}
	return nil
}

// system decodes hints, barriers and system registers.
func (d arm64Inst) system() {
	rt := d.gpr(0)
	switch w := d.w; {
	case w&0xfffff01f == 0xd503201f:
		d.hint(w >> 5 & 0x7f)
	case w&0xffffffe0 == 0xd50b7420: // dc zva
		d.Reads = arch.Mask(rt)
		d.addMem(MemOperand{Base: rt, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg, AddrSize: 8, Write: true})
	case w&0xffc00000 == 0xd5400000: // pairs: mrrs, msrr, sysp
		pair := arch.Mask(rt, d.number(w+1))
		if d.field(21, 1) != 0 && d.field(20, 1) != 0 {
			d.Writes = pair
		} else {
			d.Reads = pair
		}
	case d.field(21, 1) != 0: // mrs, sysl
		d.Dst, d.Size, d.Writes = rt, 8, arch.Mask(rt)
	case d.field(19, 2) != 0 || d.w&0xfffff000 == 0xd5031000: // msr, sys, wfet
		d.Src, d.Size, d.Reads = rt, 8, arch.Mask(rt)
	}
}

// hint decodes hints. Instructions that sign or check the return address do not change the
// address itself: they count as hints and, if they sign at a function's entry, as landing
// pads of indirect branches, which they are.
func (d arm64Inst) hint(n uint32) {
	d.Kind = Nop
	switch n {
	case 25, 27, 32, 34, 36, 38: // paciasp, pacibsp, bti
		d.Kind = Endbr
	case 8, 10, 12, 14: // pacia1716 and similar
		d.Kind = Other
		d.Dst, d.Reads, d.Writes = arch.ARM64X17, arch.Mask(arch.ARM64X16, arch.ARM64X17), arch.Mask(arch.ARM64X17)
	case 40: // chkfeat x16
		d.Kind = Other
		d.Dst, d.Reads, d.Writes = arch.ARM64X16, arch.Mask(arch.ARM64X16), arch.Mask(arch.ARM64X16)
	}
}
