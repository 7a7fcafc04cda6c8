package minidump_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

func TestFunctionTables(t *testing.T) {
	d := windows()
	w := d.W().U32(24, 32, 8, 12, 2, 0)
	w.U64(0x1000, 0x2000, 0x1000).U32(2, 4).Zeros(8).Bytes(bytes.Repeat([]byte{7}, 24)).Zeros(4)
	w.U64(0x5000, 0x6000, 0x5000).U32(1, 0).Zeros(8).Bytes(bytes.Repeat([]byte{8}, 12))
	d.Stream(13, w.B)
	f := parse(t, d)
	if len(f.Functions) != 2 || len(f.Functions[0].Functions) != 24 || f.Functions[1].Base != 0x5000 || f.Functions[1].Functions[0] != 8 {
		t.Errorf("%+v", f.Functions)
	}
	warned(t, f)
	d.Stream(13, w.B[:len(w.B)-1])
	warned(t, parse(t, d), "occurs several times", "truncated after 1 of 2 tables")
}

// Counts of a hostile dump ask for nothing that is not there.
func TestFunctionTablesHostile(t *testing.T) {
	for name, s := range map[string][]uint32{
		"entries":          {24, 32, 0, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0xffffffff, 0},
		"size of an entry": {24, 32, 0, 0xffffffff, 1, 0, 0, 0, 0, 0, 0, 0, 0xffffffff, 0},
		"tables":           {24, 32, 0, 12, 0xffffffff, 0, 0, 0, 0, 0, 0, 0, 0, 0xffffffff},
		"descriptors":      {24, 0xffffffff, 0xffffffff, 12, 1, 0xffffffff},
	} {
		d := windows()
		d.Stream(13, d.W().U32(s...).B)
		f := parse(t, d)
		if len(f.Functions) > 1 || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "truncated after") {
			t.Errorf("%s: %d tables, %q", name, len(f.Functions), f.Warnings)
		}
	}
	d := windows()
	w := d.W().U32(24, 32, 0, 12, 1<<16+5, 0)
	d.Stream(13, w.Zeros(32*(1<<16+5)).B)
	if f := parse(t, d); len(f.Functions) != 1<<16 {
		t.Errorf("%d tables", len(f.Functions))
	} else {
		warned(t, f, "has 65541 tables, used 65536")
	}
}

// A table is a function table of a test: from, to and base, and words of entries.
type table struct {
	from, to, base uint64
	words          []uint32
}

// functions makes the index of tables with entries of size bytes.
func functions(t testing.TB, cpu uint16, size int, tables ...table) *minidump.FunctionIndex {
	d := dumpbuild.New(false)
	d.System(cpu, 2, 10, 0, 19041, "")
	w := d.W().U32(24, 32, 0, uint32(size), uint32(len(tables)), 0)
	for _, tab := range tables {
		w.U64(tab.from, tab.to, tab.base).U32(uint32(4*len(tab.words)/size), 0).U32(tab.words...)
	}
	d.Stream(13, w.B)
	f, err := minidump.Parse(d.Bytes())
	if err != nil || len(f.Functions) != len(tables) {
		t.Fatalf("%d tables, %v", len(f.Functions), err)
	}
	return f.FunctionIndex()
}

