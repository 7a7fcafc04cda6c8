package disasm

import (
	"github.com/corewalk/corewalk/unwind/arch"
)

// Branches: Power ISA 3.1, book I, section 2.4.

// branch decodes b, ba, bl and bla.
func (d ppcInst) branch(w uint32) {
	disp := signed(w&0x3fffffc, 26)
	d.Kind, d.Target = Jump, d.goal(w, disp)
	if w&1 != 0 {
		d.Kind, d.Writes = Call, arch.Mask(arch.PPCLR)
	}
}

// goal returns the target of a branch with a displacement.
func (d ppcInst) goal(w uint32, disp int64) uint64 {
	if w&2 != 0 {
		return d.arch.Truncate(uint64(disp))
	}
	return d.arch.Truncate(d.PC + uint64(disp))
}

// always reports whether a branch with operand bo is always taken and does not change CTR.
func (d ppcInst) always(bo uint32) bool {
	if bo&4 == 0 {
		d.Reads |= arch.Mask(arch.PPCCTR)
		d.Writes |= arch.Mask(arch.PPCCTR)
	}
	return bo&0x14 == 0x14
}

// condBranch decodes bc and its forms. Code calls the next instruction to get its own
// address.
func (d ppcInst) condBranch(w uint32) {
	target := d.goal(w, signed(w&0xfffc, 16))
	always := d.always(w >> 21 & 31)
	switch {
	case w&1 != 0 && always && target == d.Next():
		d.address(arch.PPCLR, target)
		return
	case w&1 != 0:
		d.Kind, d.Conditional = Call, !always
		d.Writes |= arch.Mask(arch.PPCLR)
	case always:
		d.Kind = Jump
	default:
		d.Kind = CondJump
	}
	d.Target = target
}

// viaRegister decodes branches to LR, CTR and TAR, and the other instructions with primary
// opcode 19.
func (d ppcInst) viaRegister(w uint32) error {
	rt := w >> 21 & 31
	switch xo := w >> 1 & 0x3ff; {
	case xo == 16:
		d.indirect(w, arch.PPCLR)
	case xo == 528:
		d.indirect(w, arch.PPCCTR)
	case xo == 560:
		d.indirect(w, arch.NoReg)
	case xo == 18, xo == 50, xo == 82, xo == 146, xo == 274: // rfid, rfi, rfscv, rfebb, hrfid
		d.Kind = RetFar
	case xo&31 == 2: // addpcis
		hi := signed(w&0xffc0|w>>15&0x3e|w&1, 16)
		d.address(d.gpr(rt), d.Next()+uint64(hi<<16))
	case xo == 0, xo == 150, xo == 33, xo == 129, xo == 193, xo == 225, xo == 257, xo == 289, xo == 417, xo == 449:
		// isync, and logic on condition bits
	case xo == 370, xo == 402, xo == 434, xo == 466, xo == 498: // stop, doze, nap, sleep, rvwinkle
		d.Kind = Halt
	default:
		return ErrUnknown
	}
	return nil
}

// indirect decodes a branch to a register; NoReg means TAR, which is not tracked.
func (d ppcInst) indirect(w uint32, to arch.Reg) {
	d.Conditional = !d.always(w >> 21 & 31)
	d.Src = to
	d.Reads |= arch.Mask(to)
	switch {
	case w&1 != 0:
		d.Kind = CallIndirect
		d.Writes |= arch.Mask(arch.PPCLR)
	case to == arch.PPCLR:
		d.Kind = Ret
	default:
		d.Kind = JumpIndirect
	}
}

// ppcCallBefore finds the branch with link in the word before ra.
func ppcCallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	n := len(code)
	if n < 4 || ra&3 != 0 {
		return CallSite{}, false
	}
	w := ppcWord(a, code[n-4:])
	switch op, xo := w>>26, w>>1&0x3ff; {
	case w&1 == 0:
		return CallSite{}, false
	case op == 19 && (xo == 16 || xo == 528 || xo == 560):
		return CallSite{Len: 4}, true
	case op != 16 && op != 18:
		return CallSite{}, false
	}
	var in Inst
	in.arch, in.PC, in.Len = a, a.Truncate(ra-4), 4
	if err := (ppcInst{&in}).word(w); err != nil || in.Kind != Call {
		return CallSite{}, false
	}
	return CallSite{Len: 4, Target: in.Target, Direct: true}, true
}
