package python

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

// A made process has one mapping, with memory that a test makes.
type made struct {
	*hole
	mapping libstate.Mapping
	reads   int
}

func (m *made) Mappings() []libstate.Mapping          { return []libstate.Mapping{m.mapping} }
func (m *made) LibraryTracker() libstate.LibraryState { return nil }
func (m *made) ReadMem(at uint64, b []byte) (int, error) {
	m.reads++
	return m.hole.ReadMem(at, b)
}

// madeOf makes a process of a version with some bytes of memory, and a way to write words to it.
func madeOf(minor, bytes int) (r *runtime, m *made, put func(at, v uint64)) {
	r, _ = over(make([]byte, bytes), minor)
	m = &made{hole: r.p.State.(*hole)}
	m.mapping = libstate.Mapping{Start: base, End: base + uint64(bytes), Perm: libstate.Read | libstate.Write}
	r.p.State = m
	return r, m, func(at, v uint64) { binary.LittleEndian.PutUint64(m.data[at-base:], v) }
}

// putPool writes the header of a pool of 64-byte blocks, of which 10 were handed out at some time, and two are free.
func putPool(put func(at, v uint64), at, bytes uint64) {
	put(at, 8)
	put(at+poolFree, at+poolHead+3*64)
	put(at+32, 3<<32) // the class
	put(at+poolNext, poolHead+10*64|(bytes-64)<<32)
	put(at+poolHead+3*64, at+poolHead+5*64)
	put(at+poolHead+5*64, 0)
}

// counted walks a heap.
func counted(h heap.Allocator) (used, free int) {
	h.Blocks(func(b heap.Block) bool {
		if b.Free {
			free++
		} else {
			used++
		}
		return true
	})
	return used, free
}

func TestPools(t *testing.T) {
	for _, minor := range []int{6, 12} {
		bytes := uint64(4 << 10)
		if minor >= 10 {
			bytes = 16 << 10
		}
		r, _, put := madeOf(minor, 1<<17)
		putPool(put, base+bytes, bytes)
		putPool(put, base+2*bytes, bytes)
		put(base+2*bytes, 0) // no block of it is in use
		h := r.Heap()
		if h == nil {
			t.Fatalf("3.%d: no heap", minor)
		}
		all := int(bytes-poolHead) / 64
		if used, free := counted(h); used != 8 || free != all-8+1 || len(h.Damages()) != 0 {
			t.Errorf("3.%d: %d used, %d free, %v", minor, used, free, h.Damages())
		}
		for i, want := range []bool{false, false, false, true, false, true, false, false, false, false, true, true} {
			at := base + bytes + poolHead + uint64(i)*64
			if b, ok := h.BlockAt(at + 63); !ok || b.Start != at || b.Size != 64 || b.Free != want {
				t.Errorf("3.%d: block %d is %+v, %v", minor, i, b, ok)
			}
		}
		for _, at := range []uint64{base, base + bytes, base + bytes + poolHead - 1, base + bytes + poolHead + uint64(all)*64, base + 3*bytes} {
			if b, ok := h.BlockAt(at); ok {
				t.Errorf("3.%d: %#x is in %+v", minor, at, b)
			}
		}
		if b, ok := h.BlockAt(base + 2*bytes + 100); !ok || !b.Free || b.Size != bytes-poolHead {
			t.Errorf("3.%d: the empty pool is %+v, %v", minor, b, ok)
		}
		if got, want := h.(heap.Ranged).Ranges(), [][2]uint64{{base + bytes, base + 3*bytes}}; !slices.Equal(got, want) {
			t.Errorf("3.%d: ranges %#x", minor, got)
		}
	}
}

// TestPoolDamage: a list of free blocks that lies ends, and is said.
func TestPoolDamage(t *testing.T) {
	const bytes, at = 16 << 10, base + 16<<10
	block := func(i uint64) uint64 { return at + poolHead + i*64 }
	for _, c := range []struct {
		name    string
		at, v   uint64
		wrong   string
		written bool
	}{
		{"circle", block(5), block(3), "again", true},
		{"circle of one", block(3), block(3), "again", true},
		{"outside", block(5), block(5) + 1<<20, "no block of the pool", true},
		{"before", block(5), at + 8, "no block of the pool", true},
		{"middle", block(5), block(4) + 8, "no block of the pool", true},
		{"never handed out", block(5), block(10), "no block of the pool", true},
		{"too few in use", at, 5, "5 blocks are said to be in use, and 2 of 10 are free", false},
		{"one less, as while one is handed out", at, 7, "", false},
		{"too many free", block(5), block(6), "", false}, // by one
	} {
		r, _, put := madeOf(12, 1<<17)
		putPool(put, at, bytes)
		put(c.at, c.v)
		h := r.Heap()
		if h == nil {
			t.Errorf("%s: no heap", c.name)
			continue
		}
		list := h.Damages()
		if c.wrong == "" {
			if len(list) != 0 {
				t.Errorf("%s: %+v", c.name, list)
			}
			continue
		}
		if len(list) != 1 || !strings.Contains(list[0].Why, c.wrong) || list[0].At != c.at || list[0].Written != c.written {
			t.Errorf("%s: %+v", c.name, list)
		}
		counted(h)
	}
}

