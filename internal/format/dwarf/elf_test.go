package dwarf

import (
	"bytes"
	"debug/elf"
	"os"
	"testing"
)

// openELF makes a Data of an ELF file, with the standard library's reader of
// ELF.
func openELF(t testing.TB, path string, opts ...Option) (*elf.File, *Data) {
	t.Helper()
	s := readELF(t, path)
	return s.f, s.data(opts...)
}

type elfSource struct {
	f     *elf.File
	bytes []byte
}

func readELF(t testing.TB, path string) elfSource {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return elfSource{f, b}
}

func (s elfSource) data(opts ...Option) *Data {
	if low, high := textOf(s.f); high > 0 {
		opts = append([]Option{WithText(low, high)}, opts...)
	}
	return New(s, s.f.ByteOrder, opts...)
}

// Section slices the file; only compressed sections are copied.
func (s elfSource) Section(name string) ([]byte, error) {
	sec := s.f.Section(name)
	switch {
	case sec == nil || sec.Type == elf.SHT_NOBITS:
		return nil, nil
	case sec.Flags&elf.SHF_COMPRESSED != 0:
		return sec.Data()
	}
	return s.bytes[sec.Offset : sec.Offset+sec.FileSize], nil
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
