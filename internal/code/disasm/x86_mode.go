package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// An x86Mode is what differs between the modes of x86.
type x86Mode struct {
	bits    int          // 64 or 32
	gpr     [16]arch.Reg // by the number instructions give them
	fs, gs  arch.Reg     // registers that hold the bases of these segments
	x86asm  int          // the mode in x86asm's terms
	wordLen uint8        // bytes of a stack slot
	ptrLen  uint8        // bytes of a pointer: an operation of that size is one on a whole address
}

// The numbers that instructions give to general registers.
const (
	nAX = iota
	nCX
	nDX
	nBX
	nSP
	nBP
	nSI
	nDI
	nR11 = 11
)

// x86mode64 is long mode. Order of registers: Intel SDM volume 2, table 2-1 and
// section 2.2.1.2.
var x86mode64 = x86Mode{
	bits: 64,
	gpr: [16]arch.Reg{arch.RAX, arch.RCX, arch.RDX, arch.RBX, arch.RSP, arch.RBP, arch.RSI, arch.RDI,
		arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14, arch.R15},
	fs: arch.FSBase, gs: arch.GSBase,
	x86asm:  64,
	wordLen: 8,
	ptrLen:  8,
}

// x86modeX32 is long mode with pointers of 32 bits: what computes 32 bits of an
// address clears the upper half of the register, which has nothing to say.
var x86modeX32 = func() x86Mode {
	m := x86mode64
	m.ptrLen = 4
	return m
}()

// x86mode32 is protected mode with 32-bit code. There is no REX prefix, so that
// no instruction names the upper eight registers.
var x86mode32 = x86Mode{
	bits: 32,
	gpr: [16]arch.Reg{arch.EAX, arch.ECX, arch.EDX, arch.EBX, arch.ESP, arch.EBP, arch.ESI, arch.EDI,
		arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg},
	fs: arch.X86FSBase, gs: arch.X86GSBase,
	x86asm:  32,
	wordLen: 4,
	ptrLen:  4,
}

// x86ModeOf finds the mode that a's code runs in; nil for other architectures.
func x86ModeOf(a *arch.Arch) *x86Mode {
	switch a {
	case arch.AMD64:
		return &x86mode64
	case arch.X32:
		return &x86modeX32
	case arch.X86:
		return &x86mode32
	}
	return nil
}

// stringDone reports whether a repeated string instruction has no iteration
// left: its count is known to be zero.
func stringDone(a *arch.Arch, regs *arch.RegSet) bool {
	m := x86ModeOf(a)
	if m == nil {
		return false
	}
	n, ok := regs.Get(m.gpr[nCX])
	return ok && n == 0
}

// mask is the set that holds general register number n alone.
func (m *x86Mode) mask(n uint8) arch.RegMask { return 1 << m.gpr[n&15] }

// masks is the set of the general registers with the numbers given.
func (m *x86Mode) masks(ns ...uint8) (s arch.RegMask) {
	for _, n := range ns {
		s |= m.mask(n)
	}
	return s
}
