// Package libstate has the libraries that a process had loaded, and their addresses.
//
// A LibraryState describes one process. Table is the implementation for processes whose
// libraries are known. This package opens no file and reads no memory: corestate and
// livestate make Tables from what a process shows.
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

// A Kind is the role of a library in its process.
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
	// Unknown: the dump has the mapping, but not its permissions. Other bits that are
	// set are permissions that it may have had.
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

// A Mapping is a range of a process's address space, [Start, End). If it maps a file,
// Path is the file and Offset the offset of Start in it, in bytes; Path is "" for
// anonymous memory.
type Mapping struct {
	Start, End arch.Address
	Offset     uint64
	Path       string
	Perm       Perm
}

// A Library is a program, shared library or vDSO that a process had loaded. It must not
// be changed once its LibraryState has returned it.
type Library struct {
	Path string // as the process named it; "[vdso]" for the vDSO, "[jit 0x...]" for JIT
	// Archive is the path of the file that contains the library, such as an APK, and
	// ArchiveOffset where in it the library begins, in bytes. Path is then Archive, "!" and
	// the library's own name, if that is known; offsets of Mappings are in the library. For
	// libraries that are files they are "" and 0.
	Archive       string
	ArchiveOffset uint64
	// Linked is the absolute path by which the dynamic linker opened the library, if it is another than Path: of a file on
	// an overlay file system, Path may be that on the layer below; "" if it is not known.
	Linked string
	Kind   Kind
	// LoadBias is the number to add to an address in the file to get the process's, in
	// 64-bit arithmetic. For 32-bit processes too; there it may be negative.
	LoadBias arch.Address
	// Start and End span all mappings of the library: [Start, End).
	Start, End arch.Address
	// Mappings are the library's own, disjoint and in ascending order.
	Mappings []Mapping
	// BuildID is the id from the process's memory, or from the dump's list of modules;
	// nil if its pages are not available or have none.
	BuildID []byte
	// GoBuildID is what Go's linker calls the build, if there is no BuildID; "" if it is
	// not known. No file is found by it.
	GoBuildID string
	// Deleted says that the file was removed while the process used it.
	Deleted bool
	// HeaderAddr is the address of the ELF header in memory; 0 if not known.
	HeaderAddr arch.Address
	// ImageSize is the size in bytes of the ELF file at HeaderAddr, for JIT code. That
	// is a file in memory, not the code itself.
	ImageSize uint64
	// Module is the library's entry in the dump's list of modules; nil if the dump has
	// no such list, or the list no such entry.
	Module *ModuleID
	// BiasGuessed says that the load bias comes neither from the library's own headers
	// nor from the dynamic linker.
	BiasGuessed bool
}

// SetMappings gives a new library its mappings, in any order, and sets Start and End.
// The library keeps maps.
func (l *Library) SetMappings(maps []Mapping) {
	slices.SortFunc(maps, func(a, b Mapping) int { return cmp.Compare(a.Start, b.Start) })
	l.Mappings = maps
	if len(maps) > 0 {
		l.Start, l.End = maps[0].Start, 0
		for i := range maps { // those of a damaged dump can overlap
			l.End = max(l.End, maps[i].End)
		}
	}
}

// Contains reports whether addr is in one of the library's mappings.
func (l *Library) Contains(addr arch.Address) bool {
	_, ok := l.MappingAt(addr)
	return ok && addr >= l.Start && addr < l.End
}

// MappingAt returns the mapping of the library that contains addr.
func (l *Library) MappingAt(addr arch.Address) (Mapping, bool) {
	lo, hi := 0, len(l.Mappings)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); l.Mappings[mid].End <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(l.Mappings) || l.Mappings[lo].Start > addr {
		return Mapping{}, false
	}
	return l.Mappings[lo], true
}

// A LibraryState has the libraries of one process. Implementations must allow
// concurrent use.
type LibraryState interface {
	// LibraryAt returns the library that contains addr.
	LibraryAt(addr arch.Address) (*Library, bool)
	// Libraries lists all libraries by ascending address. With refresh it first asks
	// the process again, if that is possible.
	Libraries(refresh bool) ([]*Library, error)
	// AOut returns the main program.
	AOut() (*Library, bool)
	// Libc returns the C library; for a static program, the program itself.
	Libc() (*Library, bool)
	// Libthread returns the thread library, if it is not part of the C library.
	Libthread() (*Library, bool)
	// Refresh is called by a ProcessState that sees the list change.
	Refresh() error
	// LibTrapAddress returns the address of the function that the dynamic linker calls
	// when the list changes (r_debug.r_brk), or 0.
	LibTrapAddress() arch.Address
	// Subscribe calls f for every library that is loaded or unloaded from now on, until
	// the returned function is called.
	Subscribe(f func(*Library, Change)) (cancel func())
}
