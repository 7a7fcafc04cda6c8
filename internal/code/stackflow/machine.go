package stackflow

import "github.com/corewalk/corewalk/unwind/arch"

// A machine is what an analysis must know about an architecture besides its instructions.
type machine struct {
	arch *arch.Arch
	word int64
	// cfa is the offset in bytes of the canonical frame address from the stack pointer at a
	// function's entry.
	cfa      int64
	pushesRA bool
	ra       arch.Reg     // register whose value at the entry is the return address; PC if that is on the stack
	saved    arch.RegMask // registers that calls preserve and that rows contain
	kept     arch.RegMask // other registers that calls preserve
	ignored  arch.RegMask
}

// machineOf returns the machine for code whose calls preserve the given registers.
func machineOf(a *arch.Arch, preserved arch.RegMask) machine {
	m := machine{arch: a, word: int64(a.RegSize), pushesRA: a.RA == arch.NoReg, ra: a.RA}
	if m.pushesRA {
		m.ra = a.PC
		m.cfa = m.word
	}
	if a.Family == arch.FamilyS390 { // the register save area belongs to the callee's frame
		m.cfa = 96
		if a.WordSize == 8 {
			m.cfa = 160
		}
	}
	m.saved = preserved | arch.Mask(a.FP)
	m.saved &^= arch.Mask(a.SP, a.PC, m.ra) | ownRegs(a)
	m.kept = m.saved | arch.Mask(a.SP)
	m.ignored = arch.Mask(a.PC)
	return m
}

// initial sets s to the state at a function's first instruction.
func (m *machine) initial(s *state) {
	s.known = m.kept | arch.Mask(m.arch.RA)
	s.inRows = s.known
	for k := s.known; k != 0; k &= k - 1 {
		s.regs[k.First()] = entryOf(k.First(), 0)
	}
	s.soft = false
	s.clear()
	if m.pushesRA {
		s.save(entryOf(m.arch.SP, 0), entryOf(m.ra, 0))
	}
}

// ownRegs returns the registers that belong to the module, not to the function: how a
// function uses them says nothing about their values in its caller.
func ownRegs(a *arch.Arch) arch.RegMask {
	switch a.Family {
	case arch.FamilyPPC: // table of contents, small data and thread pointers
		return arch.Mask(2, 13)
	case arch.FamilyMIPS: // gp
		return arch.Mask(28)
	}
	return 0
}
