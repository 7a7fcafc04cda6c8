// Package gtcmalloc reads the heap of Google's tcmalloc, on 64 bits with 48 bits of addresses. It has had another layout every few weeks, so the layout is that of
// the program's debugging information; where the program has symbols only, those of some releases are tried, and memory says which one it is.
//
// A tree leads from pages to spans of them. A span is one block, or many of one size, of which it lists those that are free; what the caches of processors and
// threads and those between them have counts as in use for the span, and is read from there.
package gtcmalloc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	maxClasses = 1 << 10
	maxSpan    = 256 // bytes of a span's record
	maxSpans   = 1 << 24
	maxTries   = 1 << 22 // leaves that are looked for
	maxAsked   = 4 << 30 // bytes of leaves
	maxDeleted = 1 << 20
	maxDamages = 32
	maxListed  = 1 << 22
)

// Program is what the files of a process's modules say of it: a heap.Process that implements it may have this allocator.
type Program interface {
	// SymbolNamed is where the variable or function with a linkage name is, and how large.
	SymbolNamed(name string) (addr, size uint64, ok bool)
	// TypeOfUnit is the type with a name that the unit has of which the code at an address is.
	TypeOfUnit(code uint64, name string) (*types.Type, bool)
}

// What the class with everything is called, and its function that begins it, by both of its names.
const (
	className  = "tcmalloc::tcmalloc_internal::Static"
	prefix     = "_ZN8tcmalloc17tcmalloc_internal6Static"
	beginner   = prefix + "19SlowInitIfNecessaryEv"
	threadList = "_ZN8tcmalloc17tcmalloc_internal11ThreadCache13thread_heaps_E"
)

// variables are those of the class.
var variables = [...]string{"pagemap_", "sizemap_", "span_allocator_", "cpu_cache_", "transfer_cache_", "sharded_transfer_cache_", "guardedpage_allocator_"}

// Options bound the work.
type Options struct {
	// Blocks is how many blocks are looked at in all; 0 means 1<<26.
	Blocks int
}

// A Heap is the heap of one process. It implements heap.Allocator.
type Heap struct {
	mem     procmem.Reader
	maps    []libstate.Mapping
	at      map[string]uint64 // where variables are
	l       layout
	shift   uint // of a page
	sizes   []uint64
	damages []heap.Damage
	budget  int
	window  heap.Window

	// Of all spans, which are read when they are first needed: by address, and what spans were that are no more.
	spans   []span
	left    [][2]uint64
	whole   bool
	deleted map[uint64]bool // records of those; nil as long as nobody asked

	// What caches have, which are read when they are first needed.
	lists     map[uint64]string // of blocks, by address
	records   [][2]uint64
	readLists bool

	last     uint64 // the record of the span about which somebody asked last
	lastFree map[uint64]bool
	walked   bool // for damages of spans
	proxies  map[uint64]bool
}

// A span is memory that is one block, or many of one size, or free.
type span struct {
	start, size uint64
	record      uint64
	class       int
	location    uint64
	sample      uint64 // what is kept of a block that was chosen to be; 0 for others
}

func (s *span) end() uint64 { return s.start + s.size }

// Find returns the heap of a process; nil if it has none of this kind. The error says why one that is there cannot be read.
func Find(p heap.Process, o Options) (*Heap, error) {
	program, ok := p.(Program)
	if a := p.Arch(); !ok || a != arch.AMD64 && a != arch.ARM64 {
		return nil, nil
	}
	if o.Blocks == 0 {
		o.Blocks = 1 << 26
	}
	at, sizes := map[string]uint64{}, map[string]uint64{}
	for _, name := range variables {
		addr, size, ok := program.SymbolNamed(fmt.Sprintf("%s%d%sE", prefix, len(name), name))
		if !ok && len(at) == 0 {
			return nil, nil // the first one is in all
		}
		if ok {
			at[name], sizes[name] = addr, size
		}
	}
	if addr, _, ok := program.SymbolNamed(threadList); ok {
		at["threads"] = addr
	}
	code, _, _ := program.SymbolNamed(beginner)
	static, ok := program.TypeOfUnit(code, className)
	var all []layout
	if ok {
		all = []layout{described(static.Defined())}
	} else if all = known(sizes); len(all) == 0 {
		return nil, errors.New("its layout is none that is known, and the program has no debugging information that describes it")
	}
	why := ""
	for _, l := range all {
		h := &Heap{mem: procmem.Of(p), maps: p.Mappings(), budget: o.Blocks, at: at}
		if why = h.as(l); why == "" {
			return h, nil
		}
	}
	return nil, errors.New(why)
}

