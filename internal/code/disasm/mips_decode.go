package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// MIPS32 and MIPS64 up to release 5 (MIPS Architecture for Programmers, volume II). Jumps
// and branches are followed by a delay slot; a call returns after it. MIPS16 and microMIPS
// are not decoded. golang.org/x/arch v0.32.0 has no package for MIPS.

// mipsDecode decodes one instruction.
func mipsDecode(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	if len(code) < 4 {
		return ErrTruncated
	}
	in.arch, in.PC, in.Len = a, pc, 4
	copy(in.code[:], code[:4])
	d := mipsInst{Inst: in, w: mipsWord(a, code)}
	d.rs, d.rt, d.rd = d.w>>21&31, d.w>>16&31, d.w>>11&31
	d.imm = int64(int16(d.w))
	return d.decode()
}

func mipsWord(a *arch.Arch, code []byte) uint32 {
	if a.Big() {
		return binary.BigEndian.Uint32(code)
	}
	return binary.LittleEndian.Uint32(code)
}

// A mipsInst is an instruction being decoded.
type mipsInst struct {
	*Inst
	w, rs, rt, rd uint32
	imm           int64
}

// gpr returns the register with number n; NoReg for $0, which is always zero.
func (mipsInst) gpr(n uint32) arch.Reg {
	if n != 0 {
		return arch.Reg(n)
	}
	return arch.NoReg
}

// fpr returns the register for floating-point register n if the register file has it.
func (mipsInst) fpr(n uint32) arch.Reg {
	if n >= 20 {
		return arch.MIPSF20 + arch.Reg(n-20)
	}
	return arch.NoReg
}

func (d *mipsInst) decode() error {
	switch op := d.w >> 26; op {
	case 0x00:
		return d.special(d.w & 0x3f)
	case 0x01:
		return d.regimm()
	case 0x02, 0x03, 0x1d: // j, jal, jalx
		d.Kind, d.Delayed = Jump, true
		d.Target = (d.PC+4)&^0xfffffff | uint64(d.w&0x3ffffff)<<2
		if op != 0x02 {
			d.Kind, d.Writes = Call, arch.Mask(arch.MIPSRA)
		}
	case 0x04, 0x05, 0x06, 0x07, 0x14, 0x15, 0x16, 0x17:
		d.branch()
		if op == 0x04 && d.rs == d.rt { // b
			d.Kind, d.Reads = Jump, 0
		}
	case 0x08, 0x09: // addi, addiu
		d.add(4)
	case 0x18, 0x19: // daddi, daddiu
		if d.arch.RegSize != 8 {
			return ErrUnknown
		}
		d.add(8)
	case 0x0a, 0x0b, 0x0c, 0x0d, 0x0e:
		d.logic(op)
	case 0x0f: // lui
		d.alu(d.rt, 0, 0)
		d.Kind, d.Imm = MovImm, d.imm<<16
	case 0x10: // system control
		if d.rs <= 2 {
			d.alu(d.rt, 0, 0)
		} else if d.w == 0x42000018 {
			d.Kind = Halt // eret
		}
	case 0x11:
		d.float()
	case 0x12: // coprocessor 2
		if d.rs <= 3 {
			d.alu(d.rt, 0, 0)
		}
	case 0x13: // fused multiply-add, loads by index: floating-point registers
		d.Reads = arch.Mask(d.gpr(d.rs), d.gpr(d.rt))
	case 0x1c:
		d.special2(d.w & 0x3f)
	case 0x1e: // MSA
		if d.w&0x3f == 0x19 { // includes copies to a general register
			d.Writes = arch.Mask(d.gpr(d.w >> 6 & 31))
		}
	case 0x1f:
		return d.special3(d.w & 0x3f)
	default:
		return d.memory(op)
	}
	return nil
}

// alu records an operation that writes rd.
func (d *mipsInst) alu(rd, rs, rt uint32) {
	d.Dst, d.Src, d.Size = d.gpr(rd), d.gpr(rs), uint8(d.arch.RegSize)
	d.Reads, d.Writes = arch.Mask(d.gpr(rs), d.gpr(rt)), arch.Mask(d.gpr(rd))
}

