package elffile

import "testing"

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

func BenchmarkRelocOf(b *testing.B) {
	f := mustParse(b, relocImage(64, false, SHT_RELA).build(b))
	for b.Loop() {
		f.RelocOf(0x3008)
	}
}
