package python

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
)

// The heap of small objects as Objects/obmalloc.c of the releases lays it out: arenas of anonymous memory, which are cut into pools, each with
// blocks of one size. What is larger than 512 bytes is of the C library's malloc. Pools are found by their headers, each of which its own list of
// free blocks proves: the interpreter's table of arenas has no symbol that is exported, and each interpreter may have one of its own.

const (
	poolHead      = 48 // sizeof(struct pool_header), and where the first block is
	poolFree      = 8  // its fields
	poolClass     = 36
	poolNext      = 40
	poolLast      = 44
	smallRequest  = 512 // the largest
	maxPool       = 16 << 10
	maxProbes     = 1 << 24 // places where a pool may begin
	maxDamages    = 32
	maxPoolBlocks = maxPool / 8
)

// A pool is memory with blocks of one size.
type pool struct {
	start uint64
	size  uint32 // of a block
	used  bool   // some of them are
}

// A smallHeap is the allocator of small objects. It implements heap.Allocator.
type smallHeap struct {
	r     *runtime
	mem   procmem.Reader
	bytes uint64 // of a pool
	pools []pool // by address
	cut   bool   // not all memory was searched
	buf   []byte
}

// Heap implements heap.Owner. It is nil where the interpreter has no pools: free-threaded builds use mimalloc, and PYTHONMALLOC may say so.
func (r *runtime) Heap() heap.Allocator {
	p, is := r.p.State.(heap.Process)
	if !is || r.free {
		return nil
	}
	h := &smallHeap{r: r, mem: procmem.Of(p), bytes: 4 << 10, buf: make([]byte, maxPool)}
	if r.minor >= 10 {
		h.bytes = maxPool
	}
	modules := p.LibraryTracker()
	probes := 0
	for _, m := range p.Mappings() {
		if m.Perm&libstate.Write == 0 || m.Path != "" && !strings.HasPrefix(m.Path, "[anon") {
			continue
		}
		if modules != nil {
			if _, ok := modules.LibraryAt(m.Start); ok {
				continue
			}
		}
		for at := (uint64(m.Start) + h.bytes - 1) &^ (h.bytes - 1); at < uint64(m.End) && uint64(m.End)-at >= h.bytes; at += h.bytes {
			if probes++; probes > maxProbes || r.p.Spend(1) != nil {
				h.cut = true
				break
			}
			if q, ok := h.poolAt(at); ok {
				h.pools = append(h.pools, q)
			}
		}
	}
	if len(h.pools) == 0 {
		return nil
	}
	slices.SortFunc(h.pools, func(a, b pool) int { return cmp.Compare(a.start, b.start) })
	return h
}

// poolAt reads the header of a pool. It is false where none is: what it says of itself has to agree.
func (h *smallHeap) poolAt(at uint64) (pool, bool) {
	b := h.buf[:poolHead]
	if h.mem.Fill(at, b) < poolHead {
		return pool{}, false
	}
	o := h.mem.Arch.ByteOrder
	class, next, last := uint64(o.Uint32(b[poolClass:])), uint64(o.Uint32(b[poolNext:])), uint64(o.Uint32(b[poolLast:]))
	size := h.bytes - last
	if size > smallRequest || size != (class+1)*8 && size != (class+1)*16 || next < poolHead+size || next > last+size || (next-poolHead)%size != 0 {
		return pool{}, false
	}
	count, free := uint64(o.Uint32(b)), o.Uint64(b[poolFree:])
	if count > (next-poolHead)/size || free != 0 && (free-at < poolHead || free-at >= next || (free-at-poolHead)%size != 0) {
		return pool{}, false
	}
	return pool{start: at, size: uint32(size), used: count > 0}, true
}

// A poolState says which blocks of a pool are free.
type poolState struct {
	carved uint64 // blocks that were handed out at some time
	free   [maxPoolBlocks / 64]uint64
	at     uint64 // the record that is wrong
	wrong  string // what is wrong with it; "" for nothing
}

func (s *poolState) isFree(i uint64) bool { return i >= s.carved || s.free[i/64]&(1<<(i%64)) != 0 }

