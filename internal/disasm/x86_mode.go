package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// An x86Mode is what differs between the 64-bit and the 32-bit mode of x86.
type x86Mode struct {
	bits    int          // 64 or 32
	gpr     [16]arch.Reg // by the number instructions give them
	fs, gs  arch.Reg     // registers that hold the bases of these segments
	x86asm  int          // the mode in x86asm's terms
	wordLen uint8        // bytes of a stack slot
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
}

// x86ModeOf finds the mode that a's code runs in; nil for other architectures.
func x86ModeOf(a *arch.Arch) *x86Mode {
	if a == arch.AMD64 || a == arch.X32 {
		return &x86mode64
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
