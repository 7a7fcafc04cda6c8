package corestate

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxWarnings limits the warnings about a damaged dump.
const maxWarnings = 100

// An anyDump is the half that ELFCore and Minidump have in common.
type anyDump struct {
	threadIndex
	memory memory // the other half

	path     string
	arch     *arch.Arch // nil when registers cannot be decoded
	wordSize int        // bytes in a pointer
	big      bool
	size     int // of the file, decompressed, in bytes

	maps []libstate.Mapping
	// unknown are the permissions assumed for memory whose permissions are not known.
	unknown libstate.Perm
	tagBits uint // how many top bits of addresses are a tag, besides those of the architecture
	backing atomic.Pointer[overlay]
	reads   *Reads // nil if nobody asked

	libs atomic.Pointer[libstate.Table]

	from      string // where the dump was in an archive
	unpackErr error  // why a compressed dump is incomplete
	warnings  []string
	closing   sync.Once
	closer    func() error
	forget    func() // gives the mapped file's pages back; nil if the dump was not read from a file
}

// Unchanging returns true: a dump is of one moment, so what one walk found out of its code the next one need not ask.
func (d *anyDump) Unchanging() bool { return true }

// Path returns the path given to Open.
func (d *anyDump) Path() string { return d.path }

// From says where the dump was in the file, "core.42 in a tar archive", if the file is an
// archive or an apport report; "" for others.
func (d *anyDump) From() string { return d.from }

// Warnings lists the defects of the dump that could be worked around.
func (d *anyDump) Warnings() []string { return slices.Clone(d.warnings) }

func (d *anyDump) warnf(format string, args ...any) {
	if len(d.warnings) < maxWarnings {
		d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
	}
}

// Arch returns the process's architecture; nil if opening failed with ErrUnsupportedArch.
func (d *anyDump) Arch() *arch.Arch { return d.arch }

func (d *anyDump) order() binary.ByteOrder {
	if d.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// word decodes a pointer from the start of b.
func (d *anyDump) word(b []byte) uint64 {
	switch {
	case d.wordSize == 8 && d.big:
		return binary.BigEndian.Uint64(b)
	case d.wordSize == 8:
		return binary.LittleEndian.Uint64(b)
	case d.big:
		return uint64(binary.BigEndian.Uint32(b))
	}
	return uint64(binary.LittleEndian.Uint32(b))
}

// truncated is Truncated for a dump whose last part ends at offset end of the file.
func (d *anyDump) truncated(end uint64) (cut bool, have, want int64) {
	end = min(end, 1<<63-1)
	have = int64(d.size)
	return int64(end) > have || d.unpackErr != nil, have, max(have, int64(end))
}

// PreStackwalk does nothing: the process is dead.
func (d *anyDump) PreStackwalk(unwind.ThreadID) error { return nil }

// PostStackwalk does nothing.
func (d *anyDump) PostStackwalk(unwind.ThreadID) error { return nil }

// IsFirstParty returns false: the process is not the calling program.
func (d *anyDump) IsFirstParty() bool { return false }

// Close releases the file. Do not use the dump afterwards, or bytes that it returned.
func (d *anyDump) Close() error {
	var err error
	d.closing.Do(func() {
		if d.closer != nil {
			err = d.closer()
		}
	})
	return err
}

// ForgetPages tells the system that what was read of the dump is not needed again soon: the pages of its mapped file
// may leave this process's memory. All of it can still be read. It is safe for concurrent use, and slices of the
// dump's bytes stay valid.
func (d *anyDump) ForgetPages() {
	if d.forget != nil {
		d.forget()
	}
}
