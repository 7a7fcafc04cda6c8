package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// RISC-V: RV64GC with the B, Zc and V extensions, as far as they can change a general
// register (The RISC-V Instruction Set Manual, volume I). The lowest bits of an instruction
// give its length.
//
// golang.org/x/arch/riscv64/riscv64asm v0.32.0 supplies mnemonics only. It does not say
// which operands are read and which are written, and it lacks Zcb (c.lbu, c.zext.b, c.not,
// c.mul).

// riscvDecode decodes one instruction.
func riscvDecode(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	n := riscvLen(code)
	if n == 0 || len(code) < n {
		return ErrTruncated
	}
	in.arch, in.PC, in.Len = a, pc, n
	copy(in.code[:], code[:n])
	d := riscvInst{Inst: in}
	switch n {
	case 2:
		return d.compressed(binary.LittleEndian.Uint16(code))
	case 4:
		return d.word(binary.LittleEndian.Uint32(code))
	}
	return ErrUnknown // no standard instruction is longer
}

// riscvLen returns the length of the instruction with which code begins: 2, 4, 6 or 8; 0 if
// there is too little code.
func riscvLen(code []byte) int {
	switch {
	case len(code) < 2:
		return 0
	case code[0]&3 != 3:
		return 2
	case code[0]&0x1f != 0x1f:
		return 4
	case code[0]&0x3f == 0x1f:
		return 6
	}
	return 8
}

// A riscvInst is an instruction being decoded.
type riscvInst struct{ *Inst }

// gpr returns the register with number n; NoReg for x0, which is always zero.
func (riscvInst) gpr(n uint32) arch.Reg {
	if n &= 31; n != 0 {
		return arch.Reg(n)
	}
	return arch.NoReg
}

// fpr returns the register for floating-point register n if the register file has it: f8,
// f9, f18 to f27.
func (riscvInst) fpr(n uint32) arch.Reg {
	switch {
	case n == 8 || n == 9:
		return arch.RISCVFS0 + arch.Reg(n-8)
	case n >= 18 && n <= 27:
		return arch.RISCVFS0 + 2 + arch.Reg(n-18)
	}
	return arch.NoReg
}

// alu records an operation on registers.
func (d riscvInst) alu(rd, rs1, rs2 uint32) {
	d.Dst, d.Src, d.Size = d.gpr(rd), d.gpr(rs1), 8
	d.Reads = arch.Mask(d.gpr(rs1), d.gpr(rs2))
	d.Writes = arch.Mask(d.gpr(rd))
}

// access records a load or store of size bytes at rs1+disp.
func (d riscvInst) access(kind Kind, reg arch.Reg, rs1 uint32, disp int64, size uint8) {
	d.Kind, d.Size = kind, size
	m := MemOperand{Base: d.gpr(rs1), Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg,
		Disp: disp, Size: uint16(size), AddrSize: 8, Read: kind == Load, Write: kind == Store}
	d.Reads |= arch.Mask(m.Base)
	if kind == Load {
		d.Dst = reg
		d.Writes |= arch.Mask(reg)
	} else {
		d.Src = reg
		d.Reads |= arch.Mask(reg)
	}
	d.addMem(m)
}

// add records rd = rs1 + imm.
func (d riscvInst) add(rd, rs1 uint32, imm int64) {
	d.alu(rd, rs1, 0)
	sp, fp := uint32(arch.RISCVSP), uint32(arch.RISCVFP)
	switch {
	case rd == 0:
		d.Kind = Nop
	case rs1 == 0:
		d.Kind, d.Imm = MovImm, imm
	case rd == sp && rs1 == sp && imm < 0:
		d.Kind, d.Imm = SubSP, -imm
	case rd == sp && rs1 == sp:
		d.Kind, d.Imm = AddSP, imm
	case imm == 0 && rd == fp && rs1 == sp:
		d.Kind = MovSPtoFP
	case imm == 0 && rd == sp && rs1 == fp:
		d.Kind = MovFPtoSP
	case imm == 0:
		d.Kind = Mov
	default:
		d.lea(rd, rs1, 0, imm)
	}
}

