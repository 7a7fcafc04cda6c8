package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// The quick decoder takes the common instructions of 64-bit code, and leaves the others to
// golang.org/x/arch: a whole library is decoded in less than half the time
// (docs/performance.md has the figures). TestQuickForms and TestQuickLibrary hold the two
// against each other.

// A quickClass says how the quick decoder handles an opcode.
type quickClass uint8

const (
	quickNone     quickClass = iota // not at all
	quickOperands                   // the operands are what the tables say
	quickClear                      // the same, except for a register with itself
	quickMove
	quickShift
	// For the classes from here to quickInc, modrm adds information.
	quickLea
	quickMovImmRM
	quickGroup1 // arithmetic with an immediate
	quickUnary
	quickInc
	// The classes from here on have no modrm, except quickHint.
	quickAcc // the accumulator and an immediate
	quickTestAcc
	quickExtendAcc // cdqe, cqo
	quickPush
	quickPop
	quickMovImm
	quickCond
	quickJump
	quickCall
	quickRet
	quickNop
	quickHint
)

// quickOne are the classes of the one-byte opcodes.
var quickOne = [256]quickClass{
	0x00: quickOperands, 0x01: quickOperands, 0x02: quickOperands, 0x03: quickOperands, 0x04: quickAcc, 0x05: quickAcc,
	0x08: quickOperands, 0x09: quickOperands, 0x0a: quickOperands, 0x0b: quickOperands, 0x0c: quickAcc, 0x0d: quickAcc,
	0x10: quickOperands, 0x11: quickOperands, 0x12: quickOperands, 0x13: quickOperands, 0x14: quickAcc, 0x15: quickAcc,
	0x18: quickOperands, 0x19: quickOperands, 0x1a: quickOperands, 0x1b: quickOperands, 0x1c: quickAcc, 0x1d: quickAcc,
	0x20: quickOperands, 0x21: quickOperands, 0x22: quickOperands, 0x23: quickOperands, 0x24: quickAcc, 0x25: quickAcc,
	0x28: quickClear, 0x29: quickClear, 0x2a: quickClear, 0x2b: quickClear, 0x2c: quickAcc, 0x2d: quickAcc,
	0x30: quickClear, 0x31: quickClear, 0x32: quickClear, 0x33: quickClear, 0x34: quickAcc, 0x35: quickAcc,
	0x38: quickOperands, 0x39: quickOperands, 0x3a: quickOperands, 0x3b: quickOperands, 0x3c: quickAcc, 0x3d: quickAcc,
	0x50: quickPush, 0x51: quickPush, 0x52: quickPush, 0x53: quickPush, 0x54: quickPush, 0x55: quickPush, 0x56: quickPush, 0x57: quickPush,
	0x58: quickPop, 0x59: quickPop, 0x5a: quickPop, 0x5b: quickPop, 0x5c: quickPop, 0x5d: quickPop, 0x5e: quickPop, 0x5f: quickPop,
	0x63: quickMove, 0x68: quickPush, 0x69: quickOperands, 0x6a: quickPush, 0x6b: quickOperands,
	0x70: quickCond, 0x71: quickCond, 0x72: quickCond, 0x73: quickCond, 0x74: quickCond, 0x75: quickCond, 0x76: quickCond, 0x77: quickCond,
	0x78: quickCond, 0x79: quickCond, 0x7a: quickCond, 0x7b: quickCond, 0x7c: quickCond, 0x7d: quickCond, 0x7e: quickCond, 0x7f: quickCond,
	0x80: quickGroup1, 0x81: quickGroup1, 0x83: quickGroup1, 0x84: quickOperands, 0x85: quickOperands,
	0x88: quickMove, 0x89: quickMove, 0x8a: quickMove, 0x8b: quickMove, 0x8d: quickLea,
	0x90: quickNop, 0x98: quickExtendAcc, 0x99: quickExtendAcc, 0xa8: quickTestAcc, 0xa9: quickTestAcc,
	0xb0: quickMovImm, 0xb1: quickMovImm, 0xb2: quickMovImm, 0xb3: quickMovImm, 0xb4: quickMovImm, 0xb5: quickMovImm, 0xb6: quickMovImm, 0xb7: quickMovImm,
	0xb8: quickMovImm, 0xb9: quickMovImm, 0xba: quickMovImm, 0xbb: quickMovImm, 0xbc: quickMovImm, 0xbd: quickMovImm, 0xbe: quickMovImm, 0xbf: quickMovImm,
	0xc0: quickShift, 0xc1: quickShift, 0xc3: quickRet, 0xc6: quickMovImmRM, 0xc7: quickMovImmRM,
	0xd0: quickShift, 0xd1: quickShift, 0xd2: quickShift, 0xd3: quickShift,
	0xe8: quickCall, 0xe9: quickJump, 0xeb: quickJump, 0xf6: quickUnary, 0xf7: quickUnary, 0xff: quickInc,
}

