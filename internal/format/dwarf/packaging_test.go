package dwarf

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// TestPackagings opens one program whose debug information is packaged in several ways:
// each function in the symbol table must be found by its address, and one of them contains
// an inlined call.
func TestPackagings(t *testing.T) {
	withFile := func(name string, opt func(elfSource) Option) func(*testing.T, string) []Option {
		return func(t *testing.T, dir string) []Option { return []Option{opt(readELF(t, filepath.Join(dir, name)))} }
	}
	cases := map[string]func(*testing.T, string) []Option{
		"amd64-dwarf3":      nil,
		"amd64-dwarf4":      nil,
		"amd64-dwarf5":      nil,
		"amd64-clang":       nil,
		"amd64-debug-types": nil,
		"amd64-lto":         nil,
		"amd64-zlib":        nil,
		"amd64-dwz": withFile("pack.dwz", func(s elfSource) Option {
			return WithSup(New(s, s.f.ByteOrder))
		}),
		"amd64-split-dwarf": withFile("pack.dwo", func(s elfSource) Option {
			return WithSplit(func(*Unit) (*Data, error) { return New(s, s.f.ByteOrder, DWO()), nil })
		}),
		"amd64-split-dwp": withFile("pack.dwp", func(s elfSource) Option {
			return WithSplit(func(u *Unit) (*Data, error) {
				p, err := NewPackage(s, s.f.ByteOrder)
				if err != nil {
					return nil, err
				}
				return p.Unit(u.ID)
			})
		}),
	}
	for name, options := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("../../../testdata/cores", name)
			if _, err := os.Stat(filepath.Join(dir, "pack")); err != nil {
				t.Skip(err)
			}
			var opts []Option
			if options != nil {
				opts = options(t, dir)
			}
			f, d := openELF(t, filepath.Join(dir, "pack"), opts...)
			checkSymbols(t, f, d)
		})
	}
}

func checkSymbols(t *testing.T, f *elf.File, d *Data) {
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	found, inlined := 0, false
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 {
			continue
		}
		for pc := s.Value; pc < s.Value+s.Size; pc++ {
			calls, err := d.Frames(pc, nil)
			if err != nil {
				break // a function of the C library's start-up files
			}
			last := calls[len(calls)-1]
			if last.Name != s.Name || last.Entry != s.Value || last.Line == 0 || last.DeclLine == 0 {
				t.Errorf("%#x in %s: %s", pc, s.Name, shortCalls(calls))
				break
			}
			for _, c := range calls[:len(calls)-1] {
				inlined = inlined || c.Inlined && c.Name != "" && c.File.Path != ""
			}
			if pc == s.Value {
				found++
			}
		}
	}
	if found < 3 || !inlined {
		t.Errorf("%d functions known, inlined calls: %v", found, inlined)
	}
}

// A truncated index of a package is refused before its counts are believed: this one says that it has 2^32-1 columns.
func TestPackageTruncated(t *testing.T) {
	f := newFile(binary.LittleEndian)
	o := f.section(SecCUIndex)
	o.u32(2)
	o.u32(0xffffffff)
	var p *Package
	var err error
	if n := testing.AllocsPerRun(1, func() { p, err = NewPackage(f, f.order) }); err == nil || n > 20 {
		t.Errorf("%v, %v, %v allocations", p, err, n)
	}
}