// add records rt = rs + imm, on size bytes.
func (d *mipsInst) add(size int) {
	d.alu(d.rt, d.rs, 0)
	d.Size = uint8(size)
	sp := uint32(arch.MIPSSP)
	switch {
	case d.rt == 0:
		d.Kind = Nop
	case d.rs == 0:
		d.Kind, d.Imm = MovImm, d.imm
	case size < d.arch.WordSize: // not a pointer
		d.Imm = d.imm
	case d.rt == sp && d.rs == sp && d.imm < 0:
		d.Kind, d.Imm = SubSP, -d.imm
	case d.rt == sp && d.rs == sp:
		d.Kind, d.Imm = AddSP, d.imm
	case d.imm == 0:
		d.move(d.rt, d.rs)
	default:
		d.lea(d.rt, d.rs, 0, d.imm)
	}
}

// move records rd = rs.
func (d *mipsInst) move(rd, rs uint32) {
	d.alu(rd, rs, 0)
	sp, fp := uint32(arch.MIPSSP), uint32(arch.MIPSFP)
	switch {
	case rd == 0:
		d.Kind = Nop
	case rs == 0:
		d.Kind = MovImm
	case rd == fp && rs == sp:
		d.Kind = MovSPtoFP
	case rd == sp && rs == fp:
		d.Kind = MovFPtoSP
	default:
		d.Kind = Mov
	}
}

// lea records rd = rs + rt + disp.
func (d *mipsInst) lea(rd, rs, rt uint32, disp int64) {
	d.alu(rd, rs, rt)
	d.Kind = Lea
	if rd == uint32(arch.MIPSSP) {
		d.Kind = LeaSP
	}
	d.addMem(MemOperand{Base: d.gpr(rs), Index: d.gpr(rt), Scale: 1, Segment: arch.NoReg, BitIndex: arch.NoReg, Disp: disp, AddrSize: uint8(d.arch.WordSize)})
}

// branch records a conditional jump with a delay slot.
func (d *mipsInst) branch() {
	d.Kind, d.Delayed, d.Target = CondJump, true, d.PC+4+uint64(d.imm<<2)
	d.Dst, d.Src = d.gpr(d.rs), d.gpr(d.rt)
	d.Reads = arch.Mask(d.Dst, d.Src)
}

func (d *mipsInst) special(funct uint32) error {
	switch funct {
	case 0x08: // jr
		d.Kind, d.Delayed, d.Src = JumpIndirect, true, d.gpr(d.rs)
		d.Reads = arch.Mask(d.Src)
		if d.rs == uint32(arch.MIPSRA) {
			d.Kind = Ret
		}
	case 0x09: // jalr
		d.Kind, d.Delayed, d.Src = CallIndirect, true, d.gpr(d.rs)
		d.Reads, d.Writes = arch.Mask(d.Src), arch.Mask(d.gpr(d.rd))
		if d.rd == 0 { // jr of release 6
			d.Kind = JumpIndirect
			if d.rs == uint32(arch.MIPSRA) {
				d.Kind = Ret
			}
		}
	case 0x0c:
		d.Kind, d.Reads, d.Writes = Syscall, arch.Mask(2), arch.Mask(2, 7)
	case 0x0d:
		d.Kind = Int3
		if d.w>>16&0x3ff != 0 {
			d.Kind = Trap // the code gives the reason: 7 is a division by zero
		}
	case 0x0e: // sdbbp
		d.Kind = Int3
	case 0x0f: // sync
		d.Kind = Nop
	case 0x11, 0x13: // mthi, mtlo
		d.Reads, d.Writes = arch.Mask(d.gpr(d.rs)), arch.Mask(arch.MIPSHI, arch.MIPSLO)
	case 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f: // multiplications and divisions, which do not fault
		d.Reads, d.Writes = arch.Mask(d.gpr(d.rs), d.gpr(d.rt)), arch.Mask(arch.MIPSHI, arch.MIPSLO)
	case 0x30, 0x31, 0x32, 0x33, 0x34, 0x36: // conditional traps
		d.Reads = arch.Mask(d.gpr(d.rs), d.gpr(d.rt))
	case 0x21, 0x2d: // addu, daddu
		d.addRegisters(funct == 0x2d)
	case 0x25: // or
		if d.rs == 0 || d.rt == 0 {
			d.move(d.rd, d.rs|d.rt)
			break
		}
		d.alu(d.rd, d.rs, d.rt)
	case 0x0a, 0x0b: // movz, movn
		d.alu(d.rd, d.rs, d.rt)
		d.Conditional = true
	case 0x01: // movf, movt
		d.alu(d.rd, d.rs, 0)
		d.Conditional = true
	case 0x05, 0x15, 0x28, 0x29, 0x35, 0x37, 0x39, 0x3d: // undefined, or release 6
		return ErrUnknown
	default:
		d.alu(d.rd, d.rs, d.rt)
		if d.rd == 0 {
			d.Kind, d.Reads = Nop, 0
		}
	}
	return nil
}

