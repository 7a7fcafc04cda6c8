package elffile

import (
	"os"
	"testing"
)

// benchFile is any large ELF file with symbols: the go command itself.
func benchFile(b *testing.B) []byte {
	b.Helper()
	path := os.Getenv("ELFFILE_BENCH")
	if path == "" {
		path, _ = os.Executable()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.Skip(err)
	}
	if _, err := Parse(data); err != nil {
		b.Skipf("%s: %v", path, err)
	}
	return data
}

func BenchmarkParse(b *testing.B) {
	data := benchFile(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func benchTab(b *testing.B, f *File) *SymTab {
	b.Helper()
	t, err := f.SymTab()
	if err != nil {
		if t, err = f.DynSym(); err != nil {
			b.Skip(err)
		}
	}
	return t
}

func BenchmarkLookup(b *testing.B) {
	data := benchFile(b)
	f, _ := Parse(data)
	t := benchTab(b, f)
	b.Logf("%d symbols", t.Len())
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f, _ := Parse(data)
			benchTab(b, f).Lookup(f.Entry)
		}
	})
	b.Run("scan", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t.scan(f.Entry)
		}
	})
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t.buildIndex()
		}
	})
	b.Run("indexed", func(b *testing.B) {
		for range indexAfter + 1 {
			t.Lookup(f.Entry)
		}
		b.ReportAllocs()
		for b.Loop() {
			t.Lookup(f.Entry)
		}
	})
	b.Run("thousand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f, _ := Parse(data)
			t := benchTab(b, f)
			for i := range 1000 {
				t.Lookup(f.Entry + uint64(i)*0x100)
			}
		}
	})
}

func BenchmarkByName(b *testing.B) {
	f, _ := Parse(benchFile(b))
	t := benchTab(b, f)
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			t.scanNames("no_such_symbol")
		}
	})
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t.indexNames()
		}
	})
	b.Run("indexed", func(b *testing.B) {
		t.nameLookups.Store(namesAfter)
		for b.Loop() {
			t.ByName("no_such_symbol")
		}
	})
}

func BenchmarkNotes(b *testing.B) {
	data := benchFile(b)
	f, _ := Parse(data)
	b.ReportAllocs()
	for b.Loop() {
		f.BuildID()
	}
}
