package asan

import (
	"path"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

// Stacks are in a depot: nodes by number (StackDepotNode), each with the hash of its stack. The stacks are in a store (StackStore, since LLVM 14), and
// nodes say where; or a table of its own has where each is (tracePtrs, as of GCC 12). Tables of pointers in the runtime's data lead to all. They are
// found by the first stack: its hash proves them, as that of each stack that is asked for does.
const (
	page       = 4096
	nodeSize   = 16
	nodesEach  = 1 << 16  // kNodesSize2
	nodesMost  = 1 << 31  // kIdSizeLog
	framesEach = 1 << 20  // StackStore::kBlockSizeFrames
	blockInfo  = 16       // sizeof(StackStore::BlockInfo)
	maxFrames  = 255      // StackTraceHeader::kStackSizeBits
	maxPages   = 1 << 14  // pointers to pages that are tried
	maxData    = 12 << 20 // of the runtime, with what a program has before it
	maxLarge   = 1 << 18  // kMaxNumChunks
)

type depot struct {
	nodes, stacks uint64 // tables of pointers; 0 if they are not found
	store         bool   // stacks is a store
}

// A first is a table that may be of the depot, and the hash of the first stack.
type first struct {
	table, hash uint64
	store       bool
}

// search finds the depot, and large chunks, by what the data of libraries points to.
func (h *Heap) search() {
	if h.searched {
		return
	}
	h.searched = true
	if h.word == 4 {
		h.search32()
		return
	}
	a := h.mem.Arch
	tried := map[uint64]bool{}
	heap.Data(runtimeFirst{h.p}, maxData, func(at uint64, b []byte) bool {
		var nodes, stacks []first
		var arrays []uint64
		for off := 0; off+8 <= len(b) && len(tried) < maxPages; off += 8 {
			v := a.Word(b[off:])
			if v == 0 || v%page != 0 || v>>47 != 0 || tried[v] {
				continue
			}
			tried[v] = true
			w, ok := h.mem.Words(v, 4)
			if !ok {
				continue
			}
			table := at + uint64(off)
			if w[0] == 0 && w[1] == 0 && w[2] != 0 && (w[3] == 0 || w[3] == 1<<32) { // no node has number 0; the first is in no list, and its stack is the first
				nodes = append(nodes, first{table, w[2], w[3] != 0})
			}
			if w[0] != 0 && w[0] < 1<<16 {
				if _, hash, ok := h.stack(v, 0); ok {
					stacks = append(stacks, first{table, hash, true})
				}
			}
			if w[0] == 0 && w[1] != 0 && w[1]%8 == 0 {
				if _, hash, ok := h.stack(w[1], 0); ok {
					stacks = append(stacks, first{table, hash, false})
				}
			}
			if w[0] != 0 && w[0]%page == 0 && w[0]>>47 == 0 {
				arrays = append(arrays, v)
			}
		}
		h.depot = depotOf(nodes, stacks)
		for _, at := range arrays {
			if h.large == nil {
				h.large = h.largeChunks(at)
			}
		}
		return h.depot.nodes == 0 // the runtime's data are in one mapping
	})
}

// A runtimeFirst process has the sanitizer's own library first, if it is one by itself: a program may have much data before it.
type runtimeFirst struct{ heap.Process }

func (p runtimeFirst) LibraryTracker() libstate.LibraryState {
	if libs := p.Process.LibraryTracker(); libs != nil {
		return sorted{libs}
	}
	return nil
}

type sorted struct{ libstate.LibraryState }

func (s sorted) Libraries(refresh bool) ([]*libstate.Library, error) {
	list, err := s.LibraryState.Libraries(refresh)
	list = slices.Clone(list)
	of := func(l *libstate.Library) int {
		if strings.Contains(path.Base(l.Path), "asan") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b *libstate.Library) int { return of(a) - of(b) })
	return list, err
}

// depotOf is the depot among tables that may be of one.
func depotOf(nodes, stacks []first) depot {
	type key struct {
		hash  uint64
		store bool
	}
	by := map[key]uint64{}
	for _, s := range stacks {
		by[key{s.hash, s.store}] = s.table
	}
	for _, n := range nodes {
		if table := by[key{n.hash, n.store}]; table != 0 {
			return depot{n.table, table, n.store}
		}
	}
	return depot{}
}

