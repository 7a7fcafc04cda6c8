package v8

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
)

const (
	maxHeapDamages = 32
	perCheckpoint  = 64 << 10 // bytes between objects from which one is looked for
	enoughObjects  = 8        // one behind the other are no chance
	maxGlobals     = 64
	maxEphemerons  = 1 << 22
)

// A jsHeap is the heap of V8's objects, of all its Isolates. It implements heap.Allocator.
type jsHeap struct {
	e     *engine
	mem   procmem.Reader // not charged: objects are
	types heapTypes
	pages []heapPage        // by address
	own   int               // that are an Isolate's
	areas map[uint64]uint64 // where one that objects are made in has none, up to where

	maps   map[uint64]*jsMap
	cache  mapCache
	filler uint16
	heads  map[uint16]uint64 // bytes before the counted words, by the type, as far as they are known
	deep   int
	linked []uint64
	w      heapWindow

	surveyed   bool
	noting     bool
	starts     []uint64 // of some objects, by address
	damages    []heap.Damage
	globals    []uint64            // global objects
	tables     map[uint64]bool     // of weak maps
	ephemerons map[uint64][]uint64 // what weak maps have for an object
	kept       int
}

// Heap implements heap.Owner.
func (j *JavaScript) Heap() heap.Allocator { return j.objects.Allocator() }

// Unknown implements heap.Objects.
func (j *JavaScript) Unknown() string { return j.objects.Unknown("JavaScript") }

// objectHeap is the heap of objects; nil if it cannot be read.
func (j *JavaScript) objectHeap() *jsHeap { return j.objects.Known() }

func (j *JavaScript) findObjectHeap() (*jsHeap, error) {
	e := j.anywhere()
	if e == nil {
		return nil, j.err
	}
	p, is := e.p.State.(heap.Process)
	if !is {
		return nil, nil
	}
	return e.findHeap(p)
}

// findHeap finds the pages of the heap.
func (e *engine) findHeap(p heap.Process) (*jsHeap, error) {
	if e.noValues != "" {
		return nil, errors.New("v8dbg_" + e.noValues + " is not among its symbols")
	}
	h := &jsHeap{e: e, mem: procmem.Of(p), maps: map[uint64]*jsMap{}, heads: map[uint16]uint64{}, areas: map[uint64]uint64{}, tables: map[uint64]bool{}, ephemerons: map[uint64][]uint64{}}
	h.w.mem = h.mem
	var missing string
	if h.types, missing = e.readHeapTypes(&variables{value: e.constant}); missing != "" {
		return nil, errors.New("v8dbg_" + missing + " is not among its symbols")
	}
	if err := h.findPages(p); err != nil {
		return nil, err
	}
	h.findFiller()
	h.findAreas()
	return h, nil
}

func (h *jsHeap) word(at uint64) uint64 { return h.mem.Word(at) }

func (h *jsHeap) short(at uint64) uint16 {
	v, _ := h.mem.U16(at)
	return v
}

// Name implements heap.Allocator.
func (h *jsHeap) Name() string { return "V8 heap" }

// Records implements heap.Allocator: V8's own memory is that of other allocators.
func (h *jsHeap) Records() [][2]uint64 { return nil }

// Ranges implements heap.Ranged.
func (h *jsHeap) Ranges() [][2]uint64 { return h.ranges() }

// Damages implements heap.Allocator.
func (h *jsHeap) Damages() []heap.Damage {
	h.survey()
	return h.damages
}

// Blocks implements heap.Allocator.
func (h *jsHeap) Blocks(yield func(heap.Block) bool) {
	if h.noting = !h.surveyed; h.noting {
		h.starts, h.damages, h.globals = nil, nil, nil
		defer func() { h.noting = false }()
	}
	for i := range h.pages {
		if !h.walk(&h.pages[i], h.pages[i].start, yield) {
			return
		}
	}
	if h.noting {
		h.surveyed = true
		h.readEphemerons()
	}
}

// survey goes through the heap once, to know the places from which objects are found, and what is wrong.
func (h *jsHeap) survey() {
	if !h.surveyed {
		h.Blocks(func(heap.Block) bool { return true })
	}
}