// quickTwo are the classes of the opcodes of map 0F.
var quickTwo = [256]quickClass{
	0x1f: quickHint,
	0x40: quickOperands, 0x41: quickOperands, 0x42: quickOperands, 0x43: quickOperands, 0x44: quickOperands, 0x45: quickOperands, 0x46: quickOperands, 0x47: quickOperands,
	0x48: quickOperands, 0x49: quickOperands, 0x4a: quickOperands, 0x4b: quickOperands, 0x4c: quickOperands, 0x4d: quickOperands, 0x4e: quickOperands, 0x4f: quickOperands,
	0x80: quickCond, 0x81: quickCond, 0x82: quickCond, 0x83: quickCond, 0x84: quickCond, 0x85: quickCond, 0x86: quickCond, 0x87: quickCond,
	0x88: quickCond, 0x89: quickCond, 0x8a: quickCond, 0x8b: quickCond, 0x8c: quickCond, 0x8d: quickCond, 0x8e: quickCond, 0x8f: quickCond,
	0x90: quickOperands, 0x91: quickOperands, 0x92: quickOperands, 0x93: quickOperands, 0x94: quickOperands, 0x95: quickOperands, 0x96: quickOperands, 0x97: quickOperands,
	0x98: quickOperands, 0x99: quickOperands, 0x9a: quickOperands, 0x9b: quickOperands, 0x9c: quickOperands, 0x9d: quickOperands, 0x9e: quickOperands, 0x9f: quickOperands,
	0xaf: quickOperands, 0xb6: quickMove, 0xb7: quickMove, 0xbe: quickMove, 0xbf: quickMove,
}

// quick decodes the most frequent instructions of 64-bit code, those without legacy
// prefixes, in one step. It returns false for all others, and for code that may end inside
// the instruction; takeApart and meaning handle these.
func (m *x86Mode) quick(in *Inst, a *arch.Arch, code []byte, pc uint64) bool {
	if m.bits != 64 || len(code) < MaxLen {
		return false
	}
	q := x86Quick{mode: m, op: code[0], n: 1}
	if q.op&0xf0 == 0x40 {
		q.rex, q.op, q.n = q.op, code[1], 2
	}
	class := quickOne[q.op]
	q.info = oneByteOps[q.op]
	if q.op == 0x0f {
		q.op, q.opmap = code[q.n], map0F
		q.n++
		class, q.info = quickTwo[q.op], twoByteOps[q.op]
	}
	if class == quickNone {
		return false
	}
	if q.info&oiModRM != 0 {
		q.modrm = code[q.n]
		q.address(code)
		if class >= quickLea && !q.supported(class) {
			return false
		}
	}
	if class == quickUnary && q.reg() < 2 {
		if q.info |= imm8; q.op == 0xf7 {
			q.info ^= imm8 ^ immZ
		}
	}
	in.Imm = q.immediate(code)
	in.arch, in.PC, in.Len = a, pc, int(q.n)
	in.x86 = x86Opcode{true, q.opmap, q.op, q.modrm}
	in.setCode(code)
	q.meaning(in, class)
	return true
}

// An x86Quick is the state of the quick decoder for one instruction.
type x86Quick struct {
	mode      *x86Mode
	info      opInfo
	disp      int64
	n         uint8 // number of bytes read
	op, opmap uint8
	rex       uint8 // the complete prefix, or 0
	modrm     uint8
	sib       uint8
}

