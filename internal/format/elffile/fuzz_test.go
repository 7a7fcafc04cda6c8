package elffile

import (
	"encoding/binary"
	"testing"
)

func seeds(f *testing.F) [][]byte {
	var all [][]byte
	for _, k := range kinds {
		all = append(all, sample(k.class, k.big).build(f), relocImage(k.class, k.big, SHT_RELA).build(f), dynImage(f, k.class, k.big, 0x40000, 0, DT_GNU_HASH),
			symImage(k.class, k.big, EM_PPC64, []tsym{{"f", 0x1100, 0x10, fn, gl, 1}, {"g", 0x1200, 0, no, we, 1}}).build(f))
	}
	return all
}

// touch calls every method of a file.
func touch(f *File) {
	f.Decompress = func(p Packed) (Inflated, error) { return inflated(p.Data), nil }
	f.BuildID()
	f.DebugLink()
	f.DebugAltLink()
	f.Interp()
	f.Relro()
	f.SONAME()
	f.Needed()
	f.DebugOnly()
	f.VaddrToOff(f.Entry)
	f.DataAt(f.Entry, 16)
	for i := range f.Progs {
		f.SegmentData(&f.Progs[i])
	}
	secs := f.Sections()
	for i := range secs {
		secs[i].Name()
		f.SectionData(&secs[i])
	}
	f.RelocOf(f.Entry)
	f.PLTReloc(1)
	f.LookupSym(f.Entry)
	f.SymByName("main")
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := Parse(data); err == nil {
			touch(e)
		}
		if e, err := ParseMemory(data, 0x7f0000040000); err == nil {
			touch(e)
		}
	})
}

func FuzzSymbols(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, uint64(0x1104))
	}
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		e, err := Parse(data)
		if err != nil {
			return
		}
		for _, get := range []func() (*SymTab, error){e.SymTab, e.DynSym} {
			tab, err := get()
			if err != nil {
				continue
			}
			lookupBoth(t, tab, addr)
			n := 0
			for s := range tab.All() {
				if n++; n > 64 {
					break
				}
				nameBoth(t, tab, s.Name())
				nameBoth(t, tab, string(s.RawName()))
				lookupBoth(t, tab, s.Value)
				lookupBoth(t, tab, s.Value+s.Size)
			}
		}
	})
}

func FuzzNotes(f *testing.F) {
	m := &image{class: 64}
	f.Add(m.note("CORE", 1, []byte("abcde"), 4), true)
	f.Fuzz(func(t *testing.T, data []byte, eight bool) {
		align := 4
		if eight {
			align = 8
		}
		last := -1
		for n := range Notes(data, binary.BigEndian, align) {
			if n.Off <= last || n.DescOff+len(n.Desc) > len(data) {
				t.Fatalf("%+v after %d", n, last)
			}
			last = n.Off
		}
	})
}