// BlockAt implements heap.Allocator.
func (h *jsHeap) BlockAt(addr uint64) (out heap.Block, ok bool) {
	p := h.pageAt(addr)
	if p == nil {
		return out, false
	}
	from := p.start // if not all was gone through, from where its page begins
	if k, exact := slices.BinarySearch(h.starts, addr); exact || k > 0 {
		if !exact {
			k--
		}
		from = max(from, h.starts[k])
	}
	h.walk(p, from, func(b heap.Block) bool {
		if b.Contains(addr) {
			out, ok = b, true
		}
		return b.End() <= addr
	})
	return out, ok
}

// passed takes note of an object.
func (h *jsHeap) passed(at uint64, m *jsMap) {
	if !h.noting {
		return
	}
	if n := len(h.starts); n == 0 || at-h.starts[n-1] >= perCheckpoint {
		h.starts = append(h.starts, at)
	}
	switch {
	case m.typ == h.types.global && len(h.globals) < maxGlobals:
		h.globals = append(h.globals, at)
	case (m.typ == h.types.weakMap || m.typ == h.types.weakSet) && m.typ != 0 && len(h.tables) < maxEphemerons:
		if t := h.word(at + collectionTable); isObject(t) {
			h.tables[t-1] = true
		}
	}
}

// wrong takes note of memory in which no objects are found.
func (h *jsHeap) wrong(at, end uint64, why string) {
	if h.noting && len(h.damages) < maxHeapDamages {
		h.damages = append(h.damages, heap.Damage{At: at, Size: int(min(end-at, 1<<30)), Why: fmt.Sprintf("%s; up to %#x no objects are known", why, end)})
	}
}

// walk calls yield for what is in a page from an object on, until it returns false.
func (h *jsHeap) walk(p *heapPage, from uint64, yield func(heap.Block) bool) bool {
	free := from // where free memory begins that was not told yet
	tell := func(at uint64, list string) bool {
		ok := free >= at || yield(heap.Block{Start: free, Size: at - free, Free: true, List: list})
		free = at
		return ok
	}
	if p.flags&flagFrom != 0 || p.unused {
		return tell(p.end, "semispace")
	}
	for at, n := from, 0; at < p.end; n++ {
		if n%64 == 0 && h.e.p.Spend(64) != nil {
			h.wrong(at, p.end, "more objects than may be looked at")
			return true
		}
		if limit, ok := h.areas[at]; ok {
			if at = min(limit, p.end); p.flags&flagTo != 0 {
				at = p.end // the rest of the page was never used
			}
			if !tell(at, "allocation area") {
				return false
			}
			continue
		}
		m, size, why := h.sizeAt(at, p.end)
		if why != "" {
			to := h.nextObject(at, p.end)
			if !h.isZero(at, to) {
				if h.isMoved(at) {
					why = "the garbage collector was at work, and has moved the object"
				}
				if !tell(at, "free list") {
					return false
				}
				h.wrong(at, to, why)
				free = to
			}
			at = to
			continue
		}
		if h.isFiller(m) {
			at += size
			continue
		}
		if !tell(at, "free list") {
			return false
		}
		h.passed(at, m)
		if !yield(heap.Block{Start: at, Size: size}) {
			return false
		}
		at += size
		free = at
		if size > maxRegular && at-size == p.start { // alone in its page
			return true
		}
	}
	return tell(p.end, "free list")
}

// isMoved reports whether the collector has left where an object is now.
func (h *jsHeap) isMoved(at uint64) bool {
	w := h.word(at)
	return w != 0 && w%8 == 0 && h.pageAt(w) != nil
}

// isZero reports whether memory was never written to.
func (h *jsHeap) isZero(at, end uint64) bool {
	for w := at; w < end; w += 8 {
		if b := h.w.read(w, 8); len(b) < 8 || littleEndian.Uint64(b) != 0 {
			return false
		}
	}
	return true
}

// nextObject is the next place before end at which objects begin, so many that they are no chance; end if there is none.
func (h *jsHeap) nextObject(at, end uint64) uint64 {
	for c, n := at+8, 0; c < end; c, n = c+8, n+1 {
		if n%64 == 0 && h.e.p.Spend(8) != nil {
			break
		}
		for o, k := c, 0; ; k++ {
			if _, ok := h.areas[o]; ok && k > 0 || o == end || k == enoughObjects {
				return c
			}
			_, size, why := h.sizeAt(o, end)
			if why != "" || h.e.p.Spend(1) != nil {
				break
			}
			o += size
		}
	}
	return end
}