// TestFunctionIndex looks up addresses; what is found is told by the entry's last word.
func TestFunctionIndex(t *testing.T) {
	const x64, arm64 = 9, 12
	for _, tt := range []struct {
		name   string
		cpu    uint16
		size   int
		tables []table
		want   string // address=last word, or - for none
	}{
		{"sorted", x64, 12, []table{{0x10000, 0x20000, 0x10000, []uint32{0, 0x10, 1, 0x10, 0x30, 2, 0x40, 0x50, 3}}},
			"ffff=- 10000=1 1000f=1 10010=2 1002f=2 10030=- 10040=3 1004f=3 10050=-"},
		{"unsorted", x64, 12, []table{{0x10000, 0x20000, 0x10000, []uint32{0x40, 0x50, 3, 0, 0x10, 1, 0x10, 0x30, 2}}},
			"10000=1 10010=2 10040=3 10050=-"},
		{"larger entries", x64, 16, []table{{0x10000, 0x20000, 0x10000, []uint32{0, 0x10, 1, 99, 0x10, 0x30, 2, 99}}}, "10000=1 10010=2"},
		{"smaller entries", x64, 8, []table{{0x10000, 0x20000, 0x10000, []uint32{0, 0x10, 1, 0x30}}}, "10000=- 10010=-"},
		{"removed", x64, 12, []table{{0x10000, 0x20000, 0x10000, []uint32{0, 0x10, 0, 0x10, 0x30, 2}}}, "10000=- 10010=2"},
		{"turned round", x64, 12, []table{{0x10000, 0x20000, 0x10000, []uint32{0x10, 0x10, 1, 0x30, 0x20, 2}}}, "10010=- 10020=- 10028=- 10030=-"},
		{"outside of the table's range", x64, 12, []table{{0x10008, 0x10018, 0x10000, []uint32{0, 0x10, 1, 0x10, 0x30, 2, 0x40, 0x50, 3}}},
			"10000=- 10007=- 10008=1 10010=2 10017=2 10018=- 10040=-"},
		{"a range of nothing", x64, 12, []table{{0, 0, 0x10000, []uint32{0, 0x10, 1}}, {^uint64(0), 0, 0x20000, []uint32{0, 0x10, 1}}}, "10000=- 20000=-"},
		{"at the end of memory", x64, 12, []table{{0, ^uint64(0), ^uint64(0x1f), []uint32{0, 0x10, 1, 0x10, 0x40, 2}}}, "ffffffffffffffe0=1 fffffffffffffff0=- 0=- 10=-"},
		{"two tables", x64, 12, []table{{0x20000, 0x30000, 0x20000, []uint32{0, 0x10, 1}}, {0x10000, 0x20000, 0x10000, []uint32{0, 0x10, 2}}}, "20000=1 10000=2"},
		{"tables that contradict each other", x64, 12, []table{{0x10000, 0x20000, 0x10000, []uint32{0, 0x10, 1, 0x10, 0x20, 4}}, {0x10000, 0x20000, 0x10000, []uint32{8, 0x10, 2}}}, "10000=- 10008=- 1000f=- 10010=4"},
		{"the same of other bases", x64, 12, []table{{0x10000, 0x20000, 0x10000, []uint32{0x10, 0x20, 1}}, {0x10000, 0x20000, 0x10010, []uint32{0, 0x10, 1}}}, "10010=-"},
		{"two that say the same", x64, 12, []table{{0x10000, 0x20000, 0x10000, []uint32{0, 0x10, 1}}, {0x10000, 0x20000, 0x10000, []uint32{0, 0x10, 1}}}, "10000=1"},
		{"two that say the same, and one that does not", x64, 12, []table{{0x10000, 0x20000, 0x10000, []uint32{0, 0x10, 1, 0, 0x10, 1, 8, 0x10, 1}}}, "10000=- 10008=-"},
		{"one around others", x64, 12, []table{{0x10000, 0x20000, 0x10000, []uint32{0, 0x100, 1, 0x10, 0x20, 2, 0x30, 0x40, 3, 0x100, 0x110, 4}}}, "10000=- 10010=- 10030=- 10100=4"},
		{"arm64", arm64, 8, []table{{0x10000, 0x20000, 0x10000, []uint32{0x40, 3, 0x10, 2, 0, 1}}}, "10000=1 1000f=1 10010=2 1003f=2 10040=3 1ffff=3 20000=-"},
		{"arm64, the same and not the same", arm64, 8, []table{{0x10000, 0x20000, 0x10000, []uint32{0, 1, 0, 1, 0x10, 2, 0x10, 3, 0x20, 4}}}, "10000=1 10010=- 10020=4"},
		{"no such processor", 5, 8, []table{{0x10000, 0x20000, 0x10000, []uint32{0, 1}}}, "10000=-"},
	} {
		x := functions(t, tt.cpu, tt.size, tt.tables...)
		var got []string
		for _, want := range strings.Fields(tt.want) {
			var pc uint64
			fmt.Sscanf(want, "%x=", &pc)
			is := fmt.Sprintf("%x=-", pc)
			if f, ok := x.At(pc); ok {
				is = fmt.Sprintf("%x=%d", pc, f.Entry[len(f.Entry)-4])
			}
			got = append(got, is)
		}
		if is := strings.Join(got, " "); is != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, is, tt.want)
		}
	}
}

// A million entries in the worst order are sorted, the rest is left out.
func TestFunctionIndexLimit(t *testing.T) {
	const n = 1<<20 + 3
	words := make([]uint32, 0, 3*n)
	for i := range uint32(n) {
		words = append(words, 16*(n-i), 16*(n-i)+16, 1)
	}
	start := time.Now()
	x := functions(t, 9, 12, table{0x10000, 1 << 40, 0x10000, words})
	for pc, want := range map[uint64]bool{0x10000 + 16*n: true, 0x10000 + 16*3: false, 0x10000 + 16*4: true} {
		if _, ok := x.At(pc); ok != want {
			t.Errorf("%#x: %t, want %t", pc, ok, want)
		}
	}
	t.Log(time.Since(start))
}

func BenchmarkFunctionIndex(b *testing.B) {
	words := make([]uint32, 0, 3<<10)
	for i := range uint32(1 << 10) {
		words = append(words, 16*i, 16*i+16, 1)
	}
	x := functions(b, 9, 12, table{0x10000, 1 << 40, 0x10000, words})
	for b.Loop() {
		x.At(0x10000 + 16*700)
	}
}
