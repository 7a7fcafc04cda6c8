package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// LoongArch64 (LoongArch Reference Manual, volume 1). Instructions have four bytes; the
// opcode is in the upper six to twenty-two bits. golang.org/x/arch/loong64/loong64asm
// v0.32.0 supplies mnemonics only: it does not say which operands are read and which are
// written, and lacks the vector extensions LSX and LASX.

// loongDecode decodes one instruction.
func loongDecode(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	if len(code) < 4 {
		return ErrTruncated
	}
	in.arch, in.PC, in.Len = a, pc, 4
	copy(in.code[:], code[:4])
	w := binary.LittleEndian.Uint32(code)
	d := loongInst{Inst: in, w: w, rd: w & 31, rj: w >> 5 & 31, rk: w >> 10 & 31}
	return d.decode()
}

// A loongInst is an instruction being decoded.
type loongInst struct {
	*Inst
	w, rd, rj, rk uint32
}

// gpr returns the register with number n; NoReg for r0, which is always zero.
func (loongInst) gpr(n uint32) arch.Reg {
	if n != 0 {
		return arch.Reg(n)
	}
	return arch.NoReg
}

// fpr returns the register for floating-point register n if calls preserve it.
func (loongInst) fpr(n uint32) arch.Reg {
	if n >= 24 {
		return arch.LoongFS0 + arch.Reg(n-24)
	}
	return arch.NoReg
}

func (d *loongInst) decode() error {
	w := d.w
	switch top := w >> 26; {
	case top >= 0x10 && top <= 0x1b:
		return d.branch(top)
	case top == 0x04: // addu16i.d
		d.add(int64(int16(w>>10)) << 16)
	case w>>25 >= 0x0a && w>>25 <= 0x0f:
		d.upper(w >> 25)
	case top == 0x08 || top == 0x09:
		d.pointerAccess()
	case w>>22 >= 0x0a0 && w>>22 <= 0x0b3:
		d.access(w >> 22)
	case w>>22 >= 0x008 && w>>22 <= 0x00f:
		d.immediate(w >> 22)
	case w>>22 == 0:
		return d.register(w >> 15)
	case w>>24 == 0:
		d.alu(d.gpr(d.rj), arch.NoReg) // shifts and bit fields by constants
	case w>>24 == 0x01:
		d.float(w >> 10)
	case w>>24 >= 0x08 && w>>24 <= 0x0d, w>>28 == 7, w>>24 >= 0x30 && w>>24 <= 0x33:
		d.vector()
	case w>>24 == 0x38:
		d.indexed(w >> 15)
	case w>>24 == 0x06: // privileged
		d.alu(arch.NoReg, arch.NoReg)
	case w>>24 == 0x04: // csr
		d.alu(arch.NoReg, arch.NoReg)
	default:
		return ErrUnknown
	}
	return nil
}

// alu records an operation that writes rd.
func (d *loongInst) alu(src, other arch.Reg) {
	d.Dst, d.Src, d.Size = d.gpr(d.rd), src, 8
	d.Reads, d.Writes = arch.Mask(src, other), arch.Mask(d.gpr(d.rd))
}

// add records rd = rj + imm.
func (d *loongInst) add(imm int64) {
	d.alu(d.gpr(d.rj), arch.NoReg)
	sp, fp := uint32(arch.LoongSP), uint32(arch.LoongFP)
	switch {
	case d.rd == 0:
		d.Kind = Nop
	case d.rj == 0:
		d.Kind, d.Imm = MovImm, imm
	case d.rd == sp && d.rj == sp && imm < 0:
		d.Kind, d.Imm = SubSP, -imm
	case d.rd == sp && d.rj == sp:
		d.Kind, d.Imm = AddSP, imm
	case imm == 0 && d.rd == fp && d.rj == sp:
		d.Kind = MovSPtoFP
	case imm == 0 && d.rd == sp && d.rj == fp:
		d.Kind = MovFPtoSP
	case imm == 0:
		d.Kind = Mov
	default:
		d.lea(arch.NoReg, imm)
	}
}

