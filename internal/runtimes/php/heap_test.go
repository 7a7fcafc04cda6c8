package php

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A chunked process has two chunks of PHP's allocator, and variables.
type chunked struct {
	unwind.ProcessState
	chunk, second, data []byte
	perm                libstate.Perm
}

const (
	atChunk  = 0x7f0000200000
	atSecond = atChunk + chunkSize
	atHuge   = 0x7f0001000000
	atData   = 0x600000
	bitsAt   = 0x1c0
	shared   = atChunk + sharedAt
)

func (p *chunked) Arch() *arch.Arch                      { return arch.AMD64 }
func (p *chunked) ThreadIDs() ([]unwind.ThreadID, error) { return nil, nil }
func (p *chunked) LibraryTracker() libstate.LibraryState { return nil }
func (p *chunked) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	_, err := p.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}
func (p *chunked) Mappings() []libstate.Mapping {
	return []libstate.Mapping{{Start: atData, End: atData + 0x1000, Perm: libstate.Read | libstate.Write},
		{Start: atChunk - 0x1000, End: atSecond + chunkSize, Perm: p.perm}, {Start: atHuge, End: atHuge + 8<<20, Perm: libstate.Read}}
}

func (p *chunked) ReadMem(at arch.Address, b []byte) (int, error) {
	for _, part := range []struct {
		at uint64
		b  []byte
	}{{atChunk, p.chunk}, {atSecond, p.second}, {atData, p.data}} {
		if off := at - part.at; off < uint64(len(part.b)) {
			n := copy(b, part.b[off:])
			if n < len(b) {
				return n, arch.ErrUnreadable
			}
			return n, nil
		}
	}
	return 0, arch.ErrUnreadable
}

func (p *chunked) put(at, v uint64) {
	switch {
	case at-atChunk < chunkSize:
		binary.LittleEndian.PutUint64(p.chunk[at-atChunk:], v)
	case at-atSecond < chunkSize:
		binary.LittleEndian.PutUint64(p.second[at-atSecond:], v)
	default:
		binary.LittleEndian.PutUint64(p.data[at-atData:], v)
	}
}

// page says what a page of the first chunk has.
func (p *chunked) page(chunk []byte, i int, info uint32) {
	chunk[bitsAt+i/8] |= 1 << (i % 8)
	binary.LittleEndian.PutUint32(chunk[bitsAt+freeBits+4*i:], info)
}

// pageAt is where a page of the first chunk is.
func pageAt(i uint64) uint64 { return atChunk + i*pageSize }

// request is a heap with blocks of 56 bytes on page 1, of 320 on 2 to 6, and of two pages from 7 on; free ones of 56; one of 4 MB.
func request(change func(r *runtime, p *chunked)) (*runtime, *requestHeap) {
	p := &chunked{chunk: make([]byte, chunkSize), second: make([]byte, chunkSize), data: make([]byte, 0x1000), perm: libstate.Read | libstate.Write}
	r := &runtime{memory: memory{Reader: procmem.Reader{Memory: p, Arch: arch.AMD64}, layout: tableLayout(layoutsText, "8.2"), version: "8.2", p: &tasks.Process{State: p}}}
	r.objects.Find = r.findHeap
	for at, b := range map[uint64][]byte{atChunk: p.chunk, atSecond: p.second} {
		p.put(at+chunkHeap, shared)
		p.page(b, 0, pageOfOwn)
	}
	p.page(p.chunk, 1, pageBlocks|6)
	for i := range 5 {
		p.page(p.chunk, 2+i, pageMore|16)
	}
	p.page(p.chunk, 2, pageBlocks|16)
	p.page(p.chunk, 7, pageWhole|2)
	p.page(p.chunk, 8, 0)
	binary.LittleEndian.PutUint32(p.chunk[bitsAt+freeBits+4*9:], pageWhole|3) // what was there before
	const lists = 4
	p.put(shared+8*(lists+6), pageAt(1)+56)
	p.put(pageAt(1)+56, pageAt(1)+3*56)
	p.put(shared+8*(lists+classes+4), pageAt(2)) // the list of what is larger
	p.put(shared+8*(lists+classes+5), atChunk)
	p.put(pageAt(2), atHuge)
	p.put(pageAt(2)+8, 4<<20)
	if change != nil {
		change(r, p)
	}
	return r, r.objects.Known()
}

// blocks tells what a heap has.
func blocks(h *requestHeap) (list []string) {
	if h == nil {
		return nil
	}
	h.Blocks(func(b heap.Block) bool {
		if b.Size != 56 || b.Free || b.Start == pageAt(1) {
			list = append(list, fmt.Sprintf("%#x %d %t %t %t", b.Start-atChunk, b.Size, b.Free, b.Own, b.Mapped))
		}
		return b.Size != 320 || b.Start == pageAt(2)
	})
	return list
}

