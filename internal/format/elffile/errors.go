package elffile

import "fmt"

// An AddrError says which link-time virtual addresses cannot be read from a file, and why.
type AddrError struct {
	Addr, Size uint64
	Err        error // ErrNotFound, ErrNoBits or ErrTruncated
}

func (e *AddrError) Error() string { return fmt.Sprintf("%d bytes at %#x: %v", e.Size, e.Addr, e.Err) }

// Unwrap returns Err.
func (e *AddrError) Unwrap() error { return e.Err }
