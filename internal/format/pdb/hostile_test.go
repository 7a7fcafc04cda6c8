package pdb

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"
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

// typesOf are types made of records, without hashes and without an index.
func typesOf(records []byte, n int) *File {
	s := stored(records)
	t := &types{first: firstRecord, last: firstRecord + uint32(n), records: view{s, 0, s.size}, index: view{s, 0, 0}, hashes: view{s, 0, 0}}
	t.marks = sync.OnceValue(t.findMarks)
	return &File{c: s.c, Machine: 0x8664, types: func() (*types, error) { return t, nil }}
}

// A class that is only declared is searched for among all others, each of which is read once.
func TestDeclaredAmongMany(t *testing.T) {
	const n = 300_000
	one := record(leafStruct, uint16(0), uint16(propForward), 0, 0, 0, uint16(0), "s")
	f := typesOf(bytes.Repeat(one, n), n)
	start := time.Now()
	if id, ok := f.Definition(firstRecord); ok {
		t.Errorf("defined by %#x", id)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if w := f.Work(); w < n || w > 20*n {
		t.Errorf("%d of work", w)
	}
}

// A list of members that goes on with itself ends, and what was read of it is counted.
func TestMembersInACircle(t *testing.T) {
	list := record(leafFieldList, []byte{0x0d, 0x15, 3, 0}, 0x74, uint16(0), string(bytes.Repeat([]byte("m"), 60_000)), []byte{0xf2, 0xf1},
		[]byte{0x04, 0x14, 0, 0}, firstRecord)
	f := typesOf(list, 1)
	got, _ := f.Members(firstRecord)
	size := 0
	for _, m := range got {
		size += len(m.Name)
	}
	if len(got) < 2 || size > maxNames {
		t.Errorf("%d members with names of %d bytes", len(got), size)
	}
	if w := f.Work(); w < int64(len(got)*len(list)/noteBytes/2) {
		t.Errorf("%d of work for %d members", w, len(got))
	}
}

// Types that are themselves end.
func TestTypesOfThemselves(t *testing.T) {
	rec := slices.Concat(
		record(leafModifier, firstRecord, uint16(0)),
		record(leafArray, firstRecord+1, 0x74, uint16(8), ""),
		record(leafAlias, firstRecord+2, "alias"),
		record(leafArgs, 1<<31-1, firstRecord+3),
		record(leafFieldList, []byte{0x00, 0x14, 3, 0}, firstRecord+5, uint16(0)),
		record(leafStruct, uint16(1), uint16(0), firstRecord+4, 0, 0, uint16(8), "self"))
	f := typesOf(rec, 6)
	for id := TypeID(firstRecord); id < firstRecord+6; id++ {
		f.Type(id)
		f.Definition(id)
		if args := f.Args(id); len(args) > 1 {
			t.Errorf("%d arguments", len(args))
		}
		if m, _ := f.Members(id); len(m) > 1 {
			t.Errorf("%d members", len(m))
		}
	}
}

// Scopes that are nested without end, or end far out, are read once, and counted.
func TestScopesThatLie(t *testing.T) {
	var all [][]byte
	const n = 100_000
	for range n {
		all = append(all, record(symBlock, 0, math.MaxInt32, 0x100, 0, uint16(1), "b"))
	}
	start := time.Now()
	root := readScope(0x8664, all...)
	depth := 0
	for s := root; len(s.Inner) > 0; s = s.Inner[0] {
		depth++
	}
	if depth == 0 || depth > maxInline+1 {
		t.Errorf("%d scopes within each other", depth)
	}
	all = all[:0]
	for range n { // each ends where it begins
		all = append(all, record(symBlock, 0, 0, 0x100, 0, uint16(1), "b"), record(symLocal, 0x74, uint16(0), "v"))
	}
	readScope(0x8664, all...)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// Lines that claim to be 2^32 are those that are there.
func TestLinesThatLie(t *testing.T) {
	b := make([]byte, 1<<16)
	for i := 0; i+12 <= len(b); i += 12 {
		le.PutUint32(b[i+4:], math.MaxUint32)
		le.PutUint32(b[i+8:], 12)
	}
	s := stored(b)
	for at := range 64 {
		table := lineTable{place{1, 0}, math.MaxUint32, view{s, at, s.size - at}, false}
		if got := table.find(100); got.line != 0 {
			t.Errorf("%d: %+v", at, got)
		}
	}
}