// TestChunks: blocks of all kinds, and which are free.
func TestChunks(t *testing.T) {
	r, h := request(nil)
	n, free := 0, 0
	for b := range h.Blocks {
		if n++; b.Free {
			free++
		}
		if got, ok := h.BlockAt(b.Start + b.Size - 1); !ok || got != b {
			t.Errorf("at the end of %+v: %+v, %t", b, got, ok)
		}
	}
	if n != 1+73+64+1+1+1 || free != 2 || h.Damages() != nil || h.Records() != nil || h.Name() == "" || r.Unknown() != "" || r.Heap() == nil {
		t.Errorf("%d blocks, %d free, %v", n, free, h.Damages())
	}
	if got := blocks(h); !slices.Equal(got, []string{"0x0 4096 false true false", "0x1000 56 false false false", "0x1038 56 true false false", "0x10a8 56 true false false", "0x2000 320 false false false",
		"0x2140 320 false false false"}) {
		t.Errorf("%q", got)
	}
	if b, ok := h.BlockAt(atHuge + 9); !ok || !b.Mapped || b.Size != 4<<20 {
		t.Errorf("%+v, %t", b, ok)
	}
	for _, at := range []uint64{pageAt(9), atHuge + 4<<20, pageAt(2) - 1, 0} {
		if b, ok := h.BlockAt(at); ok && b.Contains(at) == false || ok && at != pageAt(2)-1 {
			t.Errorf("at %#x: %+v", at, b)
		}
	}
	if list := h.Ranges(); len(list) != 6 || !slices.IsSortedFunc(list, func(a, b [2]uint64) int { return int(int64(a[0]) - int64(b[0])) }) {
		t.Errorf("%x", list)
	}
}

// TestNoChunks: what is not quite a chunk, a page, a list is none; a heap says so.
func TestNoChunks(t *testing.T) {
	_, whole := request(nil)
	all := len(whole.runs)
	for what, c := range map[string]struct {
		change func(r *runtime, p *chunked)
		runs   int // less than all, or all
		huge   int
		free   bool
		wrong  bool
	}{
		"a heap elsewhere":              {func(_ *runtime, p *chunked) { p.put(atChunk, shared+8); p.put(atSecond, shared+8) }, 0, 0, false, false},
		"memory that nobody may write":  {func(_ *runtime, p *chunked) { p.perm = libstate.Read }, 0, 0, false, false},
		"nothing at the beginning":      {func(_ *runtime, p *chunked) { p.put(atChunk, sharedAt); p.put(atSecond, sharedAt) }, 0, 0, false, false},
		"a first chunk of another heap": {func(_ *runtime, p *chunked) { p.put(atChunk, 0) }, 0, 0, false, false},
		"a page of no size":             {func(_ *runtime, p *chunked) { p.page(p.second, 3, pageWhole) }, all - 1, 1, true, true},
		"blocks of a size that is none": {func(_ *runtime, p *chunked) { p.page(p.second, 3, pageBlocks|30) }, all - 1, 1, true, true},
		"pages past the chunk":          {func(_ *runtime, p *chunked) { p.page(p.second, 510, pageWhole|3) }, all - 1, 1, true, true},
		"pages that are free":           {func(_ *runtime, p *chunked) { p.page(p.second, 3, pageWhole|2) }, all - 1, 1, true, true},
		"others in between": {func(_ *runtime, p *chunked) {
			p.page(p.second, 3, pageBlocks|16)
			for i := range 4 {
				p.page(p.second, 4+i, pageMore|17)
			}
		}, all - 1, 1, true, true},
		"nothing of itself in use":  {func(_ *runtime, p *chunked) { p.second[bitsAt] = 0 }, all - 1, 1, true, true},
		"a chunk that is not there": {func(_ *runtime, p *chunked) { p.second = p.second[:8] }, all - 1, 1, true, true},
		"a list that leads out":     {func(_ *runtime, p *chunked) { p.put(pageAt(1)+56, atData) }, all, 1, true, true},
		"a list that leads back":    {func(_ *runtime, p *chunked) { p.put(pageAt(1)+3*56, pageAt(1)+56) }, all, 1, true, true},
		"a list of another size":    {func(_ *runtime, p *chunked) { p.put(pageAt(1)+56, pageAt(2)) }, all, 1, true, true},
		"lists that are none":       {func(_ *runtime, p *chunked) { p.put(shared+8*(4+6), pageAt(1)+55) }, all, 0, false, false},
		"no list of what is larger": {func(_ *runtime, p *chunked) { p.put(shared+8*(4+classes+5), atSecond) }, all, 0, true, false},
		"larger, and odd":           {func(_ *runtime, p *chunked) { p.put(pageAt(2), atHuge+8) }, all, 0, true, false},
		"larger, of no size":        {func(_ *runtime, p *chunked) { p.put(pageAt(2)+8, 0) }, all, 0, true, false},
		"larger, of an odd size":    {func(_ *runtime, p *chunked) { p.put(pageAt(2)+8, 4<<20+1) }, all, 0, true, false},
		"larger, in a circle":       {func(_ *runtime, p *chunked) { p.put(pageAt(2)+16, pageAt(2)) }, all, 1, true, false},
	} {
		_, h := request(c.change)
		if c.runs == 0 {
			if h != nil {
				t.Errorf("%s: %+v", what, h)
			}
			continue
		}
		if h == nil {
			t.Errorf("%s: no heap", what)
			continue
		}
		if len(h.runs) != c.runs || len(h.huge) != c.huge || h.isFree(pageAt(1)+56) != c.free || (h.Damages() != nil) != c.wrong {
			t.Errorf("%s: %d of %d runs, %d large, free %t, %v", what, len(h.runs), all, len(h.huge), h.isFree(pageAt(1)+56), h.Damages())
		}
	}
}

