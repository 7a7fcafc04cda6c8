package disasm

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// The instruction sets of x86 with 32 and 64 bits (Intel SDM volume 2, AMD APM volumes 3
// and 6). This decoder determines lengths and operands. golang.org/x/arch/x86/x86asm
// v0.32.0 supplies mnemonics, and only if it finds the same length: it returns endbr64,
// rdpid and rdsspq as a prefix of one byte, without an error, so that what follows would be
// decoded at the wrong address. It reads incsspq as lfence and clwb as xsaveopt, and does
// not know XOP, movdiri and wrss.

// decode fills in in, which must be zero, from the instruction at the start of code.
func (m *x86Mode) decode(in *Inst, a *arch.Arch, code []byte, pc uint64) error {
	var r x86Raw
	if err := m.takeApart(&r, code); err != nil {
		return fmt.Errorf("%s instruction at %#x: %w", a.Name, pc, err)
	}
	in.arch, in.PC, in.Len = a, pc, r.len
	copy(in.code[:], code[:r.len])
	if r.enc == encLegacy {
		in.x86 = x86Opcode{true, r.opmap, r.op, r.modrm}
	}
	in.Lock = r.lock
	in.Imm = r.imm
	d := x86Decoder{mode: m, raw: &r, in: in}
	d.meaning()
	return nil
}

// An x86Opcode is the opcode of an instruction without a VEX or similar prefix, and the
// next byte if that is modrm.
type x86Opcode struct {
	legacy           bool
	opmap, op, modrm uint8
}

// An x86Decoder converts a parsed instruction to an Inst.
type x86Decoder struct {
	mode *x86Mode
	raw  *x86Raw
	in   *Inst
}

// An opAccess is the access of an instruction to one operand.
type opAccess uint8

const (
	accNone opAccess = 0
	accR    opAccess = 1
	accW    opAccess = 2
	accRW   opAccess = 3
)

func (d *x86Decoder) meaning() {
	r := d.raw
	switch {
	case r.enc == encLegacy && (r.opmap == mapOne || r.opmap == map0F && r.info&oiVec == 0):
		d.integer()
	default:
		d.vector()
	}
}

// integer handles the general instructions: first what the tables say, then what is special
// about an opcode.
func (d *x86Decoder) integer() {
	r := d.raw
	d.in.Size = d.operandSize(r.info & oiSize)
	if r.hasModRM {
		d.modRMOperands(r.info)
	}
	if r.opmap == mapOne {
		d.oneByte()
	} else {
		d.twoByte()
	}
	d.classify()
}

// operandSize returns the size of modrm.rm in bytes.
func (d *x86Decoder) operandSize(class opInfo) uint8 {
	r := d.raw
	switch class {
	case sizeB:
		return 1
	case sizeW:
		return 2
	case sizeD:
		return 4
	case sizeS:
		return d.slotSize()
	case sizeY:
		if r.w() {
			return 8
		}
		return 4
	case size0:
		return 0
	}
	return d.sizeV()
}

// sizeV returns the operand size given by the prefixes: 2, 4 or 8.
func (d *x86Decoder) sizeV() uint8 {
	switch {
	case d.raw.w():
		return 8
	case d.raw.opsize:
		return 2
	}
	return 4
}

// slotSize returns the size of the operands of push and pop.
func (d *x86Decoder) slotSize() uint8 {
	if d.raw.opsize && !d.raw.w() {
		return 2
	}
	return d.mode.wordLen
}

// modRMOperands records the operands in modrm.
func (d *x86Decoder) modRMOperands(info opInfo) {
	r := d.raw
	rmAcc, regAcc := opAccess(info/oiRMR&3), opAccess(info/oiRegR&3)
	if info&oiRegVec != 0 {
		regAcc = accNone
	}
	d.rmOperand(rmAcc, int(d.in.Size))
	if regAcc != accNone {
		n := d.gprNumber(r.regExt(), d.regSize(info))
		d.explicit(n, regAcc, regAcc&accW != 0)
		// Compared registers, in the order of the text.
		regFirst := r.opmap == mapOne && (r.op == 0x3a || r.op == 0x3b)
		if rmAcc == accR && regAcc == accR && !r.memForm() && !regFirst {
			d.in.Dst, d.in.Src = d.in.Src, d.in.Dst
		}
	}
	if info&oiNoMem != 0 && r.memForm() {
		d.in.mems[0].Read, d.in.mems[0].Write = false, false
	}
	if info&oiBits != 0 && r.memForm() {
		d.in.mems[0].BitIndex = d.mode.gpr[r.regExt()]
	}
}

// regSize returns the size of modrm.reg if it differs from that of modrm.rm: movzx and
// similar instructions write a full register from a small operand.
func (d *x86Decoder) regSize(info opInfo) uint8 {
	if info&oiSize == sizeB && d.raw.opmap == map0F && info&oiRegW != 0 && info&oiRMW == 0 {
		return d.sizeV()
	}
	return d.in.Size
}

