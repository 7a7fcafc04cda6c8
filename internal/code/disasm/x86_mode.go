package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// An x86Mode describes one of x86's modes.
type x86Mode struct {
	bits    int          // 64 or 32
	gpr     [16]arch.Reg // by register number in instructions
	fs, gs  arch.Reg     // registers that contain these segments' bases
	x86asm  int          // the mode number for x86asm
	wordLen uint8        // size of a stack slot in bytes
	ptrLen  uint8        // size of a pointer in bytes: an operation of that size works on a complete address
}

// Numbers of general registers in instructions.
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

// x86mode64 is long mode. Register order: Intel SDM volume 2, table 2-1 and section
// 2.2.1.2.
var x86mode64 = x86Mode{
	bits: 64,
	gpr: [16]arch.Reg{arch.RAX, arch.RCX, arch.RDX, arch.RBX, arch.RSP, arch.RBP, arch.RSI, arch.RDI,
		arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14, arch.R15},
	fs: arch.FSBase, gs: arch.GSBase,
	x86asm:  64,
	wordLen: 8,
	ptrLen:  8,
}

// x86modeX32 is long mode with 32-bit pointers: a 32-bit operation on an address clears the
// register's upper half, which has no meaning.
var x86modeX32 = func() x86Mode {
	m := x86mode64
	m.ptrLen = 4
	return m
}()

// x86mode32 is protected mode with 32-bit code. Without a REX prefix, no instruction uses
// the upper eight registers.
var x86mode32 = x86Mode{
	bits: 32,
	gpr: [16]arch.Reg{arch.EAX, arch.ECX, arch.EDX, arch.EBX, arch.ESP, arch.EBP, arch.ESI, arch.EDI,
		arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg},
	fs: arch.X86FSBase, gs: arch.X86GSBase,
	x86asm:  32,
	wordLen: 4,
	ptrLen:  4,
}

// x86ModeOf returns the mode in which a's code runs, or nil for other architectures.
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

// stringDone reports whether a repeated string instruction has no iterations left, that is,
// whether its count is known to be zero.
func stringDone(a *arch.Arch, regs *arch.RegSet) bool {
	m := x86ModeOf(a)
	if m == nil {
		return false
	}
	n, ok := regs.Get(m.gpr[nCX])
	return ok && n == 0
}

// mask returns the set of general register number n.
func (m *x86Mode) mask(n uint8) arch.RegMask { return 1 << m.gpr[n&15] }

// masks returns the set of the general registers with the given numbers.
func (m *x86Mode) masks(ns ...uint8) (s arch.RegMask) {
	for _, n := range ns {
		s |= m.mask(n)
	}
	return s
}
