package gtcmalloc

import (
	"fmt"
	"math/bits"

	"github.com/corewalk/corewalk/internal/heap"
)

const (
	maxProcessors = 1 << 13
	maxThreads    = 1 << 14
	maxSlots      = 1 << 16 // of one cache between threads
	maxShards     = 1 << 10
	maxGuarded    = 1 << 12
	listEnd       = 0xffff
	inUse         = 0 // location of a span
)

// free reads what is free though its span is in use: what spans list, what processors and threads keep, and what is between them.
func (h *Heap) free() {
	if h.readLists {
		return
	}
	h.readLists = true
	h.lists, h.own = map[uint64]string{}, map[uint64]bool{}
	var record [maxSpan]byte
	for i := range h.spans {
		s := &h.spans[i]
		if s.sample != 0 {
			if proxy := h.mem.Word(s.sample + h.l.At("sample.proxy")); h.l.Has("sample.proxy") && proxy != 0 && h.begins(proxy, 0) {
				h.own[proxy] = true
			}
		}
		if n := h.count(s); n > 0 {
			b := record[:h.l.At("span.size")]
			h.mem.Fill(s.record, b)
			h.listed(s, b, n)
		}
	}
	h.processors()
	h.threads()
	h.transfers()
	h.sharded()
}

// count is how many blocks a span is divided into; 0 if it is one.
func (h *Heap) count(s *span) uint64 {
	if s.class == 0 || s.class >= len(h.sizes) || h.sizes[s.class] == 0 || s.location != inUse {
		return 0
	}
	return s.size / h.sizes[s.class]
}

// listed notes the blocks that a span of count blocks lists. Which way it does follows from their size; numbers of blocks are in bytes by eight, or, of larger
// blocks in older releases, by 64.
func (h *Heap) listed(s *span, b []byte, count uint64) {
	allocated := h.l.of("span.allocated", b)
	if count == 1 && allocated == 0 {
		return // the block is handed out as a span, and it is not counted
	}
	if bitmap, ok := h.l.Layout["span.bitmap"]; ok {
		if size := h.l.At("span.bitmap.size"); h.sizes[s.class] >= 1<<h.shift/(8*size) {
			h.bitmap(s, b, bitmap, size, count, allocated)
			return
		}
	}
	unit := uint64(8)
	if fine, ok := h.l.Layout["sizes.fine"]; ok && h.sizes[s.class] > fine {
		unit = 64
	}
	list, why := h.indexes(s, b, count, unit)
	if why != "" {
		if allocated != count { // of one that is full nothing counts
			h.contradict(s, why)
		}
		return
	}
	h.counted(s, allocated, uint64(len(list)), count)
	for _, at := range list {
		h.give(at, "span", s.class, s)
	}
}

// bitmap notes the blocks of a span whose bits are set.
func (h *Heap) bitmap(s *span, b []byte, at, size, count, allocated uint64) {
	free := uint64(0)
	for i := uint64(0); i < 8*size; i++ {
		switch k := at + i/8; {
		case k >= uint64(len(b)) || b[k]>>(i%8)&1 == 0:
		case i >= count:
			h.contradict(s, fmt.Sprintf("a span's record says that its block %d of %d is free", i, count))
			return
		default:
			free++
			h.give(s.start+i*h.sizes[s.class], "span", s.class, s)
		}
	}
	h.counted(s, allocated, free, count)
}

// moving is how many blocks a thread takes from spans, or gives them, at a time: counts are not right while it does.
const moving = 128

// counted proves that a span counts as many blocks as it has.
func (h *Heap) counted(s *span, allocated, free, count uint64) {
	switch all := allocated + free; {
	case all == count:
	case max(all, count)-min(all, count) <= moving:
		h.unlike++
	default:
		h.contradict(s, fmt.Sprintf("a span's record says that %d of its %d blocks are in use, and %d are free", allocated, count, free))
	}
}

