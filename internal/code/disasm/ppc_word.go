package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// ppcMemory are the loads and stores with a displacement, by primary opcode minus 32 (Power
// ISA 3.1, book I, sections 3.3 and 4.6).
var ppcMemory = [24]ppcAccess{
	0: {kind: Load, size: 4}, 1: {kind: Load, size: 4, update: true},
	2: {kind: Load, size: 1}, 3: {kind: Load, size: 1, update: true},
	4: {kind: Store, size: 4}, 5: {kind: Store, size: 4, update: true},
	6: {kind: Store, size: 1}, 7: {kind: Store, size: 1, update: true},
	8: {kind: Load, size: 2}, 9: {kind: Load, size: 2, update: true},
	10: {kind: Load, size: 2}, 11: {kind: Load, size: 2, update: true},
	12: {kind: Store, size: 2}, 13: {kind: Store, size: 2, update: true},
	16: {kind: Load, size: 4, float: true}, 17: {kind: Load, size: 4, float: true, update: true},
	18: {kind: Load, size: 8, float: true}, 19: {kind: Load, size: 8, float: true, update: true},
	20: {kind: Store, size: 4, float: true}, 21: {kind: Store, size: 4, float: true, update: true},
	22: {kind: Store, size: 8, float: true}, 23: {kind: Store, size: 8, float: true, update: true},
}

// word decodes an instruction without a prefix.
func (d ppcInst) word(w uint32) error {
	op, rt, ra := w>>26, w>>21&31, w>>16&31
	imm := signed(w, 16)
	switch op {
	case 2, 3: // tdi, twi
		d.trap(rt, ra, arch.NoReg)
	case 4:
		return d.vector(w)
	case 7, 8, 12, 13: // mulli, subfic, addic, addic.
		d.set(rt, d.gpr(ra))
		d.Imm = imm
	case 10, 11: // cmpli, cmpi
		d.Src, d.Imm = d.gpr(ra), imm
		d.Reads = arch.Mask(d.gpr(ra))
	case 14, 15: // addi, addis
		if op == 15 {
			imm <<= 16
		}
		if ra == 0 {
			d.constant(rt, imm)
		} else {
			d.add(rt, ra, imm)
		}
	case 16:
		d.condBranch(w)
	case 17: // sc, scv
		if w&3 == 0 {
			return ErrUnknown
		}
		d.Kind, d.Reads, d.Writes = Syscall, arch.Mask(arch.PPCR0), arch.Mask(arch.PPCR0+3)
	case 18:
		d.branch(w)
	case 19:
		return d.viaRegister(w)
	case 20, 21, 23: // rlwimi, rlwinm, rlwnm
		d.rotate(w)
	case 24, 25, 26, 27, 28, 29: // ori to andis.
		d.logical(op, rt, ra, int64(w&0xffff))
	case 30:
		d.rotateDouble(w)
	case 31:
		return d.extended(w)
	case 46:
		d.many(Load, rt, ra, imm)
	case 47:
		d.many(Store, rt, ra, imm)
	case 56: // lq
		d.pair(Load, rt, ra, imm&^15)
	case 6, 57, 58, 61, 62:
		return d.memoryDS(op, w)
	case 59: // single-precision floating point, matrices
		d.Writes = arch.Mask(d.fpr(rt))
	case 63:
		d.float(w)
	case 60:
		d.vsx(w)
	case 0, 1, 5, 9, 22:
		return ErrUnknown
	default:
		d.access(ppcMemory[op-32], rt, d.base(ra), arch.NoReg, imm)
	}
	return nil
}

// float decodes the other floating-point instructions. Comparisons and writes of the status
// register have no result.
func (d ppcInst) float(w uint32) {
	switch w >> 1 & 0x3ff {
	case 0, 32, 128, 160, 64, 38, 70, 134, 711, 132, 164, 642, 674, 708, 644, 676: // fcmpu, ftdiv, mcrfs, mtfsf, xscmpoqp, dcmpuq, ...
		return
	}
	d.Writes = arch.Mask(d.fpr(w >> 21 & 31))
}

// trap records a trap under the conditions to; with all of them it is unconditional.
func (d ppcInst) trap(to, ra uint32, rb arch.Reg) {
	d.Src = d.gpr(ra)
	d.Reads = arch.Mask(d.gpr(ra), rb)
	if to == 31 {
		d.Kind = Trap
	}
}

// pair records lq and stq of two registers, beginning with rt. The byte order determines
// which is first in memory, so they are not distinguished.
func (d ppcInst) pair(kind Kind, rt, ra uint32, disp int64) {
	d.access(ppcAccess{kind: kind, size: 16, none: true, align: true}, rt, d.base(ra), arch.NoReg, disp)
	both := arch.Mask(d.gpr(rt), d.gpr(rt+1))
	if kind == Load {
		d.Writes |= both
	} else {
		d.Reads |= both
	}
}

