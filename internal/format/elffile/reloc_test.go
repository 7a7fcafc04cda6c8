package elffile

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// relocImage has two relocations in .dyn and two for linkage stubs.
func relocImage(class int, big bool, typ uint32) *image {
	m := &image{class: class, big: big, typ: ET_DYN, machine: EM_X86_64}
	table := func(offset uint64, first uint32) []byte {
		e := enc{m: m}
		for i := range uint64(2) {
			sym := first + uint32(i)
			e.word(offset + 8*i)
			if class == 64 {
				e.u64(uint64(sym)<<32 | 7)
			} else {
				e.u32(sym<<8 | 7)
			}
			if typ == SHT_RELA {
				e.word(0x40 + i)
			}
		}
		return e.b
	}
	ext := map[uint32]string{SHT_RELA: ".rela", SHT_REL: ".rel"}[typ]
	m.secs = []sec{
		{name: ext + ".debug_info", typ: typ, data: table(0x2000, 90)}, // not the dynamic linker's
		{name: ext + ".dyn", typ: typ, flags: SHF_ALLOC, addr: 0x1000, data: table(0x2000, 1)},
		{name: ext + ".plt", typ: typ, flags: SHF_ALLOC, addr: 0x1100, data: append(table(0x3000, 3), 0xff)},
	}
	return m
}

func TestReloc(t *testing.T) {
	for _, k := range kinds {
		for _, typ := range []uint32{SHT_RELA, SHT_REL} {
			f := mustParse(t, relocImage(k.class, k.big, typ).build(t))
			addend := func(v uint64) uint64 {
				if typ == SHT_REL {
					return 0
				}
				return v
			}
			for at, want := range map[uint64]Reloc{
				0x2000: {0x2000, 7, 1, addend(0x40)}, 0x2008: {0x2008, 7, 2, addend(0x41)}, 0x3008: {0x3008, 7, 4, addend(0x41)}, 0x3010: {},
			} {
				if got, ok := f.RelocOf(at); got != want || ok != (want.Sym != 0) {
					t.Errorf("%s, type %d: of %#x %+v, %v; want %+v", k.name, typ, at, got, ok, want)
				}
			}
			if got, ok := f.PLTReloc(1); !ok || got.Sym != 4 {
				t.Errorf("%s, type %d: of stub 1 %+v, %v", k.name, typ, got, ok)
			}
			for _, n := range []uint64{2, 1 << 62, ^uint64(0)} {
				if got, ok := f.PLTReloc(n); ok {
					t.Errorf("%s, type %d: of stub %d %+v", k.name, typ, n, got)
				}
			}
		}
	}
}

// A countingOrder counts the words that are read.
type countingOrder struct {
	binary.ByteOrder
	n int
}

func (c *countingOrder) Uint64(b []byte) uint64 { c.n++; return c.ByteOrder.Uint64(b) }
func (c *countingOrder) Uint32(b []byte) uint32 { c.n++; return c.ByteOrder.Uint32(b) }

// A search for a relocation reads few of them, except the first search for one that is not
// where a sorted table would have it.
func TestRelocOfSteps(t *testing.T) {
	const n = 20_000
	relocs := func(first uint64, order []int) []byte {
		var b []byte
		for _, i := range order {
			b = binary.LittleEndian.AppendUint64(b, first+8*uint64(i))
			b = binary.LittleEndian.AppendUint64(b, uint64(i+1)<<32|7)
			b = binary.LittleEndian.AppendUint64(b, 0)
		}
		return b
	}
	up := make([]int, n)
	for i := range up {
		up[i] = i
	}
	mixed := rand.New(rand.NewPCG(1, 2)).Perm(n)
	m := &image{class: 64, typ: ET_DYN, machine: EM_X86_64, secs: []sec{
		{name: ".rela.dyn", typ: SHT_RELA, flags: SHF_ALLOC, data: append(relocs(0x1000000, up), relocs(0x2000000, mixed)...)},
		{name: ".rela.plt", typ: SHT_RELA, flags: SHF_ALLOC, data: relocs(0x3000000, up)},
	}}
	f := mustParse(t, m.build(t))
	words := &countingOrder{ByteOrder: f.Order}
	f.Order = words
	look := func(first uint64, i int, most int) {
		t.Helper()
		words.n = 0
		r, ok := f.RelocOf(first + 8*uint64(i))
		if found := i < n; ok != found || ok && (r.Sym != uint32(i+1) || r.Offset != first+8*uint64(i)) {
			t.Fatalf("of %#x + 8*%d: %+v, %v", first, i, r, ok)
		}
		if words.n == 0 || words.n > most {
			t.Fatalf("of %#x + 8*%d: %d words read, want at most %d", first, i, words.n, most)
		}
	}
	look(0x3000000, 7, 100) // before anything else was read
	look(0x2000000, n, 100*n)
	for i := range n {
		look(0x1000000, i, 200)
		look(0x2000000, i, 200)
		look(0x3000000, i, 200)
	}
	look(0x3000000, n, 200)
}

func BenchmarkRelocOf(b *testing.B) {
	f := mustParse(b, relocImage(64, false, SHT_RELA).build(b))
	for b.Loop() {
		f.RelocOf(0x3008)
	}
}