// largeChunks are those of an array of headers (LargeMmapAllocator::Header), each of which has its index in the array.
func (h *Heap) largeChunks(array uint64) (all []chunk) {
	for i := uint64(0); i < maxLarge; i++ {
		header, ok := h.mem.LookupWord(array + i*h.word)
		if h.budget--; h.budget <= 0 || !ok || header == 0 || header%page != 0 {
			break
		}
		w, ok := h.mem.Words(header, 4) // map_beg, map_size, size, chunk_idx
		if !ok || w[3] != i || w[0] > header || w[1] > maxAllowed || w[2] > w[1] || w[2] < headerSize+8 || w[0]+w[1] < w[0] || header+page+w[2] > w[0]+w[1] {
			break
		}
		b := h.mem.Bytes(header+page, 16)
		if b == nil {
			break
		}
		all = append(all, h.chunk(header+page, w[2], b))
	}
	slices.SortFunc(all, func(a, b chunk) int {
		if a.beg < b.beg {
			return -1
		}
		return 1
	})
	for i := 1; i < len(all); i++ {
		if all[i].beg < all[i-1].end {
			return all[:i]
		}
	}
	return all
}

// stack reads a stack, and its hash. Its tag is beside its length in a store, else in its node.
func (h *Heap) stack(at, tag uint64) (frames []uint64, hash uint64, ok bool) {
	head, ok := h.mem.LookupWord(at)
	n := head & maxFrames
	if !ok || n == 0 || head >= 1<<16 {
		return nil, 0, false
	}
	frames, ok = h.mem.Words(at+8, int(n))
	if !ok {
		return nil, 0, false
	}
	return frames, murmur2(frames, head>>8|tag), true
}

// murmur2 is the hash of a stack (MurMur2Hash64Builder).
func murmur2(frames []uint64, tag uint64) uint64 {
	const m, r, seed = 0xc6a4a7935bd1e995, 47, 0x9747b28c9747b28c
	x := seed ^ uint64(len(frames))*8*m
	add := func(k uint64) {
		k *= m
		k ^= k >> r
		x = (x ^ k*m) * m
	}
	for _, f := range frames {
		add(f)
	}
	add(tag)
	x ^= x >> r
	x *= m
	return x ^ x>>r
}

// stackOf is the stack with a number; nil if it is not known.
func (h *Heap) stackOf(id uint32) []uint64 {
	h.search()
	if id == 0 || id >= nodesMost || h.depot.nodes == 0 {
		return nil
	}
	block := h.mem.Word(h.depot.nodes + uint64(id)/nodesEach*8)
	if block == 0 {
		return nil
	}
	w, ok := h.mem.Words(block+uint64(id)%nodesEach*nodeSize, 2)
	if !ok {
		return nil
	}
	var at, tag uint64
	if h.depot.store {
		i := w[1]>>32 - 1
		if data := h.mem.Word(h.depot.stacks + i/framesEach*blockInfo); data != 0 && w[1]>>32 != 0 {
			at = data + i%framesEach*8
		}
	} else if part := h.mem.Word(h.depot.stacks + uint64(id)/nodesEach*8); part != 0 {
		at, tag = h.mem.Word(part+uint64(id)%nodesEach*8), w[1]>>32
	}
	if at == 0 {
		return nil
	}
	frames, hash, ok := h.stack(at, tag)
	if !ok || hash != w[0] {
		return nil // of another one, or packed
	}
	return frames
}

// History implements heap.Traced.
func (h *Heap) History(b heap.Block) (heap.History, bool) {
	c, _, ok := h.chunkAt(b.Start)
	if !ok || c.header == 0 || c.damage != "" || c.header+headerSize != b.Start {
		return heap.History{}, false
	}
	w, ok := h.mem.Words(c.header+8, 2)
	if !ok {
		return heap.History{}, false
	}
	out := heap.History{Allocated: h.event(w[0])}
	switch c.kind {
	case 1:
		out.How = "malloc"
	case 2:
		out.How = "operator new"
	case 3:
		out.How = "operator new[]"
	}
	if e := h.event(w[1]); c.state == quarantine && (e.Thread >= 0 || uint32(w[1]) != 0) { // kInvalidTid and no stack: it is being freed
		out.Freed = &e
	}
	return out, true
}

// event is what a context (alloc_context_id, free_context_id) says.
func (h *Heap) event(context uint64) heap.Event {
	return heap.Event{Thread: int(int32(context >> 32)), Stack: h.stackOf(uint32(context))}
}
