package pdb

import (
	"errors"
	"testing"
)

// The streams of two modules that are the same blocks are refused: any number of them would cost as much as so many files.
func TestStreamsShareBlocks(t *testing.T) {
	c := &container{blockSize: 512, blocks: 4, data: make([]byte, 4*512), sizes: []uint32{512, 512, 1024}, lists: []uint32{0, 4, 8}}
	for i, block := range []uint32{1, 1, 2, 2} { // the last stream has one block twice
		le.PutUint32(c.data[4*i:], block)
	}
	c.dir = stream{c, 16, []uint32{0}}
	f := &File{c: c}
	if _, err := f.readProcs(&module{stream: 0, symbols: 512}); err != nil {
		t.Error(err)
	}
	for _, n := range []int{1, 2} {
		if _, err := f.readProcs(&module{stream: n, symbols: 512}); !errors.Is(err, ErrFormat) {
			t.Errorf("stream %d: %v", n, err)
		}
	}
}

// Where inlined functions begin is searched for one after another at first, and then in order; the first of a number counts. What was
// looked at is counted.
func TestInlineesInOrder(t *testing.T) {
	const n = 1000
	b := le.AppendUint32(nil, 0)
	for i := range uint32(n) {
		for _, v := range []uint32{2 * (n - i), i, i + 1} {
			b = le.AppendUint32(b, v)
		}
	}
	for _, v := range []uint32{4, 7777, 7777} {
		b = le.AppendUint32(b, v)
	}
	s := stored(b)
	p := &procs{inlinees: []view{{s, 0, s.size}}}
	for round := range 2 {
		for i := range uint32(searches) {
			at, ok := p.inlinee(2 * (i + 1))
			if !ok || at.file != n-i-1 || at.line != n-i {
				t.Fatalf("round %d: %d: %+v, %v", round, 2*(i+1), at, ok)
			}
			if _, ok := p.inlinee(3); ok {
				t.Fatal("found")
			}
		}
	}
	if w := s.c.work.Load(); w < n*searches/2 || w > n*(searches+2) {
		t.Errorf("%d of work", w)
	}
}

// The inlined calls that a look-up goes through are counted.
func TestSitesAreCounted(t *testing.T) {
	b := make([]byte, 4)
	b = append(b, record(symGlobalProc, 0, 1<<20, 0, 0x100, 0, 0, 0, 0, uint16(1), uint16(0), "f")...)
	const n = 1000
	for range n {
		b = append(b, record(symInlineSite, 0, 0, 5, []byte{3, 1, 4, 1, 0, 0, 0, 0})...)
	}
	s := stored(b)
	p := &procs{symbols: view{s, 0, s.size}}
	p.sites(proc{place{1, 0}, 0x100, 4}, 0x80)
	if w := s.c.work.Load(); w < n*(siteCost+24/noteBytes) { // each has 24 bytes
		t.Errorf("%d of work for %d records", w, n)
	}
}
