package minidump

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
	"sort"
)

// A RangeSource says which stream a memory range comes from.
type RangeSource uint8

// The sources. Where ranges overlap, the earlier source wins: MemoryList has the stacks,
// which were captured together with the contexts.
const (
	fromList RangeSource = iota
	from64
	fromThread
)

func (s RangeSource) String() string {
	switch s {
	case fromList:
		return "MemoryList"
	case from64:
		return "Memory64List"
	}
	return "ThreadList"
}

// A Range is a memory range in the dump: Size bytes from Start on. Data is shorter if the
// file is truncated.
type Range struct {
	Start, Size uint64
	Off         uint64 // in the file
	Data        []byte
	Source      RangeSource
}

// Memory presents all memory ranges of all streams as one address space. Where ranges
// overlap, those of MemoryList come before those of Memory64List, then the longest before
// others, then the first; a truncated range counts only with the bytes that exist. Reads
// may span ranges. Nothing is copied.
type Memory struct {
	Ranges []Range // in the dump's order
	spans  []span  // ascending, disjoint
	lost   []span  // ranges that are past the end of the truncated file; ascending
}

// A span is a part of the address space, [start, end], and its bytes.
type span struct {
	start, last uint64 // last is the last address: a range may end with the address space
	data        []byte
}

// addRange records a range, clipped to the address space.
func (f *File) addRange(start, off, size uint64, src RangeSource) {
	if size == 0 {
		return
	}
	if start+size-1 < start {
		f.warnf("memory at %#x: its %#x bytes extend past the end of the address space", start, size)
		size = -start
	}
	f.ranges = append(f.ranges, Range{Start: start, Size: size, Off: off, Data: f.clip(off, size), Source: src})
}

// readMemoryList decodes MINIDUMP_MEMORY_LIST. An entry without bytes is legal.
func (f *File) readMemoryList(s []byte) {
	const size = 16
	body, n := f.plainList(MemoryListStream, s, size)
	f.ranges = slices.Grow(f.ranges, n)
	for i := range n {
		c := f.cursor(body[i*size : (i+1)*size])
		start, loc := c.U64(), readLocation(&c)
		if loc.off != 0 {
			f.addRange(start, loc.off, loc.size, fromList)
		}
	}
}

// readMemory64 decodes MINIDUMP_MEMORY64_LIST. The ranges' bytes follow each other from one
// offset on, usually to the end of the file, which may be truncated.
func (f *File) readMemory64(s []byte) {
	const size = 16
	c := f.cursor(s)
	count, off := c.U64(), c.U64()
	if c.Error != nil {
		f.warnf("stream Memory64List: %d bytes are too short for a list", len(s))
		return
	}
	n := f.entries(Memory64ListStream, count, c.Len(), size)
	f.ranges = slices.Grow(f.ranges, n)
	cut := 0
	for range n {
		start, length := c.U64(), c.U64()
		if off+length < off || off+length > uint64(len(f.Data)) {
			cut++
		}
		f.addRange(start, off, length, from64)
		if off += length; off < length {
			off = 1<<64 - 1
		}
	}
	if cut > 0 {
		f.warnf("stream Memory64List: the file is truncated: %d of %d memory ranges are partly or completely past its end", cut, n)
	}
}

// indexMemory builds the address space from the ranges.
func (f *File) indexMemory(ranges []Range) Memory {
	m := Memory{Ranges: ranges}
	order := make([]int, 0, len(ranges))
	for i := range ranges {
		r := &ranges[i]
		if have := uint64(len(r.Data)); have < r.Size {
			m.lost = append(m.lost, span{start: r.Start + have, last: r.Start + (r.Size - 1)})
		}
		if len(r.Data) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(m.lost, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	m.lost = merged(m.lost)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranges[a].Start, ranges[b].Start) })
	m.spans = sweep(ranges, order)
	f.compareOverlaps(&m, order)
	return m
}

// merged joins spans that touch or overlap.
func merged(list []span) []span {
	out := list[:0]
	for _, s := range list {
		if n := len(out); n > 0 && (s.start <= out[n-1].last || s.start == out[n-1].last+1) {
			out[n-1].last = max(out[n-1].last, s.last)
			continue
		}
		out = append(out, s)
	}
	return out
}

// active is the set of ranges that cover an address, the winning one first.
type active struct {
	ranges []Range
	idx    []int
}

func (a *active) Len() int { return len(a.idx) }
func (a *active) Less(i, j int) bool {
	x, y := &a.ranges[a.idx[i]], &a.ranges[a.idx[j]]
	if x.Source != y.Source {
		return x.Source < y.Source
	}
	if len(x.Data) != len(y.Data) {
		return len(x.Data) > len(y.Data)
	}
	return a.idx[i] < a.idx[j]
}
func (a *active) Swap(i, j int) { a.idx[i], a.idx[j] = a.idx[j], a.idx[i] }
func (a *active) Push(x any)    { a.idx = append(a.idx, x.(int)) }
func (a *active) Pop() any {
	n := len(a.idx) - 1
	x := a.idx[n]
	a.idx = a.idx[:n]
	return x
}

