package reason

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/unwind/arch"
)

// An Exceptions says which system's exception numbers an Exception has.
type Exceptions uint8

const (
	WindowsExceptions Exceptions = iota
	MachExceptions               // macOS and iOS
)

// An Exception is what a minidump says about why a process stopped, in the numbers of Windows or of Mach.
// (Linux dumps have a Signal.)
type Exception struct {
	Of Exceptions
	// Code is the exception code on Windows, the exception type on macOS. Flags is the first code on macOS.
	Code, Flags uint32
	// Addr is the address of the instruction on Windows, the second code on macOS.
	Addr   uint64
	Params []uint64
	// Assertion is the failed condition, if a handler of the C library was called.
	Assertion string
	TID       int // of the thread that died
}

// A named is the name of a number, and its meaning in words.
type named struct{ name, words string }

// Name returns the name of the exception: "EXCEPTION_ACCESS_VIOLATION_READ", "EXC_BAD_ACCESS /
// KERN_INVALID_ADDRESS". An unknown exception is its number. On macOS the codes depend on the architecture; a
// may be nil.
func (e Exception) Name(a *arch.Arch) string {
	if e.Of == MachExceptions {
		return e.machName(a)
	}
	return e.windowsName()
}

// Number returns the exception code as it is usually written: "0xc0000005", on macOS "1".
func (e Exception) Number() string {
	if e.Of == MachExceptions {
		return strconv.FormatUint(uint64(e.Code), 10)
	}
	return fmt.Sprintf("%#08x", e.Code)
}

// WhyException returns the reason of an exception. It ignores in.Signal.
func WhyException(in Input, e Exception) Reason {
	in.Signal = Signal{}
	return in.complete(in.whyException(e))
}

func (in *Input) whyException(e Exception) Reason {
	if e.Of == MachExceptions {
		return in.whyMach(e)
	}
	return in.whyWindows(e)
}

// faultAt describes an access that failed at addr: kind is "read", "write", "execute", or "" if not known. The
// instruction tells the size of the access, and its direction if the system does not.
func (in *Input) faultAt(kind string, addr uint64) Reason {
	if in.Arch == nil {
		return in.plainFault(kind, addr)
	}
	addr = in.truncate(addr)
	pc, ok := in.Regs.Get(in.Arch.PC)
	// Processors that cannot forbid execution report it as a read.
	if kind == "execute" || kind != "write" && ok && pc == addr && in.cannotRun(pc) {
		return in.jump(addr)
	}
	acc := in.access(addr)
	switch kind {
	case "read":
		acc.Read, acc.Write = true, false
	case "write":
		acc.Read, acc.Write = false, true
	}
	return in.describe(acc, addr)
}

// plainFault describes an access by its direction and address alone.
func (in *Input) plainFault(kind string, addr uint64) Reason {
	addr = in.truncate(addr)
	return Reason{Kind: of(&badKinds, kind), Text: fmt.Sprintf("%s at %#x", orElse(kind, "access"), addr),
		Access: kind, Addr: addr, HasAddr: true, AtInst: true}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// readable turns the name of a constant into words: "FAST_FAIL_CORRUPT_LIST_ENTRY" into "corrupt list entry".
func readable(constant, prefix string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(constant, prefix), "_", " "))
}