// is is what is in a block of the heap, after change.
func is(at, size uint64, change func(r *runtime, p *chunked)) string {
	r, h := request(func(r *runtime, p *chunked) {
		put := func(at uint64, words ...uint64) {
			for i, w := range words {
				p.put(at+8*uint64(i), w)
			}
		}
		put(atData, classUser, atData+0x100) // a class
		put(atData+0x100, typeString<<32|1, 0, 4, uint64('S')|'h'<<8|'o'<<16|'p'<<24)
		put(pageAt(1), typeArray<<32|1, 0xfffffffe<<32|packed, pageAt(3)+8, 2|2<<32, 8)                  // an array
		put(pageAt(1)+2*56, typeString<<32|3, 0, 20, 0x4141414141414141, 0x4141414141414141, 0x41414141) // a string
		put(pageAt(2)+320, typeObject<<32|1, 7, atData, 0, 0)                                            // an object
		put(pageAt(2)+640, 1, 2, 3, 4, 5, typeObject<<32|1, 7, atData, 0, 0)                             // one that C puts something before
		put(pageAt(7), typeString<<32|1, 0, 8000)                                                        // a long one
		put(atHuge)
		if change != nil {
			change(r, p)
		}
	})
	h.objects = []uint64{pageAt(2) + 320, pageAt(2) + 640 + 40, pageAt(2) + 4*320 + 300}
	b := make([]byte, min(size, heap.ObjectBytes))
	r.Memory.ReadMem(at, b)
	o, ok := r.ObjectIn(at, size, b)
	if !ok {
		return ""
	}
	s := cmp.Or(o.Type, "something")
	for _, part := range o.Owns {
		s += fmt.Sprintf(" %#x %s", part.At-atChunk, part.What)
	}
	if o.Links != 0 {
		s += fmt.Sprintf(" %b", o.Links)
	}
	return s
}

// reference puts a reference on a page of blocks of 32 bytes.
func reference(count, kind uint64) func(*runtime, *chunked) {
	return func(_ *runtime, p *chunked) {
		p.page(p.chunk, 10, pageBlocks|3)
		p.put(pageAt(10), typeReference<<32|count)
		p.put(pageAt(10)+16, kind)
	}
}