// indexes are the free blocks of a span by their numbers in units of bytes: some in the span's record, others in free blocks, each of which has the next such
// block first.
func (h *Heap) indexes(s *span, b []byte, count, unit uint64) (list []uint64, why string) {
	order := h.mem.Arch.ByteOrder
	size := h.sizes[s.class]
	taken := map[uint64]bool{}
	take := func(index uint64) bool {
		off := index * unit
		if off%size != 0 || off/size >= count || taken[off] {
			why = fmt.Sprintf("a span's list of free blocks has %#x, where none begins", s.start+off)
			return false
		}
		if h.budget--; h.budget <= 0 {
			why = "too many blocks"
			return false
		}
		taken[off] = true
		list = append(list, s.start+off)
		return true
	}
	at := h.l.At("span.cache")
	for i := range h.l.of("span.cached", b) {
		if at+2*i+2 > uint64(len(b)) || !take(uint64(order.Uint16(b[at+2*i:]))) {
			return nil, why
		}
	}
	embedded := h.l.of("span.embedded", b)
	for next := h.l.of("span.freelist", b); next != listEnd; embedded = size/2 - 1 {
		if !take(next) {
			return nil, why
		}
		if embedded >= size/2 {
			return nil, fmt.Sprintf("a span's record says that a block has %d numbers of others: there is no room", embedded)
		}
		host := h.mem.Bytes(s.start+next*unit, int(2*embedded+2))
		if host == nil {
			return nil, "free blocks are not in the dump"
		}
		for k := uint64(1); k <= embedded; k++ {
			if !take(uint64(order.Uint16(host[2*k:]))) {
				return nil, why
			}
		}
		next = uint64(order.Uint16(host))
	}
	return list, ""
}

// contradict notes that a span contradicts itself: what of it is free is not known then.
func (h *Heap) contradict(s *span, why string) {
	h.unlike++
	h.note(heap.Damage{At: s.record, Size: int(h.l.At("span.size")), Why: why, Of: heap.Block{Start: s.start}})
}

// begins reports whether a block of a class begins at an address; class 0 for any.
func (h *Heap) begins(at uint64, class int) bool {
	s := h.spanAt(at)
	if s == nil || class != 0 && s.class != class || h.count(s) == 0 {
		return false
	}
	off := at - s.start
	return off%h.sizes[s.class] == 0 && off/h.sizes[s.class] < h.count(s)
}

// give notes that a block of a class is on a list, of a span if that is known. It is false if there is no such block.
func (h *Heap) give(at uint64, list string, class int, within *span) bool {
	if h.budget--; h.budget <= 0 || len(h.lists) >= maxListed {
		return true
	}
	if within == nil && !h.begins(at, class) {
		return false
	}
	if was := h.lists[at]; was != "" {
		h.note(heap.Damage{At: at, Size: 8, Why: fmt.Sprintf("it is in a %s, and in a %s already", list, was), Of: heap.Block{Start: at, Size: h.sizes[class], Free: true, List: was}, Twice: true})
		return true
	}
	h.lists[at] = list
	return true
}

// processors reads the caches of processors: tables of words, of which a head for each class has where the part of the class ends that is in use.
func (h *Heap) processors() {
	base, ok := h.at["cpu_cache_"]
	if !ok || !h.l.Has("cpu.resize") || !h.l.Has("resize.populated") {
		return
	}
	slabs, shift := h.slabs(base)
	resize := h.mem.Word(base + h.l.At("cpu.resize"))
	if slabs == 0 || resize == 0 || shift < 10 || shift > 26 {
		return
	}
	begins := uint64(0)
	if h.l.Has("cpu.begins") {
		if begins = h.mem.Word(base + h.l.At("cpu.begins")); begins == 0 {
			return
		}
	}
	for cpu := range uint64(maxProcessors) {
		populated, ok := h.mem.U8(resize + cpu*h.l.At("resize.size") + h.l.At("resize.populated"))
		if !ok || populated > 1 || h.budget <= 0 {
			return // there are no more
		}
		if populated == 1 && !h.processor(slabs+cpu<<shift, 1<<shift, begins) {
			return
		}
	}
}