// TestNoPool: what contradicts itself is no pool.
func TestNoPool(t *testing.T) {
	const bytes, at = 16 << 10, base + 16<<10
	for name, lie := range map[string]func(put func(at, v uint64), m *made, r *runtime){
		"class":        func(put func(at, v uint64), _ *made, _ *runtime) { put(at+32, 4<<32) },
		"past the end": func(put func(at, v uint64), _ *made, _ *runtime) { put(at+poolNext, poolHead+256*64|(bytes-64)<<32) },
		"between":      func(put func(at, v uint64), _ *made, _ *runtime) { put(at+poolNext, poolHead+10*64+8|(bytes-64)<<32) },
		"none yet": func(put func(at, v uint64), _ *made, _ *runtime) {
			put(at, 0)
			put(at+poolFree, 0)
			put(at+poolNext, poolHead|(bytes-64)<<32)
		},
		"last":          func(put func(at, v uint64), _ *made, _ *runtime) { put(at+poolNext, poolHead+10*64|(bytes-72)<<32) },
		"last is large": func(put func(at, v uint64), _ *made, _ *runtime) { put(at+poolNext, poolHead+10*64|(bytes+64)<<32) },
		"large blocks": func(put func(at, v uint64), _ *made, _ *runtime) {
			put(at+32, 63<<32)
			put(at, 1)
			put(at+poolFree, 0)
			put(at+poolNext, poolHead+1024|(bytes-1024)<<32)
		},
		"more in use":  func(put func(at, v uint64), _ *made, _ *runtime) { put(at, 11) },
		"free outside": func(put func(at, v uint64), _ *made, _ *runtime) { put(at+poolFree, at+bytes+poolHead) },
		"free between": func(put func(at, v uint64), _ *made, _ *runtime) { put(at+poolFree, at+poolHead+8) },
		"a file":       func(_ func(at, v uint64), m *made, _ *runtime) { m.mapping.Path = "/tmp/x" },
		"constant":     func(_ func(at, v uint64), m *made, _ *runtime) { m.mapping.Perm = libstate.Read },
		"small":        func(_ func(at, v uint64), m *made, _ *runtime) { m.mapping.End = at + bytes - 1 },
		"mimalloc":     func(_ func(at, v uint64), _ *made, r *runtime) { r.free = true },
	} {
		r, m, put := madeOf(12, 1<<17)
		putPool(put, at, bytes)
		lie(put, m, r)
		if h := r.Heap(); h != nil {
			t.Errorf("%s: %+v", name, h.(*smallHeap).pools)
		}
	}
}

// TestPoolBounds: memory without end ends.
func TestPoolBounds(t *testing.T) {
	r, m, put := madeOf(12, 1<<17)
	putPool(put, base+16<<10, 16<<10)
	m.mapping.End = 1 << 47
	h := r.Heap()
	if h == nil || m.reads > 1<<17 {
		t.Fatalf("%v, %d reads", h, m.reads)
	}
	if list := h.Damages(); len(list) != 1 || !strings.Contains(list[0].Why, "more memory") {
		t.Errorf("%+v", list)
	}
	if !fixture.IsLong(t) {
		return
	}
	r, m, put = madeOf(12, 1<<17)
	r.p.Budget = nil
	putPool(put, base+16<<10, 16<<10)
	m.mapping.End = 1 << 47
	if h := r.Heap(); h == nil || len(h.Damages()) != 1 || m.reads > maxProbes+100 {
		t.Errorf("without a budget: %v, %d reads", h, m.reads)
	}
}

// A zoo has types, in memory of its own, and room for blocks behind them.
type zoo struct {
	r   *runtime
	put func(at, v uint64)
	m   *made
}

