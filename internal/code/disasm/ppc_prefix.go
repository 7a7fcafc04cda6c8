package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// Prefixed instructions: Power ISA 3.1, book I, section 1.6.3.

// Types of prefixes.
const (
	ppc8LS = iota // loads and stores without an unprefixed form
	ppc8RR        // operations on vector registers
	ppcMLS        // loads, stores and addi with a longer displacement
	ppcMRR        // masked operations; pnop
)

// prefixed decodes the instruction with prefix p and suffix w.
func (d ppcInst) prefixed(p, w uint32) error {
	op, rt, ra := w>>26, w>>21&31, w>>16&31
	disp := signed(p, 18)<<16 | int64(w&0xffff)
	typ := p >> 24 & 3
	switch typ {
	case ppc8RR:
		d.Writes = arch.Mask(d.fpr(rt))
		return nil
	case ppcMRR:
		if p>>20&15 == 0 {
			d.Kind = Nop
		}
		return nil
	}
	relative := p>>20&1 != 0
	if typ == ppcMLS && op == 14 {
		d.addLong(rt, ra, disp, relative)
		return nil
	}
	acc, ok := ppcLongMemory(typ, op)
	if !ok {
		return ErrUnknown
	}
	base := d.base(ra)
	if relative {
		base = arch.NoReg
	}
	d.access(acc, rt, base, arch.NoReg, disp)
	if relative {
		d.mems[0].RIPRelative = true
		d.mems[0].Disp = int64(d.arch.Truncate(d.PC + uint64(disp)))
	}
	if typ == ppc8LS && (op == 56 || op == 60) { // plq, pstq
		if both := arch.Mask(d.gpr(rt), d.gpr(rt+1)); op == 56 {
			d.Writes |= both
		} else {
			d.Reads |= both
		}
	}
	return nil
}

// addLong decodes paddi.
func (d ppcInst) addLong(rt, ra uint32, imm int64, relative bool) {
	switch {
	case relative:
		d.address(d.gpr(rt), d.PC+uint64(imm))
	case ra == 0:
		d.constant(rt, imm)
	default:
		d.add(rt, ra, imm)
	}
}

// ppcLongMemory returns the access of a prefixed load or store.
func ppcLongMemory(typ, op uint32) (acc ppcAccess, ok bool) {
	if typ == ppcMLS {
		if op < 32 || op >= 32+uint32(len(ppcMemory)) {
			return acc, false
		}
		acc = ppcMemory[op-32]
		return acc, acc.size != 0 && !acc.update
	}
	switch op {
	case 41: // plwa
		return ppcAccess{kind: Load, size: 4}, true
	case 42: // plxsd
		return ppcAccess{kind: Load, size: 8, none: true}, true
	case 43: // plxssp
		return ppcAccess{kind: Load, size: 4, none: true}, true
	case 46: // pstxsd
		return ppcAccess{kind: Store, size: 8, none: true}, true
	case 47: // pstxssp
		return ppcAccess{kind: Store, size: 4, none: true}, true
	case 50: // plxv, of the first 32
		return ppcAccess{kind: Load, size: 16, float: true}, true
	case 51, 56: // plxv, plq
		return ppcAccess{kind: Load, size: 16, none: true}, true
	case 54, 55, 60: // pstxv, pstq
		return ppcAccess{kind: Store, size: 16, none: true}, true
	case 57: // pld
		return ppcAccess{kind: Load, size: 8}, true
	case 61: // pstd
		return ppcAccess{kind: Store, size: 8}, true
	case 58: // plxvp
		return ppcAccess{kind: Load, size: 32, none: true}, true
	case 62: // pstxvp
		return ppcAccess{kind: Store, size: 32, none: true}, true
	}
	return acc, false
}