// slabs is where the caches of processors are, and how large each is, as a power of two.
func (h *Heap) slabs(base uint64) (at uint64, shift uint) {
	if off, ok := h.l.Layout["cpu.packed"]; ok {
		v := h.mem.Word(base + off)
		return v &^ 0xff, uint(v & 0xff)
	}
	size := h.l.At("cpu.slab.size")
	if off, ok := h.l.Layout["cpu.slabs"]; ok && size < 1<<26 {
		return h.mem.Word(base + off), uint(bits.Len64(size) - 1)
	}
	return 0, 0
}

// processor reads the cache of a processor. Heads are of four bytes, where what is in use ends and where the part ends, if it is elsewhere where parts begin;
// else of eight: where what is in use ends, a copy, where the part begins and ends. It is false if there is no cache.
func (h *Heap) processor(at, size, begins uint64) bool {
	type slot struct {
		at, block uint64
		class     int
	}
	var found []slot
	good, bad := 0, 0
	order := h.mem.Arch.ByteOrder
	head, first := uint64(8), uint64(0)
	if begins != 0 {
		head = 4
	}
	heads := h.mem.Bytes(at, int(head)*len(h.sizes))
	if heads == nil {
		return false
	}
	for class := 1; class < len(h.sizes); class++ {
		b := heads[uint64(class)*head:]
		current := uint64(order.Uint16(b))
		if begins != 0 {
			v, ok := h.mem.U16(begins + 2*uint64(class))
			if first = uint64(v); !ok {
				return false
			}
		} else if first = uint64(order.Uint16(b[4:])); first == 0xffff {
			h.note(heap.Damage{At: at + uint64(class)*head, Size: 8, Why: fmt.Sprintf("a processor's cache of blocks of %d bytes was being emptied: they count as in use", h.sizes[class])})
			continue
		}
		if first == 0 || current <= first || h.sizes[class] == 0 {
			continue
		}
		if 8*current > size {
			bad++
			continue
		}
		words, ok := h.mem.Words(at+8*first, int(current-first))
		if !ok {
			bad++
			continue
		}
		for i, v := range words {
			if h.begins(v, class) {
				good++
			} else {
				bad++
			}
			found = append(found, slot{at + 8*(first+uint64(i)), v, class})
		}
	}
	if bad > good {
		return false
	}
	h.records = append(h.records, [2]uint64{at, at + size})
	for _, s := range found {
		if !h.give(s.block, "processor cache", s.class, nil) {
			h.note(heap.Damage{At: s.at, Size: 8, Why: fmt.Sprintf("a processor's cache of blocks of %d bytes has %#x, where none begins", h.sizes[s.class], s.block)})
		}
	}
	return true
}

// threads reads the caches of threads, which form a list: they are where processors have none.
func (h *Heap) threads() {
	at, ok := h.at["threads"]
	if !ok || !h.l.Has("thread.next") || !h.l.Has("thread.lists") || !h.l.Has("thread.list.size") || !h.l.Has("list.first") || !h.l.Has("list.length") {
		return
	}
	seen := map[uint64]bool{}
	for at = h.mem.Word(at); at != 0 && !seen[at] && len(seen) < maxThreads; at = h.mem.Word(at + h.l.At("thread.next")) {
		seen[at] = true
		for class := 1; class < len(h.sizes); class++ {
			list := at + h.l.At("thread.lists") + uint64(class)*h.l.At("thread.list.size")
			n, ok := h.mem.U32(list + h.l.At("list.length"))
			if !ok || n == 0 {
				continue
			}
			if h.budget <= 0 {
				return
			}
			h.chain(list+h.l.At("list.first"), int(n), class)
		}
	}
}