// lea records rd = rs1 + rs2 + disp.
func (d riscvInst) lea(rd, rs1, rs2 uint32, disp int64) {
	d.alu(rd, rs1, rs2)
	d.Kind = Lea
	if rd == uint32(arch.RISCVSP) {
		d.Kind = LeaSP
	}
	d.addMem(MemOperand{Base: d.gpr(rs1), Index: d.gpr(rs2), Scale: 1, Segment: arch.NoReg, BitIndex: arch.NoReg, Disp: disp, AddrSize: 8})
}

// jump records a jump or call to a register plus disp: JALR.
func (d riscvInst) jump(rd, rs1 uint32, disp int64) {
	d.Src, d.Imm = d.gpr(rs1), disp
	d.Reads, d.Writes = arch.Mask(d.gpr(rs1)), arch.Mask(d.gpr(rd))
	switch {
	case rd != 0:
		d.Kind = CallIndirect
	case rs1 == uint32(arch.RISCVRA) && disp == 0:
		d.Kind, d.Imm = Ret, 0
	default:
		d.Kind = JumpIndirect
	}
}

// jal records a direct jump or call.
func (d riscvInst) jal(rd uint32, disp int64) {
	d.Kind, d.Target = Jump, d.PC+uint64(disp)
	if rd != 0 {
		d.Kind, d.Writes = Call, arch.Mask(d.gpr(rd))
	}
}

// branch records a conditional jump.
func (d riscvInst) branch(rs1, rs2 uint32, disp int64) {
	d.Kind, d.Target = CondJump, d.PC+uint64(disp)
	d.Dst, d.Src = d.gpr(rs1), d.gpr(rs2)
	d.Reads = arch.Mask(d.gpr(rs1), d.gpr(rs2))
}

// signed returns the low n bits of v as a signed number.
func signed(v uint32, n uint) int64 { return int64(int32(v<<(32-n)) >> (32 - n)) }

// word decodes an instruction of four bytes.
func (d riscvInst) word(w uint32) error {
	rd, f3, rs1, rs2, f7 := w>>7&31, w>>12&7, w>>15&31, w>>20&31, w>>25
	immI := signed(w>>20, 12)
	switch w & 0x7f {
	case 0x37: // lui
		d.alu(rd, 0, 0)
		d.Kind, d.Imm = MovImm, int64(int32(w&0xfffff000))
	case 0x17: // auipc
		d.alu(rd, 0, 0)
		d.Kind, d.Imm = MovImm, int64(d.PC)+int64(int32(w&0xfffff000))
	case 0x6f:
		d.jal(rd, signed(w>>31<<20|w>>12&0xff<<12|w>>20&1<<11|w>>21&0x3ff<<1, 21))
	case 0x67:
		if f3 != 0 {
			return ErrUnknown
		}
		d.jump(rd, rs1, immI)
	case 0x63:
		if f3 == 2 || f3 == 3 {
			return ErrUnknown
		}
		d.branch(rs1, rs2, signed(w>>31<<12|w>>7&1<<11|w>>25&0x3f<<5|w>>8&0xf<<1, 13))
	case 0x03:
		if f3 == 7 {
			return ErrUnknown
		}
		d.access(Load, d.gpr(rd), rs1, immI, 1<<(f3&3))
	case 0x23:
		if f3 > 3 {
			return ErrUnknown
		}
		d.access(Store, d.gpr(rs2), rs1, signed(f7<<5|rd, 12), 1<<f3)
	case 0x07, 0x27:
		d.floatAccess(w, rd, f3, rs1, rs2, f7)
	case 0x13:
		d.immediate(f3, rd, rs1, immI)
	case 0x1b, 0x3b: // 32-bit operations
		d.alu(rd, rs1, rs2&-(w>>5&1))
		d.Size = 4
	case 0x33:
		d.register(f3, f7, rd, rs1, rs2)
	case 0x2f:
		d.atomic(rd, f3, rs1, rs2, f7>>2)
	case 0x0f: // fence
		d.Kind = Nop
	case 0x73:
		d.system(w, rd, f3, rs1)
	case 0x53:
		d.float(rd, rs1, f7)
	case 0x43, 0x47, 0x4b, 0x4f: // fused multiply-add: floating-point registers only
		d.Writes = arch.Mask(d.fpr(rd))
	case 0x57:
		d.vector(w, rd, f3, rs1)
	default:
		return d.custom(rd)
	}
	return nil
}

