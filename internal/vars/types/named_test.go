package types

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestNamed searches units for all types that they have, one by one, in the fixtures and in the
// files in DWARF_CHECK, separated by colons: that must find what a list of all types has.
func TestNamed(t *testing.T) {
	paths, err := filepath.Glob("../../../testdata/cores/*/*")
	if err != nil {
		t.Fatal(err)
	}
	paths = append(paths, strings.FieldsFunc(os.Getenv("DWARF_CHECK"), func(r rune) bool { return r == ':' })...)
	paths = append(paths, fixture.Get(t, "amd64-vars-go-O0").Binary(t))
	found := 0
	for _, path := range paths {
		f, err := elf.Open(path)
		if err != nil {
			continue
		}
		units := 0
		fileData(f).Units(func(u *dwarf.Unit) bool {
			found += searchAll(t, path, u)
			units++
			return units < 40
		})
		f.Close()
	}
	if found < 300 {
		t.Errorf("%d types found", found)
	}
}

func fileData(f *elf.File) *dwarf.Data {
	return dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) {
		s := f.Section(name)
		if s == nil || s.Type == elf.SHT_NOBITS {
			return nil, nil
		}
		return s.Data()
	}), f.ByteOrder)
}

// searchAll searches a unit for some hundred of its types, and for names that it does not have.
func searchAll(t *testing.T, path string, u *dwarf.Unit) int {
	set := NewSet(arch.AMD64, nil)
	all := set.InUnit(u)
	for _, space := range []string{"std", "__gnu_cxx"} { // a namespace is no type
		want, has := all[space]
		if got, ok := NewSet(arch.AMD64, nil).Named(u, space); ok != has || got != want {
			t.Errorf("%s: %v: %q at %#x %v, want %#x %v", path, u, space, got.Off, ok, want.Off, has)
		}
	}
	n := 0
	for name, want := range all {
		if n++; n > 300 {
			break
		}
		var e dwarf.Entry
		if c := u.Cursor(want.Off); !c.Next(&e) || e.Tag == dwarf.TagMember { // one called string is no type
			t.Errorf("%s: %v: %q at %#x is a member", path, u, name, want.Off)
		}
		if got, ok := NewSet(arch.AMD64, nil).Named(u, name); !ok || got != want {
			t.Errorf("%s: %v: %q at %#x %v, want %#x", path, u, name, got.Off, ok, want.Off)
		}
		for _, other := range []string{name + "::", "x" + name, name[1:], name + "x", "struct " + name} {
			want, has := all[other]
			if got, ok := NewSet(arch.AMD64, nil).Named(u, other); ok != has || got != want {
				t.Errorf("%s: %v: %q at %#x %v, want %#x %v", path, u, other, got.Off, ok, want.Off, has)
			}
		}
	}
	return n
}