// headBytes is how much of an object tells its size.
const headBytes = 24

// sizeAt is the map of the object at an address and how many bytes it has, none of which are past limit; why says what is wrong with it.
func (h *jsHeap) sizeAt(at, limit uint64) (m *jsMap, size uint64, why string) {
	b := h.w.read(at, headBytes)
	if len(b) < 8 {
		return nil, 0, "it is not in the dump"
	}
	first := littleEndian.Uint64(b)
	if m = h.mapOf(first); m == nil {
		return nil, 0, fmt.Sprintf("%#x leads to no map", first)
	}
	if m.rule == sizeOfMap {
		size = m.size
	} else if len(b) < headBytes {
		return m, 0, "it is not in the dump"
	} else if size, why = h.sizeOf(m, at, limit, b); why != "" {
		return m, 0, why
	}
	if size = (size + 7) &^ 7; size == 0 || size > limit-at {
		return m, 0, fmt.Sprintf("an object of type %d with %d bytes is past the end of its page", m.typ, size)
	}
	return m, size, ""
}

// sizeOf is the size of an object that does not follow from its map.
func (h *jsHeap) sizeOf(m *jsMap, at, limit uint64, b []byte) (size uint64, why string) {
	w := littleEndian.Uint64(b[8:])
	n, isNumber := smi(w)
	length := uint64(littleEndian.Uint32(b[12:]))
	switch m.rule {
	case sizeOneByte:
		return 16 + length, ""
	case sizeTwoByte:
		return 16 + 2*length, ""
	case sizeDigits:
		return 16 + 8*uint64(littleEndian.Uint32(b[8:])>>1), ""
	case sizeEntries:
		return 24 + 24*uint64(littleEndian.Uint16(b[8:])), ""
	case sizeFeedback:
		return h.upTo(at, at+32+8*uint64(littleEndian.Uint32(b[8:])), limit)
	case sizeNext:
		return h.upTo(at, at+16, limit)
	case sizeCode:
		return h.codeSize(at, limit)
	}
	if !isNumber || n < 0 {
		if m.rule == sizeWords { // it is of no kind that is known
			return h.upTo(at, at+16, limit)
		}
		return 0, fmt.Sprintf("an object of type %d has a length of %#x", m.typ, w)
	}
	switch m.rule {
	case sizeBytes:
		return m.head + uint64(n), ""
	case sizeCapacity:
		return 24 + 8*uint64(n), ""
	case sizeProps:
		const mask = 1<<10 - 1
		return 16 + 8*uint64(n&mask), ""
	case sizeFree:
		return uint64(n) * m.head, ""
	}
	if m.rule == sizeElements {
		size = 16 + 8*uint64(n)
		if h.isNative(m, n) && !h.begins(at+size, limit) { // behind the variables is where its tasks wait
			size += 8
		}
		return size, ""
	}
	if head, ok := h.heads[m.typ]; ok && h.begins(at+head+8*uint64(n), limit) {
		return head + 8*uint64(n), ""
	}
	for _, head := range [...]uint64{16, 24, 32} {
		if size = head + 8*uint64(n); size <= limit-at && h.goesOn(at+size, limit) {
			if h.deep == 0 {
				h.heads[m.typ] = head
			}
			return size, ""
		}
	}
	return h.upTo(at, at+16, limit)
}

// codeSize is the size of compiled code: the instructions, and what belongs to them behind.
func (h *jsHeap) codeSize(at, limit uint64) (uint64, string) {
	e := h.e
	code := at + 1
	if e.types.stream != e.types.code {
		if code = h.word(at + 8); e.typeOf(code) != e.types.code || h.word(code-1+e.codeStart) != at+e.header { // it is dead, and what described it is gone
			return h.upTo(at, at+e.header, limit)
		}
	}
	n, ok := h.mem.U32(code - 1 + e.codeSize)
	if !ok || n > maxCode {
		return 0, fmt.Sprintf("code has %d bytes", n)
	}
	return h.upTo(at, (at+e.header+uint64(n)+7)&^7, limit)
}

