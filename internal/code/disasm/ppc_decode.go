package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// PowerPC with 32 and 64 bits in both byte orders: Power ISA 3.1, as far as its
// instructions can change a general register, the link register, the floating-point
// registers that functions preserve, or control flow. An instruction is a word, with a
// prefix two words. Bits are numbered from the lowest, unlike in the manual.
//
// Package words supplies mnemonics. Neither its table nor golang.org/x/arch/ppc64/ppc64asm v0.32.0, of which it is made,
// says which operands are read and which are written (that stwu also writes its base, and bctrl LR); they
// lack instructions of 32-bit and supervisor code (rfi, mfsr).

const (
	ppcSP = uint32(arch.PPCSP)
	ppcFP = uint32(arch.PPCFP)
)

// ppcDecode decodes one instruction.
func ppcDecode(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	if len(code) < 4 {
		return ErrTruncated
	}
	in.arch, in.PC, in.Len = a, pc, 4
	w := ppcWord(a, code)
	d := ppcInst{in}
	if w>>26 != 1 {
		copy(in.code[:], code[:4])
		return d.word(w)
	}
	if len(code) < 8 {
		return ErrTruncated
	}
	in.Len = 8
	copy(in.code[:], code[:8])
	return d.prefixed(w, ppcWord(a, code[4:]))
}

// ppcWord reads a word of code. It names the byte orders: through the interface in
// arch.Arch, code would escape to the heap.
func ppcWord(a *arch.Arch, code []byte) uint32 {
	if a.Big() {
		return binary.BigEndian.Uint32(code)
	}
	return binary.LittleEndian.Uint32(code)
}

// A ppcInst is an instruction being decoded.
type ppcInst struct{ *Inst }

// gpr returns general register n.
func (ppcInst) gpr(n uint32) arch.Reg { return arch.PPCR0 + arch.Reg(n&31) }

// base returns general register n as part of an address, where 0 means none.
func (d ppcInst) base(n uint32) arch.Reg {
	if n&31 == 0 {
		return arch.NoReg
	}
	return d.gpr(n)
}

// fpr returns the register for floating-point register n if the register file has it, that
// is, if functions preserve it.
func (ppcInst) fpr(n uint32) arch.Reg {
	if n &= 31; n >= 14 {
		return arch.PPCF14 + arch.Reg(n-14)
	}
	return arch.NoReg
}

// set records an operation with its result in general register rt.
func (d ppcInst) set(rt uint32, reads ...arch.Reg) {
	d.Dst, d.Size = d.gpr(rt), uint8(d.arch.WordSize)
	d.Writes |= arch.Mask(d.Dst)
	for _, r := range reads {
		d.Reads |= arch.Mask(r)
	}
	if len(reads) == 1 || len(reads) == 2 && reads[1] == arch.NoReg {
		d.Src = reads[0]
	}
}

// mov records dst = src.
func (d ppcInst) mov(dst, src arch.Reg) {
	d.Kind, d.Dst, d.Src, d.Size = Mov, dst, src, uint8(d.arch.WordSize)
	d.Reads, d.Writes = arch.Mask(src), arch.Mask(dst)
	switch {
	case dst == arch.PPCFP && src == arch.PPCSP:
		d.Kind = MovSPtoFP
	case dst == arch.PPCSP && src == arch.PPCFP:
		d.Kind = MovFPtoSP
	}
}

// constant records rt = v.
func (d ppcInst) constant(rt uint32, v int64) {
	d.set(rt)
	d.Kind, d.Imm = MovImm, v
}

// add records rt = ra + imm.
func (d ppcInst) add(rt, ra uint32, imm int64) {
	switch {
	case rt == ppcSP && ra == ppcSP && imm < 0:
		d.set(rt, d.gpr(ra))
		d.Kind, d.Imm = SubSP, -imm
	case rt == ppcSP && ra == ppcSP:
		d.set(rt, d.gpr(ra))
		d.Kind, d.Imm = AddSP, imm
	case imm == 0:
		d.mov(d.gpr(rt), d.gpr(ra))
	default:
		d.lea(rt, d.gpr(ra), arch.NoReg, imm)
	}
}

// lea records rt = base + index + disp.
func (d ppcInst) lea(rt uint32, base, index arch.Reg, disp int64) {
	d.set(rt, base, index)
	d.Kind = Lea
	if rt == ppcSP {
		d.Kind = LeaSP
	}
	m := d.operand(0)
	m.Base, m.Index, m.Disp = base, index, disp
	d.addMem(m)
}

// address records rt = addr, computed from the program counter.
func (d ppcInst) address(rt arch.Reg, addr uint64) {
	d.Dst, d.Size = rt, uint8(d.arch.WordSize)
	d.Writes = arch.Mask(rt)
	d.Kind = Lea
	if rt == arch.PPCSP {
		d.Kind = LeaSP
	}
	m := d.operand(0)
	m.Disp, m.RIPRelative = int64(d.arch.Truncate(addr)), true
	d.addMem(m)
}

// operand returns an empty memory operand.
func (d ppcInst) operand(size uint16) MemOperand {
	return MemOperand{Base: arch.NoReg, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg,
		Scale: 1, Size: size, AddrSize: uint8(d.arch.WordSize)}
}

// A ppcAccess describes a load or store.
type ppcAccess struct {
	kind   Kind
	size   uint8 // in bytes
	update bool  // the base register becomes the address
	float  bool  // rt is a floating-point register
	none   bool  // rt is a vector register, which is not in the register file
	align  bool  // an address that is not a multiple of size faults
}

// loadOrStore returns the kind given by a bit of an opcode.
func loadOrStore(store uint32) Kind {
	if store != 0 {
		return Store
	}
	return Load
}

// access records a load or store of rt at base+index+disp.
func (d ppcInst) access(acc ppcAccess, rt uint32, base, index arch.Reg, disp int64) {
	d.Kind, d.Size = acc.kind, acc.size
	m := d.operand(uint16(acc.size))
	m.Base, m.Index, m.Disp = base, index, disp
	m.Read, m.Write, m.Aligned = acc.kind == Load, acc.kind == Store, acc.align
	d.addMem(m)
	d.Reads |= arch.Mask(base, index)
	reg := d.gpr(rt)
	switch {
	case acc.none:
		reg = arch.NoReg
	case acc.float:
		reg = d.fpr(rt)
	}
	if acc.kind == Load {
		d.Dst = reg
		d.Writes |= arch.Mask(reg)
	} else {
		d.Src = reg
		d.Reads |= arch.Mask(reg)
	}
	if acc.update {
		d.Writes |= arch.Mask(base)
		if index == arch.NoReg {
			d.Writeback = disp
		}
	}
}

// many records lmw and stmw: the registers from rt to r31, one word each.
func (d ppcInst) many(kind Kind, rt, ra uint32, disp int64) {
	regs := arch.RegMask(1<<32 - 1<<rt)
	d.access(ppcAccess{kind: kind, size: 4, none: true}, rt, d.base(ra), arch.NoReg, disp)
	d.mems[0].Size = uint16(4 * (32 - rt))
	if d.arch.RegSize == 4 {
		d.List = regs
	} else {
		d.Kind = Other // halves of registers
	}
	if kind == Load {
		d.Writes |= regs
	} else {
		d.Reads |= regs
	}
}