func (q *x86Quick) reg() uint8    { return q.modrm >> 3 & 7 }
func (q *x86Quick) regExt() uint8 { return q.reg() | q.rex&rexR<<1 }
func (q *x86Quick) rmExt() uint8  { return q.modrm&7 | q.rex&rexB<<3 }

// address reads what modrm, which is code[q.n], requires.
func (q *x86Quick) address(code []byte) {
	q.n++
	mod, rm := q.modrm>>6, q.modrm&7
	if mod == 3 {
		return
	}
	wide := mod == 2 || mod == 0 && rm == 5
	if rm == 4 {
		q.sib = code[q.n]
		q.n++
		wide = wide || mod == 0 && q.sib&7 == 5
	}
	switch {
	case wide:
		q.disp = int64(int32(binary.LittleEndian.Uint32(code[q.n:])))
		q.n += 4
	case mod == 1:
		q.disp = int64(int8(code[q.n]))
		q.n++
	}
}

// supported reports whether the quick decoder supports the opcode with its modrm.
func (q *x86Quick) supported(class quickClass) bool {
	switch class {
	case quickLea:
		return q.modrm < 0xc0
	case quickMovImmRM:
		return q.reg() == 0
	case quickInc:
		r := q.reg()
		return r < 3 || r == 4 || r == 6
	}
	return true
}

// immediate reads the immediate operand.
func (q *x86Quick) immediate(code []byte) int64 {
	kind := q.info & oiImm
	if kind == immNone {
		return 0
	}
	at := code[q.n:]
	switch {
	case kind == imm8:
		q.n++
		return int64(int8(at[0]))
	case kind == immV && q.rex&rexW != 0:
		q.n += 8
		return int64(binary.LittleEndian.Uint64(at))
	}
	q.n += 4
	return int64(int32(binary.LittleEndian.Uint32(at)))
}

// setCode stores the instruction's bytes; code has at least MaxLen bytes.
func (i *Inst) setCode(code []byte) {
	if i.Len <= 8 {
		v := binary.LittleEndian.Uint64(code)
		binary.LittleEndian.PutUint64(i.code[:], v&(1<<(8*i.Len)-1))
		return
	}
	copy(i.code[:], code[:i.Len])
}

// sizeV returns the operand size given by the prefixes.
func (q *x86Quick) sizeV() uint8 {
	if q.rex&rexW != 0 {
		return 8
	}
	return 4
}

// size returns the size of modrm.rm in bytes if the prefixes do not determine it.
func (q *x86Quick) size() uint8 {
	switch q.info & oiSize {
	case sizeB:
		return 1
	case sizeW:
		return 2
	case sizeD:
		return 4
	case sizeS:
		return q.mode.wordLen
	}
	return 0
}

// gpr returns general register n as an operand of size bytes.
func (q *x86Quick) gpr(n, size uint8) arch.Reg {
	if size == 1 && q.rex == 0 && n >= 4 && n < 8 {
		n -= 4
	}
	return q.mode.gpr[n&15]
}

// meaning applies the tables and the class.
func (q *x86Quick) meaning(in *Inst, class quickClass) {
	if in.Size = q.sizeV(); q.info&oiSize != sizeV {
		in.Size = q.size()
	}
	if q.info&oiModRM != 0 {
		acc := q.info & (rmRW | regRW)
		if class >= quickGroup1 && class <= quickInc {
			acc = q.group(in, class)
		}
		q.operands(in, acc)
	}
	switch class {
	case quickClear:
		if in.nmem == 0 && in.Size >= 4 && q.regExt() == q.rmExt() {
			in.Kind, in.Imm, in.Reads, in.Src = MovImm, 0, 0, arch.NoReg
		}
	case quickMove:
		q.move(in)
	case quickLea:
		in.Kind = Lea
		if in.Dst == q.mode.gpr[nSP] && in.Size >= q.mode.ptrLen {
			in.Kind = LeaSP
		}
	case quickGroup1:
		q.group1(in)
	case quickShift:
		if q.op >= 0xd2 {
			in.Reads |= q.mode.mask(nCX)
		}
	case quickUnary:
		q.unary(in)
	case quickInc:
		q.inc(in)
	case quickMovImmRM:
		switch {
		case in.nmem > 0:
			in.Kind = Store
		case in.Size == 4:
			in.Kind, in.Imm = MovImm, int64(uint32(in.Imm))
		default:
			in.Kind = MovImm
		}
	default:
		q.plain(in, class)
	}
}

