package jemalloc

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

const (
	// The memory in which a thread's cache keeps pointers to blocks is a block itself, and begins with this.
	preceding = 0x7a7a7a7a7a7a7a7a
	minStacks = 1 << 10 // bytes of it
	binSize   = 24
	maxBins   = 73
	maxCached = 1 << 22
	// maxScan is how much memory is searched for the caches that point to such blocks.
	maxScan = 512 << 20
	// tail is how much of each mapping's end is searched first: thread's variables are at the end of their stacks.
	tail = 64 << 10
)

// caches reads the caches of threads, whose blocks their slabs count as used.
func (h *Heap) caches() {
	if h.readCaches {
		return
	}
	h.readCaches = true
	h.cached, h.own = map[uint64]bool{}, map[uint64]bool{}
	stacks := map[uint64]heap.Block{}
	kept := h.budget
	h.visit(func(b heap.Block) bool {
		if !b.Free && b.Size >= minStacks && h.mem.Word(b.Start) == preceding {
			stacks[b.Start] = b
		}
		return true
	})
	h.budget = kept
	if len(stacks) == 0 {
		return
	}
	left := maxScan
	for _, first := range []bool{true, false} {
		for _, m := range h.maps {
			if m.Perm&libstate.Write == 0 {
				continue
			}
			from, to := uint64(m.Start), uint64(m.End)
			if first && to-from > tail {
				from = to - tail
			} else if !first {
				if to-from <= tail {
					continue
				}
				to -= tail
			}
			h.scan(from, to, &left, stacks)
			if len(stacks) == 0 || left <= 0 {
				return
			}
		}
	}
}

// scan searches memory for caches, and takes the stacks that belong to one from the set.
func (h *Heap) scan(from, to uint64, left *int, stacks map[uint64]heap.Block) {
	buffer := make([]byte, min(maxWindow, to-from))
	for at := from; at < to && *left > 0 && len(stacks) > 0; {
		if x := h.extentAt(at); x != nil {
			at = x.end() // it is no block that has the cache of a thread
			continue
		}
		n := h.mem.Fill(at, buffer[:min(uint64(len(buffer)), to-at)])
		*left -= max(n, page)
		for off := 0; off+8 <= n; off += 8 {
			v := h.mem.Arch.Word(buffer[off:])
			if v == 0 || v > addrMask {
				continue
			}
			if b, ok := stacks[v]; ok && h.cache(at+uint64(off), b) {
				delete(stacks, v)
			}
		}
		at += max(uint64(n)&^7, page)
	}
}

// cache reads the cache whose slow half has the pointer to its stacks at an address. The cache itself follows, leads back, and its bins are where
// the slow half says.
func (h *Heap) cache(at uint64, stacks heap.Block) bool {
	cache := h.mem.Word(at + 8)
	slow := h.mem.Word(cache)
	if cache == 0 || at-slow < 40 || at-slow > 1024 || h.mem.Word(slow+32) != cache+8 {
		return false
	}
	h.own[stacks.Start] = true
	for i := range maxBins {
		bin, ok := h.mem.Words(cache+8+uint64(i*binSize), 3)
		if !ok || !stacks.Contains(bin[0]) {
			break
		}
		empty := bin[2] >> 32 & 0xffff
		n := (empty - bin[0]) & 0xffff / 8
		if n > (stacks.End()-bin[0])/8 {
			h.note(heap.Damage{At: cache + 8 + uint64(i*binSize), Size: 8, Why: fmt.Sprintf("the pointer of a thread's cache, %#x, is not in its memory", bin[0])})
			continue
		}
		blocks, ok := h.mem.Words(bin[0], int(n))
		if !ok {
			continue
		}
		for k, v := range blocks {
			if len(h.cached) >= maxCached {
				return true
			}
			b, ok := h.blockAt(v)
			at := bin[0] + uint64(k)*8
			switch {
			case !ok || b.Start != v || b.Size != sizeOf(i):
				h.note(heap.Damage{At: at, Size: 8, Why: fmt.Sprintf("a thread's cache has %#x, where no block of %d bytes begins", v, sizeOf(i))})
			case b.Free:
				h.note(heap.Damage{At: at, Size: 8, Why: fmt.Sprintf("a thread's cache has the block at %#x, which is free already: in a %s", v, b.List), Of: b})
			}
			if ok && b.Start == v {
				h.cached[v] = true
			}
		}
	}
	return true
}
