package jemalloc

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

const (
	// The memory in which a thread's cache keeps pointers to blocks is a block itself, and begins with this.
	preceding = 0x7a7a7a7a7a7a7a7a // as much of it as a word has
	minStacks = 1 << 10            // bytes of it
	maxBins   = 73
	maxCached = 1 << 22
	// pieceBytes is the least step of a search.
	pieceBytes = 4096
	// maxScan is how much memory is searched for the caches that point to such blocks.
	maxScan = 512 << 20
	// tail is how much of each mapping's end is searched first: thread's variables are at the end of their stacks.
	tail = 64 << 10
	// Before 5.3.
	maxRoom = 1 << 13 // blocks that a bin may have
	maxGap  = 512     // bytes between the bins for small and for large blocks
	overlap = 4 << 10 // more than such a cache has
	// Where the class is in a record since 5.1 and 5.3.
	since51, since53 = 18, 20
)

// caches reads the caches of threads, whose blocks their slabs count as used.
func (h *Heap) caches() {
	if h.readCaches {
		return
	}
	h.readCaches = true
	h.cached, h.own = map[uint64]bool{}, map[uint64]bool{}
	if h.szind != since53 {
		h.scanAll(h.oldCaches)
		return
	}
	stacks := map[uint64]heap.Block{}
	kept := h.budget
	h.visit(func(b heap.Block) bool {
		if !b.Free && b.Size >= minStacks && h.mem.Word(b.Start) == h.mem.Arch.Truncate(preceding) {
			stacks[b.Start] = b
		}
		return true
	})
	h.budget = kept
	if len(stacks) == 0 {
		return
	}
	h.scanAll(func(at uint64, b []byte) bool {
		for off := 0; off+int(h.word) <= len(b); off += int(h.word) {
			v := h.mem.Arch.Word(b[off:])
			if v == 0 || v > addrMask {
				continue
			}
			if block, ok := stacks[v]; ok && h.cache(at+uint64(off), block) {
				delete(stacks, v)
			}
		}
		return len(stacks) > 0
	})
}

// scanAll calls do for memory that may have the caches of threads, until it returns false. Pieces overlap, so that each cache is whole in one.
func (h *Heap) scanAll(do func(at uint64, b []byte) bool) {
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
				to -= tail - overlap
			}
			if !h.scan(from, to, &left, do) || left <= 0 {
				return
			}
		}
	}
}

// scan calls do for memory without extents: they have no caches of threads.
func (h *Heap) scan(from, to uint64, left *int, do func(at uint64, b []byte) bool) bool {
	buffer := make([]byte, min(maxWindow, to-from))
	for at := from; at < to && *left > 0; {
		if x := h.extentAt(at); x != nil {
			at = x.end()
			continue
		}
		n := h.mem.Fill(at, buffer[:min(uint64(len(buffer)), to-at)])
		*left -= max(n, pieceBytes)
		if !do(at, buffer[:n]) {
			return false
		}
		if n > 2*overlap && at+uint64(n) < to {
			n -= overlap
		}
		at += max(uint64(n)&^7, pieceBytes)
	}
	return true
}