// lea records rd = rj + index + disp.
func (d *loongInst) lea(index arch.Reg, disp int64) {
	d.alu(d.gpr(d.rj), index)
	d.Kind = Lea
	if d.rd == uint32(arch.LoongSP) {
		d.Kind = LeaSP
	}
	d.addMem(MemOperand{Base: d.gpr(d.rj), Index: index, Scale: 1, Segment: arch.NoReg, BitIndex: arch.NoReg, Disp: disp, AddrSize: 8})
}

// memory records an access to size bytes at rj+index+disp by register reg.
func (d *loongInst) memory(kind Kind, reg, index arch.Reg, disp int64, size uint16) {
	d.Kind, d.Size = kind, uint8(size)
	m := MemOperand{Base: d.gpr(d.rj), Index: index, Scale: 1, Segment: arch.NoReg, BitIndex: arch.NoReg, Disp: disp, Size: size,
		AddrSize: 8, Read: kind == Load, Write: kind == Store}
	d.Reads = arch.Mask(m.Base, index)
	if kind == Load {
		d.Dst, d.Writes = reg, arch.Mask(reg)
	} else {
		d.Src = reg
		d.Reads |= arch.Mask(reg)
	}
	d.addMem(m)
}

func (d *loongInst) branch(top uint32) error {
	off16 := signed(d.w>>10, 16) << 2
	off21 := signed(d.w&31<<16|d.w>>10&0xffff, 21) << 2
	off26 := signed(d.w&0x3ff<<16|d.w>>10&0xffff, 26) << 2
	switch top {
	case 0x10, 0x11:
		d.Kind, d.Target, d.Dst = CondJump, d.PC+uint64(off21), d.gpr(d.rj)
		d.Reads = arch.Mask(d.Dst)
	case 0x12: // on a floating-point condition; also scr2... of binary translation
		d.Kind, d.Target = CondJump, d.PC+uint64(off21)
	case 0x13:
		d.jumpRegister(off16)
	case 0x14:
		d.Kind, d.Target = Jump, d.PC+uint64(off26)
	case 0x15:
		d.Kind, d.Target, d.Writes = Call, d.PC+uint64(off26), arch.Mask(arch.LoongRA)
	default:
		d.Kind, d.Target, d.Dst, d.Src = CondJump, d.PC+uint64(off16), d.gpr(d.rj), d.gpr(d.rd)
		d.Reads = arch.Mask(d.Dst, d.Src)
	}
	return nil
}

// jumpRegister is jirl.
func (d *loongInst) jumpRegister(off int64) {
	d.Src, d.Imm = d.gpr(d.rj), off
	d.Reads, d.Writes = arch.Mask(d.Src), arch.Mask(d.gpr(d.rd))
	switch {
	case d.rd != 0:
		d.Kind = CallIndirect
	case d.rj == uint32(arch.LoongRA) && off == 0:
		d.Kind = Ret
	default:
		d.Kind = JumpIndirect
	}
}

// upper decodes loads of upper halves, and of addresses relative to the program counter.
func (d *loongInst) upper(op uint32) {
	d.alu(arch.NoReg, arch.NoReg)
	imm := signed(d.w>>5, 20)
	switch op {
	case 0x0a: // lu12i.w
		d.Kind, d.Imm = MovImm, imm<<12
	case 0x0b: // lu32i.d keeps the lower half
		d.Src, d.Reads = d.Dst, d.Writes
	case 0x0c: // pcaddi
		d.Kind, d.Imm = MovImm, int64(d.PC)+imm<<2
	case 0x0d: // pcalau12i
		d.Kind, d.Imm = MovImm, (int64(d.PC)+imm<<12)&^0xfff
	case 0x0e: // pcaddu12i
		d.Kind, d.Imm = MovImm, int64(d.PC)+imm<<12
	case 0x0f: // pcaddu18i
		d.Kind, d.Imm = MovImm, int64(d.PC)+imm<<18
	}
}