func (d *mipsInst) addRegisters(double bool) {
	switch {
	case d.rs == 0 || d.rt == 0:
		d.move(d.rd, d.rs|d.rt)
		if !double && d.arch.WordSize == 8 && d.Kind == Mov {
			d.Kind = Other // truncated to 32 bits
		}
	case !double && d.arch.WordSize == 8:
		d.alu(d.rd, d.rs, d.rt)
		d.Size = 4
	default:
		d.lea(d.rd, d.rs, d.rt, 0)
	}
}

func (d *mipsInst) regimm() error {
	switch d.rt {
	case 0, 1, 2, 3, 16, 17, 18, 19:
		link := d.rt >= 16
		always := d.rs == 0 && d.rt&1 != 0 // bgez of zero
		d.rt = 0
		d.branch()
		switch {
		case link:
			d.Kind, d.Writes = Call, arch.Mask(arch.MIPSRA)
			d.Conditional = !always
		case always:
			d.Kind = Jump
		}
	case 8, 9, 10, 11, 12, 14: // conditional traps
		d.Reads = arch.Mask(d.gpr(d.rs))
	case 31: // synci
		d.Kind = Nop
	default:
		return ErrUnknown
	}
	return nil
}

func (d *mipsInst) logic(op uint32) {
	d.alu(d.rt, d.rs, 0)
	d.Imm = d.imm
	if op >= 0x0c {
		d.Imm &= 0xffff
	}
	sp := uint32(arch.MIPSSP)
	switch {
	case d.rt == 0:
		d.Kind = Nop
	case op == 0x0d && d.rs == 0:
		d.Kind = MovImm
	case op == 0x0c && d.rt == sp && d.rs == sp:
		d.Kind = AndSP
	}
}

// float decodes coprocessor 1: moves from and to general registers, branches, and
// arithmetic.
func (d *mipsInst) float() {
	switch d.rs {
	case 0, 1, 2, 3: // mfc1, dmfc1, cfc1, mfhc1
		d.alu(d.rt, 0, 0)
	case 4, 5, 6, 7:
		d.Reads, d.Writes = arch.Mask(d.gpr(d.rt)), arch.Mask(d.fpr(d.rd))
	case 8: // bc1f, bc1t
		d.rs, d.rt = 0, 0
		d.branch()
	default:
		d.Writes = arch.Mask(d.fpr(d.w >> 6 & 31))
	}
}

func (d *mipsInst) special2(funct uint32) {
	switch funct {
	case 0x02, 0x20, 0x21, 0x24, 0x25: // mul, clz, clo, dclz, dclo
		d.alu(d.rd, d.rs, d.rt)
	case 0x3f: // sdbbp
		d.Kind = Int3
	default: // madd and similar; vendor extensions may write rd
		d.Reads, d.Writes = arch.Mask(d.gpr(d.rs), d.gpr(d.rt)), arch.Mask(arch.MIPSHI, arch.MIPSLO, d.gpr(d.rd))
	}
}