const (
	typeAt   = base + 0x1000 // type
	intAt    = base + 0x2000
	listAt   = base + 0x3000
	tupleAt  = base + 0x4000
	dequeAt  = base + 0x5000
	metaAt   = base + 0x6000 // a type of types
	classAt  = base + 0x7000 // whose type is that
	blockAt  = base + 0x8000
	anInt    = base + 0x9000
	namesAt  = base + 0xa000
	ringAt   = base + 0xc000
	zooBytes = 1 << 16
)

func newZoo(minor int) *zoo {
	z := &zoo{}
	z.r, z.m, z.put = madeOf(minor, zooBytes)
	z.r.typeType = typeAt
	for i, c := range []struct {
		at, of, flags, basic, item uint64
		name                       string
	}{
		{typeAt, typeAt, flagType | flagGC, 864, 40, "type"},
		{intAt, typeAt, flagLong, 24, 4, "int"},
		{listAt, typeAt, flagList | flagGC, 40, 0, "list"},
		{tupleAt, typeAt, flagTuple | flagGC, 24, 8, "tuple"},
		{dequeAt, typeAt, flagGC, 208, 0, "collections.deque"},
		{metaAt, typeAt, flagType | flagGC, 864, 40, "meta"},
		{classAt, metaAt, flagGC, 32, 0, "class"},
	} {
		z.put(c.at+8, c.of)
		z.put(c.at+z.r.at("type.flags"), c.flags|flagReady)
		z.put(c.at+z.r.at("type.basicsize"), c.basic)
		z.put(c.at+z.r.at("type.itemsize"), c.item)
		name := uint64(namesAt + 64*i)
		z.put(c.at+z.r.at("type.name"), name)
		copy(z.m.data[name-base:], c.name)
	}
	z.put(anInt, 1)
	z.put(anInt+8, intAt)
	return z
}

// in says what a block of a size is.
func (z *zoo) in(size uint64) (heap.Object, bool) {
	return z.r.ObjectIn(blockAt, size, z.m.data[blockAt-base:][:min(size, heap.ObjectBytes)])
}

func TestObjects(t *testing.T) {
	z := newZoo(12)
	object := func(head, of, refs uint64) {
		clear(z.m.data[blockAt-base:][:256])
		z.put(blockAt+head, refs)
		z.put(blockAt+head+8, of)
	}
	for _, c := range []struct {
		name           string
		head, of, refs uint64
		size           uint64
		want           string
	}{
		{"an int", 0, intAt, 1, 32, "int"},
		{"a list", 16, listAt, 3, 64, "list"},
		{"of a class whose type the program made", 16, classAt, 3, 48, "class"},
		{"a list that was freed", 16, listAt, 0, 64, "list, kept for reuse"},
		{"an immortal", 0, intAt, 0xffffffff, 32, "int"},
		{"a list without the collector's head", 0, listAt, 1, 64, ""},
		{"an int with it", 16, intAt, 1, 48, ""},
		{"a reference count that is an address", 0, intAt, 0x7f0000001000, 32, ""},
		{"a reference count that is a low address", 0, intAt, anInt, 32, ""},
		{"a reference count near a low address", 0, intAt, anInt + 4, 32, "int"},
		{"a large reference count that is no address", 0, intAt, 1 << 30, 32, "int"},
		{"a block that is too small", 16, listAt, 1, 48, ""},
		{"of a type that is an int", 0, anInt, 1, 32, ""},
		{"of a type that is no address", 0, 0x1234, 1, 32, ""},
		{"of a type where no memory is", 0, base - 8, 1, 32, ""},
	} {
		object(c.head, c.of, c.refs)
		o, ok := z.in(c.size)
		if ok != (c.want != "") || o.Type != c.want || ok && (o.Head != c.head || o.Freed != (c.refs == 0)) {
			t.Errorf("%s: %+v, %v", c.name, o, ok)
		}
	}
	if n := len(z.r.heapTypes); n > 4 {
		t.Errorf("%d types are kept: those that are none fill what is kept", n)
	}
	z.put(intAt+z.r.at("type.flags"), flagLong)
	z.r.heapTypes, z.r.types = nil, map[uint64]*typ{}
	if object(0, intAt, 1); true {
		if o, ok := z.in(32); ok {
			t.Errorf("of a type that is not ready: %+v", o)
		}
	}
	object(16, tupleAt, 1)
	z.put(blockAt+16+16, 3)
	if o, ok := z.in(64); !ok || o.Type != "tuple" {
		t.Errorf("a tuple of 3: %+v, %v", o, ok)
	}
	for _, n := range []uint64{4, 1 << 60, ^uint64(0)} {
		z.put(blockAt+16+16, n)
		if o, ok := z.in(64); ok {
			t.Errorf("a tuple of %d in 64 bytes: %+v", n, o)
		}
	}
	// An int whose value is the address of a class, as those are that id gives.
	z = newZoo(12)
	z.r.heapTypeAt(classAt, maxMetas)
	z.r.heapTypeAt(intAt, maxMetas)
	object(0, intAt, 1)
	z.put(blockAt+16, 1)
	z.put(blockAt+24, classAt)
	if o, ok := z.in(48); !ok || o.Type != "int" {
		t.Errorf("an int that is the address of a class: %+v, %v", o, ok)
	}
	// A list in a block that was an int's, before the collector writes its head.
	object(16, listAt, 1)
	z.put(blockAt+8, intAt)
	if o, ok := z.in(64); !ok || o.Type != "list" || o.Freed {
		t.Errorf("a list where an int was: %+v, %v", o, ok)
	}
	object(16, listAt, 1)
	z.put(blockAt+16+24, ringAt)
	if o, _ := z.in(64); !slices.Equal(o.Owns, []heap.Owned{{At: ringAt, What: "list items"}}) {
		t.Errorf("a list has %+v", o.Owns)
	}
	if why := z.r.Unknown(); why != "" {
		t.Error(why)
	}
	z.r.free = true
	if o, ok := z.in(64); ok || z.r.Unknown() == "" {
		t.Errorf("of a free-threaded build: %+v, %q", o, z.r.Unknown())
	}
}

