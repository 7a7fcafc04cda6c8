package corestate

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Systems differ in the pc after a breakpoint instruction. x86's int3 traps after it has
// been executed: Linux, the BSDs and macOS leave the pc behind it. Windows moves the pc
// back for handlers in the process, but not for a debugger, which writes the pc as it reads
// it; the exception's address is that of the instruction in both cases. s390 leaves the pc
// after any instruction that it suppresses: an illegal one, a breakpoint, and a division by
// zero; Linux moves it back for bad accesses only, and si_addr is the address of the
// instruction. Other architectures stop on it.

const (
	int3Code  = 0xcc
	trapTrace = 2 // TRAP_TRACE: a single step; the pc is at the next instruction
	trapHW    = 4 // TRAP_HWBKPT

	winBreakpoint = 0x80000003
	wowBreakpoint = 0x4000001f // of a 32-bit program on 64-bit Windows
	machBreakpnt  = 6          // EXC_BREAKPOINT
	machStep      = 1          // its code EXC_I386_SGL

	s390MaxLen = 6 // bytes in an instruction

	sigIll, sigTrap, sigFPE = 4, 5, 8
)

// BehindBreakpoint reports whether the pc of a thread with signal s is after the
// instruction that stopped it (unwind.TrapState). gdb sets the pc of a program that it
// stopped back to a breakpoint, so the bytes before the pc must be one.
func BehindBreakpoint(a *arch.Arch, s SignalInfo, regs arch.RegSet, mem arch.Memory) bool {
	if a != nil && a.Family == arch.FamilyS390 && s.HasAddr && (s.Signo == sigIll || s.Signo == sigTrap || s.Signo == sigFPE) {
		pc, ok := regs.Get(a.PC)
		return ok && pc > s.Addr && pc-s.Addr <= s390MaxLen
	}
	if s.Signo != sigTrap || s.HasSender {
		return false
	}
	if s.Source == FullSigInfo && (s.Code <= siUser || s.Code >= trapTrace && s.Code <= trapHW) {
		return false
	}
	return behindInt3(a, regs, mem)
}

func behindInt3(a *arch.Arch, regs arch.RegSet, mem arch.Memory) bool {
	if a == nil || a.Family != arch.FamilyX86 {
		return false
	}
	pc, ok := regs.Get(a.PC)
	var b [1]byte
	if !ok || pc == 0 {
		return false
	}
	n, _ := mem.ReadMem(pc-1, b[:])
	return n == 1 && b[0] == int3Code
}

// BehindTrap reports whether the pc of the thread is after the instruction that it died at.
func (c *ELFCore) BehindTrap(id unwind.ThreadID) bool {
	s, ok := c.ThreadSignal(id)
	if !ok || s.Signo != sigIll && s.Signo != sigTrap && s.Signo != sigFPE {
		return false
	}
	regs, err := c.Registers(id)
	return err == nil && BehindBreakpoint(c.Arch(), s, regs, c)
}

// BehindTrap reports whether the pc of the thread is after the instruction that it died at.
func (d *Minidump) BehindTrap(id unwind.ThreadID) bool {
	e, ok := d.Exception()
	if def, err := d.DefaultThread(); !ok || err != nil || id != unwind.NullThread && id != def || e.Thread != def || d.arch == nil {
		return false
	}
	regs, err := d.Registers(id)
	if err != nil {
		return false
	}
	switch d.OS() {
	case "Windows":
		pc, ok := regs.Get(d.arch.PC)
		return ok && d.arch.Family == arch.FamilyX86 && (e.Code == winBreakpoint || e.Code == wowBreakpoint) && e.Address == pc-1
	case "macOS", "iOS":
		return e.Code == machBreakpnt && e.Flags != machStep && behindInt3(d.arch, regs, d)
	}
	return BehindBreakpoint(d.arch, d.Signal(), regs, d)
}