// gprNumber converts a register number in an operand of size bytes to that of the full
// register: without REX, byte registers 4 to 7 are the high halves of the first four.
func (d *x86Decoder) gprNumber(n, size uint8) uint8 {
	if size == 1 && !d.raw.hasREX && n >= 4 && n < 8 {
		return n - 4
	}
	return n
}

// explicit records general register n as an operand in the instruction's text.
func (d *x86Decoder) explicit(n uint8, acc opAccess, dst bool) {
	d.use(n, acc)
	reg := d.mode.gpr[n&15]
	switch {
	case dst && d.in.Dst == arch.NoReg:
		d.in.Dst = reg
	case d.in.Src == arch.NoReg:
		d.in.Src = reg
	default:
		d.in.Dst = reg
	}
}

// use records that general register n is read or written.
func (d *x86Decoder) use(n uint8, acc opAccess) {
	if acc&accR != 0 {
		d.in.Reads |= d.mode.mask(n)
	}
	if acc&accW != 0 {
		d.in.Writes |= d.mode.mask(n)
	}
}

// rmOperand records modrm.rm as a general register or as size bytes of memory.
func (d *x86Decoder) rmOperand(acc opAccess, size int) {
	r := d.raw
	if r.memForm() {
		d.memOperand(acc, size)
		return
	}
	if acc != accNone {
		d.explicit(d.gprNumber(r.rmExt(), uint8(size)), acc, acc&accW != 0)
	}
}

// memOperand records the memory operand that modrm names.
func (d *x86Decoder) memOperand(acc opAccess, size int) {
	r, m := d.raw, d.mode
	op := d.newMem(acc, size)
	op.Implicit = false
	op.Disp = r.disp
	switch {
	case m.bits == 32 && r.addr:
		op.Base, op.Index = m.base16(r)
		op.Scale = 1
	case r.hasSIB:
		if r.sib&7 != 5 || r.mod() != 0 {
			op.Base = m.gpr[r.sib&7|r.rex&rexB<<3]
		}
		index := r.sib>>3&7 | r.rex&rexX<<2
		if index != nSP || d.vsib() {
			op.Scale = 1 << (r.sib >> 6)
			op.Index = m.gpr[index]
		}
		if d.vsib() {
			op.Vector, op.Index = true, arch.NoReg
		}
	case r.mod() == 0 && r.rm() == 5:
		if m.bits == 64 {
			op.RIPRelative = true
			op.Disp += int64(d.in.PC) + int64(r.len)
		}
	default:
		op.Base = m.gpr[r.rmExt()]
	}
	op.Segment = m.segment(r)
	d.in.Reads |= arch.Mask(op.Base, op.Index)
	d.in.addMem(op)
}

// newMem returns an implicit operand without registers.
func (d *x86Decoder) newMem(acc opAccess, size int) MemOperand {
	return MemOperand{
		Base: arch.NoReg, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg,
		Scale: 1, Size: uint16(size), AddrSize: d.mode.addrSize(d.raw),
		Read: acc&accR != 0, Write: acc&accW != 0, Implicit: true,
	}
}

// base16 returns the registers of a 16-bit address: Intel SDM volume 2, table 2-1.
func (m *x86Mode) base16(r *x86Raw) (base, index arch.Reg) {
	bases := [8]uint8{nBX, nBX, nBP, nBP, nSI, nDI, nBP, nBX}
	index = arch.NoReg
	if r.rm() < 4 {
		index = m.gpr[nSI+r.rm()&1]
	}
	if r.rm() == 6 && r.mod() == 0 {
		return arch.NoReg, index
	}
	return m.gpr[bases[r.rm()]], index
}

// segment returns the register whose value the segment prefix adds; the other segments
// start at zero in user programs.
func (m *x86Mode) segment(r *x86Raw) arch.Reg {
	switch r.seg {
	case 0x64:
		return m.fs
	case 0x65:
		return m.gs
	}
	return arch.NoReg
}

// stack records an access to size bytes at SP plus off, and the change of SP.
func (d *x86Decoder) stack(acc opAccess, off int64, size int) {
	op := d.newMem(acc, size)
	op.Base, op.Disp, op.AddrSize = d.mode.gpr[nSP], off, d.mode.wordLen
	d.in.addMem(op)
	d.use(nSP, accRW)
}

// at records an implicit access through general register n.
func (d *x86Decoder) at(n uint8, acc opAccess, size int, segmented bool) {
	op := d.newMem(acc, size)
	op.Base = d.mode.gpr[n]
	if segmented {
		op.Segment = d.mode.segment(d.raw)
	}
	d.in.addMem(op)
	d.in.Reads |= d.mode.mask(n)
}