// chain notes the blocks of a thread's list, to whose first a pointer leads, and each to the next.
func (h *Heap) chain(head uint64, n, class int) {
	prev := uint64(0)
	for at := h.mem.Word(head); n > 0 && at != 0; n-- {
		switch {
		case h.budget <= 0 || h.lists[at] != "" && !h.give(at, "thread cache", class, nil):
			return
		case h.lists[at] != "":
			return // twice
		case h.give(at, "thread cache", class, nil):
		case prev != 0:
			h.note(heap.Damage{At: prev, Size: 8, Why: fmt.Sprintf("the list's pointer there, %#x, leads to no block", at), Of: heap.Block{Start: prev, Size: h.sizes[class], Free: true, List: "thread cache"}, Written: true})
			return
		default:
			h.note(heap.Begins("thread cache", head, 8, at, h.sizes[class]))
			return
		}
		prev, at = at, h.mem.Word(at)
	}
}

// transfers reads the caches between threads or processors, one for each class.
func (h *Heap) transfers() {
	base, ok := h.at["transfer_cache_"]
	if !ok || !h.l.Has("transfer.cache") || !h.l.Has("transfer.size") {
		return
	}
	for class := 1; class < len(h.sizes); class++ {
		at := base + h.l.At("transfer.cache") + uint64(class)*h.l.At("transfer.size")
		if !h.slots(at, "transfer", class, false) && h.l.Has("ring.slots") {
			h.slots(at, "ring", class, true)
		}
	}
}

// sharded reads those that some processors share.
func (h *Heap) sharded() {
	base, ok := h.at["sharded_transfer_cache_"]
	if !ok || !h.l.Has("shards") || !h.l.Has("shards.count") || !h.l.Has("sharded.size") {
		return
	}
	shards := h.mem.Word(base + h.l.At("shards"))
	n, ok := h.mem.U32(base + h.l.At("shards.count"))
	if shards == 0 || !ok || n > maxShards {
		return
	}
	for i := range uint64(n) {
		caches := h.mem.Word(shards + i*h.l.At("shard.size") + h.l.At("shard.caches"))
		if caches == 0 {
			continue
		}
		for class := 1; class < len(h.sizes); class++ {
			h.slots(caches+uint64(class)*h.l.At("sharded.size"), "sharded", class, h.l.Has("sharded.mask"))
		}
	}
}

// slots reads a cache that is a table of pointers: how many there are of how many, before which, in a ring, is where they begin. It is false if there is none.
func (h *Heap) slots(at uint64, kind string, class int, ring bool) bool {
	if !h.l.Has(kind+".slots") || !h.l.Has(kind+".used") || h.sizes[class] == 0 {
		return false
	}
	table := h.mem.Word(at + h.l.At(kind+".slots"))
	info := at + h.l.At(kind+".used")
	start, mask := uint32(0), uint64(maxSlots)
	if ring {
		start, _ = h.mem.U32(info)
		mask = h.mem.Word(at + h.l.At(kind+".mask"))
		info += 4
	}
	used, ok := h.mem.U32(info)
	capacity, ok2 := h.mem.U32(info + 4)
	if table == 0 || table%8 != 0 || !ok || !ok2 || used > maxSlots || capacity > maxSlots || used > capacity || mask > maxSlots {
		return false
	}
	good := 0
	var wrong []heap.Damage
	for i := range uint64(used) {
		slot := table + 8*i
		if ring {
			slot = table + 8*((uint64(start)+i)&mask)
		}
		v := h.mem.Word(slot)
		if h.begins(v, class) {
			good++
		} else {
			wrong = append(wrong, heap.Damage{At: slot, Size: 8, Why: fmt.Sprintf("a transfer cache of blocks of %d bytes has %#x, where none begins", h.sizes[class], v)})
		}
		if len(wrong) > good+1 {
			return false
		}
	}
	for i := range uint64(used) {
		slot := table + 8*i
		if ring {
			slot = table + 8*((uint64(start)+i)&mask)
		}
		h.give(h.mem.Word(slot), "transfer cache", class, nil)
	}
	for _, d := range wrong {
		h.note(d)
	}
	if capacity > 0 {
		h.records = append(h.records, [2]uint64{table, table + 8*uint64(capacity)})
	}
	return true
}