// as reads the heap by a layout. It says why that cannot be; "" if memory agrees with it.
func (h *Heap) as(l layout) string {
	if lacks, ok := l.proper(); !ok {
		return "debugging information does not say where it keeps " + lacks
	}
	h.l, h.shift = l, l.pageShift()
	h.readSizes()
	if len(h.sizes) == 0 {
		return "its table of sizes is not in the dump"
	}
	const enough = 512
	some, _ := h.collect(enough)
	if len(some) == 0 {
		return "its records of memory are not in the dump"
	}
	unlike := 0
	for i := range some {
		if _, why, exact := h.freeIn(&some[i]); why != "" || !exact {
			unlike++
		}
	}
	if unlike > max(len(some)/4, 1) {
		return fmt.Sprintf("%d of %d records of memory contradict what is known of them", unlike, len(some))
	}
	return ""
}

// Name implements heap.Allocator.
func (h *Heap) Name() string { return "Google's tcmalloc" }

// readSizes reads the sizes of classes. Some have none, and some are for other uses of the same sizes.
func (h *Heap) readSizes() {
	for i := range h.l.At("sizes.count") {
		v, ok := h.mem.U32(h.at["sizemap_"] + h.l.At("sizes") + 4*i)
		if !ok || v%8 != 0 || v > 1<<20 || i == 0 && v != 0 || i == 1 && v == 0 {
			h.sizes = nil
			return
		}
		h.sizes = append(h.sizes, uint64(v))
	}
}

// all are all spans, by address.
func (h *Heap) all() []span {
	if h.whole {
		return h.spans
	}
	h.whole = true
	h.spans, h.left = h.collect(maxSpans)
	slices.SortFunc(h.left, func(a, b [2]uint64) int { return compare(a[0], b[0]) })
	slices.SortFunc(h.spans, func(a, b span) int { return compare(a.start, b.start) })
	apart, end := h.spans[:0], uint64(0)
	for _, s := range h.spans {
		if s.start >= end {
			apart, end = append(apart, s), s.end()
		}
	}
	h.spans = apart
	h.left = without(h.left, h.spans)
	return h.spans
}

