package corestate

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// find is the index of the segment over addr, or -1. The last one found is
// remembered: a walk reads one stack.
func (c *ELFCore) find(addr arch.Address) int {
	if i := int(c.last.Load()); i < len(c.segs) {
		if s := &c.segs[i]; addr >= s.start && addr < s.end {
			return i
		}
	}
	lo, hi := 0, len(c.segs)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if c.segs[mid].end <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(c.segs) || addr < c.segs[lo].start {
		return -1
	}
	c.last.Store(uint32(lo))
	return lo
}

// ReadMem fills buf with the process's memory from addr on, across segments: the
// dump's bytes, else those of a matched file where they cannot differ (see
// SetBacking). It returns how many bytes it could read; when that is less than
// len(buf), the error is a *arch.MemError.
func (c *ELFCore) ReadMem(addr arch.Address, buf []byte) (int, error) {
	return c.readMem(addr, buf, c.backing.Load())
}

func (c *ELFCore) readMem(addr arch.Address, buf []byte, files *overlay) (int, error) {
	for n := 0; n < len(buf); {
		a := addr + uint64(n)
		if a < addr {
			return n, &arch.MemError{Addr: a, Err: arch.ErrUnmapped}
		}
		b := c.bytesAt(a, files)
		if len(b) == 0 {
			return n, c.unreadable(a)
		}
		n += copy(buf[n:], b)
	}
	return len(buf), nil
}

// bytesAt returns bytes from addr on, as many as lie together; none when addr
// cannot be read.
func (c *ELFCore) bytesAt(addr arch.Address, files *overlay) []byte {
	var s *segment
	if i := c.find(addr); i >= 0 {
		s = &c.segs[i]
		if addr < s.have {
			return c.data[s.off+(addr-s.start) : s.off+(s.have-s.start)]
		}
	}
	if files == nil {
		return nil
	}
	return files.bytesAt(addr, s)
}

// unreadable says why addr cannot be read.
func (c *ELFCore) unreadable(addr arch.Address) error {
	err := arch.ErrNotInDump
	if i := c.find(addr); i >= 0 {
		if addr < c.segs[i].claim {
			err = arch.ErrTruncated
		}
	} else if !c.mapped(addr) {
		err = arch.ErrUnmapped
	}
	return &arch.MemError{Addr: addr, Err: err}
}

// ReadWord reads one pointer-sized integer. Success allocates nothing.
func (c *ELFCore) ReadWord(addr arch.Address) (uint64, error) {
	if i := c.find(addr); i >= 0 {
		s := &c.segs[i]
		if addr < s.have && s.have-addr >= uint64(c.wordSize) {
			return c.word(c.data[s.off+(addr-s.start):]), nil
		}
	}
	var buf [8]byte
	if _, err := c.readMem(addr, buf[:c.wordSize], c.backing.Load()); err != nil {
		return 0, err
	}
	return c.word(buf[:]), nil
}

// word decodes a pointer from the start of b.
func (c *ELFCore) word(b []byte) uint64 {
	if c.wordSize == 8 {
		if c.big {
			return binary.BigEndian.Uint64(b)
		}
		return binary.LittleEndian.Uint64(b)
	}
	if c.big {
		return uint64(binary.BigEndian.Uint32(b))
	}
	return uint64(binary.LittleEndian.Uint32(b))
}

// rawMemory is what the dump itself holds, whatever files stand in for the rest.
type rawMemory struct{ c *ELFCore }

func (r rawMemory) ReadMem(addr arch.Address, buf []byte) (int, error) {
	return r.c.readMem(addr, buf, nil)
}

func (r rawMemory) ReadWord(addr arch.Address) (uint64, error) {
	var buf [8]byte
	if _, err := r.c.readMem(addr, buf[:r.c.wordSize], nil); err != nil {
		return 0, err
	}
	return r.c.word(buf[:]), nil
}

// DumpMemory is the memory that the dump itself holds: no file stands in for
// what it left out.
func (c *ELFCore) DumpMemory() arch.Memory { return rawMemory{c} }

// Segments lists the core's memory by ascending address.
func (c *ELFCore) Segments() []Segment {
	list := make([]Segment, len(c.segs))
	for i := range c.segs {
		s := &c.segs[i]
		list[i] = Segment{
			Start: s.start, End: s.end, Perm: s.perm, Offset: s.off,
			InFile: s.claim - s.start, InDump: s.have - s.start,
		}
	}
	return list
}