// goesOn reports whether objects begin at an address, so many that it is no chance: some objects have a word that leads to a map in them.
func (h *jsHeap) goesOn(at, limit uint64) bool {
	const most, enough = 2, 4
	if h.deep >= most {
		return h.begins(at, limit)
	}
	h.deep++
	defer func() { h.deep-- }()
	for range enough {
		if !h.begins(at, limit) {
			return false
		}
		if _, ok := h.areas[at]; ok || at == limit || h.word(at) == 0 {
			return true
		}
		_, size, why := h.sizeAt(at, limit)
		if why != "" {
			return false
		}
		at += size
	}
	return true
}

// begins reports whether an object begins at an address, or nothing any more.
func (h *jsHeap) begins(at, limit uint64) bool {
	if at >= limit {
		return at == limit
	}
	if _, ok := h.areas[at]; ok {
		return true
	}
	b := h.w.read(at, 8)
	if len(b) < 8 {
		return false
	}
	w := littleEndian.Uint64(b)
	return w == 0 && h.isZero(at, min(at+unusedBytes, limit)) || h.mapOf(w) != nil
}

// unusedBytes is how much memory that has nothing is the end of a page's objects.
const unusedBytes = 128

// codeAlign is that of compiled code: behind the last of a page may be nothing.
const codeAlign = 32

// maxSearchedBytes is how far the end of an object is looked for.
const maxSearchedBytes = 128 << 10

// upTo is the size of an object of which only the least is known: none of its words leads to a map.
func (h *jsHeap) upTo(at, least, limit uint64) (uint64, string) {
	for o := (least + 7) &^ 7; o <= limit && o-at < maxSearchedBytes; o += 8 {
		if o == limit {
			return o - at, ""
		}
		if _, ok := h.areas[o]; ok {
			return o - at, ""
		}
		b := h.w.read(o, 8)
		if len(b) < 8 {
			break
		}
		if w := littleEndian.Uint64(b); h.mapOf(w) != nil || w == 0 && o%codeAlign == 0 && h.isZero(o, limit) {
			return o - at, ""
		}
	}
	return 0, "where the object ends is not known"
}

// readEphemerons reads what weak maps have for their objects.
func (h *jsHeap) readEphemerons() {
	tables := make([]uint64, 0, len(h.tables))
	for at := range h.tables {
		tables = append(tables, at)
	}
	slices.SortFunc(tables, cmp.Compare[uint64])
	for _, at := range tables {
		p := h.pageAt(at)
		n, ok := smi(h.word(at + 8))
		if p == nil || !ok || n < 3 || uint64(n) > (p.end-at)/8 {
			continue
		}
		for o, end := at+ephemeronsAt, at+16+8*uint64(n); o+16 <= end; o += 16 {
			b := h.w.read(o, 16)
			if len(b) < 16 || h.kept >= maxEphemerons || h.e.p.Spend(1) != nil {
				return
			}
			key, value := littleEndian.Uint64(b), littleEndian.Uint64(b[8:])
			if isObject(key) && isObject(value) && h.pageAt(key) != nil && h.pageAt(value) != nil && h.jsMapAt(key-1) != nil {
				if m := h.jsMapAt(key - 1); m.typ < h.e.types.firstObject && m.typ != h.e.types.symbol {
					continue // no entry
				}
				h.ephemerons[key-1] = append(h.ephemerons[key-1], value)
				h.kept++
			}
		}
	}
}

// A heapWindow reads memory in pieces, by rising addresses.
type heapWindow struct {
	mem  procmem.Reader
	at   uint64
	data []byte
	buf  []byte
}

// read is memory, as much as is there of it, until the next read.
func (w *heapWindow) read(at uint64, n int) []byte {
	const piece = 64 << 10
	if off := at - w.at; off < uint64(len(w.data)) && uint64(len(w.data))-off >= uint64(n) {
		return w.data[off:][:n]
	}
	if w.buf == nil {
		w.buf = make([]byte, piece)
	}
	w.at, w.data = at, w.buf[:w.mem.Fill(at, w.buf)]
	return w.data[:min(n, len(w.data))]
}