func (d *mipsInst) special3(funct uint32) error {
	switch funct {
	case 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07: // ext, ins and their wide forms
		d.alu(d.rt, d.rs, d.rt)
	case 0x20, 0x24: // wsbh, seb, seh, dsbh
		d.alu(d.rd, d.rt, 0)
	case 0x3b: // rdhwr
		d.alu(d.rt, 0, 0)
	default: // the DSP extension
		switch r := d.gpr(d.rd); r {
		case arch.MIPSSP, arch.MIPSRA, arch.MIPSFP:
			return ErrUnknown
		default:
			d.Reads, d.Writes = arch.Mask(d.gpr(d.rs), d.gpr(d.rt)), arch.Mask(r, d.gpr(d.rt))
		}
	}
	return nil
}

// mipsAccesses are the loads and stores, by opcode.
var mipsAccesses = lazy.Value[map[uint32]struct {
	kind  Kind
	size  uint8
	float bool
}]{Make: func() map[uint32]struct {
	kind  Kind
	size  uint8
	float bool
} {
	return map[uint32]struct {
		kind  Kind
		size  uint8
		float bool
	}{
		0x20: {Load, 1, false}, 0x21: {Load, 2, false}, 0x23: {Load, 4, false}, 0x24: {Load, 1, false}, 0x25: {Load, 2, false}, 0x27: {Load, 4, false},
		0x37: {Load, 8, false}, 0x30: {Load, 4, false}, 0x34: {Load, 8, false}, 0x31: {Load, 4, true}, 0x35: {Load, 8, true},
		0x28: {Store, 1, false}, 0x29: {Store, 2, false}, 0x2b: {Store, 4, false}, 0x3f: {Store, 8, false}, 0x39: {Store, 4, true}, 0x3d: {Store, 8, true},
		// Unaligned accesses, and conditional writes.
		0x22: {Other, 4, false}, 0x26: {Other, 4, false}, 0x1a: {Other, 8, false}, 0x1b: {Other, 8, false},
		0x2a: {Store, 4, false}, 0x2e: {Store, 4, false}, 0x2c: {Store, 8, false}, 0x2d: {Store, 8, false},
		0x38: {Other, 4, false}, 0x3c: {Other, 8, false},
	}
}}

func (d *mipsInst) memory(op uint32) error {
	acc, ok := mipsAccesses.Get()[op]
	switch {
	case op == 0x33 || op == 0x2f: // pref, cache
		d.Kind = Nop
		return nil
	case !ok:
		return ErrUnknown
	}
	reg := d.gpr(d.rt)
	if acc.float {
		reg = d.fpr(d.rt)
	}
	d.Kind, d.Size = acc.kind, acc.size
	m := MemOperand{Base: d.gpr(d.rs), Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg, Disp: d.imm, Size: uint16(acc.size),
		AddrSize: uint8(d.arch.WordSize), Read: acc.kind != Store, Write: acc.kind == Store}
	switch {
	case acc.kind == Store:
		d.Src, d.Reads = reg, arch.Mask(m.Base, reg)
		m.Aligned = op != 0x2a && op != 0x2e && op != 0x2c && op != 0x2d
	case op == 0x38 || op == 0x3c: // sc, scd
		m.Read, m.Write, m.Aligned = false, true, true
		d.Src, d.Reads, d.Writes = reg, arch.Mask(m.Base, reg), arch.Mask(reg)
	default:
		d.Dst, d.Reads, d.Writes = reg, arch.Mask(m.Base), arch.Mask(reg)
		m.Aligned = acc.kind == Load
		if acc.kind == Other {
			d.Reads |= arch.Mask(reg)
		}
	}
	d.addMem(m)
	return nil
}

// mipsCallBefore finds the call whose delay slot ends where code ends.
func mipsCallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	n := len(code)
	var in Inst
	if n < 8 || ra&3 != 0 || mipsDecode(&in, a, code[n-8:], ra-8) != nil || !in.Kind.IsCall() || !in.Writes.Has(arch.MIPSRA) {
		return CallSite{}, false
	}
	return CallSite{Len: 8, Target: in.Target, Direct: in.Kind == Call}, true
}
