package arch

import (
	"errors"
	"fmt"
)

// Why memory could not be read. Every error that a Memory returns wraps one of
// these, and is a *MemError where the implementation is ours.
var (
	// ErrUnmapped: the process had nothing at the address.
	ErrUnmapped = errors.New("not mapped")
	// ErrNotInDump: the process had memory there, but the dump left it out and
	// no matching file can stand in for it.
	ErrNotInDump = errors.New("not in the dump")
	// ErrTruncated: the dump says it has the bytes, but its file ends before.
	ErrTruncated = errors.New("past the end of the truncated dump")
	// ErrUnreadable: the process has memory there that cannot be read.
	ErrUnreadable = errors.New("not readable")
)

// A MemError says which address could not be read, and why.
type MemError struct {
	Addr Address // the first address that could not be read
	Err  error   // one of the Err... above
}

func (e *MemError) Error() string { return fmt.Sprintf("memory at %#x: %v", e.Addr, e.Err) }
func (e *MemError) Unwrap() error { return e.Err }

// Memory is the memory of the analysed process.
//
// ReadMem fills buf from addr on. It returns how many bytes it could read, and
// an error when that is less than len(buf); it never makes bytes up. ReadWord
// reads one pointer-sized integer in the process's byte order (a separate
// method because a stack buffer passed through an interface escapes to the
// heap, and the walk reads millions of words).
//
// Implementations must allow concurrent use.
type Memory interface {
	ReadMem(addr Address, buf []byte) (int, error)
	ReadWord(addr Address) (uint64, error)
}
