package arch

import (
	"errors"
	"fmt"
)

// Reasons why memory cannot be read. Every error that a Memory returns wraps one of these;
// those of this module are of type *MemError.
var (
	// ErrUnmapped: the process had nothing mapped at the address.
	ErrUnmapped = errors.New("not mapped")
	// ErrNotInDump: the process had memory at the address, but the dump does not include it
	// and no matching file can replace it.
	ErrNotInDump = errors.New("not in the dump")
	// ErrTruncated: the bytes should be in the dump, but the dump's file ends before them.
	ErrTruncated = errors.New("past the end of the truncated dump")
	// ErrUnreadable: the process has memory at the address but it cannot be read.
	ErrUnreadable = errors.New("not readable")
)

// A MemError says which address cannot be read and why.
type MemError struct {
	Addr Address // the first address that could not be read
	Err  error   // wraps one of the errors above
}

func (e *MemError) Error() string { return fmt.Sprintf("memory at %#x: %v", e.Addr, e.Err) }
func (e *MemError) Unwrap() error { return e.Err }

// Memory is the memory of the analysed process.
//
// ReadMem fills buf from addr on. It returns the number of bytes read, and an error if that
// is less than len(buf); it never invents bytes. ReadWord reads one pointer-sized integer
// in the process's byte order. It is a separate method because a walk reads millions of
// words, and a stack buffer passed through an interface escapes to the heap.
//
// Implementations must allow concurrent use.
type Memory interface {
	ReadMem(addr Address, buf []byte) (int, error)
	ReadWord(addr Address) (uint64, error)
}

// ReadUint reads an unsigned integer of size bytes (1 to 8) in a's byte order. It allocates
// only at the very end of readable memory.
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
		if err != nil {
			return 0, err
		}
		if a.Big() {
			lo, hi = hi, lo
		}
		return hi<<32 | lo, nil
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

// ReadReg reads a general register saved at addr: RegSize bytes.
func (a *Arch) ReadReg(mem Memory, addr Address) (uint64, error) {
	return a.ReadUint(mem, addr, a.RegSize)
}

// ReadSaved reads register r from its stack slot at addr: RegSize bytes, or 8 if r is a
// floating-point register, also on 32-bit architectures.
func (a *Arch) ReadSaved(mem Memory, r Reg, addr Address) (uint64, error) {
	if a.RegSize < 8 && a.tables().wide.Has(r) {
		return a.ReadUint(mem, addr, 8)
	}
	return a.ReadReg(mem, addr)
}
