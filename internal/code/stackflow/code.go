package stackflow

import "github.com/corewalk/corewalk/unwind/arch"

// Code is what an analysis may read. All addresses belong to one address space. If the
// architecture has two instruction sets, the lowest bit of a code address is set for the
// second. Implementations must allow concurrent use.
type Code interface {
	// CodeAt returns the contiguous code from addr on, or nothing if there is none.
	CodeAt(addr uint64) []byte
	// DataAt is CodeAt for data that the program does not write to.
	DataAt(addr uint64) []byte
	// FuncAt reports whether a function is known to begin at addr.
	FuncAt(addr uint64) bool
	// NoReturn reports whether the function at addr is known not to return.
	NoReturn(addr uint64) bool
}

// A Convention is the Code of a platform whose calls preserve other registers than
// arch.Arch.CalleeSaved.
type Convention interface {
	// Nonvolatile returns the registers that calls preserve.
	Nonvolatile() arch.RegMask
}

// preserved returns the registers that the code's calls preserve.
func preserved(a *arch.Arch, code Code) arch.RegMask {
	if c, ok := code.(Convention); ok {
		if m := c.Nonvolatile(); m != 0 {
			return m
		}
	}
	return a.CalleeSaved
}