// pointerAccess decodes ll, sc, ldptr and stptr.
func (d *loongInst) pointerAccess() {
	disp := signed(d.w>>10, 14) << 2
	op := d.w >> 24
	size := uint16(4)
	if op&2 != 0 {
		size = 8
	}
	kind := Load
	if op&1 != 0 {
		kind = Store
	}
	d.memory(kind, d.gpr(d.rd), arch.NoReg, disp, size)
	if op == 0x21 || op == 0x23 { // sc writes to rd whether it stored
		d.Kind, d.Writes = Other, arch.Mask(d.gpr(d.rd))
	}
}

// access decodes loads and stores with a displacement of twelve bits.
func (d *loongInst) access(op uint32) {
	disp := signed(d.w>>10, 12)
	switch {
	case op <= 0x0a3:
		d.memory(Load, d.gpr(d.rd), arch.NoReg, disp, 1<<(op&3))
	case op <= 0x0a7:
		d.memory(Store, d.gpr(d.rd), arch.NoReg, disp, 1<<(op&3))
	case op <= 0x0aa:
		d.memory(Load, d.gpr(d.rd), arch.NoReg, disp, 1<<(op&3))
	case op == 0x0ab: // preld
		d.Kind = Nop
	case op <= 0x0af:
		kind := Load
		if op&1 != 0 {
			kind = Store
		}
		d.memory(kind, d.fpr(d.rd), arch.NoReg, disp, 4<<(op>>1&1))
	default: // vectors
		kind := Load
		if op&1 != 0 {
			kind = Store
		}
		d.memory(kind, arch.NoReg, arch.NoReg, disp, 16<<(op>>1&1))
		d.Size = 0
	}
}

func (d *loongInst) immediate(op uint32) {
	imm := signed(d.w>>10, 12)
	switch op {
	case 0x00b: // addi.d
		d.add(imm)
	case 0x00a: // addi.w
		d.alu(d.gpr(d.rj), arch.NoReg)
		d.Size = 4
		if d.rj == 0 && d.rd != 0 {
			d.Kind, d.Imm = MovImm, imm
		}
	case 0x00d, 0x00e, 0x00f: // andi, ori, xori: not sign-extended
		d.alu(d.gpr(d.rj), arch.NoReg)
		d.Imm = int64(d.w >> 10 & 0xfff)
		switch {
		case d.rd == 0:
			d.Kind = Nop
		case op == 0x00e && d.rj == 0:
			d.Kind = MovImm
		case op == 0x00e && d.Imm == 0:
			d.Kind = Mov
		}
	default:
		d.alu(d.gpr(d.rj), arch.NoReg)
		d.Imm = imm
	}
}

// register decodes operations on two registers, break and syscall.
func (d *loongInst) register(op uint32) error {
	switch {
	case op == 0x21 && d.rk != 0 && d.rj != 0: // add.d
		d.lea(d.gpr(d.rk), 0)
	case op == 0x2a && (d.rk == 0 || d.rj == 0), op == 0x21: // or, add.d with zero
		d.rj |= d.rk
		d.add(0)
	case op == 0x54:
		d.Kind = Int3
		if d.w&0x7fff != 0 {
			d.Kind = Trap // the code gives the reason: 7 is a division by zero
		}
	case op == 0x55: // dbcl
		d.Kind = Int3
	case op == 0x56:
		d.Kind, d.Reads, d.Writes = Syscall, arch.Mask(arch.LoongA7), arch.Mask(arch.LoongA0)
	case op == 0:
		return d.unary()
	case op == 2 || op == 3: // asrtle.d, asrtgt.d
		d.Reads = arch.Mask(d.gpr(d.rj), d.gpr(d.rk))
	default:
		d.alu(d.gpr(d.rj), d.gpr(d.rk))
	}
	return nil
}

