package libraries

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

// addArchived adds the libraries among the mappings idx of one file that begin somewhere in it: Android maps
// libraries where they lie in an APK. The ELF header of each is at the beginning of a mapping.
func (b *builder) addArchived(path string, idx []int) {
	for n, k := range idx {
		base := b.src.Mappings[k].Offset
		if b.owner[k] != nil || base == 0 || !b.spend(1) || b.header(b.src.Mappings[k].Start) == nil || !b.spend(len(idx)-n) {
			continue
		}
		moved := b.moveTo(base, idx[n:])
		m := b.imageAt(b.src.Mappings[k].Start, path)
		b.moveBack(base, moved, m)
		if m != nil {
			b.addArchive(m, base, b.soname(m))
		}
	}
}

// addArchivedRun adds the library of the first of a run of mappings whose headers are not in memory, if it begins there
// in an archive: Linux does not write the headers of such libraries to cores. The archive itself must show it.
func (b *builder) addArchivedRun(path string, idx []int) bool {
	base := b.src.Mappings[idx[0]].Offset
	n, code := 0, false
	for ; n < len(idx); n++ { // the next library begins with what is not written to
		m := &b.src.Mappings[idx[n]]
		if n > 0 && m.Perm&libstate.Write == 0 && b.src.Mappings[idx[n-1]].Perm&libstate.Write != 0 {
			break
		}
		code = code || m.Perm&(libstate.Exec|libstate.Unknown) != 0
	}
	if base == 0 || !code || b.src.Files == nil || strings.Contains(baseName(path), ".so") || !b.spend(n) {
		return false
	}
	moved := b.moveTo(base, idx[:n])
	m := &module{}
	c := b.newClaim()
	for _, k := range moved {
		b.take(&c, k, b.src.Mappings[k])
	}
	m.lib = b.preliminary(path, c.maps)
	m.lib.Archive, m.lib.ArchiveOffset = m.lib.Path, base
	var f *elffile.File
	if b.identify(m.lib); m.lib.BuildID == nil && m.lib.Kind == libstate.SharedLibrary {
		f = b.file(m.lib)
	}
	file := "" // that of a library in an archive ends with its name there
	if f != nil {
		if file = (*image.Image)(modules.LocalImage(b.src.Files, m.lib)).Path(); strings.Contains(file, "!/") {
			b.settle(m, f)
		}
	}
	if m.elf == nil {
		b.moveBack(base, moved, nil)
		return false
	}
	b.own(m, b.claimed(m.elf, m.lib.LoadBias, path))
	b.moveBack(base, moved, m)
	name := m.elf.SONAME()
	if name == "" {
		name = file
	}
	b.addArchive(m, base, name)
	return true
}

// addArchive adds a module that begins at base in its file.
func (b *builder) addArchive(m *module, base uint64, soname string) {
	m.lib.Archive, m.lib.ArchiveOffset = m.lib.Path, base
	m.lib.Path += "!" + baseName(soname)
	b.add(m)
}

// moveTo makes the offsets of mappings that no module owns those in the library that begins at base, and returns
// which it changed.
func (b *builder) moveTo(base uint64, idx []int) (moved []int) {
	if !b.moved { // they are the caller's
		b.src.Mappings, b.moved = slices.Clone(b.src.Mappings), true
	}
	for _, k := range idx {
		if m := &b.src.Mappings[k]; b.owner[k] == nil && m.Offset >= base {
			m.Offset -= base
			moved = append(moved, k)
		}
	}
	return moved
}

// moveBack undoes moveTo for what m does not own.
func (b *builder) moveBack(base uint64, moved []int, m *module) {
	for _, k := range moved {
		if m == nil || b.owner[k] != m {
			b.src.Mappings[k].Offset += base
		}
	}
}
