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

// ReadUint reads an unsigned integer of size bytes (1 to 8) in a's byte order.
// It allocates only at the very end of readable memory.
func (a *Arch) ReadUint(mem Memory, addr Address, size int) (uint64, error) {
	w := a.WordSize
	switch {
	case size == w:
		return mem.ReadWord(addr)
	case size == 2*w:
		lo, err := mem.ReadWord(addr)
		if err != nil {
			return 0, err
		}
		hi, err := mem.ReadWord(addr + Address(w))
		if a.Big() {
			lo, hi = hi, lo
		}
		return hi<<32 | lo, err
	}
	buf := make([]byte, size)
	if _, err := mem.ReadMem(addr, buf); err != nil {
		return 0, err
	}
	var v uint64
	for i := range buf {
		b := buf[i]
		if !a.Big() {
			b = buf[len(buf)-1-i]
		}
		v = v<<8 | uint64(b)
	}
	return v, nil
}

// ReadReg reads a general register that was saved at addr: RegSize bytes.
func (a *Arch) ReadReg(mem Memory, addr Address) (uint64, error) {
	if a.RegSize == a.WordSize {
		return mem.ReadWord(addr)
	}
	return a.ReadUint(mem, addr, a.RegSize)
}

// ReadSaved reads r from its place on the stack at addr: RegSize bytes, and 8 of a
// floating-point register, on 32-bit architectures too.
func (a *Arch) ReadSaved(mem Memory, r Reg, addr Address) (uint64, error) {
	if a.RegSize < 8 && a.tables().wide.Has(r) {
		return a.ReadUint(mem, addr, 8)
	}
	return a.ReadReg(mem, addr)
}
