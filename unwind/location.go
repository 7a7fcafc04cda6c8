package unwind

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Storage is the kind of place a Location names.
type Storage uint8

const (
	LocUnknown  Storage = iota // not stored: computed, or unknown
	LocAddress                 // in the process's memory, at Addr
	LocRegister                // still in the thread's register Reg
)

// A Location is where in the process the value of a frame's register was found. The zero
// Location is LocUnknown.
type Location struct {
	Addr Address
	Reg  arch.Reg
	Kind Storage
	// Doubtful says that nothing proves that the register had this value: it was guessed, or what it was computed from
	// or found by is doubtful.
	Doubtful bool
}

// AtAddress is the location of a value in memory.
func AtAddress(a Address) Location { return Location{Kind: LocAddress, Addr: a} }

// InRegister is the location of a value in the thread's register r.
func InRegister(r arch.Reg) Location { return Location{Kind: LocRegister, Reg: r} }

// Describe returns the location in words, with a's register names: "saved at 0x7ffc10", "possibly in rbx" if it is
// doubtful.
func (l Location) Describe(a *arch.Arch) string {
	words := "computed"
	switch l.Kind {
	case LocAddress:
		words = fmt.Sprintf("saved at %#x", l.Addr)
	case LocRegister:
		words = "in " + a.RegName(l.Reg)
	}
	if l.Doubtful {
		return "possibly " + words
	}
	return words
}
