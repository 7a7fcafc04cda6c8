package libstate

import (
	"bytes"
)

// A Format is the file format of a library.
type Format uint8

const (
	FormatELF Format = iota
	FormatPE
	FormatMachO
)

func (f Format) String() string {
	switch f {
	case FormatPE:
		return "PE"
	case FormatMachO:
		return "Mach-O"
	}
	return "ELF"
}

// A ModuleID is what a dump's list of modules says about a library's file. Empty
// strings and zeros mean not known.
type ModuleID struct {
	Format Format
	// DebugID identifies the debug file, in Breakpad's form: 32 digits and the age.
	DebugID string
	// CodeID identifies the file itself: for PE its time stamp and its size in memory,
	// for ELF the build-id, for Mach-O the UUID.
	CodeID    string
	DebugFile string // path of the debug file where it was built
	Version   string
	Timestamp uint32 // for PE, seconds since 1970 or a hash
	Checksum  uint32 // for PE
	Size      uint64 // bytes in memory
	// Number is the module's place in the dump's list, from 1; 0 if there is no list. Name
	// is its name there, which may differ from the path of the file that is mapped.
	Number int
	Name   string
	// PartialBuildID says that only the first 16 bytes of the build-id are known; a
	// shorter one is padded with zeros.
	PartialBuildID bool
}

// SameBuildID reports whether a file's build-id is the library's, as far as that is
// known.
func (l *Library) SameBuildID(id []byte) bool {
	if bytes.Equal(l.BuildID, id) {
		return true
	}
	return l.PartialBuildID() && len(id) > 0 && bytes.Equal(l.BuildID, padded(id, len(l.BuildID)))
}

// PartialBuildID reports whether BuildID has only the first 16 bytes of the file's build-id
// (ModuleID.PartialBuildID).
func (l *Library) PartialBuildID() bool {
	return l.Module != nil && l.Module.PartialBuildID && len(l.BuildID) == partialID
}

// partialID is the size of a GUID.
const partialID = 16

// padded returns the first n bytes of id, padded with zeros.
func padded(id []byte, n int) []byte {
	out := make([]byte, n)
	copy(out, id)
	return out
}