// group sets the operand size if the opcode alone does not determine it, and returns the
// access to modrm.rm.
func (q *x86Quick) group(in *Inst, class quickClass) opInfo {
	r := q.reg()
	switch class {
	case quickGroup1:
		if r == 7 {
			return oiRMR
		}
		return rmRW
	case quickUnary:
		if r == 2 || r == 3 {
			return rmRW
		}
		return oiRMR
	}
	if r < 2 {
		in.Size = q.sizeV()
		return rmRW
	}
	in.Size = q.mode.wordLen
	return oiRMR
}

// operands records modrm's operands.
func (q *x86Quick) operands(in *Inst, acc opInfo) {
	if q.modrm < 0xc0 {
		q.memory(in, acc)
	} else if acc&rmRW != 0 {
		r := q.gpr(q.rmExt(), in.Size)
		if acc&oiRMR != 0 {
			in.Reads |= 1 << r
		}
		if in.Src = r; acc&oiRMW != 0 {
			in.Writes |= 1 << r
			in.Dst, in.Src = r, arch.NoReg
		}
	}
	if acc&regRW == 0 {
		return
	}
	size := in.Size
	if q.opmap == map0F {
		size = 4 // a byte operand in memory is possible only for movzx and movsx
	}
	r := q.gpr(q.regExt(), size)
	if acc&oiRegR != 0 {
		in.Reads |= 1 << r
	}
	switch {
	case acc&oiRegW != 0:
		in.Writes |= 1 << r
		in.Dst = r
	case in.Src == arch.NoReg:
		in.Src = r
	case q.op&^1 == 0x3a: // compared registers, in the order of the text
		in.Dst = r
	default:
		in.Dst, in.Src = in.Src, r
	}
}

// memory records the memory operand that modrm names.
func (q *x86Quick) memory(in *Inst, acc opInfo) {
	op := &in.mems[0]
	in.nmem = 1
	*op = MemOperand{Disp: q.disp, Base: arch.NoReg, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg,
		Scale: 1, Size: uint16(in.Size), AddrSize: 8, Read: acc&oiRMR != 0, Write: acc&oiRMW != 0}
	gpr := &q.mode.gpr
	switch {
	case q.modrm&7 == 4:
		if q.sib&7 != 5 || q.modrm >= 0x40 {
			op.Base = gpr[q.sib&7|q.rex&rexB<<3]
			in.Reads |= 1 << op.Base
		}
		if index := q.sib>>3&7 | q.rex&rexX<<2; index != nSP {
			op.Scale = 1 << (q.sib >> 6)
			op.Index = gpr[index]
			in.Reads |= 1 << op.Index
		}
	case q.modrm&0xc7 == 5:
		op.RIPRelative = true
		op.Disp += int64(in.PC) + int64(in.Len)
	default:
		op.Base = gpr[q.rmExt()]
		in.Reads |= 1 << op.Base
	}
}

// move decodes mov, movzx, movsx and movsxd.
func (q *x86Quick) move(in *Inst) {
	switch {
	case in.nmem > 0 && in.mems[0].Write:
		in.Kind = Store
	case in.nmem > 0:
		in.Kind = Load
	default:
		in.Kind = Mov
		if q.opmap != mapOne || q.op == 0x63 || in.Size < q.mode.ptrLen {
			return
		}
		sp, fp := q.mode.gpr[nSP], q.mode.gpr[nBP]
		switch {
		case in.Dst == fp && in.Src == sp:
			in.Kind = MovSPtoFP
		case in.Dst == sp && in.Src == fp:
			in.Kind = MovFPtoSP
		}
	}
}

