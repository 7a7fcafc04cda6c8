package arch

import "fmt"

// DecodeGRegSet decodes Linux's general register block (elf_gregset_t). A core's
// NT_PRSTATUS and ptrace's PTRACE_GETREGSET have the same layout, so cores and live
// processes share this decoder. Registers past the end of a short block stay unknown; a
// block without the program counter is an error.
func (a *Arch) DecodeGRegSet(block []byte) (RegSet, error) {
	var s RegSet
	for _, f := range a.tables().gregs {
		if f.off+f.size > len(block) {
			continue
		}
		b := block[f.off:]
		switch f.size {
		case 4:
			s.Set(f.reg, uint64(a.ByteOrder.Uint32(b)))
		case 8:
			s.Set(f.reg, a.ByteOrder.Uint64(b))
		}
	}
	if pc, ok := s.Get(a.PC); ok {
		if a.Family != FamilyARM64 { // whose pc has no signature: high bits are what the program wrongly jumped to
			pc = a.CodeAddress(pc)
		}
		s.Set(a.PC, pc)
	} else {
		return s, fmt.Errorf("%s register block has %d bytes, need %d", a.Name, len(block), a.gregSize)
	}
	if a.Mode != NoReg {
		v, _ := s.Get(a.ModeFrom)
		s.Set(a.Mode, v>>a.ModeBit&1)
	}
	return s, nil
}

// GRegSetSize is the size in bytes of the block that DecodeGRegSet reads.
func (a *Arch) GRegSetSize() int { return a.gregSize }

// GRegOffset returns where the block that DecodeGRegSet reads has a register, and its size, both in bytes. ok is false if
// the block does not have it.
func (a *Arch) GRegOffset(r Reg) (off, size int, ok bool) {
	for _, f := range a.tables().gregs {
		if f.reg == r {
			return f.off, f.size, true
		}
	}
	return 0, 0, false
}

// DecodeFPRegSet adds to s the registers that a describes and that are in the
// floating-point block (NT_FPREGSET of a core, NT_ARM_VFP on arm): those that functions
// preserve for their callers. Registers past the end of a short block stay unknown.
func (a *Arch) DecodeFPRegSet(block []byte, s *RegSet) {
	for _, f := range a.tables().fpregs {
		if f.off+f.size <= len(block) {
			s.Set(f.reg, a.ByteOrder.Uint64(block[f.off:]))
		}
	}
}

// EncodeGRegSet makes the block that DecodeGRegSet decodes. Registers that are not known are zero there, except the number of
// the system call in progress, which is then -1: debuggers take 0 for a call.
func (a *Arch) EncodeGRegSet(s *RegSet) []byte {
	block := make([]byte, a.gregSize)
	for _, f := range a.tables().gregs {
		v, ok := s.Get(f.reg)
		if !ok && (f.reg == OrigRAX && a.Family == FamilyX86 || f.reg == OrigEAX && a == X86 || f.reg == ARMOrigR0 && a == ARM) {
			v = ^uint64(0)
		}
		switch f.size {
		case 4:
			a.ByteOrder.PutUint32(block[f.off:], uint32(v))
		case 8:
			a.ByteOrder.PutUint64(block[f.off:], v)
		}
	}
	return block
}