// TestObjectBounds: types that are one another's and blocks that lead to one another end.
func TestObjectBounds(t *testing.T) {
	z := newZoo(12)
	// Types of types without end.
	for i := uint64(0); i < 64; i++ {
		z.put(ringAt+i*64+8, ringAt+(i+1)%64*64)
	}
	z.put(blockAt, 1)
	z.put(blockAt+8, ringAt)
	if o, ok := z.in(32); ok {
		t.Errorf("%+v", o)
	}
	// A deque whose blocks are a ring, and one that says it has more elements than there is memory.
	z = newZoo(12)
	z.put(blockAt+16, 1)
	z.put(blockAt+24, dequeAt)
	z.put(blockAt+32, 100)
	z.put(blockAt+40, ringAt)
	z.put(ringAt+8+64*8, ringAt)
	if o, ok := z.in(224); !ok || len(o.Owns) != 3 {
		t.Errorf("%d blocks of 100 elements, %v", len(o.Owns), ok)
	}
	z.put(blockAt+32, 1<<60)
	if o, ok := z.in(224); !ok || len(o.Owns) > 1<<16 {
		t.Errorf("%d blocks, %v", len(o.Owns), ok)
	}
	z = newZoo(12)
	z.r.p.Budget = nil
	z.r.dequeBlocks = maxDequeBlocks - 10
	z.put(blockAt+16, 1)
	z.put(blockAt+24, dequeAt)
	z.put(blockAt+32, 1<<20)
	z.put(blockAt+40, ringAt)
	z.put(ringAt+8+64*8, ringAt)
	if o, ok := z.in(224); !ok || len(o.Owns) > 11 {
		t.Errorf("%d blocks after many, %v", len(o.Owns), ok)
	}
	z = newZoo(12)
	// The hooks for debugging put their own head before it.
	clear(z.m.data[blockAt-base:][:256])
	copy(z.m.data[blockAt+8-base:], "o\xfd\xfd\xfd\xfd\xfd\xfd\xfd")
	z.put(blockAt+16, 1)
	z.put(blockAt+24, intAt)
	if o, ok := z.in(64); !ok || o.Type != "int" || o.Head != debugHead {
		t.Errorf("behind a head for debugging: %+v, %v", o, ok)
	}
	copy(z.m.data[blockAt+24-base:], "o\xfd\xfd\xfd\xfd\xfd\xfd\xfd")
	z.put(blockAt+32, 1)
	z.put(blockAt+40, intAt)
	if o, ok := z.in(64); !ok || o.Type != "int" || o.Head != 2*debugHead {
		t.Errorf("behind two heads for debugging: %+v, %v", o, ok)
	}
	if o, ok := z.in(20); ok {
		t.Errorf("in a block that ends in the head: %+v", o)
	}
}
