// Package procmem reads the memory of a process in the forms that programs keep things in: words, numbers, strings, arrays.
package procmem

import (
	"bytes"

	"github.com/corewalk/corewalk/unwind/arch"
)

// MaxBytes limits what is read at once. Lengths come from the memory itself, which may be hostile.
const MaxBytes = 64 << 20

// A Reader reads the memory of a process of an architecture. Addresses are cut to the size of a word, as the process's own
// sums of addresses are. Without an Arch, where it is not known, there are no numbers and arrays. Who needs to know why
// memory cannot be read asks ReadMem and ReadWord.
type Reader struct {
	arch.Memory
	Arch *arch.Arch
}

// Of returns a Reader of a process's memory.
func Of(p interface {
	arch.Memory
	Arch() *arch.Arch
}) Reader {
	return Reader{p, p.Arch()}
}

// What a read costs of a budget: that of finding the memory, and of copying it.
const (
	readCost     = 4
	bytesPerUnit = 32
)

// Charged is the reader of somebody whose reads are charged to a budget: where a hostile memory has them go on, as along a list
// that never ends, they end when that is spent. Then nothing can be read any more.
func (r Reader) Charged(spend func(units int) error) Reader {
	r.Memory = &charged{r.Memory, spend}
	return r
}

type charged struct {
	arch.Memory
	spend func(units int) error
}

func (c *charged) ReadMem(at arch.Address, b []byte) (int, error) {
	if err := c.spend(readCost + len(b)/bytesPerUnit); err != nil {
		return 0, err
	}
	return c.Memory.ReadMem(at, b)
}

func (c *charged) ReadWord(at arch.Address) (uint64, error) {
	if err := c.spend(readCost); err != nil {
		return 0, err
	}
	return c.Memory.ReadWord(at)
}

// address cuts an address to the size of a word.
func (r Reader) address(at uint64) uint64 {
	if r.Arch == nil {
		return at
	}
	return r.Arch.Truncate(at)
}

// LookupWord reads a word; false if it cannot be read.
func (r Reader) LookupWord(at uint64) (uint64, bool) {
	v, err := r.ReadWord(r.address(at))
	if err != nil {
		return 0, false
	}
	return v, true
}

// Word is LookupWord for pointers: one that cannot be read is 0.
func (r Reader) Word(at uint64) uint64 {
	v, _ := r.LookupWord(at)
	return v
}

// Uint reads an unsigned number of 1 to 8 bytes.
func (r Reader) Uint(at uint64, size int) (uint64, bool) {
	if size < 1 || size > 8 || r.Arch == nil {
		return 0, false
	}
	v, err := r.Arch.ReadUint(r.Memory, r.address(at), size)
	return v, err == nil
}

// U32 reads 32 bits.
func (r Reader) U32(at uint64) (uint32, bool) {
	v, ok := r.Uint(at, 4)
	return uint32(v), ok
}

// U16 reads 16 bits.
func (r Reader) U16(at uint64) (uint16, bool) {
	v, ok := r.Uint(at, 2)
	return uint16(v), ok
}

// U8 reads 8 bits.
func (r Reader) U8(at uint64) (byte, bool) {
	v, ok := r.Uint(at, 1)
	return byte(v), ok
}

// Some reads n bytes, or as many of them as are there.
func (r Reader) Some(at uint64, n int) []byte {
	b := make([]byte, min(max(n, 0), MaxBytes))
	return b[:r.Fill(at, b)]
}

// AbsentTo is where memory may be again, after an address that cannot be read: the next page, or end of a very large range that is not there at all, of which
// not each page is asked for.
func (r Reader) AbsentTo(at, end uint64) uint64 {
	const page, large = 4096, 1 << 30
	var b [1]byte
	if n := end - at; end > at && n > large && r.Fill(end-1, b[:]) == 0 && r.Fill(at+n/2, b[:]) == 0 {
		return end
	}
	return min(at&^(page-1)+page, end)
}

// Fill reads bytes into b, and returns how many.
func (r Reader) Fill(at uint64, b []byte) int {
	n, _ := r.ReadMem(r.address(at), b)
	return min(max(n, 0), len(b)) // a Memory may be of another module
}

// A Viewer is a Memory that has bytes of its process at hand, as a mapped dump does.
type Viewer interface {
	// ViewMem returns at most n bytes from addr on, as ReadMem has them; fewer, or none, where they do not lie in one piece, or are to be read.
	ViewMem(addr arch.Address, n int) []byte
}

// View is what Fill reads into buf, without a copy where the memory is a Viewer's and lies in one piece. It must not be written to, and is good
// until buf is read into again, or the process is closed.
func (r Reader) View(at uint64, buf []byte) []byte {
	if v, ok := r.Memory.(Viewer); ok {
		if b := v.ViewMem(r.address(at), len(buf)); len(b) == len(buf) {
			return b
		}
	}
	return buf[:r.Fill(at, buf)]
}

// Bytes reads n bytes; nil if not all of them are there, or if they are more than MaxBytes.
func (r Reader) Bytes(at uint64, n int) []byte {
	if n < 0 || n > MaxBytes {
		return nil
	}
	if b := r.Some(at, n); len(b) == n {
		return b
	}
	return nil
}

// Words reads n words, one behind the other; false if not all of them are there, or if they are more than MaxBytes.
func (r Reader) Words(at uint64, n int) ([]uint64, bool) {
	if n < 0 || n > MaxBytes || r.Arch == nil {
		return nil, false
	}
	size := r.Arch.WordSize
	b := r.Bytes(at, n*size)
	if b == nil {
		return nil, false
	}
	words := make([]uint64, n)
	for i := range words {
		words[i] = r.Arch.Word(b[i*size:])
	}
	return words, true
}

// Counted reads at most limit bytes of a text whose length is known, and which a zero byte ends, of which the length does not tell. Without that
// byte it is no text.
func (r Reader) Counted(at, length uint64, limit int) (text []byte, ok bool) {
	if length > maxLength {
		return nil, false
	}
	n := int(min(length, uint64(max(limit, 0))))
	if text = r.Bytes(at, n); text == nil && n > 0 {
		return nil, false
	}
	end, ok := r.U8(at + length)
	return text, ok && end == 0
}

// maxLength is more than texts have, and so little that an address and a length can be added.
const maxLength = 1 << 40

// CString reads the text before a zero byte that is among the limit bytes from at on. Without, ended is false, and text is
// what there is up to the limit or the end of the memory. At 0 is no text.
func (r Reader) CString(at uint64, limit int) (text []byte, ended bool) {
	const piece = 64 // never across the end of a page, which may be the end of the memory
	var b [piece]byte
	for at = r.address(at); at != 0 && len(text) < limit; {
		part := b[:min(piece-int(at%piece), limit-len(text))]
		n := r.Fill(at, part)
		if end := bytes.IndexByte(part[:n], 0); end >= 0 {
			return append(text, part[:end]...), true
		}
		text = append(text, part[:n]...)
		if n < len(part) {
			break
		}
		at = r.address(at + uint64(n))
	}
	return text, false
}
