package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A32 and T32 (Thumb), the instruction sets of 32-bit ARM (Arm Architecture Reference
// Manual for A-profile, chapters F3 and F4: encoding of the A32 and the T32 instruction
// set). The lowest bit of a code pointer selects the set. A T32 instruction does not
// contain the condition that a preceding IT instruction puts on it; see Inst.Predicates.
//
// golang.org/x/arch/arm/armasm v0.32.0 supplies mnemonics of A32 only. It does not decode
// T32 at all, and of A32 it lacks vpush, NEON, mrc and the load-acquire instructions,
// besides the roles of operands.

// armDecode decodes one instruction at the code pointer pc.
func armDecode(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	in.arch, in.PC = a, pc&^1
	if pc&1 != 0 {
		return thumbDecode(in, code)
	}
	if len(code) < 4 {
		return ErrTruncated
	}
	in.Len = 4
	copy(in.code[:], code[:4])
	d := armInst{in, binary.LittleEndian.Uint32(code), in.PC + 8}
	return d.a32()
}

// An armInst is an instruction being decoded, with its word (for T32 with the first half in
// the upper bits). pcValue is the value that the instruction reads as PC.
type armInst struct {
	*Inst
	w       uint32
	pcValue uint64
}

func (d armInst) field(at, n uint) uint32 { return d.w >> at & (1<<n - 1) }

func (d armInst) reg(at uint) arch.Reg { return arch.Reg(d.w >> at & 15) }

// a32 decodes d.w as A32.
func (d armInst) a32() error {
	if d.w>>28 == 15 {
		return d.unconditional()
	}
	d.Conditional = d.w>>28 != 14
	switch d.field(25, 3) {
	case 0:
		if d.w&0x90 == 0x90 {
			return d.extra()
		}
		if d.w&0x01900000 == 0x01000000 {
			return d.miscellaneous()
		}
		d.data()
	case 1:
		d.dataImmediate()
	case 2:
		d.single(d.gprOffset(d.field(0, 12)))
	case 3:
		if d.w&0x10 != 0 {
			d.media()
			return nil
		}
		d.registerOffset()
	case 4:
		d.multiple(d.field(23, 2), d.field(22, 1) != 0)
	case 5:
		d.Kind, d.Target = Jump, d.address(signExtend(uint64(d.w), 24)*4)
		switch {
		case d.w&0x01000000 != 0:
			d.Kind, d.Writes = Call, arch.Mask(arch.ARMLR)
		case d.Conditional:
			d.Kind, d.Conditional = CondJump, false
		}
	case 6:
		return d.coprocessorMemory()
	case 7:
		if d.w&0x01000000 != 0 {
			d.Kind, d.Imm = Syscall, int64(d.field(0, 24))
			return nil
		}
		d.coprocessor()
	}
	return nil
}

// address returns the address disp bytes from the PC that the instruction reads.
func (d armInst) address(disp int64) uint64 { return uint64(uint32(d.pcValue + uint64(disp))) }

// literal is address relative to PC rounded down to a word.
func (d armInst) literal(disp int64) uint64 { return uint64(uint32(d.pcValue&^3 + uint64(disp))) }

// op records an operation on registers.
func (d armInst) op(dst arch.Reg, src ...arch.Reg) {
	d.Dst, d.Size = dst, 4
	if len(src) > 0 {
		d.Src = src[0]
	}
	d.Reads, d.Writes = arch.Mask(src...), arch.Mask(dst)
	if dst == arch.ARMPC {
		d.Kind, d.Writes = JumpIndirect, 0
	}
}

// move records dst = src.
func (d armInst) move(dst, src arch.Reg) {
	d.op(dst, src)
	switch {
	case dst == arch.ARMPC:
		d.branchTo(src)
	case src == arch.ARMPC:
		d.lea(dst, src, 0)
	case dst == arch.ARMFP && src == arch.ARMSP:
		d.Kind = MovSPtoFP
	case dst == arch.ARMSP && src == arch.ARMFP:
		d.Kind = MovFPtoSP
	default:
		d.Kind = Mov
	}
}

// branchTo records a jump to the address in a register.
func (d armInst) branchTo(to arch.Reg) {
	d.Kind, d.Src, d.Reads = JumpIndirect, to, arch.Mask(to)
	if to == arch.ARMLR {
		d.Kind = Ret
	}
}

// callTo records a call of the address in a register.
func (d armInst) callTo(to arch.Reg) {
	d.Kind, d.Src, d.Reads, d.Writes = CallIndirect, to, arch.Mask(to), arch.Mask(arch.ARMLR)
}

// lea records dst = base + disp.
func (d armInst) lea(dst, base arch.Reg, disp int64) {
	d.op(dst, base)
	switch {
	case dst == arch.ARMPC && base == arch.ARMLR && disp == 0: // Go's return
		d.branchTo(base)
	case dst == arch.ARMPC:
	case base == arch.ARMPC:
		d.Kind, d.Reads, d.Src = Lea, 0, arch.NoReg
		d.addMem(MemOperand{Base: arch.NoReg, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg, Disp: int64(d.literal(disp)), RIPRelative: true, AddrSize: 4})
	case disp == 0:
		d.move(dst, base)
	case dst == arch.ARMSP && base == arch.ARMSP && disp < 0:
		d.Kind, d.Imm = SubSP, -disp
	case dst == arch.ARMSP && base == arch.ARMSP:
		d.Kind, d.Imm = AddSP, disp
	default:
		d.Kind = Lea
		if dst == arch.ARMSP {
			d.Kind = LeaSP
		}
		d.addMem(MemOperand{Base: base, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg, Disp: disp, AddrSize: 4})
	}
}

// setImmediate records dst = imm.
func (d armInst) setImmediate(dst arch.Reg, imm uint32) {
	if d.op(dst); dst != arch.ARMPC {
		d.Kind = MovImm
	}
	d.Imm = int64(int32(imm))
}

// Data processing opcodes that need special treatment.
const (
	armAND = 0
	armSUB = 2
	armADD = 4
	armTST = 8 // the first of four that write flags only
	armCMN = 11
	armORR = 12
	armMOV = 13
	armBIC = 14
	armMVN = 15
)

// data decodes data processing with a register, shifted or not.
func (d armInst) data() {
	opcode := d.field(21, 4)
	rd, rn, rm := d.reg(12), d.reg(16), d.reg(0)
	flags := d.w&0x00100000 != 0
	switch {
	case opcode == armMOV && d.w&0xff0 == 0:
		d.move(rd, rm)
	case opcode >= armTST && opcode <= armCMN:
		d.Dst, d.Src, d.Size, d.Reads = rn, rm, 4, arch.Mask(rn, rm)
	case opcode == armMOV || opcode == armMVN:
		d.op(rd, rm)
	default:
		d.op(rd, rn, rm)
	}
	if d.w&0x10 != 0 {
		d.Reads |= arch.Mask(d.reg(8))
	}
	if flags && rd == arch.ARMPC && d.Kind != Other {
		d.Kind = RetFar // also restores the status
	}
}

// dataImmediate decodes data processing with an immediate, and hints.
func (d armInst) dataImmediate() {
	opcode := d.field(21, 4)
	value := uint32(armRotate(d.w&0xff, d.field(8, 4)*2))
	if d.w&0x00100000 == 0 && opcode >= armTST && opcode <= armCMN {
		switch opcode {
		case 8: // movw
			d.setImmediate(d.reg(12), d.field(16, 4)<<12|d.field(0, 12))
		case 10: // movt keeps the lower half
			d.op(d.reg(12))
			d.Reads = d.Writes
		default: // msr, hints
			if d.w&0x0fffff00 == 0x0320f000 {
				d.Kind = Nop
			}
		}
		return
	}
	d.immediate(opcode, d.reg(12), d.reg(16), value)
}

func armRotate(v, n uint32) uint32 { return v>>(n&31) | v<<(32-n&31) }

// immediate records data processing with a value, of either set.
func (d armInst) immediate(opcode uint32, rd, rn arch.Reg, value uint32) {
	switch {
	case opcode == armMOV:
		d.setImmediate(rd, value)
	case opcode == armMVN:
		d.setImmediate(rd, ^value)
	case opcode >= armTST && opcode <= armCMN:
		d.Dst, d.Size, d.Reads, d.Imm = rn, 4, arch.Mask(rn), int64(value)
	case opcode == armADD:
		d.lea(rd, rn, int64(int32(value)))
	case opcode == armSUB:
		d.lea(rd, rn, -int64(int32(value)))
	case opcode == armAND:
		d.mask(rd, rn, value)
	case opcode == armBIC:
		d.mask(rd, rn, ^value)
	default:
		d.op(rd, rn)
		d.Imm = int64(value)
	}
}

func (d armInst) mask(rd, rn arch.Reg, value uint32) {
	d.op(rd, rn)
	d.Imm = int64(int32(value))
	if rd == arch.ARMSP {
		d.Kind = AndSP
	}
}

// miscellaneous decodes the encodings of comparisons that do not set flags.
func (d armInst) miscellaneous() error {
	op, op2 := d.field(21, 2), d.field(4, 4)
	switch {
	case op2&9 == 8: // multiplications of halves
		d.op(d.reg(16), d.reg(0), d.reg(8))
		d.Reads |= arch.Mask(d.reg(12))
		if op == 2 {
			d.Writes |= arch.Mask(d.reg(12))
		}
	case op2 == 0 && op&1 == 0: // mrs
		d.op(d.reg(12))
	case op2 == 0: // msr
	case op2 == 1 && op == 1, op2 == 2 && op == 1: // bx, bxj
		d.branchTo(d.reg(0))
	case op2 == 3 && op == 1:
		d.callTo(d.reg(0))
	case op2 == 7 && op == 1:
		d.Kind = Int3
	case op2 == 7:
		d.Kind = Halt // hlt, hvc, smc
	case op2 == 6 && op == 3:
		d.Kind = RetFar // eret
	case op2 == 1 || op2 == 4 || op2 == 5: // clz, crc32, saturating
		d.op(d.reg(12), d.reg(0), d.reg(16))
	default:
		return ErrUnknown
	}
	return nil
}

// media decodes encodings in the space of register offsets.
func (d armInst) media() {
	switch {
	case d.w&0x01f000f0 == 0x01f000f0:
		d.Kind, d.Imm = Trap, int64(d.field(8, 12)<<4|d.field(0, 4))
	case d.w&0x01800000 == 0x01000000, d.w&0x01f00000 == 0x01800000: // multiplications, division, usad8
		d.op(d.reg(16), d.reg(0), d.reg(8))
		if rd := d.reg(12); rd != arch.ARMPC {
			d.Reads |= arch.Mask(rd)
			if d.field(20, 3) == 4 && d.w&0x00800000 == 0 {
				d.Writes |= arch.Mask(rd)
			}
		}
	default:
		d.op(d.reg(12), d.reg(0), d.reg(16))
		d.Reads |= d.Writes // bfi keeps the rest
	}
}

// unconditional decodes instructions without a condition.
func (d armInst) unconditional() error {
	switch w := d.w; {
	case w&0x0e000000 == 0x0a000000: // blx
		d.Kind, d.Writes, d.Switches = Call, arch.Mask(arch.ARMLR), true
		d.Target = d.address(signExtend(uint64(w), 24)*4 + int64(w>>23&2))
	case w&0x0e000000 == 0x02000000: // SIMD
		d.clobber(d.field(12, 4)|d.w>>18&16, 2)
	case w&0x0f100000 == 0x04000000:
		d.elements()
	case w&0x0d700000 == 0x05500000, w&0x0d700000 == 0x04500000, w&0x0d700000 == 0x05100000: // pld, pli
		d.Kind = Nop
	case w&0x0ff00000 == 0x05700000: // barriers, clrex
	case w&0x0e500000 == 0x08100000: // rfe
		d.Kind = RetFar
	case w&0x0e500000 == 0x08400000: // srs
	case w&0x0fe00000 == 0x01000000: // cps, setend
	case w&0x0e000000 == 0x0c000000:
		return d.coprocessorMemory()
	case w&0x0f000000 == 0x0e000000:
		d.coprocessor()
	default:
		return ErrUnknown
	}
	return nil
}

// armCallBefore is CallBefore for both sets.
func armCallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	mode := ra & 1
	for n := 4; n >= 2; n -= 2 {
		if len(code) < n || ra < uint64(n) || mode == 0 && n != 4 {
			continue
		}
		at := ra - uint64(n)
		var in Inst
		if armDecode(&in, a, code[len(code)-n:], at) != nil || in.Len != n {
			continue
		}
		if in.Kind.IsCall() {
			site := CallSite{Len: n, Target: in.Target, Direct: in.Kind == Call}
			if site.Direct && (mode != 0) != in.Switches {
				site.Target |= 1
			}
			return site, true
		}
		if mode == 0 && len(code) >= 8 && (in.Kind == JumpIndirect || in.Kind == Jump) && binary.LittleEndian.Uint32(code[len(code)-8:])&0x0fffffff == 0x01a0e00f {
			return CallSite{Len: n, Target: in.Target, Direct: in.Kind == Jump}, true // mov lr, pc before it
		}
	}
	return CallSite{}, false
}
