package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// An ArithOp is what an Arith computes.
type ArithOp uint8

// The operations. Shifts count bits by the low bits of B, as the processor does.
const (
	NoArith     ArithOp = iota
	Plus                // A + B
	Minus               // A - B
	Times               // A * B
	Negate              // -A
	BitAnd              // A & B
	BitOr               // A | B
	ShiftLeft           // A << B
	ShiftRight          // A >> B, without sign
	ShiftSigned         // A >> B, with its sign
)

// An Arith is the arithmetic of one instruction on general registers: its destination, a register, is Op of register A and
// of register B, of the instruction's memory operand (Mem), or else of the constant Imm. All have Size bytes of the
// instruction; a result of 4 bytes clears the upper half of its register.
type Arith struct {
	Op   ArithOp
	A, B arch.Reg // B is NoReg for memory and constants
	Mem  bool
	Imm  int64
}

// Arith returns the arithmetic of an instruction of x86 of 4 or 8 bytes; false for all others.
func (i *Inst) Arith() (Arith, bool) {
	if i.Kind != Other || i.arch == nil || familyOf(i.arch) != arch.FamilyX86 || !i.x86.legacy || i.Size < 4 || i.nmem > 1 || i.Dst == arch.NoReg {
		return Arith{}, false
	}
	if i.nmem == 1 && (i.mems[0].Write || !i.mems[0].Read || int(i.mems[0].Size) != int(i.Size)) {
		return Arith{}, false
	}
	a := Arith{A: i.Dst, B: arch.NoReg, Imm: i.Imm}
	switch ext := i.x86.modrm >> 3 & 7; {
	case i.x86.opmap == map0F && i.x86.op == 0xaf: // imul
		a.Op, a.B, a.Mem = Times, i.Src, i.nmem == 1
	case i.x86.opmap != mapOne:
	case i.x86.op < 0x40 && (i.x86.op&7 == 1 && i.nmem == 0 || i.x86.op&7 == 3):
		a.Op, a.B, a.Mem = x86Group[i.x86.op>>3], i.Src, i.nmem == 1
	case i.nmem == 0 && (i.x86.op == 0x81 || i.x86.op == 0x83):
		a.Op = x86Group[ext]
	case i.x86.op < 0x40 && i.x86.op&7 == 5:
		a.Op = x86Group[i.x86.op>>3]
	case (i.x86.op == 0x69 || i.x86.op == 0x6b) && i.nmem == 0: // imul with a constant
		a.Op, a.A = Times, i.Src
	case i.nmem == 0 && (i.x86.op == 0xc1 || i.x86.op == 0xd1):
		a.Op = [8]ArithOp{4: ShiftLeft, 5: ShiftRight, 7: ShiftSigned}[ext]
		if a.Imm &= int64(i.Size)*8 - 1; i.x86.op == 0xd1 {
			a.Imm = 1
		}
	case i.nmem == 0 && i.x86.op == 0xf7 && ext == 3:
		a.Op = Negate
	case i.nmem == 0 && i.x86.op == 0xff && ext < 2: // inc, dec
		a.Op, a.Imm = Plus, 1-2*int64(ext)
	}
	return a, a.Op != NoArith && a.A != arch.NoReg && (a.B != arch.NoReg || a.Mem || !a.needsB(i))
}

// Adds returns the constant that an instruction of x86 adds to its memory operand of 4 or 8 bytes; false for all others.
func (i *Inst) Adds() (k int64, ok bool) {
	if i.arch == nil || familyOf(i.arch) != arch.FamilyX86 || !i.x86.legacy || i.x86.opmap != mapOne || i.Size < 4 || i.nmem != 1 {
		return 0, false
	}
	if m := &i.mems[0]; !m.Write || !m.Read || int(m.Size) != int(i.Size) {
		return 0, false
	}
	switch ext := i.x86.modrm >> 3 & 7; {
	case i.x86.op == 0xff && ext < 2:
		return 1 - 2*int64(ext), true
	case i.x86.op != 0x81 && i.x86.op != 0x83:
	case ext == 0:
		return i.Imm, true
	case ext == 5:
		return -i.Imm, true
	}
	return 0, false
}

// needsB reports whether B is a register or memory by the opcode.
func (a *Arith) needsB(i *Inst) bool {
	return i.x86.opmap == map0F || i.x86.op < 0x40 && i.x86.op&7 != 5
}

// x86Group are the eight arithmetic operations of x86 that opcodes or modrm.reg select. Those with a carry are not told.
var x86Group = [8]ArithOp{0: Plus, 1: BitOr, 4: BitAnd, 5: Minus}

// Extends reports whether an instruction of x86 loads or moves 1 or 2 bytes and extends them to a whole register: from how many
// bytes to how many, 4 or 8, and whether by their sign. It returns false for the second bytes of registers (ah).
func (i *Inst) Extends() (from, to int, signed, ok bool) {
	if i.arch == nil || familyOf(i.arch) != arch.FamilyX86 || !i.x86.legacy || i.x86.opmap != map0F || !isMovx(i.x86.op) {
		return 0, 0, false, false
	}
	short, rex := i.x86Prefixes()
	from, to = 1+int(i.x86.op&1), 4
	switch {
	case rex&rexW != 0:
		to = 8
	case short, from == 1 && i.nmem == 0 && i.highByte(i.x86.modrm&7):
		return 0, 0, false, false
	}
	return from, to, i.x86.op >= 0xbe, true
}

// StoresHigh reports whether an instruction may store the second byte of a register of x86 (ah).
func (i *Inst) StoresHigh() bool {
	return i.arch != nil && familyOf(i.arch) == arch.FamilyX86 && i.x86.legacy && i.x86.opmap == mapOne && i.x86.op == 0x88 && i.highByte(i.x86.modrm>>3&7)
}

// highByte reports whether number n names the second byte of a register: without a REX prefix 4 to 7 do.
func (i *Inst) highByte(n uint8) bool {
	_, rex := i.x86Prefixes()
	return n >= 4 && rex == 0
}

// x86Prefixes returns whether a prefix makes the operands 2 bytes, and the REX prefix, 0 for none.
func (i *Inst) x86Prefixes() (short bool, rex uint8) {
	for _, c := range i.code[:i.Len] {
		switch c {
		case 0x66:
			short = true
		case 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65:
		default:
			if c&0xf0 == 0x40 && i.arch.WordSize == 8 {
				return short, c
			}
			return short, 0
		}
	}
	return short, 0
}
