package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A64, the instruction set of AArch64 (Arm Architecture Reference Manual for A-profile,
// chapter C4: A64 instruction set encoding). All instructions are words of four bytes.
// Unallocated encodings are not errors if they could be neither a branch nor a write of SP,
// FP or LR.
//
// golang.org/x/arch/arm64/arm64asm v0.32.0 supplies mnemonics only. Besides the roles of
// operands it lacks everything after Armv8.0: atomics (ldadd, cas), pointer authentication
// (retaa, blraa, ldraa), memory tagging, SVE and SME.

// arm64Decode decodes one instruction.
func arm64Decode(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	if len(code) < 4 {
		return ErrTruncated
	}
	in.arch, in.PC, in.Len = a, pc, 4
	copy(in.code[:], code[:4])
	d := arm64Inst{in, binary.LittleEndian.Uint32(code)}
	switch d.w >> 25 & 15 {
	case 0:
		return d.reserved()
	case 2:
		d.sve()
		return nil
	case 8, 9:
		d.immediate()
		return nil
	case 10, 11:
		return d.branch()
	case 4, 6, 12, 14:
		return d.memory()
	case 5, 13:
		d.registers()
		return nil
	case 7, 15:
		d.vector()
		return nil
	}
	return ErrUnknown
}

// An arm64Inst is an instruction being decoded, with its word.
type arm64Inst struct {
	*Inst
	w uint32
}

// field returns the n bits of the word from bit at on.
func (d arm64Inst) field(at, n uint) uint32 { return d.w >> at & (1<<n - 1) }

// signed returns the field as a signed number.
func (d arm64Inst) signed(at, n uint) int64 { return signExtend(uint64(d.field(at, n)), n) }

// signExtend returns the low n bits of v as a signed number.
func signExtend(v uint64, n uint) int64 { return int64(v<<(64-n)) >> (64 - n) }

// gpr returns the general register in the field at; NoReg for the zero register.
func (d arm64Inst) gpr(at uint) arch.Reg { return d.number(d.field(at, 5)) }

func (arm64Inst) number(n uint32) arch.Reg {
	if n &= 31; n != 31 {
		return arch.Reg(n)
	}
	return arch.NoReg
}

// gprSP returns the general register in the field at, where 31 is the stack pointer.
func (d arm64Inst) gprSP(at uint) arch.Reg { return arch.Reg(d.field(at, 5)) }

// arm64Vector returns the Reg for the preserved half of vector register n: d8 to d15.
func arm64Vector(n uint32) arch.Reg {
	if n &= 31; n >= 8 && n <= 15 {
		return arch.ARM64D8 + arch.Reg(n-8)
	}
	return arch.NoReg
}

// sf returns the operand size given by bit 31.
func (d arm64Inst) sf() uint8 { return uint8(4 + d.w>>31<<2) }

// op records an operation on registers.
func (d arm64Inst) op(dst arch.Reg, src ...arch.Reg) {
	d.Dst, d.Size = dst, d.sf()
	if len(src) > 0 {
		d.Src = src[0]
	}
	d.Reads, d.Writes = arch.Mask(src...), arch.Mask(dst)
}

// lea records dst = base + disp.
func (d arm64Inst) lea(dst, base arch.Reg, disp int64) {
	d.op(dst, base)
	sp, fp := d.arch.SP, d.arch.FP
	switch {
	case disp == 0 && dst == fp && base == sp && d.Size == 8:
		d.Kind = MovSPtoFP
	case disp == 0 && dst == sp && base == fp:
		d.Kind = MovFPtoSP
	case disp == 0:
		d.Kind = Mov
	case dst == sp && base == sp && disp < 0:
		d.Kind, d.Imm = SubSP, -disp
	case dst == sp && base == sp:
		d.Kind, d.Imm = AddSP, disp
	case d.Size == 4: // a 32-bit sum is not an address
		d.Imm = disp
	default:
		d.Kind = Lea
		if dst == sp {
			d.Kind = LeaSP
		}
		d.addMem(MemOperand{Base: base, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg, Disp: disp, AddrSize: 8})
	}
}

// immediate decodes data processing with an immediate.
func (d arm64Inst) immediate() {
	rd, rn := d.gpr(0), d.gpr(5)
	switch d.field(23, 3) {
	case 0, 1: // adr, adrp
		at := d.PC + uint64(d.signed(5, 19)<<2|int64(d.field(29, 2)))
		if d.w>>31 != 0 {
			at = d.PC&^0xfff + uint64((d.signed(5, 19)<<2|int64(d.field(29, 2)))<<12)
		}
		d.op(rd)
		d.Kind, d.Size = Lea, 8
		d.addMem(MemOperand{Base: arch.NoReg, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg, Disp: int64(at), RIPRelative: true, AddrSize: 8})
	case 2:
		d.addImmediate()
	case 3: // tags: addg, subg; min and max
		d.op(d.gprSP(0), d.gprSP(5))
		if d.field(22, 1) != 0 {
			d.op(rd, rn)
		}
	case 4:
		d.logicImmediate()
	case 5: // movn, movz, movk
		imm := int64(d.field(5, 16)) << (16 * d.field(21, 2))
		switch d.op(rd); d.field(29, 2) {
		case 0:
			imm = ^imm
			fallthrough
		case 2:
			if d.Size == 4 {
				imm = int64(uint32(imm))
			}
			d.Kind, d.Imm = MovImm, imm
		default:
			d.Imm = imm
			d.Reads = d.Writes
		}
	case 6: // bit fields; bfm keeps the other bits
		d.op(rd, rn)
		if d.field(29, 2) == 1 {
			d.Reads |= d.Writes
		}
	case 7:
		if d.w&0xff800000 == 0xf3800000 { // autiasppc: the address in the link register stays
			d.Kind = Nop
			return
		}
		d.op(rd, rn, d.gpr(16))
	}
}

// addImmediate decodes add, sub, adds and subs.
func (d arm64Inst) addImmediate() {
	imm := int64(d.field(10, 12)) << (12 * d.field(22, 1))
	if d.field(30, 1) != 0 {
		imm = -imm
	}
	if d.field(29, 1) != 0 {
		d.op(d.gpr(0), d.gprSP(5))
		d.Imm = imm
		return
	}
	d.lea(d.gprSP(0), d.gprSP(5), imm)
}

// logicImmediate decodes and, orr, eor and ands.
func (d arm64Inst) logicImmediate() {
	imm := arm64Bitmask(d.field(22, 1), d.field(10, 6), d.field(16, 6))
	if d.sf() == 4 {
		imm = uint64(uint32(imm))
	}
	opc := d.field(29, 2)
	dst := d.gprSP(0)
	if opc == 3 {
		dst = d.gpr(0)
	}
	d.op(dst, d.gpr(5))
	d.Imm = int64(imm)
	switch {
	case opc == 0 && dst == d.arch.SP:
		d.Kind = AndSP
	case opc == 1 && d.Src == arch.NoReg:
		d.Kind = MovImm
	}
}

// arm64Bitmask decodes the immediate of logical instructions (DecodeBitMasks); it returns 0
// if it is invalid.
func arm64Bitmask(n, imms, immr uint32) uint64 {
	combined := n<<6 | ^imms&0x3f
	length := -1
	for i := 6; i > 0; i-- {
		if combined>>uint(i)&1 != 0 {
			length = i
			break
		}
	}
	if length < 1 {
		return 0
	}
	size := uint(1) << uint(length)
	s, r := uint(imms)&(size-1), uint(immr)&(size-1)
	element := uint64(1)<<(s+1) - 1
	if r != 0 {
		element = element>>r | element<<(size-r)
		if size < 64 {
			element &= 1<<size - 1
		}
	}
	for ; size < 64; size *= 2 {
		element |= element << size
	}
	return element
}

// registers decodes data processing with registers.
func (d arm64Inst) registers() {
	rd, rn, rm := d.gpr(0), d.gpr(5), d.gpr(16)
	switch group := d.field(24, 5); {
	case group == 10: // logical, shifted
		d.op(rd, rn, rm)
		if d.field(29, 2) == 1 && d.field(21, 1) == 0 && d.field(10, 6) == 0 && rn == arch.NoReg { // orr rd, zr, rm
			d.Src, d.Kind = rm, Mov
			if rm == arch.NoReg {
				d.Kind = MovImm
			}
		}
	case group == 11 && d.field(21, 1) == 0: // add and sub, shifted
		d.op(rd, rn, rm)
	case group == 11: // extended
		dst := d.gprSP(0)
		if d.field(29, 1) != 0 {
			dst = rd
		}
		d.op(dst, d.gprSP(5), rm)
	case d.w&0x1fe0e000 == 0x1a002000: // addpt, subpt
		d.op(d.gprSP(0), d.gprSP(5), rm)
	case group == 26 && d.field(21, 3) == 0 && d.field(10, 6) != 0: // rmif, setf: flags only
		d.Reads = arch.Mask(rn)
	case group == 26 && d.field(21, 3) == 2: // ccmp, ccmn
		d.Reads = arch.Mask(rn)
		if d.field(11, 1) == 0 {
			d.Reads |= arch.Mask(rm)
		}
	case d.w&0x5fe00000 == 0x5ac00000: // one source
		d.oneSource(rd, rn)
	case d.w&0xffe0fc00 == 0x9ac01000: // irg
		d.op(d.gprSP(0), d.gprSP(5), rm)
	case d.w&0x7fe0f800 == 0x1ac00800: // udiv, sdiv: division by zero gives zero
		d.op(rd, rn, rm)
	case group == 27: // three sources
		d.op(rd, rn, rm, d.gpr(10))
	default:
		d.op(rd, rn, rm)
	}
}

// oneSource decodes operations on one register. Those that sign the return address or
// remove the signature do not change the address: they do not count as writes of the link
// register.
func (d arm64Inst) oneSource(rd, rn arch.Reg) {
	d.op(rd, rn)
	if d.w>>31 == 0 || d.field(16, 5) == 0 {
		return
	}
	d.Reads |= d.Writes
	if rd == d.arch.RA {
		d.Kind, d.Writes = Nop, 0
	}
}

// reserved decodes words that begin with zeros: udf and SME.
func (d arm64Inst) reserved() error {
	if d.w>>16 == 0 {
		d.Kind, d.Imm = Trap, int64(d.w)
		return nil
	}
	if d.w>>31 != 0 {
		return nil // SME: matrices and vectors
	}
	return ErrUnknown
}

// arm64CallBefore is CallBefore for A64.
func arm64CallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	if len(code) < 4 || ra&3 != 0 || ra < 4 {
		return CallSite{}, false
	}
	var in Inst
	if arm64Decode(&in, a, code[len(code)-4:], ra-4) != nil || !in.Kind.IsCall() {
		return CallSite{}, false
	}
	return CallSite{Len: 4, Target: in.Target, Direct: in.Kind == Call}, true
}

