package libstate

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Format is the kind of file that a library is.
type Format uint8

const (
	FormatELF Format = iota
	FormatPE
	FormatMachO
)

func (f Format) String() string {
	switch f {
	case FormatPE:
		return "PE"
	case FormatMachO:
		return "Mach-O"
	}
	return "ELF"
}

// A ModuleID is what a dump's own list of modules says about a library's file.
// Empty strings and zeros are not known.
type ModuleID struct {
	Format Format
	// DebugID identifies the debug file, in Breakpad's form: 32 digits and the age.
	DebugID string
	// CodeID identifies the file itself: of PE its time stamp and its size in memory,
	// of ELF the build-id, of Mach-O the UUID.
	CodeID    string
	DebugFile string // path of the debug file, where it was made
	Version   string
	Timestamp uint32 // of PE, seconds since 1970 or a hash
	Checksum  uint32 // of PE
	Size      uint64 // bytes in memory
	// PartialBuildID says that of the build-id only the first 16 bytes are known, with
	// zeros behind a shorter one.
	PartialBuildID bool
}

// A Module is an entry of a dump's own list of modules.
type Module struct {
	Path    string
	Base    arch.Address // where the module's first byte lies
	BuildID []byte       // of ELF; nil when not known
	ID      ModuleID     // Size bytes from Base on belong to it
	// Bias is the load bias, with HasBias: the dynamic linker told it.
	Bias    arch.Address
	HasBias bool
}

// SameBuildID reports whether a file's build-id is that of the library, as far as it is
// known.
func (l *Library) SameBuildID(id []byte) bool {
	if bytes.Equal(l.BuildID, id) {
		return true
	}
	return l.PartialBuildID() && len(id) > 0 && bytes.Equal(l.BuildID, padded(id, len(l.BuildID)))
}

// PartialBuildID reports whether the build-id is only the beginning of the file's.
func (l *Library) PartialBuildID() bool {
	return l.Module != nil && l.Module.PartialBuildID && len(l.BuildID) == partialID
}

// partialID is the size of a GUID.
const partialID = 16

// padded is the first n bytes of id, with zeros behind a shorter one.
func padded(id []byte, n int) []byte {
	out := make([]byte, n)
	copy(out, id)
	return out
}

func (m *Module) end() arch.Address {
	if end := m.Base + m.ID.Size; end >= m.Base {
		return end
	}
	return ^arch.Address(0)
}

// FromModules makes the libraries of a process whose dump lists modules, the
// program first. src is as for Build; where its Mappings name files, they and the
// rest of it tell what the modules' ranges and load biases are, and the list what
// they do not show. Otherwise a module is one range of memory.
//
// Of PE and Mach-O the addresses of the file are counted from the module's base
// (RVAs): LoadBias is the base.
//
// Modules of a list may overlap: the one that begins last keeps the bytes.
func FromModules(src Source, mods []Module) (*Table, []string) {
	b := newBuilder(src)
	if len(mods) > maxLibraries {
		b.warnf("%d modules: those after the first %d are left out", len(mods), maxLibraries)
		mods = mods[:maxLibraries]
	}
	b.known = byBase(mods)
	var trap arch.Address
	if b.namesFiles() {
		trap = b.find()
	}
	b.addModules(mods)
	b.nameProgram(mods)
	return newTable(b.libraries(), trap, b.isDynamic() || len(mods) > 1), b.warnings
}

// byBase orders the modules by their addresses.
func byBase(mods []Module) []*Module {
	list := make([]*Module, len(mods))
	for i := range mods {
		list[i] = &mods[i]
	}
	slices.SortStableFunc(list, func(a, b *Module) int { return cmp.Compare(a.Base, b.Base) })
	return list
}

func (b *builder) namesFiles() bool {
	return slices.ContainsFunc(b.src.Mappings, func(m Mapping) bool { return m.Path != "" })
}

// identify gives a library what the list of modules knows of it.
func (b *builder) identify(l *Library) {
	if l.Module != nil || len(b.known) == 0 || l.End <= l.Start {
		return
	}
	i, _ := slices.BinarySearchFunc(b.known, l.Start, func(m *Module, a arch.Address) int { return cmp.Compare(m.Base, a) })
	for _, k := range []int{i, i - 1} {
		if k < 0 || k >= len(b.known) {
			continue
		}
		// A list names the program's own name, of mappings the kernel's.
		if m := b.known[k]; m.Base < l.End && m.end() > l.Start {
			l.Module = &m.ID
			if l.BuildID == nil {
				l.BuildID = m.BuildID
			}
			if m.HasBias && l.BiasGuessed {
				l.LoadBias, l.BiasGuessed = m.Bias, false
			}
			return
		}
	}
}

