// Package slimnote is the note that corewalk adds to an ELF core from which it left memory out: what memory
// the process had, and how much of it the core had before. Readers that do not know it see a core
// with less memory.
package slimnote

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Owner and Type are the name and the type of the note; the type is "slim".
const (
	Owner = "corewalk"
	Type  = 0x736c696d
)

// The descriptor, in the byte order of the core:
//
//	version u32, kind u32      who wrote the core: corestate.Kind
//	have    u64, want  u64     sizes of a core that was cut off, in bytes; 0 for a whole one
//	redacted u32, count u32    1 if values were blanked; the number of ranges
//	ranges: start, end, claim, have u64; flags u32, 0 u32
const (
	version   = 1
	headSize  = 32
	rangeSize = 40
)

// A Range is memory that the process had, as its core described it.
type Range struct {
	Start, End uint64 // addresses
	Claim      uint64 // addresses below were to be in the core
	Have       uint64 // addresses below were in it
	Flags      uint32 // PF_R and so on
}

// A Note is what the note says.
type Note struct {
	Kind       uint32
	Have, Want uint64 // sizes of a core that was cut off; 0 for a whole one
	Redacted   bool
	Ranges     []Range // ascending and disjoint
}

// Bytes returns the descriptor.
func (n *Note) Bytes(o binary.ByteOrder) []byte {
	b := make([]byte, headSize+rangeSize*len(n.Ranges))
	o.PutUint32(b, version)
	o.PutUint32(b[4:], n.Kind)
	o.PutUint64(b[8:], n.Have)
	o.PutUint64(b[16:], n.Want)
	if n.Redacted {
		o.PutUint32(b[24:], 1)
	}
	o.PutUint32(b[28:], uint32(len(n.Ranges)))
	for i, r := range n.Ranges {
		at := b[headSize+rangeSize*i:]
		for j, v := range []uint64{r.Start, r.End, r.Claim, r.Have} {
			o.PutUint64(at[8*j:], v)
		}
		o.PutUint32(at[32:], r.Flags)
	}
	return b
}

var (
	errVersion = errors.New("of another version")
	errShort   = errors.New("cut off")
)

// Parse reads a descriptor. Ranges that are empty, out of order or overlap are an error: who wrote them
// did not describe a process.
func Parse(desc []byte, big bool) (*Note, error) {
	c := binbuf.New(desc, 0, big)
	if v := c.U32(); c.Error == nil && v != version {
		return nil, fmt.Errorf("version %d, want %d: %w", v, version, errVersion)
	}
	n := &Note{Kind: c.U32(), Have: c.U64(), Want: c.U64(), Redacted: c.U32() == 1}
	count := c.U32()
	if c.Error != nil || uint64(count) > uint64(c.Len())/rangeSize {
		return nil, fmt.Errorf("%d bytes for %d ranges: %w", len(desc), count, errShort)
	}
	n.Ranges = make([]Range, count)
	end := uint64(0)
	for i := range n.Ranges {
		r := Range{Start: c.U64(), End: c.U64(), Claim: c.U64(), Have: c.U64(), Flags: c.U32()}
		c.Skip64(4)
		if r.Start < end || r.End <= r.Start || r.Claim < r.Start || r.Claim > r.End || r.Have < r.Start || r.Have > r.Claim {
			return nil, fmt.Errorf("range %d, %#x-%#x, is not possible", i, r.Start, r.End)
		}
		end, n.Ranges[i] = r.End, r
	}
	return n, c.Error
}