// unary decodes operations on one register.
func (d *loongInst) unary() error {
	if d.w == 0 {
		return ErrUnknown
	}
	d.alu(d.gpr(d.rj), arch.NoReg)
	if d.w>>10 >= 0x18 && d.w>>10 <= 0x1a { // rdtime writes both
		d.Reads, d.Writes = 0, arch.Mask(d.gpr(d.rd), d.gpr(d.rj))
	}
	return nil
}

// float decodes operations on floating-point registers; some write general registers.
func (d *loongInst) float(op uint32) {
	switch op {
	case 0x452d, 0x452e, 0x452f, 0x4532, 0x4537: // movfr2gr.s, .d, movfrh2gr.s, movfcsr2gr, movcf2gr
		d.Writes = arch.Mask(d.gpr(d.rd))
	case 0x4529, 0x452a, 0x452b, 0x4530, 0x4536: // movgr2fr and similar
		d.Reads, d.Writes = arch.Mask(d.gpr(d.rj)), arch.Mask(d.fpr(d.rd))
	default:
		d.Writes = arch.Mask(d.fpr(d.rd))
	}
}

// vector decodes floating-point operations with four operands, comparisons, and vector
// operations.
func (d *loongInst) vector() {
	switch {
	case d.w>>16 == 0x72ef || d.w>>16 == 0x72f3 || d.w>>16 == 0x76ef || d.w>>16 == 0x76f3: // vpickve2gr
		d.Writes = arch.Mask(d.gpr(d.rd))
	case d.w>>24 >= 0x30 && d.w>>24 <= 0x33: // loads and stores of elements
		d.Reads = arch.Mask(d.gpr(d.rj))
	default:
		d.Writes = arch.Mask(d.fpr(d.rd))
	}
}

// indexed decodes accesses at rj+rk, atomic operations and barriers.
func (d *loongInst) indexed(op uint32) {
	size, n := uint16(1)<<(op>>3&3), op>>3&0xff
	switch rk := d.gpr(d.rk); {
	case op >= 0x70e4 && op <= 0x70e5:
		d.Kind = Nop // dbar, ibar
	case n <= 3:
		d.memory(Load, d.gpr(d.rd), rk, 0, size)
	case n <= 7:
		d.memory(Store, d.gpr(d.rd), rk, 0, size)
	case n <= 10:
		d.memory(Load, d.gpr(d.rd), rk, 0, size)
	case n == 11: // preldx
		d.Kind = Nop
	case n <= 13:
		d.memory(Load, d.fpr(d.rd), rk, 0, 4<<(n&1))
	case n <= 15:
		d.memory(Store, d.fpr(d.rd), rk, 0, 4<<(n&1))
	case op >= 0x70ae && op < 0x70e4: // am...: exchange rd with memory at rj
		d.memory(Load, d.gpr(d.rd), arch.NoReg, 0, 4<<(op&1))
		d.Kind, d.mems[0].Write, d.mems[0].Aligned = Other, true, true
		d.Reads |= arch.Mask(rk)
	default: // accesses with a bounds check, indexed vector accesses
		d.Reads = arch.Mask(d.gpr(d.rj), rk)
		if op >= 0x70f0 {
			d.Writes = arch.Mask(d.gpr(d.rd))
		}
	}
}

// loongCallBefore finds the call that ends where code ends: bl, or jirl that saves the
// return address in ra; its target is known if it follows pcaddu18i.
func loongCallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	n := len(code)
	var in Inst
	if n < 4 || ra&3 != 0 || loongDecode(&in, a, code[n-4:], ra-4) != nil || !in.Kind.IsCall() || !in.Writes.Has(arch.LoongRA) {
		return CallSite{}, false
	}
	site := CallSite{Len: 4, Target: in.Target, Direct: in.Kind == Call}
	if n >= 8 && !site.Direct {
		if w := binary.LittleEndian.Uint32(code[n-8:]); w>>25 == 0x0f && arch.Reg(w&31) == in.Src {
			site.Direct = true
			site.Target = ra - 8 + uint64(signed(w>>5, 20)<<18) + uint64(in.Imm)
		}
	}
	return site, true
}