// addModules adds the modules that nothing else has shown.
func (b *builder) addModules(mods []Module) {
	var taken []Mapping
	for _, m := range b.mods {
		taken = append(taken, m.lib.Mappings...)
	}
	slices.SortFunc(taken, func(a, b Mapping) int { return cmp.Compare(a.Start, b.Start) })
	pieces := cutOverlaps(b.known)
	for i := range mods {
		m := &mods[i]
		if overlapsAny(taken, m.Base, m.end()) {
			continue
		}
		lib := &Library{Path: m.Path, Start: m.Base, End: m.end(), Module: &m.ID, BuildID: m.BuildID, HeaderAddr: m.Base, LoadBias: m.Base}
		lib.Path, lib.Deleted = cutDeleted(lib.Path)
		for _, p := range pieces[m] {
			lib.Mappings = append(lib.Mappings, Mapping{Start: p.Start, End: p.End, Perm: Unknown | Read | Exec})
		}
		b.classify(lib, i)
		mod := &module{lib: lib}
		if m.ID.Format == FormatELF {
			b.placeELF(mod, m)
		}
		b.add(mod)
	}
}

// classify tells which part a module plays.
func (b *builder) classify(lib *Library, i int) {
	base := baseName(lib.Path)
	switch {
	case strings.HasPrefix(base, "linux-gate") || strings.HasPrefix(base, "linux-vdso") || base == VDSOName:
		lib.Kind = VDSO
	case i == 0 && !b.hasProgram():
		lib.Kind = Executable
	case b.src.Auxv.address(ATBase) != 0 && b.src.Auxv.address(ATBase) == lib.Start:
		lib.Kind = Interpreter
	}
}

func (b *builder) hasProgram() bool {
	return slices.ContainsFunc(b.mods, func(m *module) bool { return m.lib.Kind == Executable })
}

// placeELF finds a module's load bias: the dynamic linker's, or that of its headers
// in memory, or of its file.
func (b *builder) placeELF(mod *module, m *Module) {
	lib := mod.lib
	lib.BiasGuessed = true
	if lib.Kind == Executable {
		lib.LoadBias = guessedBias(m.Base)
	}
	if f := b.header(m.Base); f != nil {
		mod.elf, mod.fromMem = f, true
		lib.LoadBias, lib.BiasGuessed = b.headerBias(f, m.Base), false
	} else if f := b.file(lib); f != nil {
		if lo, _, ok := loadSpan(f); ok {
			mod.elf = f
			lib.LoadBias, lib.BiasGuessed = b.truncate(m.Base-b.pageDown(lo)), false
		}
	}
	if m.HasBias {
		lib.LoadBias, lib.BiasGuessed = m.Bias, false
	}
	if mod.elf != nil && len(lib.Mappings) == 1 {
		b.segmentPerms(mod)
	}
}

// segmentPerms splits the one range of a module into what its segments map.
func (b *builder) segmentPerms(mod *module) {
	whole := mod.lib.Mappings[0]
	var maps []Mapping
	pos := whole.Start
	for _, s := range b.assumed(mod.elf, mod.lib.LoadBias) {
		s.Start, s.End = max(s.Start, pos), min(s.End, whole.End)
		if s.Start < s.End {
			maps = append(maps, s)
			pos = s.End
		}
	}
	if len(maps) > 0 {
		mod.lib.Mappings = maps
	}
}

// nameProgram makes the first module the program where nothing else told of one.
func (b *builder) nameProgram(mods []Module) {
	if len(mods) == 0 || b.hasProgram() {
		return
	}
	for _, m := range b.mods {
		if l := m.lib; l.Kind == SharedLibrary && mods[0].Base >= l.Start && mods[0].Base < l.End {
			l.Kind = Executable
			if l.BiasGuessed {
				l.LoadBias = guessedBias(l.LoadBias)
			}
			return
		}
	}
}

func overlapsAny(taken []Mapping, lo, hi arch.Address) bool {
	i, _ := slices.BinarySearchFunc(taken, lo, func(m Mapping, a arch.Address) int {
		if m.End <= a {
			return -1
		}
		return 1
	})
	return i < len(taken) && taken[i].Start < hi
}

// cutOverlaps gives every address to one module: of those over it, to the one that
// begins last, and of these to the last of the list.
func cutOverlaps(mods []*Module) map[*Module][]Mapping {
	pieces := make(map[*Module][]Mapping, len(mods))
	var open []*Module // begun and perhaps not ended, the innermost last
	pos := arch.Address(0)
	emit := func(until arch.Address) {
		for len(open) > 0 && pos < until {
			m := open[len(open)-1]
			if end := min(m.end(), until); end > pos {
				pieces[m] = append(pieces[m], Mapping{Start: pos, End: end})
				pos = end
			}
			if m.end() <= pos {
				open = open[:len(open)-1]
			}
		}
		pos = max(pos, until)
	}
	for _, m := range mods {
		emit(m.Base)
		open = append(open, m)
	}
	emit(^arch.Address(0))
	return pieces
}
