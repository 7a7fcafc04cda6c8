package asan

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A made process is some memory, and libraries.
type made struct {
	heap.Process
	maps  []libstate.Mapping
	libs  []*libstate.Library
	mem   map[uint64]uint64 // words
	reads map[uint64]int    // bytes, by the mapping
}

func (p *made) Arch() *arch.Arch                      { return arch.AMD64 }
func (p *made) LibraryTracker() libstate.LibraryState { return libstate.NewTable(p.libs, 0) }
func (p *made) Mappings() []libstate.Mapping          { return p.maps }

func (p *made) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	_, err := p.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func (p *made) ReadMem(at arch.Address, b []byte) (n int, err error) {
	for _, m := range p.maps {
		if m.Start <= at && at < m.End {
			for ; n < len(b) && at+arch.Address(n) < m.End; n++ {
				a := uint64(at) + uint64(n)
				b[n] = byte(p.mem[a&^7] >> (a % 8 * 8))
			}
			p.reads[uint64(m.Start)] += n
		}
	}
	if n < len(b) {
		err = arch.ErrUnreadable
	}
	return n, err
}

const (
	madeData, otherData  = 0x10000, 0x8000
	madeNodes, madeStore = 0x20000000, 0x21000000
	madeRegion           = 0x600000000000 + 4<<36 // of 64 bytes
)

// depotProcess has one stack, number 1, by which thread 3 allocated and thread 4 freed the first chunk.
func depotProcess() (p *made, frames []uint64) {
	frames = []uint64{0x1001, 0x1002, 0x1003}
	const rw = libstate.Read | libstate.Write
	at := func(start, size uint64) libstate.Mapping {
		return libstate.Mapping{Start: start, End: start + size, Perm: rw}
	}
	p = &made{mem: map[uint64]uint64{}, reads: map[uint64]int{}}
	p.maps = []libstate.Mapping{at(otherData, 0x1000), at(madeData, 0x1000), at(madeNodes, 0x2000), at(madeStore, 0x1000), at(madeRegion, 512)}
	p.libs = []*libstate.Library{{Path: "/bin/program", Mappings: p.maps[:1]}, {Path: "/usr/lib/libasan.so.8", Mappings: p.maps[1:2]}}
	p.mem[madeData+0x100], p.mem[madeData+0x200] = madeNodes, madeStore
	p.mem[madeNodes+16], p.mem[madeNodes+24] = murmur2(frames, 5), 1<<32
	p.mem[madeStore] = 3 | 5<<8
	for i, f := range frames {
		p.mem[madeStore+8+uint64(i)*8] = f
	}
	for i := range uint64(8) {
		p.mem[madeRegion+i*64] = allocated | 1<<8 | 40<<32
	}
	p.mem[madeRegion] = quarantine | 2<<8 | 40<<32
	p.mem[madeRegion+8], p.mem[madeRegion+16] = 3<<32|1, 4<<32|1
	return p, frames
}

func past(t *testing.T, p *made) (heap.History, bool) {
	t.Helper()
	h := Find(p, Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	b, ok := h.BlockAt(madeRegion + 20)
	if !ok || !b.Free {
		t.Fatalf("%+v", b)
	}
	return h.History(b)
}

// TestDepot: a stack is that of a block only if all that proves it is right, and what is looked for in the sanitizer's library is not searched for in others.
func TestDepot(t *testing.T) {
	p, frames := depotProcess()
	s, ok := past(t, p)
	if !ok || s.How != "operator new" || s.Allocated.Thread != 3 || s.Freed == nil || s.Freed.Thread != 4 || len(s.Allocated.Stack) != len(frames) || s.Freed.Stack[2] != frames[2] {
		t.Errorf("%+v, %v", s, ok)
	}
	if p.reads[otherData] > 0 {
		t.Error("the program's data are searched")
	}
	for name, damage := range map[string]func(){
		"another frame":             func() { p.mem[madeStore+16]++ },
		"another tag":               func() { p.mem[madeStore] = 3 | 6<<8 },
		"no frames":                 func() { p.mem[madeStore] = 5 << 8 },
		"packed":                    func() { p.mem[madeStore] |= 1 << 20 },
		"frames that are not there": func() { p.maps[3].End = p.maps[3].Start + 16 },
		"another hash":              func() { p.mem[madeNodes+16]++ },
		"a list before the first":   func() { p.mem[madeNodes+8] = 1 },
		"another number":            func() { p.mem[madeRegion+8], p.mem[madeRegion+16] = 2, 2 },
		"number 0":                  func() { p.mem[madeRegion+8], p.mem[madeRegion+16] = 0, 4<<32 },
		"number past the last":      func() { p.mem[madeRegion+8], p.mem[madeRegion+16] = 1<<31, 1<<31 },
		"a table not at a page":     func() { p.mem[madeData+0x100] += 8 },
		"no table":                  func() { p.mem[madeData+0x200] = 0 },
	} {
		p, _ = depotProcess()
		damage()
		if s, ok := past(t, p); !ok || len(s.Allocated.Stack) > 0 || s.Freed == nil || len(s.Freed.Stack) > 0 {
			t.Errorf("%s: %+v, %v", name, s, ok)
		}
	}
	p, _ = depotProcess()
	p.mem[madeRegion+16] = 0xffffffff << 32 // kInvalidTid
	if s, ok := past(t, p); !ok || s.Freed != nil {
		t.Errorf("it is being freed: %+v", s)
	}
	h := Find(p, Options{})
	for _, b := range []heap.Block{{Start: madeRegion + 24}, {Start: 0x1234}} {
		if s, ok := h.History(b); ok {
			t.Errorf("of what is no block: %+v", s)
		}
	}
}

// TestProvedByLittle: slim dumps keep what reports read, and a report may not read much of a heap.
func TestProvedByLittle(t *testing.T) {
	p := &made{mem: map[uint64]uint64{}, reads: map[uint64]int{}}
	for class := uint64(1); class < numClasses; class++ {
		start := spaces[0] + class*regionSize
		p.maps = append(p.maps, libstate.Mapping{Start: start, End: start + 1<<20, Perm: libstate.Read | libstate.Write})
		for at := start; at < start+1<<20; at += classSize(class) {
			p.mem[at] = allocated | 1<<8
		}
	}
	if Find(p, Options{}) == nil {
		t.Fatal("no heap")
	}
	sum := 0
	for _, n := range p.reads {
		sum += n
	}
	if sum > enough*batchHead {
		t.Errorf("%d bytes were read", sum)
	}
}

// TestQuarantineAlone: the sanitizer's own lists are no damages.
func TestQuarantineAlone(t *testing.T) {
	p, _ := depotProcess()
	class := uint64(1)
	for classSize(class) != batchClass {
		class++
	}
	start := spaces[0] + class*regionSize
	p.maps = append(p.maps, libstate.Mapping{Start: start, End: start + 64*batchClass, Perm: libstate.Read | libstate.Write})
	for at := start; at < start+64*batchClass; at += batchClass {
		p.mem[at], p.mem[at+16], p.mem[at+24] = 0x7001, 1, madeRegion
	}
	h := Find(p, Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	if d := h.Damages(); len(d) > 0 {
		t.Errorf("%+v", d[0])
	}
	p.mem[start+16] = maxBatch + 1
	if d := Find(p, Options{}).Damages(); len(d) != 1 {
		t.Errorf("a list that is too long: %+v", d)
	}
}
