package reason

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Signal is what a dump says about the signal that killed the process.
type Signal struct {
	Number, Code int
	Numbers      Numbering // the meaning of Number and Code
	HasInfo      bool      // Code and PID are known
	Addr         uint64    // fault address, with HasAddr
	HasAddr      bool      // the signal carries an address
	PID, UID     int       // the sender, if a process sent it
	Syscall      int       // SIGSYS: the system call
	NoSyscall    bool      // it is not known which it was
	OwnPID       int       // the process that died
	TID          int       // the thread that died
}

// Input is what Why works from. Only Signal and Arch are required.
type Input struct {
	Arch   *arch.Arch
	Signal Signal
	Regs   arch.RegSet
	// Inst is the instruction at the crashing thread's pc, nil if its bytes are not available.
	Inst *disasm.Inst
	// Mapping returns the mapping that contains an address; nil if mappings are not known.
	Mapping func(addr uint64) (libstate.Mapping, bool)
	// Word reads a word of the process's memory; nil if there is no memory.
	Word func(addr uint64) (uint64, bool)
	// Bytes reads memory into buf and returns how many bytes it could read from the start; nil if there is no
	// memory.
	Bytes func(addr uint64, buf []byte) int
	// Left is the exception in the frame of a signal whose handler has returned to where the thread still is.
	Left steppers.Trap
	// Has reports whether the process has an allocator; nil if that is not known, and then it has none.
	Has func(Allocator) bool
}

// A Reason says why the process died.
type Reason struct {
	Kind       string // one of report's Crash constants
	Text       string
	Access     string // "read", "write" or "execute"; "" if there was no access or it is not known
	AccessSize int    // bytes; 0 if not known
	// Addr is the faulting address: the kernel's, or computed from the instruction if the kernel reports none
	// (a non-canonical address).
	Addr    uint64
	HasAddr bool
	// AtInst says that the instruction at pc is what failed.
	AtInst bool
	// unmatched says that the system reported Addr, but no access of the instruction is known to touch it.
	unmatched bool

	// What the instruction's operands and the memory map say; see report.Crash.
	Adjusted        *report.AdjustedAddress
	Accesses        []report.Access
	BitFlips        []report.BitFlip
	Inconsistencies []string
	Causes          []report.Cause
}

// nullZone is the distance from null up to which an address counts as null plus an offset: the lowest address
// that Linux maps by default.
const nullZone = 0x10000

// Why returns the reason of a signal.
func Why(in Input) Reason {
	in.Signal = in.Signal.linux()
	in.Signal.Addr = in.truncate(in.Signal.Addr)
	if in.passed() {
		in.Inst = nil
	}
	return in.complete(in.why())
}

// passed reports whether the instruction at pc is not the one that raised the signal: s390 leaves the pc after an
// instruction that it suppresses. The signal's address tells where that was.
func (in *Input) passed() bool {
	s := &in.Signal
	if in.Inst == nil || in.Arch.Family != arch.FamilyS390 || s.Addr == in.Inst.PC {
		return false
	}
	return s.Number == sigIll || s.Number == sigTrap || s.Number == sigFPE
}

// complete adds what the instruction and the memory map say about a reason.
func (in *Input) complete(r Reason) Reason {
	if in.Inst == nil {
		r.AtInst = false
	}
	if in.Arch == nil {
		return r
	}
	in.listAccesses(&r)
	in.inconsistencies(&r)
	in.pointers(&r)
	in.bitFlips(&r)
	return r
}

func (in *Input) why() Reason {
	s := in.Signal
	if r, ok := kernelReason(s); ok {
		return r
	}
	switch {
	case s.HasInfo && fromProcess(s.Code):
		if r, ok := in.sentAgain(); ok {
			return r
		}
		r := sent(s)
		if c, ok := in.perhapsBus(); ok {
			r.Causes = append(r.Causes, c)
		}
		return r
	case s.Code < 0: // no fault
		return byCode(s)
	}
	switch s.Number {
	case sigSegv, sigBus:
		return in.badAccess()
	case sigFPE:
		return in.arithmetic()
	case sigIll:
		return in.illegal()
	case sigTrap:
		return in.trapped()
	case sigSys:
		if s.Code == 1 {
			return Reason{Kind: report.CrashSeccomp, Text: in.syscall() + " forbidden by a seccomp filter"}
		}
	}
	return byCode(s)
}

// guess explains a bad access without information from the kernel, by the instruction's own access if it has
// only one.
func (in *Input) guess() Reason {
	pc, ok := in.Regs.Get(in.Arch.PC)
	if ok && in.Mapping != nil && in.cannotRun(pc) {
		return in.jump(pc)
	}
	if acc := in.only(); acc.Known {
		if !in.canonical(acc.Addr) {
			return in.protectionFault()
		}
		if r := in.describe(acc, acc.Addr); in.Mapping == nil || !r.bad() {
			return r
		}
	}
	return Reason{Kind: report.CrashBadAccess, Text: "invalid memory access", AtInst: true}
}

// bad reports whether nothing explains what was wrong with the access.
func (r *Reason) bad() bool {
	switch r.Kind {
	case report.CrashBadRead, report.CrashBadWrite, report.CrashBadAccess, report.CrashBadCall:
		return true
	}
	return false
}

// badAccess explains SIGSEGV and SIGBUS.
func (in *Input) badAccess() Reason {
	s := in.Signal
	switch {
	case s.Code == siKernel:
		return in.protectionFault()
	case s.Number == sigSegv && s.Code == segvMTEAsync:
		return Reason{Kind: report.CrashMemoryTag, Text: "memory tag mismatch, reported late: the access and its address are not known"}
	case !s.HasAddr:
		return in.guess()
	case !s.HasInfo && s.Addr == 0 && in.only().Known:
		// The access says more than an address of 0 without a code, which may mean that there is no address.
		return in.guess()
	}
	pc, _ := in.Regs.Get(in.Arch.PC)
	switch {
	case s.Addr == pc && in.cannotRun(pc):
		return in.jump(pc)
	case in.ranInto(pc, s.Addr):
		r := in.jump(s.Addr)
		r.Text = "execution ran into " + in.noCode(s.Addr)
		return r
	case s.Number == sigSegv && s.Code == segvControl:
		return in.controlFlow()
	}
	return in.describe(in.access(s.Addr), s.Addr)
}

// mapping returns the mapping that contains an address; the zero Mapping if it is not mapped, or not known to
// be.
func (in *Input) mapping(addr uint64) (libstate.Mapping, bool) {
	if in.Mapping == nil {
		return libstate.Mapping{}, false
	}
	m, ok := in.Mapping(addr)
	if !ok {
		return libstate.Mapping{}, false
	}
	return m, true
}

// truncate cuts an address to the architecture's size: 32-bit addresses may be sign-extended.
func (in *Input) truncate(addr uint64) uint64 {
	if in.Arch == nil {
		return addr
	}
	return in.Arch.Truncate(addr)
}

// word reads a word of memory; it returns false if that is not known.
func (in *Input) word(addr uint64) (v uint64, ok bool) {
	if in.Word != nil {
		v, ok = in.Word(addr)
	}
	return v, ok
}
