// Package libstate tells which libraries a process had loaded, and where.
//
// A LibraryState answers for one process. Table is the implementation for processes
// whose libraries are known. This package opens no file and reads no memory; corestate
// and livestate make Tables of what a process shows.
package libstate

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Change is what happened to a library.
type Change uint8

const (
	Load Change = iota
	Unload
)

func (c Change) String() string {
	if c == Unload {
		return "library_unload"
	}
	return "library_load"
}

// A Kind is what part a library plays in its process.
type Kind uint8

const (
	SharedLibrary Kind = iota
	Executable
	Interpreter // the dynamic linker
	VDSO        // the kernel's own library, which has no file
	JIT         // code that the process compiled itself and registered with GDB's interface
)

func (k Kind) String() string {
	switch k {
	case Executable:
		return "executable"
	case Interpreter:
		return "interpreter"
	case VDSO:
		return "vdso"
	case JIT:
		return "jit"
	}
	return "library"
}

// Perm is a mapping's permissions.
type Perm uint8

const (
	Read Perm = 1 << iota
	Write
	Exec
	// Unknown: a dump tells of the mapping, but not of its permissions. Other
	// bits set beside it are what it may have had.
	Unknown
)

func (p Perm) String() string {
	if p&Unknown != 0 {
		return "???"
	}
	b := []byte("---")
	for i, c := range []byte("rwx") {
		if p>>i&1 != 0 {
			b[i] = c
		}
	}
	return string(b)
}

// A Mapping is a range of a process's address space, [Start, End), and the file
// that it maps from offset Offset (bytes) on; Path is "" for anonymous memory.
type Mapping struct {
	Start, End arch.Address
	Offset     uint64
	Path       string
	Perm       Perm
}

// A Library is a program, shared library or vDSO that a process had loaded.
// It does not change after its LibraryState has handed it out.
type Library struct {
	Path string // as the process named it; "[vdso]" for the vDSO, "[jit 0x...]" for JIT
	Kind Kind
	// LoadBias is what to add to an address of the file to get the process's, in
	// 64-bit arithmetic; of 32-bit processes too, where it may be negative.
	LoadBias arch.Address
	// Start and End span all mappings of the library: [Start, End).
	Start, End arch.Address
	// Mappings are the library's own, in ascending order.
	Mappings []Mapping
	// BuildID is the id read from the process's memory, or from the dump's own list of
	// modules; nil when its pages are not there or hold none.
	BuildID []byte
	// Deleted says that the file had been removed while the process used it.
	Deleted bool
	// HeaderAddr is where the ELF header lies in memory; 0 when it is not known.
	HeaderAddr arch.Address
	// ImageSize is the size in bytes of the ELF file at HeaderAddr, for JIT. It is a
	// file in memory, not the code itself.
	ImageSize uint64
	// Module is what the dump's own list of modules says of the library; nil where
	// there is no such list, or it does not have it.
	Module *ModuleID
	// BiasGuessed says that neither the library's own headers nor the dynamic
	// linker told the load bias.
	BiasGuessed bool
}

// SetMappings gives a library that is being made its mappings, in any order, and sets
// Start and End. The library keeps maps.
func (l *Library) SetMappings(maps []Mapping) {
	slices.SortFunc(maps, func(a, b Mapping) int { return cmp.Compare(a.Start, b.Start) })
	l.Mappings = maps
	if len(maps) > 0 {
		l.Start, l.End = maps[0].Start, maps[len(maps)-1].End
	}
}

// Contains reports whether addr lies in one of the library's mappings.
func (l *Library) Contains(addr arch.Address) bool {
	if addr < l.Start || addr >= l.End {
		return false
	}
	for i := range l.Mappings {
		if m := &l.Mappings[i]; addr >= m.Start && addr < m.End {
			return true
		}
	}
	return false
}

// A LibraryState knows the libraries of one process. Implementations must allow
// concurrent use.
type LibraryState interface {
	// LibraryAt returns the library loaded over addr.
	LibraryAt(addr arch.Address) (*Library, bool)
	// Libraries lists all, by ascending address. With refresh it asks the
	// process again first, where that is possible.
	Libraries(refresh bool) ([]*Library, error)
	// AOut is the main program.
	AOut() (*Library, bool)
	// Libc is the C library: of a static program, the program itself.
	Libc() (*Library, bool)
	// Libthread is the thread library, where it is not part of the C library.
	Libthread() (*Library, bool)
	// Refresh is called by a ProcessState that sees the list change.
	Refresh() error
	// LibTrapAddress is where the dynamic linker calls when the list changes
	// (r_debug.r_brk), or 0.
	LibTrapAddress() arch.Address
	// Subscribe calls f for every library that comes or goes from now on, until
	// the function returned is called.
	Subscribe(f func(*Library, Change)) (cancel func())
}