// custom handles an instruction that the standard leaves to vendors. It may write the
// register in the usual field, and is an error if a walk needs that.
func (d riscvInst) custom(rd uint32) error {
	switch r := d.gpr(rd); r {
	case arch.RISCVSP, arch.RISCVRA, arch.RISCVFP:
		return ErrUnknown
	default:
		d.Writes = arch.Mask(r)
		return nil
	}
}

func (d riscvInst) floatAccess(w, rd, f3, rs1, rs2, f7 uint32) {
	if f3 == 0 || f3 >= 5 { // a vector access
		d.Reads = arch.Mask(d.gpr(rs1))
		return
	}
	size := uint8(1) << f3
	if w&0x7f == 0x07 {
		d.access(Load, d.fpr(rd), rs1, signed(w>>20, 12), size)
	} else {
		d.access(Store, d.fpr(rs2), rs1, signed(f7<<5|rd, 12), size)
	}
}

func (d riscvInst) immediate(f3, rd, rs1 uint32, imm int64) {
	if f3 == 0 {
		d.add(rd, rs1, imm)
		return
	}
	d.alu(rd, rs1, 0)
	d.Imm = imm
	if sp := uint32(arch.RISCVSP); f3 == 7 && rd == sp && rs1 == sp {
		d.Kind = AndSP
	}
}

func (d riscvInst) register(f3, f7, rd, rs1, rs2 uint32) {
	switch {
	case f3 == 0 && f7 == 0 && (rs1 == 0 || rs2 == 0):
		d.add(rd, rs1|rs2, 0)
	case f3 == 0 && f7 == 0:
		d.lea(rd, rs1, rs2, 0)
	case f7 == 1 && f3 >= 4: // div, divu, rem, remu: they do not fault
		d.alu(rd, rs1, rs2)
	default:
		d.alu(rd, rs1, rs2)
	}
}

func (d riscvInst) atomic(rd, f3, rs1, rs2, f5 uint32) {
	size := uint8(1) << (f3 & 3)
	d.access(Load, d.gpr(rd), rs1, 0, size)
	d.Reads |= arch.Mask(d.gpr(rs2))
	d.mems[0].Aligned = true
	switch f5 {
	case 2: // lr
	case 3: // sc
		d.mems[0].Read, d.mems[0].Write = false, true
		d.Kind = Other
	default:
		d.mems[0].Write = true
		d.Kind = Other
	}
}

func (d riscvInst) system(w, rd, f3, rs1 uint32) {
	switch {
	case w == 0x00000073:
		d.Kind, d.Reads, d.Writes = Syscall, arch.Mask(arch.RISCVA7), arch.Mask(arch.RISCVA0)
	case w == 0x00100073:
		d.Kind = Int3
	case f3 == 0:
		d.Kind = Halt // mret, wfi and similar
	case w>>20 == 0xc00 && f3 == 1 && rd == 0: // unimp: csrrw x0, cycle, x0
		d.Kind = Trap
	case f3 >= 5:
		d.alu(rd, 0, 0)
	default:
		d.alu(rd, rs1, 0)
	}
}

// float decodes operations on floating-point registers; comparisons, classifications and
// conversions to integers write general ones.
func (d riscvInst) float(rd, rs1, f7 uint32) {
	switch f7 >> 2 {
	case 0x14, 0x18, 0x1c:
		d.Writes = arch.Mask(d.gpr(rd))
	case 0x1a, 0x1e:
		d.Reads, d.Writes = arch.Mask(d.gpr(rs1)), arch.Mask(d.fpr(rd))
	default:
		d.Writes = arch.Mask(d.fpr(rd))
	}
}

func (d riscvInst) vector(w, rd, f3, rs1 uint32) {
	switch {
	case f3 == 7: // vsetvl and its forms
		d.alu(rd, 0, 0)
		if w>>30 != 3 {
			d.Reads = arch.Mask(d.gpr(rs1))
		}
	case f3 == 2 && w>>26 == 0x10: // vmv.x.s, vcpop.m, vfirst.m
		d.Writes = arch.Mask(d.gpr(rd))
	case f3 == 1 && w>>26 == 0x10: // vfmv.f.s
		d.Writes = arch.Mask(d.fpr(rd))
	case f3 == 4 || f3 == 6:
		d.Reads = arch.Mask(d.gpr(rs1))
	}
}
