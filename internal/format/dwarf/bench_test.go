package dwarf

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"testing"
)

// benchFile returns a large file to measure: DWARF_BENCH, or the test binary itself.
func benchFile(b *testing.B) elfSource {
	path := os.Getenv("DWARF_BENCH")
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			b.Skip(err)
		}
	}
	s := readELF(b, path)
	if s.f.Section(".debug_info") == nil {
		b.Skipf("%s has no uncompressed .debug_info", path)
	}
	return s
}

// benchPCs returns n addresses spread over the text.
func benchPCs(f *elf.File, n int) []uint64 {
	text := f.Section(".text")
	pcs := make([]uint64, n)
	for i := range pcs {
		pcs[i] = text.Addr + text.Size/uint64(n+1)*uint64(i+1)
	}
	return pcs
}

// BenchmarkOpen measures the time from opening to the first frame.
func BenchmarkOpen(b *testing.B) {
	s := benchFile(b)
	pcs := benchPCs(s.f, 16)
	for _, bm := range []struct {
		name string
		pcs  []uint64
	}{{"1pc", pcs[7:8]}, {"16pcs", pcs}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []Call
			for b.Loop() {
				d := s.data()
				for _, pc := range bm.pcs {
					buf, _ = d.Frames(pc, buf[:0])
				}
			}
		})
	}
}

// BenchmarkIndex measures building the index of units.
func BenchmarkIndex(b *testing.B) {
	s := benchFile(b)
	b.ReportAllocs()
	for b.Loop() {
		d := s.data()
		d.index.aranges.coveredOnce.Do(func() {}) // as if there were no .debug_aranges
		d.indexRoots()
	}
}

// BenchmarkFrames measures look-ups in units that have been used before.
func BenchmarkFrames(b *testing.B) {
	s := benchFile(b)
	d := s.data()
	pcs := benchPCs(s.f, 64)
	var buf []Call
	for _, pc := range pcs {
		buf, _ = d.Frames(pc, buf[:0])
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		buf, _ = d.Frames(pcs[i%len(pcs)], buf[:0])
		i++
	}
}

// manyUnits makes a file with n units of two functions each.
func manyUnits(n int, aranges bool) *dwarfFile {
	f := newFile(binary.LittleEndian)
	for i := range uint64(n) {
		low := 0x10000 + 0x100*i
		u := &unitSpec{version: 5, addrSize: 8, root: die(TagCompileUnit, at(AttrProducer, FormString, "compiler"), name("unit.c"),
			pcs(low, 0x100), die(TagSubprogram, name("f"), pcs(low, 0x80)), die(TagSubprogram, name("g"), pcs(low+0x80, 0x80)))}
		f.unit(u)
		if aranges {
			f.aranges(u, [2]uint64{low, 0x100})
		}
	}
	return f
}

// BenchmarkManyUnits measures the first frame in a file of 50,000 units.
func BenchmarkManyUnits(b *testing.B) {
	for _, index := range []string{"none", "aranges", "gdb_index"} {
		f := manyUnits(50000, index == "aranges")
		if index == "gdb_index" {
			var areas []gdbArea
			for i := range uint32(50000) {
				areas = append(areas, gdbArea{0x10000 + 0x100*uint64(i), 0x10100 + 0x100*uint64(i), i})
			}
			f.gdbIndex(8, offsets(f), areas)
		}
		b.Run(index, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if calls, err := f.data().Frames(0x10000+0x100*40000, nil); err != nil || calls[0].Name != "f" {
					b.Fatal(calls, err)
				}
			}
		})
	}
}
