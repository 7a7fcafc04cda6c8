package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// Edits that a mutator makes are inside the file, and mending undoes them on disk.
func TestDamageAndMend(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 1000)
	s, err := stage(filepath.Join(t.TempDir(), "file"), data)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	rng := rand.New(rand.NewPCG(1, 2))
	m := &mutator{rng: rng, data: data, shape: &shape{
		fields:  []field{{off: 0}, {off: 8, size: 8, role: roleAddr}, {off: 15999, size: 4}, {off: 7, size: 2, role: roleRef, choices: []uint64{7}}, {off: 20000, size: 1, role: roleCode}},
		regions: []region{{0, 100}, {15990, 10}, {15990, 100}, {30000, 1}}, addrs: []uint64{1 << 40}}}
	changed, resized := 0, 0
	for range 3000 {
		edits := m.edits()
		want := apply(data, edits)
		err := s.with(edits, func() {
			got, err := os.ReadFile(s.path)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%v, %d bytes, not %d, after %v", err, len(got), len(want), edits)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(s.path); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%v: not mended after %v", err, edits)
		}
		if !bytes.Equal(want, data) {
			changed++
		}
		if len(want) != len(data) {
			resized++
		}
	}
	if changed < 2500 || resized == 0 {
		t.Errorf("of 3000 inputs %d differ, %d in length", changed, resized)
	}
}

// Two functions of one package, with 2 and 1 counters.
func TestCounters(t *testing.T) {
	b := make([]byte, 32+16)
	copy(b, "\x00cwm")
	b[24] = 2
	binary.LittleEndian.PutUint64(b[32:], 2)
	binary.LittleEndian.PutUint32(b[32+8:], 3)
	binary.LittleEndian.PutUint32(b[32+12:], 2)
	b = append(b, "tables\x00\x00"...)
	b = append(b, 2, 5, 6, 0, 0x81, 1, 1, 5, 7, 9)
	got := map[[3]int]uint64{}
	whole := append(b, make([]byte, 16)...)
	if err := counters(whole, func(pkg, fn, part int, n uint64) { got[[3]int{pkg, fn, part}] = n }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[[3]int{5, 6, 1}] != 129 || got[[3]int{5, 7, 0}] != 9 {
		t.Errorf("%v", got)
	}
	for n := range whole {
		if counters(whole[:n], func(int, int, int, uint64) {}) == nil {
			t.Errorf("cut to %d bytes: no error", n)
		}
	}
}

// Every base of the first kind can be made ready, used and damaged again.
func TestBases(t *testing.T) {
	all, err := bases(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for _, b := range all {
		if done[b.kind] || b.kind == "foreign" {
			continue
		}
		r, err := b.ready(t.TempDir())
		if errors.Is(err, errNothing) {
			continue
		}
		done[b.kind] = true
		if err != nil {
			t.Fatalf("%s: %v", b.id(), err)
		}
		if len(r.data) == 0 || len(r.shape.fields) == 0 && !r.shape.text {
			t.Errorf("%s: %d bytes, %d fields", b.id(), len(r.data), len(r.shape.fields))
		}
		if at := lengths(r, rand.New(rand.NewPCG(1, 1))); len(at) < min(200, len(r.data)/4) || at[0] >= len(r.data) || at[len(at)-1] != 0 {
			t.Errorf("%s: cut at %v", b.id(), at)
		}
		m := &mutator{rng: rand.New(rand.NewPCG(3, 4)), data: r.data, shape: r.shape}
		rounds := 1
		if fixture.IsLongRun() {
			rounds = 3
		}
		for range rounds {
			if err := r.run(m.edits(), m.rng); err != nil {
				t.Errorf("%s: %v", b.id(), err)
			}
		}
		if b.part { // the next input begins with a good copy
			var after []byte
			if p, err := partReady(r.data, r.shape, func(b []byte, _ *rand.Rand) { after = bytes.Clone(b) }); err == nil {
				p.run(m.edits(), m.rng)
				if p.run(nil, m.rng); !bytes.Equal(after, r.data) {
					t.Errorf("%s: not mended", b.id())
				}
			}
		}
		r.close()
	}
	for _, kind := range []string{"core", "memory", "binary", "dwarf", "cfi", "minidump", "pe", "pdb", "packed", "sym", "names", "cut core", "gotable", "part elf", "part dwarf", "part cfi", "part gotable", "part pe",
		"part pdb", "part minidump", "part cabinet", "part xdata", "part codeview", "part rules", "part packed", "part sym", "part code", "part op", "part lists", "part heap"} {
		if !done[kind] {
			t.Errorf("no base of kind %s", kind)
		}
	}
}