// arm64ALU is Inst.ALU for A64.
func (i *Inst) arm64ALU() (op ALUOp, dst, a, b arch.Reg, imm int64) {
	d := arm64Inst{i, binary.LittleEndian.Uint32(i.code[:])}
	dst, a, b = arch.NoReg, arch.NoReg, arch.NoReg
	if d.w>>31 == 0 {
		return NoALU, dst, a, b, 0
	}
	switch {
	case d.w&0x1f800000 == 0x11000000 && i.Dst == arch.NoReg: // cmp, cmn
		if d.field(30, 1) != 0 {
			return ALUCmpImm, dst, i.Src, b, -i.Imm
		}
	case d.w&0x1f800000 == 0x11000000: // adds, subs
		return ALUAddImm, i.Dst, i.Src, b, i.Imm
	case d.w&0x7f800000 == 0x12000000:
		return ALUAndImm, i.Dst, i.Src, b, i.Imm
	case d.w&0x1f20fc00 == 0x0b000000, d.w&0x1fe0fc00 == 0x0b206000: // unshifted; uxtx
		b = d.gpr(16)
		switch {
		case b == arch.NoReg || i.Src == arch.NoReg:
		case i.Dst == arch.NoReg && d.field(30, 1) != 0:
			return ALUCmp, i.Dst, i.Src, b, 0
		case i.Dst == arch.NoReg:
		case d.field(30, 1) != 0:
			return ALUSub, i.Dst, i.Src, b, 0
		default:
			return ALUAdd, i.Dst, i.Src, b, 0
		}
	}
	return NoALU, arch.NoReg, arch.NoReg, arch.NoReg, 0
}
