package libraries

import (
	"cmp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Module is an entry in a dump's list of modules.
type Module struct {
	Path    string
	Base    arch.Address      // address of the module's first byte
	BuildID []byte            // for ELF; nil if not known
	ID      libstate.ModuleID // the module has Size bytes from Base
	// Bias is the load bias from the dynamic linker, if HasBias is set.
	Bias    arch.Address
	HasBias bool
}

func (m *Module) end() arch.Address {
	if end := m.Base + m.ID.Size; end >= m.Base {
		return end
	}
	return ^arch.Address(0)
}

// FromModules makes the libraries of a process whose dump lists modules; the program is
// the first. src is as for Build. If its Mappings name files, the modules' ranges and
// load biases come from them and the rest of src, and the list adds what they do not
// show. Otherwise a module is one range of memory.
//
// In PE and Mach-O files, addresses count from the module's base (RVAs): LoadBias is
// the base.
//
// Modules of a list may overlap: the one that begins last keeps the bytes.
func FromModules(src Source, mods []Module) (*libstate.Table, []string) {
	b := newBuilder(src)
	if len(mods) > maxLibraries {
		b.warnf("%d modules: those after the first %d are left out", len(mods), maxLibraries)
		mods = mods[:maxLibraries]
	}
	for i := range mods {
		mods[i].ID.Number, mods[i].ID.Name = i+1, mods[i].Path
	}
	b.known = byBase(mods)
	var trap arch.Address
	if b.namesFiles() {
		trap = b.find()
	}
	b.addModules(mods)
	b.nameProgram(mods)
	return b.table(trap, b.isDynamic() || len(mods) > 1), b.warnings
}

// byBase sorts the modules by address.
func byBase(mods []Module) []*Module {
	list := make([]*Module, len(mods))
	for i := range mods {
		list[i] = &mods[i]
	}
	slices.SortStableFunc(list, func(a, b *Module) int { return cmp.Compare(a.Base, b.Base) })
	return list
}

func (b *builder) namesFiles() bool {
	return slices.ContainsFunc(b.src.Mappings, func(m libstate.Mapping) bool { return m.Path != "" })
}

// identify adds to a library what the list of modules says about it.
func (b *builder) identify(l *libstate.Library) {
	if l.Module != nil || len(b.known) == 0 || l.End <= l.Start {
		return
	}
	i, _ := slices.BinarySearchFunc(b.known, l.Start, func(m *Module, a arch.Address) int { return cmp.Compare(m.Base, a) })
	for _, k := range []int{i, i - 1} {
		if k < 0 || k >= len(b.known) {
			continue
		}
		// A list has the program's own name for it, mappings have the kernel's.
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
	var taken []libstate.Mapping
	for _, m := range b.mods {
		taken = append(taken, m.lib.Mappings...)
	}
	slices.SortFunc(taken, func(a, b libstate.Mapping) int { return cmp.Compare(a.Start, b.Start) })
	pieces := cutOverlaps(b.known)
	for i := range mods {
		m := &mods[i]
		if overlapsAny(taken, m.Base, m.end()) {
			continue
		}
		lib := &libstate.Library{Path: m.Path, Start: m.Base, End: m.end(), Module: &m.ID, BuildID: m.BuildID, HeaderAddr: m.Base, LoadBias: m.Base}
		lib.Path, lib.Deleted = cutDeleted(lib.Path)
		for _, p := range pieces[m] {
			lib.Mappings = append(lib.Mappings, libstate.Mapping{Start: p.Start, End: p.End, Perm: libstate.Unknown | libstate.Read | libstate.Exec})
		}
		b.classify(lib, i)
		mod := &module{lib: lib}
		if m.ID.Format == libstate.FormatELF {
			b.placeELF(mod, m)
		}
		b.add(mod)
	}
}

// classify finds out the role of a module.
func (b *builder) classify(lib *libstate.Library, i int) {
	base := baseName(lib.Path)
	switch {
	case strings.HasPrefix(base, "linux-gate") || strings.HasPrefix(base, "linux-vdso") || base == libstate.VDSOName:
		lib.Kind = libstate.VDSO
	case i == 0 && !b.hasProgram():
		lib.Kind = libstate.Executable
	case address(b.src.Auxv, libstate.ATBase) != 0 && address(b.src.Auxv, libstate.ATBase) == lib.Start:
		lib.Kind = libstate.Interpreter
	}
}

func (b *builder) hasProgram() bool {
	return slices.ContainsFunc(b.mods, func(m *module) bool { return m.lib.Kind == libstate.Executable })
}

// placeELF finds a module's load bias: from the dynamic linker, from its headers in
// memory, or from its file.
func (b *builder) placeELF(mod *module, m *Module) {
	lib := mod.lib
	lib.BiasGuessed = true
	if lib.Kind == libstate.Executable {
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
	headers := mod.elf
	if headers == nil {
		headers = b.debugFile(lib) // stripping leaves its segments as they were
	}
	if headers != nil && len(lib.Mappings) == 1 {
		b.segmentPerms(lib, headers)
	}
}

// debugFile returns the headers of the separate debug file of a library without a binary.
func (b *builder) debugFile(l *libstate.Library) *elffile.File {
	if f := b.anyFile(l); f != nil && f.DebugOnly() {
		return f
	}
	return nil
}

// segmentPerms splits the one range of a module into its segments' mappings.
func (b *builder) segmentPerms(lib *libstate.Library, f *elffile.File) {
	whole := lib.Mappings[0]
	var maps []libstate.Mapping
	pos := whole.Start
	for _, s := range b.assumed(f, lib.LoadBias) {
		s.Start, s.End = max(s.Start, pos), min(s.End, whole.End)
		if s.Start < s.End {
			maps = append(maps, s)
			pos = s.End
		}
	}
	if len(maps) > 0 {
		lib.Mappings = maps
	}
}

// nameProgram makes the first module the program if nothing else says which one is.
func (b *builder) nameProgram(mods []Module) {
	if len(mods) == 0 || b.hasProgram() {
		return
	}
	for _, m := range b.mods {
		if l := m.lib; l.Kind == libstate.SharedLibrary && mods[0].Base >= l.Start && mods[0].Base < l.End {
			l.Kind = libstate.Executable
			if l.BiasGuessed {
				l.LoadBias = guessedBias(l.LoadBias)
			}
			return
		}
	}
}

func overlapsAny(taken []libstate.Mapping, lo, hi arch.Address) bool {
	i, _ := slices.BinarySearchFunc(taken, lo, func(m libstate.Mapping, a arch.Address) int {
		if m.End <= a {
			return -1
		}
		return 1
	})
	return i < len(taken) && taken[i].Start < hi
}

// cutOverlaps gives every address to one module only: to the module that begins last
// or, if several do, to the last one in the list.
func cutOverlaps(mods []*Module) map[*Module][]libstate.Mapping {
	pieces := make(map[*Module][]libstate.Mapping, len(mods))
	var open []*Module // begun and perhaps not ended; the innermost is last
	pos := arch.Address(0)
	emit := func(until arch.Address) {
		for len(open) > 0 && pos < until {
			m := open[len(open)-1]
			if end := min(m.end(), until); end > pos {
				pieces[m] = append(pieces[m], libstate.Mapping{Start: pos, End: end})
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