// collect reads the spans of pages of memory that the process may write, and what spans were that are no more, until it has enough.
func (h *Heap) collect(most int) (spans []span, left [][2]uint64) {
	pages := h.l.At("leaf.pages")
	bytes := pages << h.shift
	done, tries := uint64(0), 0 // the number past that of the last leaf
	for _, m := range h.maps {
		if m.Perm&libstate.Write == 0 || uint64(m.End) > 1<<addressBits || m.End <= m.Start {
			continue
		}
		for n := max(uint64(m.Start)/bytes, done); n <= (uint64(m.End)-1)/bytes; n++ {
			done = n + 1
			if tries++; tries > maxTries || h.budget <= 0 || h.window.Asked > maxAsked || len(spans) >= most {
				return spans, left
			}
			leaf := h.leafAt(n)
			if leaf == 0 {
				n = h.skip(n) - 1
				continue
			}
			h.leaf(n*pages, leaf, func(s span, gone bool) bool {
				if gone {
					left = append(left, [2]uint64{s.start, s.end()})
				} else {
					spans = append(spans, s)
				}
				return len(spans) < most
			})
		}
	}
	return spans, left
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// leafAt is where the leaf with a number is; 0 if there is none.
func (h *Heap) leafAt(n uint64) uint64 {
	mids := h.l.mids()
	if n/mids >= h.l.At("map.roots") {
		return 0
	}
	v := h.mem.Word(h.at["pagemap_"] + h.l.At("map.root") + n/mids*8)
	if v != 0 && h.l.Has("map.mids") {
		v = h.mem.Word(v + h.l.At("map.mid") + n%mids*8)
	}
	return v
}

// skip is the number of the next leaf that may be there, after one that is not: nodes in between stand for many.
func (h *Heap) skip(n uint64) uint64 {
	mids := h.l.mids()
	if h.l.Has("map.mids") && h.mem.Word(h.at["pagemap_"]+h.l.At("map.root")+n/mids*8) == 0 {
		return (n/mids + 1) * mids
	}
	return n + 1
}

// isDeleted reports whether a record is one of a span that is no more: they are kept for others, in a list.
func (h *Heap) isDeleted(record uint64) bool {
	if h.deleted == nil {
		h.deleted = map[uint64]bool{}
		for at := h.mem.Word(h.at["span_allocator_"] + h.l.At("spans.free")); at != 0 && at%8 == 0 && !h.deleted[at] && len(h.deleted) < maxDeleted; {
			next, ok := h.mem.LookupWord(at)
			if !ok {
				break
			}
			h.deleted[at] = true
			at = next
		}
	}
	return h.deleted[record]
}

// leaf calls do for the spans of a leaf that is about the pages from a number on, and says which are no more, until it returns false.
func (h *Heap) leaf(from, leaf uint64, do func(s span, gone bool) bool) {
	past := uint64(0)
	h.window.Words(h.mem, leaf+h.l.At("leaf.span"), 8*h.l.At("leaf.pages"), func(i, v uint64) bool {
		if i < past {
			return true
		}
		if h.budget--; h.budget <= 0 {
			return false
		}
		s, ok := h.spanOf(from+i, leaf, v)
		if !ok || s.start != (from+i)<<h.shift { // what was left when memory was given back
			return true
		}
		gone := h.isDeleted(s.record)
		if !gone {
			past = i + s.size>>h.shift
		}
		return do(s, gone)
	})
}

// spanOf is the span of a page, by what its leaf has of it; false if it is not of that page.
func (h *Heap) spanOf(page, leaf, entry uint64) (s span, ok bool) {
	var b [maxSpan]byte
	record := b[:h.l.At("span.size")]
	entry &= 1<<addressBits - 1 // newer ones have the class above
	if h.mem.Fill(entry, record) < len(record) {
		return s, false
	}
	s = h.spanIn(record)
	if at := page << h.shift; s.size == 0 || at < s.start || at >= s.end() {
		return s, false
	}
	size := h.l.At("leaf.class.size")
	class, _ := h.mem.Uint(leaf+h.l.At("leaf.class")+page%h.l.At("leaf.pages")*size, int(size))
	s.class, s.record = int(class), entry
	return s, true
}

// spanIn reads a span's record; its size is 0 if it is none.
func (h *Heap) spanIn(b []byte) (s span) {
	const most = 1 << (addressBits - 12)
	first, pages := h.l.of("span.first", b), h.l.of("span.pages", b)
	sampled := h.l.of("span.sampled", b) != 0
	if !h.l.Has("span.pages") {
		if pages = h.l.of("span.pages.small", b); sampled || h.l.of("span.large", b) != 0 {
			pages = h.l.of("span.pages.large", b)
		}
	}
	if first == 0 || first > most || pages == 0 || pages > most || (first+pages)<<h.shift > 1<<addressBits {
		return s
	}
	s = span{start: first << h.shift, size: pages << h.shift, location: h.l.of("span.location", b)}
	if sampled && h.l.Has("span.sample") {
		s.sample = h.mem.Arch.Word(pad(b, h.l.At("span.sample")))
	}
	return s
}

// pad are the eight bytes at an offset.
func pad(b []byte, off uint64) []byte {
	var word [8]byte
	if off < uint64(len(b)) {
		copy(word[:], b[off:])
	}
	return word[:]
}

// without is what ranges have, joined, that no span has.
func without(ranges [][2]uint64, spans []span) (out [][2]uint64) {
	k := 0
	for i := 0; i < len(ranges); {
		start, end := ranges[i][0], ranges[i][1]
		for i++; i < len(ranges) && ranges[i][0] <= end; i++ {
			end = max(end, ranges[i][1])
		}
		for ; k < len(spans) && spans[k].end() <= start; k++ {
		}
		for ; k < len(spans) && spans[k].start < end; k++ {
			if spans[k].start > start {
				out = append(out, [2]uint64{start, spans[k].start})
			}
			if start = spans[k].end(); start >= end {
				break
			}
		}
		if start < end {
			out = append(out, [2]uint64{start, end})
		}
	}
	return out
}

func (h *Heap) note(d heap.Damage) {
	if len(h.damages) < maxDamages {
		h.damages = append(h.damages, d)
	}
}
