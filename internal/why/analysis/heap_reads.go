package analysis

import (
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/unwind/arch"
)

// someReads is a process of which only some bytes may be read. What is read again costs a quarter: each finder looks through the same data, of which a
// slim dump keeps one copy.
type someReads struct {
	Process
	*program
	left  int               // bytes
	again int               // bytes that were read again, and not yet counted
	seen  map[uint64]uint64 // pages that were read, 64 in each word, up to maxSeen
	data  *heap.KeptData    // nil where each finder reads it
}

// KeptData has the data of libraries for package heap.
func (p *someReads) KeptData() *heap.KeptData { return p.data }

const (
	readPage  = 4096
	maxSeen   = 1 << 14
	againCost = 4
)

// spend counts what was read.
func (p *someReads) spend(at uint64, n int) {
	if p.seen == nil {
		p.seen = map[uint64]uint64{}
	}
	for n > 0 {
		page := at / readPage
		part := min(n, int(readPage-at%readPage))
		if bit := uint64(1) << (page % 64); p.seen[page/64]&bit != 0 {
			p.again += part
		} else {
			if len(p.seen) < maxSeen {
				p.seen[page/64] |= bit
			}
			p.left -= part
		}
		at, n = at+uint64(part), n-part
	}
	p.left -= p.again / againCost
	p.again %= againCost
}

func (p *someReads) ReadMem(addr arch.Address, b []byte) (int, error) {
	if p.left <= 0 {
		return 0, arch.ErrUnreadable
	}
	n, err := p.Process.ReadMem(addr, b)
	p.spend(uint64(addr), max(n, p.Arch().WordSize))
	return n, err
}

func (p *someReads) ReadWord(addr arch.Address) (uint64, error) {
	if p.left <= 0 {
		return 0, arch.ErrUnreadable
	}
	p.spend(uint64(addr), p.Arch().WordSize)
	return p.Process.ReadWord(addr)
}

// A partlyRead heap says nothing once more would have to be read than may be: what is missing then would look like damage.
type partlyRead struct {
	heap.Allocator
	reads *someReads
	past  int // bytes that may be read besides, of who allocated blocks
}

func (h *partlyRead) BlockAt(addr uint64) (heap.Block, bool) {
	b, ok := h.Allocator.BlockAt(addr)
	return b, ok && h.reads.left > 0
}

func (h *partlyRead) Damages() []heap.Damage {
	all := h.Allocator.Damages()
	if h.reads.left <= 0 {
		return nil
	}
	return all
}
