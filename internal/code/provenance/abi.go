package provenance

import (
	"strconv"

	"github.com/corewalk/corewalk/unwind/arch"
)

// An ABI says how a platform's calling convention uses registers.
type ABI struct {
	// Args are the registers of the first integer or pointer arguments.
	Args []arch.Reg
	// Return is the register of an integer or pointer result.
	Return arch.Reg
	// Preserved are the registers that a called function must preserve, including the stack pointer.
	Preserved arch.RegMask
	// Restarts says that functions begin again, with the same arguments, after they had their stack made larger.
	Restarts bool
}

// ABIOf returns the C calling convention of an architecture, on Linux and similar systems or, if windows is
// set, on Windows. Args is empty if the convention is not known.
func ABIOf(a *arch.Arch, windows bool) ABI {
	abi := ABI{Return: arch.NoReg, Preserved: a.CalleeSaved | 1<<a.SP}
	named := func(names ...string) { // all are registers of a
		for _, n := range names {
			r, _ := a.RegByName(n)
			abi.Args = append(abi.Args, r)
		}
		abi.Return = abi.Args[0]
	}
	switch {
	case a == arch.AMD64 && windows:
		// https://learn.microsoft.com/en-us/cpp/build/x64-calling-convention
		abi.Args = []arch.Reg{arch.RCX, arch.RDX, arch.R8, arch.R9}
		abi.Return = arch.RAX
		abi.Preserved |= arch.Mask(arch.RSI, arch.RDI)
	case a == arch.AMD64 || a == arch.X32:
		// System V ABI, AMD64 supplement, 3.2.3
		abi.Args = []arch.Reg{arch.RDI, arch.RSI, arch.RDX, arch.RCX, arch.R8, arch.R9}
		abi.Return = arch.RAX
	case a.Family == arch.FamilyX86:
		abi.Return, _ = a.RegByName("eax")
	case a.Family == arch.FamilyARM64:
		named("x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7")
	case a.Family == arch.FamilyARM:
		named("r0", "r1", "r2", "r3")
	case a.Family == arch.FamilyRISCV, a.Family == arch.FamilyLoongArch:
		named("a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7")
	case a.Family == arch.FamilyPPC:
		named("r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10")
	case a.Family == arch.FamilyS390:
		named("r2", "r3", "r4", "r5", "r6")
	}
	return abi
}

// GoABI returns how functions of Go call one another: since Go 1.17 in registers on some architectures (ABIInternal, see
// cmd/compile/abi-internal.md of Go), before that and on others on the stack alone, which Args and Return do not describe.
func GoABI(a *arch.Arch, registers bool) ABI {
	abi := ABI{Return: arch.NoReg, Preserved: 1 << a.SP, Restarts: true}
	if !registers {
		return abi
	}
	named := func(names ...string) { // all are registers of a
		for _, n := range names {
			r, _ := a.RegByName(n)
			abi.Args = append(abi.Args, r)
		}
	}
	run := func(prefix string, from, to int) {
		for n := from; n <= to; n++ {
			named(prefix + strconv.Itoa(n))
		}
	}
	switch {
	case a == arch.AMD64:
		abi.Args = []arch.Reg{arch.RAX, arch.RBX, arch.RCX, arch.RDI, arch.RSI, arch.R8, arch.R9, arch.R10, arch.R11}
	case a.Family == arch.FamilyARM64:
		run("x", 0, 15)
	case a.Family == arch.FamilyPPC:
		run("r", 3, 10)
		run("r", 14, 17)
	case a.Family == arch.FamilyRISCV: // x10-x17, x8, x9, x18-x23
		run("a", 0, 7)
		run("s", 0, 7)
	case a.Family == arch.FamilyLoongArch: // r4-r19
		run("a", 0, 7)
		run("t", 0, 7)
	}
	if len(abi.Args) > 0 {
		abi.Return = abi.Args[0]
	}
	return abi
}
