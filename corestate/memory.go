package corestate

import (
	"github.com/corewalk/corewalk/unwind/arch"
)

// find returns the index of the segment that contains addr, or -1. It remembers the
// last one: a walk reads one stack.
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

// bytesAt returns contiguous bytes from addr; none if addr cannot be read.
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

// unreadable returns the reason why addr cannot be read.
func (c *ELFCore) unreadable(addr arch.Address) error {
	err := arch.ErrNotInDump
	if i := c.find(addr); i >= 0 {
		if addr < c.segs[i].claim {
			err = arch.ErrTruncated
		}
	} else if !c.mapped(addr) {
		err = arch.ErrUnmapped
	}
	return err
}

// Segments lists the core's memory by ascending address.
func (c *ELFCore) Segments() []Segment { return exported(c.segs) }

// Whole lists the memory of a slim core as it was before memory was left out of it, by ascending address; of other cores it
// is the same as Segments.
func (c *ELFCore) Whole() []Segment { return exported(c.whole) }

func exported(segs []segment) []Segment {
	list := make([]Segment, len(segs))
	for i := range segs {
		s := &segs[i]
		list[i] = Segment{
			Start: s.start, End: s.end, Perm: s.perm, Offset: s.off,
			InFile: s.claim - s.start, InDump: s.have - s.start,
		}
	}
	return list
}
