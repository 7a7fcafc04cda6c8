package steppers

import (
	"github.com/corewalk/corewalk/unwind/arch"
)

// What signal frames have of the processor's exception. The kernel keeps it for each thread, and writes it into every
// frame: that of an earlier fault if the signal is not a fault's.

// trapX86 returns how the exception of x86 is read: its number, error code and the address of a page fault (CR2) are
// words at the given offsets.
func trapX86(a *arch.Arch, size int, number, code, cr2 uint64) func(arch.Memory, arch.Address) Trap {
	return func(mem arch.Memory, base arch.Address) Trap {
		n, err := a.ReadUint(mem, base+number, size)
		if err != nil {
			return Trap{}
		}
		switch n {
		case 0: // also what a thread begins with
			return Trap{Kind: TrapDivide}
		case 3:
			return Trap{Kind: TrapBreakpoint}
		case 6:
			return Trap{Kind: TrapInstruction}
		case 13:
			return Trap{Kind: TrapProtection}
		case 14:
			return pageFaultX86(a, mem, size, base+code, base+cr2)
		case 16, 19:
			return Trap{Kind: TrapFloat}
		}
		return Trap{}
	}
}

// pageFaultX86 reads the error code and the address of a page fault.
func pageFaultX86(a *arch.Arch, mem arch.Memory, size int, code, addr arch.Address) Trap {
	const write = 1 << 1
	bits, err1 := a.ReadUint(mem, code, size)
	cr2, err2 := a.ReadUint(mem, addr, size)
	if err1 != nil || err2 != nil {
		return Trap{}
	}
	return Trap{Kind: TrapAccess, Addr: cr2, HasAddr: true, Write: bits&write != 0, Read: bits&write == 0}
}

// trapFreeBSD is the exception in FreeBSD's mcontext (sys/x86/include/ucontext.h): number and address are before the
// segment registers, the error code before rip. The numbers are those of sys/x86/include/trap.h.
func trapFreeBSD(mem arch.Memory, base arch.Address) Trap {
	n, err := arch.AMD64.ReadUint(mem, base+160, 4)
	if err != nil {
		return Trap{}
	}
	switch n {
	case 1: // T_PRIVINFLT
		return Trap{Kind: TrapInstruction}
	case 3: // T_BPTFLT
		return Trap{Kind: TrapBreakpoint}
	case 12: // T_PAGEFLT
		return pageFaultX86(arch.AMD64, mem, 8, base+184, base+168)
	case 18: // T_DIVIDE
		return Trap{Kind: TrapDivide}
	}
	return Trap{}
}

// trapARM64 is the exception in struct sigcontext, which begins with the address of the fault, and in the record of the
// exception's syndrome (struct esr_context), which older kernels and qemu do not write.
func trapARM64(mem arch.Memory, base arch.Address) Trap {
	addr, err := mem.ReadWord(base + arm64Context)
	if err != nil {
		return Trap{}
	}
	t := Trap{Kind: TrapAccess, Addr: addr, HasAddr: true}
	arm64SavedRecords(mem, base, func(magic uint32, at arch.Address) bool {
		if magic != arm64ESRMagic {
			return true
		}
		const (
			codeLower, dataLower = 0x20, 0x24 // exception classes: an abort of the program's own code
			write                = 1 << 6     // WnR
		)
		esr, err := mem.ReadWord(at + 8)
		switch class := esr >> 26 & 0x3f; {
		case err != nil:
		case class == codeLower || class == dataLower && esr&write == 0:
			t.Read = true
		case class == dataLower:
			t.Write = true
		default:
			t = Trap{}
		}
		return false
	})
	return t
}

// trapARM returns how the exception in struct sigcontext is read, which begins at context: its number and the status of
// the fault, and the address behind the registers.
func trapARM(context uint64) func(arch.Memory, arch.Address) Trap {
	return func(mem arch.Memory, base arch.Address) Trap {
		const (
			pageFault, undefined = 14, 6
			write                = 1 << 11
		)
		at := base + context
		number, err1 := mem.ReadWord(at)
		status, err2 := mem.ReadWord(at + 4)
		addr, err3 := mem.ReadWord(at + 80)
		switch {
		case err1 != nil || err2 != nil || err3 != nil:
		case number == pageFault:
			return Trap{Kind: TrapAccess, Addr: addr, HasAddr: true, Write: status&write != 0, Read: status&write == 0}
		case number == undefined:
			return Trap{Kind: TrapInstruction}
		}
		return Trap{}
	}
}

// trapPPC returns how the exception in struct pt_regs is read, whose words of size bytes begin at gregs: the vector, the
// address and the status are behind the registers. The registers are those of this entry into the kernel.
func trapPPC(a *arch.Arch, gregs uint64, size int) func(arch.Memory, arch.Address) Trap {
	return func(mem arch.Memory, base arch.Address) Trap {
		const (
			data, dataSegment, code, codeSegment, program = 0x300, 0x380, 0x400, 0x480, 0x700
			write                                         = 0x02000000
			regTrap, regDAR, regDSISR                     = 40, 41, 42
		)
		word := func(n uint64) (uint64, bool) {
			v, err := a.ReadUint(mem, base+gregs+n*uint64(size), size)
			return v, err == nil
		}
		vector, ok1 := word(regTrap)
		addr, ok2 := word(regDAR)
		status, ok3 := word(regDSISR)
		if !ok1 || !ok2 || !ok3 {
			return Trap{}
		}
		switch vector &^ 0xf { // the low bits are the kernel's
		case data, dataSegment:
			return Trap{Kind: TrapAccess, Addr: addr, HasAddr: true, Write: status&write != 0, Read: status&write == 0}
		case code, codeSegment:
			pc, ok := word(uint64(arch.PPCNIP - arch.PPCR0))
			return Trap{Kind: TrapAccess, Addr: pc, HasAddr: ok, Read: true}
		}
		return Trap{}
	}
}