// state reads a pool, and walks its list of free blocks, which begin with the address of the next.
func (h *smallHeap) state(q *pool) (s poolState) {
	b := h.buf[:h.mem.Fill(q.start, h.buf[:h.bytes])]
	if len(b) < poolHead {
		return s
	}
	o := h.mem.Arch.ByteOrder
	size := uint64(q.size)
	s.carved = min((uint64(o.Uint32(b[poolNext:]))-poolHead)/size, (h.bytes-poolHead)/size)
	s.at = q.start + poolFree
	listed := uint64(0)
	for free := o.Uint64(b[poolFree:]); free != 0; listed++ {
		off := free - q.start
		i := (off - poolHead) / size
		if (off-poolHead)%size != 0 || i >= s.carved {
			s.wrong = fmt.Sprintf("the list of free blocks leads to %#x, which is no block of the pool", free)
			return s
		}
		if s.free[i/64]&(1<<(i%64)) != 0 {
			s.wrong = fmt.Sprintf("the list of free blocks comes to %#x again", free)
			return s
		}
		if off+8 > uint64(len(b)) { // the dump ends
			return s
		}
		s.free[i/64] |= 1 << (i % 64)
		s.at = free
		free = o.Uint64(b[off:])
	}
	count := uint64(o.Uint32(b))
	if d := int64(count+listed) - int64(s.carved); d < -1 || d > 1 { // by one it may differ while a block is handed out
		s.at = q.start
		s.wrong = fmt.Sprintf("%d blocks are said to be in use, and %d of %d are free", count, listed, s.carved)
	}
	return s
}

// Name implements heap.Allocator.
func (h *smallHeap) Name() string { return "Python's small objects" }

// block is the i-th of a pool.
func (q *pool) block(s *poolState, i uint64) heap.Block {
	b := heap.Block{Start: q.start + poolHead + i*uint64(q.size), Size: uint64(q.size)}
	if s.isFree(i) {
		b.Free, b.List = true, "pool"
	}
	return b
}

// Blocks implements heap.Allocator. A pool without a block in use is one free block.
func (h *smallHeap) Blocks(yield func(heap.Block) bool) {
	for k := range h.pools {
		q := &h.pools[k]
		if !q.used {
			if !yield(h.empty(q)) {
				return
			}
			continue
		}
		s := h.state(q)
		for i := range (h.bytes - poolHead) / uint64(q.size) {
			if !yield(q.block(&s, i)) {
				return
			}
		}
	}
}

func (h *smallHeap) empty(q *pool) heap.Block {
	return heap.Block{Start: q.start + poolHead, Size: h.bytes - poolHead, Free: true, List: "empty pool"}
}

// BlockAt implements heap.Allocator.
func (h *smallHeap) BlockAt(addr uint64) (heap.Block, bool) {
	k := heap.Within(h.pools, addr, func(q *pool) (start, end uint64) { return q.start, q.start + h.bytes })
	if k < 0 || addr-h.pools[k].start < poolHead {
		return heap.Block{}, false
	}
	q := &h.pools[k]
	if !q.used {
		return h.empty(q), true
	}
	i := (addr - q.start - poolHead) / uint64(q.size)
	if i >= (h.bytes-poolHead)/uint64(q.size) {
		return heap.Block{}, false
	}
	s := h.state(q)
	return q.block(&s, i), true
}

// Records implements heap.Allocator: the headers of pools are in Ranges, and the table of arenas leads to no block.
func (h *smallHeap) Records() [][2]uint64 { return nil }

// Ranges implements heap.Ranged.
func (h *smallHeap) Ranges() (list [][2]uint64) {
	for i := range h.pools {
		start := h.pools[i].start
		if n := len(list); n > 0 && list[n-1][1] == start {
			list[n-1][1] += h.bytes
			continue
		}
		list = append(list, [2]uint64{start, start + h.bytes})
	}
	return list
}

// Damages implements heap.Allocator.
func (h *smallHeap) Damages() (list []heap.Damage) {
	for k := range h.pools {
		q := &h.pools[k]
		if !q.used || len(list) >= maxDamages {
			continue
		}
		if s := h.state(q); s.wrong != "" {
			list = append(list, heap.Damage{At: s.at, Size: 8, Why: s.wrong, Written: s.at >= q.start+poolHead})
		}
	}
	if h.cut && len(h.pools) > 0 {
		last := &h.pools[len(h.pools)-1]
		list = append(list, heap.Damage{At: last.start + h.bytes, Why: "more memory than is searched for pools"})
	}
	return list
}
