package elffile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// storedImage is a file with enough symbols for their indexes to be kept: nested, equal, without sizes, versioned.
func storedImage(t testing.TB) []byte {
	r := rand.New(rand.NewSource(1))
	var syms []tsym
	for i := range 4196 {
		s := tsym{fmt.Sprintf("f%d", i%4046), 0x1000 + uint64(r.Intn(0x17f0)), uint64(r.Intn(12)), []uint8{fn, no, ob}[r.Intn(3)], []uint8{lo, gl, we}[r.Intn(3)], 1}
		if s.value >= 0x2000 {
			s.shndx = 2
		}
		if i%7 == 0 {
			s.name = fmt.Sprintf("g%d@@V%d", i, i%3)
		}
		syms = append(syms, s)
	}
	return symImage(64, false, EM_X86_64, syms).build(t)
}

// A storage is what a File stores, by kind.
type storage map[Index][]byte

// run looks everything up as a run does that finds what is in the storage, and then stores.
func (m storage) run(t testing.TB, data []byte) (tab *SymTab, added int) {
	t.Helper()
	f := mustParse(t, data)
	f.Stored = func(kind Index, s *Section) []byte {
		if s.Name() != ".symtab" {
			t.Errorf("an index of %s", s.Name())
		}
		return m[kind]
	}
	tab, err := f.SymTab()
	if err != nil {
		t.Fatal(err)
	}
	for range storedAfter {
		tab.Lookup(0x1100)
		tab.ByName("f1")
	}
	f.Storable(func(kind Index, _ *Section, data []byte) { m[kind] = data; added++ })
	return tab, added
}

// TestStored: the second run finds the indexes of the first, and with them what scans find.
func TestStored(t *testing.T) {
	data, m := storedImage(t), storage{}
	if _, added := m.run(t, data); added != numIndexes {
		t.Fatalf("the first run stores %d indexes", added)
	}
	tab, added := m.run(t, data)
	if added != 0 || tab.stored != [numIndexes]bool{true, true} {
		t.Fatalf("the second run stores %d indexes, and found %v", added, tab.stored)
	}
	for addr := uint64(0xff0); addr < 0x2810; addr++ {
		lookupBoth(t, tab, addr)
	}
	for s := range tab.All() {
		nameBoth(t, tab, s.Name())
	}
	nameBoth(t, tab, "no such name")
}

// TestStoredRules: an index is kept for later versions of this package. Where this test fails, they would find other
// symbols than a scan: give the kind of index a new number, too.
func TestStoredRules(t *testing.T) {
	m := storage{}
	m.run(t, storedImage(t))
	if got := crc32.ChecksumIEEE(m[IndexByAddr]); IndexByAddr != 1 || got != 0x5f66f802 {
		t.Errorf("index by address %d: %#x", IndexByAddr, got)
	}
	x := nameIndex{seed: 1, shift: nameShift(4096)}
	if got := [2]uint32{x.hash([]byte("strlen")), x.hash([]byte("a longer name"))}; IndexByName != 1<<16 || got != [2]uint32{887, 687} {
		t.Errorf("index by name %d: %d", IndexByName, got)
	}
}

// TestStoredDamage: a bad index, which nobody can tell from a good one, leads nowhere outside the table.
func TestStoredDamage(t *testing.T) {
	rounds := 300
	if !fixture.IsLong(t) {
		rounds /= 3
	}
	data, good := storedImage(t), storage{}
	good.run(t, data)
	r := rand.New(rand.NewSource(2))
	for range rounds {
		m := storage{}
		for kind, b := range good {
			b = append([]byte(nil), b[:len(b)-r.Intn(2)*r.Intn(len(b)+1)]...)
			for range r.Intn(2000) {
				if len(b) > 8 {
					binary.LittleEndian.PutUint32(b[r.Intn(len(b)-4):], uint32(r.Int63n(1<<(1+r.Intn(31)))))
				}
			}
			m[kind] = b
		}
		tab, _ := m.run(t, data)
		for i := range 200 {
			if s, ok := tab.Lookup(0x1000 + uint64(7*i)); ok && (s.Value > 0x1000+uint64(7*i) || s.Index >= tab.Len()) {
				t.Fatalf("%#x: %+v", 0x1000+7*i, s)
			}
			name := fmt.Sprint("f", i)
			if s, ok := tab.ByName(name); ok && s.Name() != name {
				t.Fatalf("%s: %s", name, s.Name())
			}
		}
	}
}

// Small tables, and those that another file completes, are not stored.
func TestNotStored(t *testing.T) {
	for _, m := range []*image{
		symImage(64, false, EM_X86_64, []tsym{{"f", 0x1100, 2, fn, gl, 1}}),
		symImage(64, true, EM_PPC64, make([]tsym, minStored)),
		symImage(32, false, EM_ARM, make([]tsym, minStored)),
	} {
		if _, added := (storage{}).run(t, m.build(t)); added != 0 {
			t.Errorf("machine %d: %d indexes", m.machine, added)
		}
	}
}
