package corestate

import (
	"errors"

	"github.com/corewalk/corewalk/internal/format/archive"
)

// Errors that say why a dump cannot be analysed. Open's errors wrap one of these. With those marked *,
// Open also returns the dump, so that what is in it can be listed.
var (
	ErrEmpty           = errors.New("empty file")
	ErrNotELF          = errors.New("not an ELF file")
	ErrNotMinidump     = errors.New("not a minidump")
	ErrNotCore         = errors.New("an ELF file, but not a core")
	ErrTruncatedHeader = errors.New("cut off in its headers")
	ErrNoDump          = archive.ErrNone                                    // an archive without dumps
	ErrSeveralDumps    = archive.ErrSeveral                                 // an archive with several
	ErrKernelDump      = errors.New("a dump of a kernel, not of a process") // * when it is an ELF file
	ErrNoThreads       = errors.New("no threads in the dump")               // *
	ErrUnsupportedArch = errors.New("architecture not supported")           // *
	ErrUnsupportedOS   = errors.New("operating system not supported")       // *
)

// An OpenError says in one line what is wrong with a dump and what to do.
type OpenError struct {
	Path string // as given to Open; "" for a reader
	Text string
	Err  error // one of the Err... above, or the error from reading the file
}

func (e *OpenError) Error() string {
	if e.Path == "" {
		return e.Text
	}
	return e.Path + ": " + e.Text
}

// Unwrap returns Err.
func (e *OpenError) Unwrap() error { return e.Err }