// oldCaches finds caches before 5.3 in memory. Nothing leads to one but a thread's own pointer, and what proves it are its bins for small blocks: their
// pointers go up through one block, each not further from the one before than it has room for.
func (h *Heap) oldCaches(at uint64, b []byte) bool {
	word := func(off int) uint64 { return h.mem.Arch.Word(b[off:]) }
	ncached := func(off int) uint64 { return uint64(h.mem.Arch.ByteOrder.Uint32(b[off+4:])) }
	last := uint64(0) // where the cache before ends
	size, small, w := int(h.binBytes()), h.small(), int(h.word)
	for off := 0; off+small*size <= len(b); off += w {
		if at+uint64(off) < last {
			continue
		}
		v, next := word(off+16), word(off+16+size)
		if v == 0 || v > addrMask || v%h.word != 0 || next <= v || next-v > maxRoom*h.word {
			continue
		}
		good := true
		for i := 1; i < small && good; i++ {
			a, b := word(off+16+(i-1)*size), word(off+16+i*size)
			good = b > a && b%h.word == 0 && b-a <= maxRoom*h.word && ncached(off+i*size) <= (b-a)/h.word
		}
		stacks, ok := h.blockAt(v)
		if !good || !ok || stacks.Free || word(off+16+(small-1)*size) > stacks.End() || h.own[stacks.Start] {
			continue
		}
		h.own[stacks.Start] = true
		end := stacks.Start
		for i := range small {
			end = h.oldBin(at+uint64(off+i*size), i, stacks, end)
		}
		last = at + uint64(off+small*size)
		// The bins for large blocks come after some fields; their pointers go on where those of small blocks end.
		for gap := uint64(0); gap < maxGap; gap += h.word {
			large := last + gap
			if v, ok := h.mem.LookupWord(large + 16); !ok || v <= end || v-end > maxRoom*h.word || v > stacks.End() {
				continue
			}
			if v := h.mem.Word(large + 16 + h.binBytes()); v != 0 && (v <= h.mem.Word(large+16) || v > stacks.End()) {
				continue
			}
			for i := small; i < maxBins; i++ {
				v := h.mem.Word(large + 16)
				if v <= end || v > stacks.End() {
					break
				}
				end = h.oldBin(large, i, stacks, end)
				large += h.binBytes()
			}
			break
		}
	}
	return true
}

// oldBin reads a bin before 5.3. Its pointer is where its blocks end, and room for them begins at from.
func (h *Heap) oldBin(bin uint64, class int, stacks heap.Block, from uint64) (end uint64) {
	end = h.mem.Word(bin + 16)
	n, _ := h.mem.U32(bin + 4)
	if uint64(n) > (end-from)/h.word {
		h.note(heap.Damage{At: bin + 4, Size: 4, Why: fmt.Sprintf("a thread's cache says that it has %d blocks of %d bytes, more than there is room for", n, h.sizeOf(class)), Of: stacks})
		return end
	}
	h.keep(end-h.word*uint64(n), int(n), class)
	return end
}

// cache reads the cache whose slow half has the pointer to its stacks at an address. The cache itself follows, leads back, and its bins are where
// the slow half says.
func (h *Heap) cache(at uint64, stacks heap.Block) bool {
	w := h.word
	cache := h.mem.Word(at + w)
	slow := h.mem.Word(cache)
	if cache == 0 || at-slow < 5*w || at-slow > 1024 || h.mem.Word(slow+4*w) != cache+h.eights(w) {
		return false
	}
	h.own[stacks.Start] = true
	for i := range maxBins {
		bin := cache + h.eights(w) + uint64(i)*h.binBytes()
		first, ok := h.mem.LookupWord(bin)
		low, ok2 := h.mem.U16(bin + h.eights(w) + 8 + 4)
		if !ok || !ok2 || !stacks.Contains(first) {
			break
		}
		n := (uint64(low) - first) & 0xffff / w
		if n > (stacks.End()-first)/w {
			h.note(heap.Damage{At: bin, Size: int(w), Why: fmt.Sprintf("the pointer of a thread's cache, %#x, is not in its memory", first)})
			continue
		}
		h.keep(first, int(n), i)
	}
	return true
}

// keep notes the n blocks of a class that pointers at an address lead to.
func (h *Heap) keep(at uint64, n, class int) {
	blocks, ok := h.mem.Words(at, n)
	if !ok {
		return
	}
	for k, v := range blocks {
		if len(h.cached) >= maxCached {
			return
		}
		b, ok := h.blockAt(v)
		at := at + uint64(k)*h.word
		switch {
		case !ok || b.Start != v || b.Size != h.sizeOf(class):
			h.note(heap.Damage{At: at, Size: int(h.word), Why: fmt.Sprintf("a thread's cache has %#x, where no block of %d bytes begins", v, h.sizeOf(class))})
		case b.Free:
			h.note(heap.Damage{At: at, Size: int(h.word), Why: fmt.Sprintf("a thread's cache has the block at %#x, which is free already: in a %s", v, b.List), Of: b, Twice: true})
		}
		if ok && b.Start == v {
			h.cached[v] = true
		}
	}
}
