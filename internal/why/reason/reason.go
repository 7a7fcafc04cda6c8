package reason

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
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
	return in.complete(in.why())
}

// complete adds what the instruction and the memory map say about a reason.
func (in *Input) complete(r Reason) Reason {
	if in.Inst == nil {
		r.AtInst = false
	}
	if in.Arch == nil {
		return r
	}
	if r.HasAddr {
		r.Addr = in.Arch.Truncate(r.Addr)
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
	if s.HasInfo && fromProcess(s.Code) {
		if r, ok := in.sentAgain(); ok {
			return r
		}
		return sent(s)
	}
	switch s.Number {
	case sigSegv, sigBus:
		if !s.HasInfo && (!s.HasAddr || s.Addr == 0 && in.knowsAccess()) {
			return in.guess()
		}
		return in.badAccess()
	case sigFPE:
		return in.arithmetic()
	case sigIll:
		return in.illegal()
	case sigTrap:
		return in.trapped()
	case sigSys:
		if s.HasInfo && s.Code == 1 {
			return Reason{Kind: report.CrashSeccomp, Text: in.syscall() + " forbidden by a seccomp filter"}
		}
	}
	if !s.HasInfo {
		return plain(s.Number)
	}
	name, words := CodeName(s.Number, s.Code)
	if words == "" {
		return plain(s.Number)
	}
	return Reason{Kind: kindOfSignal(s.Number), Text: fmt.Sprintf("%s (%s)", words, name)}
}

// guess explains a bad access without information from the kernel, by the instruction's own access if it has
// only one.
func (in *Input) guess() Reason {
	pc, ok := in.Regs.Get(in.Arch.PC)
	if ok && in.Mapping != nil && in.cannotRun(pc) {
		return in.jump(pc)
	}
	if acc := in.access(0, false); acc.Known {
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
	if s.Code == siKernel {
		return in.protectionFault()
	}
	if s.Number == sigSegv && s.HasInfo && s.Code == segvMTEAsync {
		return Reason{Kind: report.CrashMemoryTag, Text: "memory tag mismatch, reported late: the access and its address are not known"}
	}
	pc, _ := in.Regs.Get(in.Arch.PC)
	switch {
	case s.HasAddr && s.Addr == pc && in.cannotRun(pc):
		return in.jump(pc)
	case s.HasAddr && in.ranInto(pc, s.Addr):
		r := in.jump(s.Addr)
		r.Text = "execution ran into " + in.noCode(s.Addr)
		return r
	case s.Number == sigSegv && s.HasInfo && s.Code == segvControl:
		return in.controlFlow()
	}
	acc := in.access(s.Addr, s.HasAddr)
	return in.describe(acc, s.Addr)
}

// knowsAccess reports whether the instruction makes one access, to a known address. That says more than an
// address of 0 without a code, which may mean that there is no address.
func (in *Input) knowsAccess() bool {
	return in.access(0, false).Known
}

func (in *Input) mapping(addr uint64) (libstate.Mapping, bool) {
	if in.Mapping == nil {
		return libstate.Mapping{}, false
	}
	return in.Mapping(addr)
}
