package dwarf

import (
	"debug/elf"
	"io"
	"testing"
)

// openELF makes a Data of an ELF file through the standard library.
func openELF(t testing.TB, path string, opts ...Option) (*elf.File, *Data) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	low, high := textOf(f)
	if high > 0 {
		opts = append([]Option{WithText(low, high)}, opts...)
	}
	return f, New(elfSource{f}, f.ByteOrder, opts...)
}

type elfSource struct{ f *elf.File }

func (s elfSource) Section(name string) ([]byte, error) {
	sec := s.f.Section(name)
	if sec == nil {
		return nil, nil
	}
	if sec.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	b, err := sec.Data()
	if err == io.EOF {
		err = nil
	}
	return b, err
}

// textOf returns the bounds of the executable segments.
func textOf(f *elf.File) (low, high uint64) {
	low = ^uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			low, high = min(low, p.Vaddr), max(high, p.Vaddr+p.Memsz)
		}
	}
	return low, high
}
