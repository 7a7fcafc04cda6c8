package reason

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An Exceptions says whose numbers an Exception has.
type Exceptions uint8

const (
	WindowsExceptions Exceptions = iota
	MachExceptions               // of macOS and iOS
)

// An Exception is what a minidump says of why a process stopped, in the numbers of an
// operating system that has no signals, or has them only besides. (Those of Linux are
// a Signal.)
type Exception struct {
	Of Exceptions
	// Code is the exception's code on Windows, its kind on macOS. Flags is the first
	// code on macOS.
	Code, Flags uint32
	// Addr is that of the instruction on Windows, the second code on macOS.
	Addr   uint64
	Params []uint64
	// Assertion is what failed, where a handler of the C library was called.
	Assertion string
	TID       int // of the thread that died
}

// A named number, and what it means in words.
type named struct{ name, words string }

// Name names the exception: "EXCEPTION_ACCESS_VIOLATION_READ",
// "EXC_BAD_ACCESS / KERN_INVALID_ADDRESS". An unknown one is its number. On macOS the
// codes are the architecture's, which may be nil.
func (e Exception) Name(a *arch.Arch) string {
	if e.Of == MachExceptions {
		return e.machName(a)
	}
	return e.windowsName()
}

// Number is the exception's code as it is written: "0xc0000005", of macOS "1".
func (e Exception) Number() string {
	if e.Of == MachExceptions {
		return strconv.FormatUint(uint64(e.Code), 10)
	}
	return fmt.Sprintf("%#08x", e.Code)
}

// WhyException finds the reason of an exception. in.Signal is not looked at.
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

// faultAt words an access that failed at addr: kind is "read", "write", "execute" or
// "" for not known. The instruction tells its size, and its direction where the system
// does not.
func (in *Input) faultAt(kind string, addr uint64) Reason {
	if in.Arch == nil {
		return in.plainFault(kind, addr)
	}
	addr = in.Arch.Truncate(addr)
	pc, ok := in.Regs.Get(in.Arch.PC)
	if kind == "execute" || kind == "" && ok && pc == addr && in.cannotRun(pc) {
		return in.jump(addr)
	}
	acc, found := in.access(addr, true)
	if !found || !acc.Known {
		acc = disasm.Access{Addr: addr}
	}
	switch kind {
	case "read":
		acc.Read, acc.Write = true, false
	case "write":
		acc.Read, acc.Write = false, true
	}
	return in.describe(acc, addr)
}

// plainFault words an access by its direction and address alone.
func (in *Input) plainFault(kind string, addr uint64) Reason {
	return Reason{Kind: of(&badKinds, kind), Text: fmt.Sprintf("%s at %#x", orElse(kind, "access"), addr),
		Access: kind, Addr: addr, HasAddr: true, AtInst: true}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// readable turns a constant's name into words: "FAST_FAIL_CORRUPT_LIST_ENTRY" into
// "corrupt list entry".
func readable(constant, prefix string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(constant, prefix), "_", " "))
}
