package stackflow

import "github.com/corewalk/corewalk/unwind/arch"

// Code is what an analysis may read. All addresses are of one address space; of
// a function that is in another instruction set than the architecture's main one
// the lowest bit of code addresses is set. It must allow concurrent use.
type Code interface {
	// CodeAt returns the code from addr on, as much as there is in one piece;
	// nothing where there is none.
	CodeAt(addr uint64) []byte
	// DataAt is CodeAt for data that the program does not write.
	DataAt(addr uint64) []byte
	// FuncAt reports whether a function is known to begin at addr.
	FuncAt(addr uint64) bool
	// NoReturn reports whether the function at addr is known never to return.
	NoReturn(addr uint64) bool
}

// A Convention is Code of a platform whose calls preserve other registers than those
// of arch.Arch.CalleeSaved.
type Convention interface {
	// Nonvolatile are the registers that calls preserve.
	Nonvolatile() arch.RegMask
}

// preserved are the registers that the code's calls preserve.
func preserved(a *arch.Arch, code Code) arch.RegMask {
	if c, ok := code.(Convention); ok {
		if m := c.Nonvolatile(); m != 0 {
			return m
		}
	}
	return a.CalleeSaved
}