func (q *x86Quick) group1(in *Inst) {
	if in.nmem > 0 || q.rmExt() != nSP || in.Size < q.mode.ptrLen {
		return
	}
	switch q.reg() {
	case 0:
		in.Kind = AddSP
	case 4:
		in.Kind = AndSP
	case 5:
		in.Kind = SubSP
	}
}

func (q *x86Quick) unary(in *Inst) {
	if q.reg() < 4 {
		return
	}
	ax, dx := q.mode.mask(nAX), q.mode.mask(nDX)
	in.Reads |= ax
	in.Writes |= ax
	if in.Size > 1 {
		in.Writes |= dx
	}
	if q.reg() >= 6 {
		in.Kind = Div
		if in.Size > 1 {
			in.Reads |= dx
		}
	}
}

// inc decodes inc, dec, indirect jumps and calls, and push.
func (q *x86Quick) inc(in *Inst) {
	word := int64(q.mode.wordLen)
	switch q.reg() {
	case 2:
		in.Kind = CallIndirect
		q.stack(in, accW, -word)
	case 4:
		in.Kind = JumpIndirect
	case 6:
		in.Kind = Push
		q.stack(in, accW, -word)
	}
}

// stack records an access to a word at SP plus off, and the change of SP.
func (q *x86Quick) stack(in *Inst, acc opAccess, off int64) {
	sp := q.mode.gpr[nSP]
	in.mems[in.nmem&1] = MemOperand{Disp: off, Base: sp, Index: arch.NoReg, Segment: arch.NoReg, BitIndex: arch.NoReg,
		Scale: 1, Size: uint16(q.mode.wordLen), AddrSize: q.mode.wordLen, Read: acc == accR, Write: acc == accW, Implicit: true}
	in.nmem++
	in.Reads |= 1 << sp
	in.Writes |= 1 << sp
}

// plain handles the opcodes without modrm.
func (q *x86Quick) plain(in *Inst, class quickClass) {
	word := int64(q.mode.wordLen)
	low := q.mode.gpr[q.op&7|q.rex&rexB<<3]
	ax := q.mode.gpr[nAX]
	switch class {
	case quickPush:
		in.Kind, in.Size = Push, q.mode.wordLen
		q.stack(in, accW, -word)
		if q.op < 0x58 {
			in.Src = low
			in.Reads |= 1 << low
		}
	case quickPop:
		in.Kind, in.Size = Pop, q.mode.wordLen
		q.stack(in, accR, 0)
		in.Dst = low
		in.Writes |= 1 << low
	case quickMovImm:
		if q.op < 0xb8 {
			in.Size = 1
			low = q.gpr(q.op&7|q.rex&rexB<<3, 1)
		}
		if in.Size == 4 {
			in.Imm = int64(uint32(in.Imm))
		}
		in.Kind, in.Dst = MovImm, low
		in.Writes |= 1 << low
	case quickCond:
		q.branch(in, CondJump)
	case quickJump:
		q.branch(in, Jump)
	case quickCall:
		q.branch(in, Call)
		q.stack(in, accW, -word)
	case quickRet:
		in.Kind = Ret
		q.stack(in, accR, 0)
	case quickHint:
		in.Kind, in.Size = Nop, 0
	case quickNop:
		if q.rex&rexB == 0 {
			in.Kind, in.Size = Nop, 0
			return
		}
		in.Dst, in.Src = low, ax // xchg
		in.Reads |= 1<<low | 1<<ax
		in.Writes |= 1<<low | 1<<ax
	case quickExtendAcc:
		in.Reads |= 1 << ax
		if q.op == 0x98 {
			in.Writes |= 1 << ax
		} else {
			in.Writes |= q.mode.mask(nDX)
		}
	case quickAcc, quickTestAcc:
		if q.op&1 == 0 {
			in.Size = 1
		}
		in.Reads |= 1 << ax
		if in.Src = ax; q.op < 0x38 {
			in.Dst, in.Src = ax, arch.NoReg
			in.Writes |= 1 << ax
		}
	}
}

// branch decodes direct branches and calls.
func (q *x86Quick) branch(in *Inst, kind Kind) {
	in.Kind, in.Size = kind, 0
	in.Target = in.arch.Truncate(in.PC + uint64(q.n) + uint64(in.Imm))
	in.Imm = 0
}
