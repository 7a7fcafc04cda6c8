// Package oldmalloc reads the heap of musl's malloc before 1.2.1, and of later builds with its "oldmalloc", of 32 and 64 bits, by the structures that
// it keeps in memory: it needs no symbols and no debug information.
//
// The allocator's bins are found in the data of musl or of the program: 64 heads of rings, and in front of them a bit for each that is not empty. Each
// chunk repeats the size of the one before it, so that areas are walked both ways. Layouts are those of malloc_impl.h, as 1.1.24, 1.2.0 and 1.2.5 have them.
package oldmalloc

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
)

const (
	bins       = 64
	inUse      = 1    // bit of a chunk's size, and of where the next one repeats it
	page       = 4096 // the least that the system has
	maxTries   = 512  // words that may be a bin's that are looked at more closely
	maxWrong   = 4    // bins that a damage made wrong
	maxThreads = 1 << 16
	maxRuns    = 1 << 16
)

// A Heap is the heap of one process. It implements heap.Allocator.
type Heap struct {
	maps   []libstate.Mapping
	mem    procmem.Reader
	w      uint64          // size of a word
	bins   uint64          // address of the first bin
	runs   []run           // by address
	listed map[uint64]bool // free chunks that are in a ring
	lost   []heap.Damage   // of rings
	budget int
	tries  int
	// known says that runs has what is found without a look at each page, searched that it has all.
	known, searched bool
}

// Options bound the work.
type Options struct {
	// Blocks is how many chunks are looked at in all; 0 means 1<<26.
	Blocks int
}

// Find returns the heap of a process; nil if it has none of this kind.
func Find(p heap.Process, o Options) *Heap {
	a := p.Arch()
	if a == nil || otherLibrary(p.LibraryTracker()) {
		return nil
	}
	if o.Blocks == 0 {
		o.Blocks = 1 << 26
	}
	h := &Heap{maps: p.Mappings(), mem: procmem.Of(p), w: uint64(a.WordSize), budget: o.Blocks}
	heap.Data(p, heap.MaxData, func(at uint64, b []byte) bool {
		h.bins = h.findIn(at, b)
		return h.bins == 0
	})
	if h.bins == 0 {
		return nil
	}
	return h
}

// otherLibrary reports whether the GNU C library is one of the modules: of its programs, whose data may be large, nothing is looked through.
func otherLibrary(libs libstate.LibraryState) bool {
	if libs == nil {
		return false
	}
	list, _ := libs.Libraries(false)
	return slices.ContainsFunc(list, func(lib *libstate.Library) bool {
		name := lib.Path[strings.LastIndexByte(lib.Path, '/')+1:]
		return strings.HasPrefix(name, "libc.so.6") || strings.HasPrefix(name, "libc-2.")
	})
}

// Name implements heap.Allocator.
func (h *Heap) Name() string { return "musl oldmalloc" }

// bin is how long one is: a lock of two numbers, and the ring's head.
func (h *Heap) bin() uint64 { return 8 + 2*h.w }

// headOf is what an empty bin points at: itself, as if it were a chunk.
func (h *Heap) headOf(bin uint64) uint64 { return bin + 8 - 2*h.w }

// findIn finds the bins, of which some are in data; 0 if they are not there.
func (h *Heap) findIn(at uint64, data []byte) (found uint64) {
	size := int(h.bin())
	heap.Words(h.mem.Arch, data, func(off int, _ uint64) bool {
		// One bin, and beside it another.
		if off -= 8; off < 0 || off+size > len(data) || h.kindOf(at+uint64(off), data[off:]) < empty ||
			h.kindAt(at+uint64(off+size)) == none && h.kindAt(at+uint64(off-size)) == none {
			return true
		}
		h.tries++
		found = h.first(at + uint64(off))
		return found == 0 && h.tries < maxTries
	})
	return found
}

// Kinds of bins.
const (
	none  = iota // it can be none
	fresh        // it was never asked for
	empty
	filled
)

// kindOf is the kind of the bin at an address, of which b has the bytes, as far as it alone tells.
func (h *Heap) kindOf(bin uint64, b []byte) int {
	arch := h.mem.Arch
	if arch.ByteOrder.Uint32(b) > 1 || arch.ByteOrder.Uint32(b[4:]) > maxThreads {
		return none
	}
	self := h.headOf(bin)
	switch v, tail := arch.Word(b[8:]), arch.Word(b[8+h.w:]); {
	case v == 0 && tail == 0:
		return fresh
	case v == self && tail == self:
		return empty
	case v == self || tail == self || v%(4*h.w) != 2*h.w || tail%(4*h.w) != 2*h.w:
		return none
	}
	return filled
}

// kindAt is the kind of the bin at an address.
func (h *Heap) kindAt(bin uint64) int {
	if b := h.mem.Bytes(bin, int(h.bin())); b != nil {
		return h.kindOf(bin, b)
	}
	return none
}

// first is the first of the bins of which one is at an address; 0 if that is none. They may begin in one mapping and end in the next.
func (h *Heap) first(bin uint64) (found uint64) {
	var kinds [2*bins - 1]int // the bin is in the middle
	for i := range kinds {
		kinds[i] = h.kindAt(bin + uint64(i-bins+1)*h.bin())
	}
	least := maxWrong + 1
	for begin := range bins {
		wrong, have := 0, uint64(0)
		for i, kind := range kinds[begin:][:bins] {
			switch kind {
			case none:
				wrong++
			case filled:
				have |= 1 << i
			}
		}
		if wrong >= least {
			continue
		}
		// What is not empty has its bit.
		at := bin + uint64(begin-bins+1)*h.bin()
		if b := h.mem.Bytes(at-8, 8); b == nil {
			continue
		} else if wrong += bits.OnesCount64(have ^ h.mem.Arch.ByteOrder.Uint64(b)); wrong < least {
			least, found = wrong, at
		}
	}
	if found != 0 && !h.leadBack(found) {
		return 0
	}
	return found
}

// leadBack reports whether the first and the last chunk of most bins lead back to them, and one is free.
func (h *Heap) leadBack(first uint64) bool {
	wrong, free := 0, false
	for i := range uint64(bins) {
		bin := first + i*h.bin()
		head := h.headOf(bin)
		switch v := h.mem.Word(bin + 8); {
		case v == 0:
		case h.mem.Word(v+3*h.w) != head || h.mem.Word(h.mem.Word(bin+8+h.w)+2*h.w) != head:
			wrong++
		case v != head && h.isFree(v):
			free = true
		}
	}
	return wrong <= maxWrong && free
}