// memoryDS decodes accesses whose lowest bits are part of the opcode.
func (d ppcInst) memoryDS(op, w uint32) error {
	rt, ra := w>>21&31, w>>16&31
	disp := signed(w, 16) &^ 3
	var acc ppcAccess
	switch sub := w & 3; {
	case op == 58 && sub == 2: // lwa
		acc = ppcAccess{kind: Load, size: 4}
	case op == 58 && sub < 2: // ld, ldu
		acc = ppcAccess{kind: Load, size: 8, update: sub == 1}
	case op == 62 && sub == 2: // stq
		d.pair(Store, rt, ra, disp)
		return nil
	case op == 62 && sub < 2: // std, stdu
		acc = ppcAccess{kind: Store, size: 8, update: sub == 1}
	case op == 6 && w&15 <= 1: // lxvp, stxvp
		acc = ppcAccess{kind: loadOrStore(w & 1), size: 32, none: true}
		disp &^= 15
	case op == 61 && sub == 1: // lxv, stxv
		acc = ppcAccess{kind: loadOrStore(w >> 2 & 1), size: 16, none: true}
		disp &^= 15
		d.wroteVSR(acc.kind, rt, w>>3&1)
	case (op == 57 || op == 61) && sub == 0: // lfdp, stfdp
		acc = ppcAccess{kind: Load, size: 16, none: true}
		if op == 61 {
			acc.kind = Store
		} else {
			d.Writes = arch.Mask(d.fpr(rt), d.fpr(rt+1))
		}
	case op == 57 || op == 61: // lxsd, lxssp, stxsd, stxssp: vector registers
		acc = ppcAccess{kind: Load, size: 8 >> (sub & 1), none: true}
		if op == 61 {
			acc.kind = Store
		}
	default:
		return ErrUnknown
	}
	d.access(acc, rt, d.base(ra), arch.NoReg, disp)
	return nil
}

// wroteVSR records a load into vector-scalar register t. The first 32 contain the
// floating-point registers; high selects the others.
func (d ppcInst) wroteVSR(kind Kind, t, high uint32) {
	if kind == Load && high == 0 {
		d.Writes |= arch.Mask(d.fpr(t))
	}
}

// logical decodes the operations with an unsigned immediate.
func (d ppcInst) logical(op, rs, ra uint32, imm int64) {
	if op&1 != 0 {
		imm <<= 16
	}
	if op < 28 && imm == 0 {
		if rs == ra {
			d.Kind = Nop // ori 0,0,0 and similar
			return
		}
		d.mov(d.gpr(ra), d.gpr(rs))
		return
	}
	d.set(ra, d.gpr(rs))
	d.Imm = imm
}

// rotate decodes rlwimi, rlwinm and rlwnm.
func (d ppcInst) rotate(w uint32) {
	rs, ra, sh, mb, me := w>>21&31, w>>16&31, w>>11&31, w>>6&31, w>>1&31
	d.set(ra, d.gpr(rs))
	switch w >> 26 {
	case 20:
		d.Reads |= arch.Mask(d.gpr(ra))
	case 23:
		d.Reads |= arch.Mask(d.gpr(sh))
	default:
		if sh == 0 && mb == 0 && me < 31 && rs == ppcSP && ra == ppcSP && d.arch.WordSize == 4 {
			d.Kind, d.Imm = AndSP, -1<<(31-me)
		}
	}
}

// rotateDouble decodes the rotations of 64 bits.
func (d ppcInst) rotateDouble(w uint32) {
	rs, ra := w>>21&31, w>>16&31
	sh, mb := w>>11&31|w>>1&1<<5, w>>6&31|w>>5&1<<5
	d.set(ra, d.gpr(rs))
	switch xo := w >> 2 & 7; {
	case xo == 1 && sh == 0 && mb < 63 && rs == ppcSP && ra == ppcSP: // rldicr r1,r1,0,mb
		d.Kind, d.Imm = AndSP, -1<<(63-mb)
	case xo == 3: // rldimi
		d.Reads |= arch.Mask(d.gpr(ra))
	case xo >= 4:
		d.Reads |= arch.Mask(d.gpr(w >> 11))
	}
}

// vector decodes AltiVec instructions, few of which write general registers.
func (d ppcInst) vector(w uint32) error {
	rt, ra, rb, rc := w>>21&31, w>>16&31, w>>11&31, w>>6&31
	switch w & 63 {
	case 48, 49, 51: // maddhd, maddhdu, maddld
		d.set(rt, d.gpr(ra), d.gpr(rb), d.gpr(rc))
		return nil
	}
	switch w & 0x7ff {
	case 1549, 1613, 1677, 1805, 1869, 1933: // vextublx and similar
		d.set(rt, d.gpr(ra))
	case 1228: // vgnb
		d.set(rt)
	case 1538: // vclzlsbb, vctzlsbb; others write vectors
		if ra <= 1 {
			d.set(rt)
		}
	case 1602: // vextractbm and vcntmbb, with their like
		if ra>>3 == 1 || ra>>3 == 3 {
			d.set(rt)
		}
	}
	return nil
}

// vsx decodes the vector-scalar instructions.
func (d ppcInst) vsx(w uint32) {
	rt, ra := w>>21&31, w>>16&31
	if w>>2&0x1ff == 347 && ra <= 1 { // xsxexpdp, xsxsigdp
		d.set(rt)
		return
	}
	if w&1 == 0 {
		d.Writes = arch.Mask(d.fpr(rt)) // also for comparisons, which write none; that does no harm
	}
}