func (r *Range) last() uint64 { return r.Start + (uint64(len(r.Data)) - 1) }

// sweep makes disjoint spans from ranges; order lists them by ascending start.
func sweep(ranges []Range, order []int) []span {
	spans := make([]span, 0, len(order))
	live := &active{ranges: ranges}
	pos := uint64(0)
	for next := 0; next < len(order) || live.Len() > 0; {
		if live.Len() == 0 {
			pos = max(pos, ranges[order[next]].Start)
		}
		for next < len(order) && ranges[order[next]].Start <= pos {
			heap.Push(live, order[next])
			next++
		}
		r := &ranges[live.idx[0]]
		if r.last() < pos {
			heap.Pop(live)
			continue
		}
		last := r.last()
		if next < len(order) {
			last = min(last, ranges[order[next]].Start-1)
		}
		spans = extend(spans, r, pos, last)
		if last == ^uint64(0) {
			return spans
		}
		pos = last + 1
	}
	return spans
}

// extend appends the part [start, last] of r, or extends the last span by it.
func extend(spans []span, r *Range, start, last uint64) []span {
	from, to := start-r.Start, last-r.Start+1
	if n := len(spans); n > 0 {
		// If the last span is from the same range, extend it, so that contiguous bytes stay
		// together.
		if p := &spans[n-1]; p.last+1 == start && from > 0 && len(p.data) > 0 &&
			uint64(len(p.data)) <= from && &p.data[len(p.data)-1] == &r.Data[from-1] {
			p.data, p.last = r.Data[from-uint64(len(p.data)):to:to], last
			return spans
		}
	}
	return append(spans, span{start: start, last: last, data: r.Data[from:to:to]})
}

// compareOverlaps warns if overlapping ranges have different bytes for the same address. It
// compares no more bytes than the file has.
func (f *File) compareOverlaps(m *Memory, order []int) {
	budget := len(f.Data)
	differ, first := 0, uint64(0)
	for _, i := range order {
		r := &m.Ranges[i]
		for addr, rest := r.Start, r.Data; len(rest) > 0 && budget > 0; {
			b := m.At(addr)
			n := min(len(b), len(rest))
			if n == 0 {
				break
			}
			if &b[0] != &rest[0] {
				budget -= n
				if !bytes.Equal(b[:n], rest[:n]) {
					if differ++; differ == 1 {
						first = addr
					}
					break
				}
			}
			addr, rest = addr+uint64(n), rest[n:]
		}
	}
	if differ > 0 {
		f.warnf("%d memory ranges overlap others and have different bytes, the first at %#x", differ, first)
	}
}

// find returns the index of the span that contains addr, or where it would be inserted.
func find(spans []span, addr uint64) (int, bool) {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].last >= addr })
	return i, i < len(spans) && spans[i].start <= addr
}

// At returns the contiguous bytes from addr on, or nothing if the dump does not have addr.
func (m *Memory) At(addr uint64) []byte {
	i, ok := find(m.spans, addr)
	if !ok {
		return nil
	}
	return m.spans[i].data[addr-m.spans[i].start:]
}

// Next returns the first address at or after addr that the dump has, or false if there is
// none.
func (m *Memory) Next(addr uint64) (uint64, bool) {
	i, ok := find(m.spans, addr)
	if ok {
		return addr, true
	}
	if i == len(m.spans) {
		return 0, false
	}
	return m.spans[i].start, true
}

// Lost reports whether addr should be in the dump but is past the end of the truncated
// file.
func (m *Memory) Lost(addr uint64) bool {
	_, ok := find(m.lost, addr)
	return ok
}

// A Span is a part of the address space in the dump: [Start, Start+len(Data)).
type Span struct {
	Start uint64
	Data  []byte
}

// Spans lists the memory in the dump, ascending and disjoint.
func (m *Memory) Spans() []Span {
	list := make([]Span, len(m.spans))
	for i, s := range m.spans {
		list[i] = Span{s.start, s.data}
	}
	return list
}

// Read fills buf from addr on, across ranges. It returns the number of bytes, from the
// first on, that the dump has.
func (m *Memory) Read(addr uint64, buf []byte) int {
	n := 0
	for n < len(buf) {
		a := addr + uint64(n)
		b := m.At(a)
		if a < addr || len(b) == 0 {
			break
		}
		n += copy(buf[n:], b)
	}
	return n
}
