package corestate

import (
	"math"

	"github.com/corewalk/corewalk/unwind/arch"
)

// OpenHead opens a core of which only the beginning is there yet: the headers and the notes, which kernels write
// first. Memory that the headers announce comes from memory, which returns contiguous bytes of the process from an address
// on, none if it cannot be read; the bytes must stay as they are. Memory that they do not announce (MADV_DONTDUMP,
// coredump_filter) is not asked for.
//
// With some errors OpenHead also returns the core, as Open does.
func OpenHead(head []byte, memory func(arch.Address) []byte, opts ...Option) (*ELFCore, error) {
	c, fail := parse(head)
	if c != nil {
		c.reads = newOptions(opts).reads
		c.announced(memory)
	}
	if fail != nil {
		return c, fail
	}
	return c, nil
}

// announced makes memory that is not in the file part of the core.
func (c *ELFCore) announced(memory func(arch.Address) []byte) {
	for i := range c.segs {
		s := &c.segs[i]
		s.have = s.claim
	}
	c.size = math.MaxInt // nothing is missing
	c.memory = &headMemory{c, memory}
}

// headMemory is the memory of a core whose file is still being written.
type headMemory struct {
	c    *ELFCore
	from func(arch.Address) []byte
}

func (m *headMemory) bytesAt(addr arch.Address, files *overlay) []byte {
	i := m.c.find(addr)
	if i < 0 {
		return nil
	}
	s := &m.c.segs[i]
	if addr < s.claim {
		b := m.from(addr)
		return b[:min(uint64(len(b)), s.claim-addr)]
	}
	if files == nil {
		return nil
	}
	return files.bytesAt(addr, s)
}

func (m *headMemory) unreadable(addr arch.Address) error { return m.c.unreadable(addr) }