// TestObjectIn: strings, arrays and objects, and what contradicts itself.
func TestObjectIn(t *testing.T) {
	for what, c := range map[string]struct {
		at, size uint64
		change   func(r *runtime, p *chunked)
		want     string
	}{
		"an array":               {pageAt(1), 56, nil, "array 0x3000 array's elements"},
		"a string":               {pageAt(1) + 112, 56, nil, "string"},
		"a long string":          {pageAt(7), 8192, nil, "string"},
		"an object":              {pageAt(2) + 320, 320, nil, "Shop 1100"},
		"an object behind more":  {pageAt(2) + 640, 320, nil, "Shop 110000000"},
		"an object cut off":      {pageAt(2) + 4*320, 320, nil, ""},
		"between blocks":         {pageAt(1) + 8, 56, nil, ""},
		"of another size":        {pageAt(1), 64, nil, ""},
		"the allocator's own":    {atChunk, 4096, nil, ""},
		"somewhere else":         {atData, 56, nil, ""},
		"nothing":                {pageAt(2) + 960, 320, nil, ""},
		"a reference":            {pageAt(2) + 960, 320, func(_ *runtime, p *chunked) { p.put(pageAt(2)+960, typeReference<<32|1) }, ""}, // of another size
		"a small reference":      {pageAt(10), 32, reference(1, typeReference), "reference"},
		"to no value":            {pageAt(10), 32, reference(1, typeReference+1), ""},
		"of no type":             {pageAt(10), 32, reference(1<<31, typeReference), ""},
		"of another type":        {pageAt(2) + 960, 320, func(_ *runtime, p *chunked) { p.put(pageAt(2)+960, typeResource<<32|1) }, ""},
		"in a large block":       {atHuge, 4 << 20, nil, ""},
		"keys that are numbers":  {pageAt(1), 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+32, 7) }, "array 0x3000 array's elements"}, // packed: of any number
		"of 8":                   {pageAt(1), 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+8, 0xfffffff8<<32) }, "array 0x2fe8 array's elements"},
		"no class":               {pageAt(2) + 320, 320, func(_ *runtime, p *chunked) { p.put(atData, 7) }, ""},
		"no reference":           {pageAt(1), 56, func(_ *runtime, p *chunked) { p.put(pageAt(1), typeArray<<32) }, ""},
		"references without end": {pageAt(1), 56, func(_ *runtime, p *chunked) { p.put(pageAt(1), typeArray<<32|0xffffffff) }, ""},
		"more than it counts":    {pageAt(1), 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+24, 2|3<<32) }, ""},
		"more than there is":     {pageAt(1), 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+24, 9|2<<32) }, ""},
		"no power of two":        {pageAt(1), 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+8, 0xfffffffe<<32); p.put(pageAt(1)+32, 7) }, ""},
		"no words before":        {pageAt(1), 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+8, packed) }, ""},
		"no elements":            {pageAt(1), 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+16, 0) }, ""},
		"odd elements":           {pageAt(1), 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+16, 12) }, ""},
		"a text without an end":  {pageAt(1) + 112, 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+112+40, 0x4141414141) }, ""},
		"a text too long":        {pageAt(1) + 112, 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+112+16, 32) }, ""},
		"a text of no length":    {pageAt(1) + 112, 56, func(_ *runtime, p *chunked) { p.put(pageAt(1)+112+16, 1<<63) }, ""},
		"a long one with no end": {pageAt(7), 8192, func(_ *runtime, p *chunked) { p.put(pageAt(7)+24+8000, 1) }, ""},
		"much too large":         {pageAt(7), 8192, func(_ *runtime, p *chunked) { p.put(pageAt(7)+16, 100) }, ""},
	} {
		if got := is(c.at, c.size, c.change); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	// What the analysis may spend ends the search, which is said.
	spent := budget.Of(0)
	_, h := request(func(r *runtime, _ *chunked) { r.p.Budget = spent })
	if h != nil {
		t.Errorf("with nothing to spend: %+v", h)
	}
	_, h = request(func(r *runtime, _ *chunked) { r.p.Budget = budget.Of(1) })
	if h == nil || len(h.Damages()) != 1 {
		t.Errorf("with little to spend: %v", h)
	}
	r, _ := request(func(r *runtime, p *chunked) { reference(1, typeReference)(r, p) })
	for n := range 24 { // of a reference the dump has the beginning
		if o, ok := r.ObjectIn(pageAt(10), 32, append([]byte{1, 0, 0, 0, typeReference}, make([]byte, 32)...)[:n]); ok {
			t.Errorf("%d bytes of a reference: %+v", n, o)
		}
	}
	for n := range 16 {
		if o, ok := r.ObjectIn(pageAt(1), 56, make([]byte, n)); ok {
			t.Errorf("of %d bytes: %+v", n, o)
		}
	}
}

// FuzzHeap changes words of chunks, and of objects in them.
func FuzzHeap(f *testing.F) {
	f.Add(uint32(chunkHeap), uint64(shared), uint32(bitsAt), uint64(1))
	f.Add(uint32(sharedAt+8*10), uint64(atChunk), uint32(pageSize+56), uint64(atChunk+pageSize))
	f.Add(uint32(bitsAt+freeBits+4), uint64(pageBlocks|29), uint32(2*pageSize+8), uint64(1)<<63)
	f.Add(uint32(bitsAt+freeBits), uint64(pageWhole|512), uint32(pageSize), uint64(typeString)<<32|1)
	f.Fuzz(func(t *testing.T, first uint32, a uint64, second uint32, b uint64) {
		r, h := request(func(_ *runtime, p *chunked) {
			p.put(atChunk+uint64(first)%(chunkSize-8), a)
			p.put(atChunk+uint64(second)%(chunkSize-8), b)
			p.put(pageAt(1), uint64(typeArray)<<32|1)
		})
		if h == nil {
			return
		}
		for x := range h.Blocks {
			if x.Size == 0 || x.Start+x.Size < x.Start {
				t.Fatalf("%+v", x)
			}
			b := make([]byte, min(x.Size, heap.ObjectBytes))
			n, _ := r.Memory.ReadMem(x.Start, b)
			r.ObjectIn(x.Start, x.Size, b[:n])
		}
		h.Damages()
		h.Ranges()
	})
}
