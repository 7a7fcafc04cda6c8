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
	maxCached     = 16 // numbers in a span's record
	inUse         = 0  // location of a span
)

// free reads what caches have: blocks that are free though they count as in use for their spans.
func (h *Heap) free() {
	if h.readLists {
		return
	}
	h.readLists = true
	h.lists = map[uint64]string{}
	h.processors()
	h.threads()
	h.transfers()
	h.sharded()
}

// own reports whether the allocator itself has a block: it stands for one that was chosen to be sampled, and is elsewhere.
func (h *Heap) own(start uint64) bool {
	if !h.l.Has("sample.proxy") {
		return false
	}
	if h.proxies == nil {
		h.proxies = map[uint64]bool{}
		all := h.all()
		for i := range all {
			if s := &all[i]; s.sample != 0 {
				if proxy := h.mem.Word(s.sample + h.l.At("sample.proxy")); proxy != 0 {
					h.proxies[proxy] = true
				}
			}
		}
	}
	return h.proxies[start]
}

// count is how many blocks a span is divided into; 0 if it is one.
func (h *Heap) count(s *span) uint64 {
	if s.class == 0 || s.class >= len(h.sizes) || h.sizes[s.class] == 0 || s.location != inUse {
		return 0
	}
	return s.size / h.sizes[s.class]
}

// moving is how many blocks a thread takes from spans, or gives them, at a time: counts are not right while it does.
const moving = 128

// freeIn are the blocks that a span lists as free. why says how it contradicts itself: then none is known. exact is false if it counts others than there are.
//
// Which way it lists them follows from their size: by bits, or by numbers, which are in bytes by eight, or, of larger blocks in older releases, by 64.
func (h *Heap) freeIn(s *span) (list []uint64, why string, exact bool) {
	count := h.count(s)
	if count == 0 {
		return nil, "", true
	}
	var record [maxSpan]byte
	b := record[:h.l.At("span.size")]
	h.mem.Fill(s.record, b)
	allocated := h.l.of("span.allocated", b)
	if count == 1 && allocated == 0 {
		return nil, "", true // the block is handed out as a span, and it is not counted
	}
	size, bits := h.l.Layout["span.bitmap.size"]
	if bits && h.l.Has("span.bitmap") && h.sizes[s.class] >= 1<<h.shift/(8*size) {
		list, why = h.bitmap(s, b, size, count)
	} else {
		unit := uint64(8)
		if fine, ok := h.l.Layout["sizes.fine"]; ok && h.sizes[s.class] > fine {
			unit = 64
		}
		list, why = h.indexes(s, b, count, unit)
	}
	all := allocated + uint64(len(list))
	switch {
	case allocated == count: // of one that is full nothing counts
		return nil, "", why == ""
	case why != "":
		return nil, why, false
	case max(all, count)-min(all, count) > moving:
		return nil, fmt.Sprintf("a span's record says that %d of its %d blocks are in use, and %d are free", allocated, count, len(list)), false
	}
	return list, "", all == count
}

// bitmap are the blocks of a span whose bits are set.
func (h *Heap) bitmap(s *span, b []byte, size, count uint64) (list []uint64, why string) {
	at := h.l.At("span.bitmap")
	for i := uint64(0); i < 8*size; i++ {
		switch k := at + i/8; {
		case k >= uint64(len(b)) || b[k]>>(i%8)&1 == 0:
		case i >= count:
			return nil, fmt.Sprintf("a span's record says that its block %d of %d is free", i, count)
		default:
			list = append(list, s.start+i*h.sizes[s.class])
		}
	}
	return list, ""
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
	n := h.l.of("span.cached", b)
	cache := h.mem.Bytes(s.record+h.l.At("span.cache"), int(2*min(n, maxCached))) // it may be longer than its type says
	if n > maxCached || cache == nil && n > 0 {
		return nil, fmt.Sprintf("a span's record says that it has %d numbers: there is no room", n)
	}
	for i := range n {
		if !take(uint64(order.Uint16(cache[2*i:]))) {
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

// begins reports whether a block of a class begins at an address.
func (h *Heap) begins(at uint64, class int) bool {
	s, ok := h.spanAt(at)
	if !ok || s.class != class || h.count(&s) == 0 {
		return false
	}
	off := at - s.start
	return off%h.sizes[s.class] == 0 && off/h.sizes[s.class] < h.count(&s)
}

// give notes that a block of a class is in a cache. It is false if there is no such block.
func (h *Heap) give(at uint64, list string, class int) bool {
	if h.budget--; h.budget <= 0 || len(h.lists) >= maxListed {
		return true
	}
	if !h.begins(at, class) {
		return false
	}
	if was := h.lists[at]; was != "" {
		h.note(twice(at, h.sizes[class], list, was))
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
	h.budget -= len(h.sizes)
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
		if !h.give(s.block, "processor cache", s.class) {
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
			if h.budget--; h.budget <= 0 {
				return
			}
			if !ok || n == 0 {
				continue
			}
			h.chain(list+h.l.At("list.first"), int(n), class)
		}
	}
}

// chain notes the blocks of a thread's list, to whose first a pointer leads, and each to the next.
func (h *Heap) chain(head uint64, n, class int) {
	prev := uint64(0)
	for at := h.mem.Word(head); n > 0 && at != 0 && h.budget > 0; n-- {
		was := h.lists[at]
		if !h.give(at, "thread cache", class) {
			if prev != 0 {
				h.note(heap.Damage{At: prev, Size: 8, Why: fmt.Sprintf("the list's pointer there, %#x, leads to no block", at), Of: heap.Block{Start: prev, Size: h.sizes[class], Free: true, List: "thread cache"}, Written: true})
			} else {
				h.note(heap.Begins("thread cache", head, 8, at, h.sizes[class]))
			}
			return
		}
		if was != "" {
			return // it may go on for ever
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
	if h.budget--; h.budget <= 0 {
		return true
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
		h.give(h.mem.Word(slot), "transfer cache", class)
	}
	for _, d := range wrong {
		h.note(d)
	}
	if capacity > 0 {
		h.records = append(h.records, [2]uint64{table, table + 8*uint64(capacity)})
	}
	return true
}
