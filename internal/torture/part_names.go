package main

import (
	"archive/zip"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// nameSections are those that types are looked up in, the indexes of names first: a number in this list, a length of
// four bytes and the contents are what an input has of each.
var nameSections = []string{".debug_names", ".gdb_index", ".debug_info", ".debug_abbrev", ".debug_str", ".debug_str_offsets", ".debug_line_str", ".debug_types"}

// nameParts are programs with an index of names, as compilers, linkers and gdb wrote them.
func nameParts(t tb) []base {
	names := []string{"names", "names-units", "names-partly", "gdb-lld", "gdb-added"}
	p := part{"names", func() (map[string][]byte, error) {
		files := map[string][]byte{}
		for _, name := range names {
			data, err := packNames(filepath.Join(fixture.Root(t), "internal", "vars", "types", "testdata", "indexed-"+name+".zip"))
			if err != nil {
				return nil, err
			}
			files[name] = data
		}
		return files, nil
	}, bytesShape(4), useNames}
	return p.bases(names...)
}

func packNames(path string) ([]byte, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var data []byte
	for i, name := range nameSections {
		f, err := z.Open(name)
		if err != nil {
			continue
		}
		section, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			return nil, err
		}
		data = append(binary.LittleEndian.AppendUint32(append(data, byte(i)), uint32(len(section))), section...)
	}
	return data, nil
}

// noLibraries is a process of one file.
type noLibraries struct{}

func (noLibraries) All() []*libstate.Library            { return nil }
func (noLibraries) File(*libstate.Library) *image.Image { return nil }

// useNames completes the types that a file declares, and looks some names up.
func useNames(data []byte, _ *rand.Rand) {
	sections := map[string][]byte{}
	for len(data) >= 5 && int(data[0]) < len(nameSections) {
		n := min(int(binary.LittleEndian.Uint32(data[1:])), len(data)-5)
		sections[nameSections[data[0]]] = slices.Clip(data[5 : 5+n])
		data = data[5+n:]
	}
	d := dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) { return sections[name], nil }), binary.LittleEndian)
	set := types.NewSet(arch.AMD64, noLibraries{})
	left := someEntries
	var first *dwarf.Unit
	d.Units(func(u *dwarf.Unit) bool {
		if first == nil {
			first = u
		}
		var e dwarf.Entry
		for c := u.Cursor(u.Root()); left > 0 && c.Next(&e); left-- {
			if t := set.At(dwarf.DIE{Unit: u, Off: e.Off}); e.Tag != 0 && t.Declared {
				set.Complete(t)
			}
		}
		return left > 0
	})
	for _, name := range strings.Fields("shop::Order Plain shop::Box<long> nothing Order") {
		set.Lookup(first, name, 8)
	}
}
