package asan

import (
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

const (
	madeArray  = 0x22000000
	madeHeader = 0x23001000
)

// largeProcess also has a large chunk of 0x3000 bytes, in use.
func largeProcess() *made {
	p, _ := depotProcess()
	for _, start := range []uint64{madeArray, madeHeader - page} {
		p.maps = append(p.maps, libstate.Mapping{Start: start, End: start + 0x8000, Perm: libstate.Read | libstate.Write})
	}
	p.mem[madeData+0x300] = madeArray
	p.mem[madeArray] = madeHeader
	p.mem[madeHeader], p.mem[madeHeader+8], p.mem[madeHeader+16] = madeHeader-page, 0x8000, 0x3000
	p.mem[madeHeader+page] = allocated | 1<<8 | 0x2000<<32
	return p
}

// TestLarge: the header of a large chunk says what nobody else's memory says.
func TestLarge(t *testing.T) {
	large := func(p *made) (heap.Block, bool) { return Find(p, Options{}).BlockAt(madeHeader + page + 0x1000) }
	if b, ok := large(largeProcess()); !ok || b.Start != madeHeader+page+headerSize || b.Size != 0x2000 || !b.Mapped || b.Free {
		t.Errorf("%+v, %v", b, ok)
	}
	for name, damage := range map[string]func(p *made){
		"another index":            func(p *made) { p.mem[madeHeader+24] = 1 },
		"begins behind its header": func(p *made) { p.mem[madeHeader] = madeHeader + 8 },
		"of too many bytes":        func(p *made) { p.mem[madeHeader+8] = maxAllowed + 1 },
		"larger than its mapping":  func(p *made) { p.mem[madeHeader+16] = 0x8001 },
		"behind its mapping":       func(p *made) { p.mem[madeHeader+16] = 0x7001 },
		"too small":                func(p *made) { p.mem[madeHeader+16] = headerSize + 7 },
		"header not at a page":     func(p *made) { p.mem[madeArray] = madeHeader + 8 },
		"no header":                func(p *made) { p.mem[madeArray] = 0 },
		"header that is not there": func(p *made) { p.mem[madeArray] = 0x77777000 },
	} {
		p := largeProcess()
		damage(p)
		if b, ok := large(p); ok {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// TestBeside: of two blocks the one in use, else the nearer.
func TestBeside(t *testing.T) {
	p := largeProcess()
	h := Find(p, Options{})
	for _, c := range []struct {
		addr, start uint64
		ok          bool
	}{
		{madeRegion + 64 + 16, madeRegion + 64 + 16, true},         // in a block
		{madeRegion + 64 + 57, madeRegion + 64 + 16, true},         // behind it
		{madeRegion + 128 + 4, madeRegion + 128 + 16, true},        // between two, and 12 before the second, 12 behind the first
		{madeRegion + 128, madeRegion + 64 + 16, true},             // 8 behind the first
		{madeRegion + 64, madeRegion + 64 + 16, true},              // the one before is in quarantine
		{madeHeader + page + 8, madeHeader + page + 16, true},      // before a large one
		{madeHeader + page + 0x3008, madeHeader + page + 16, true}, // behind it
		{0x5555000, 0, false},
	} {
		if b, ok := h.Beside(c.addr); ok != c.ok || ok && b.Start != c.start {
			t.Errorf("%#x: %#x, %v, want %#x", c.addr, b.Start, ok, c.start)
		}
	}
}
