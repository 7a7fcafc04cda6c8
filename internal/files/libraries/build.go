// Package libraries rebuilds the list of a process's libraries from what a dump or a
// running process shows: mappings, the auxiliary vector, the dynamic linker's list, a
// dump's own list of modules, and ELF headers in memory. If the headers are not in
// memory it uses the library's file.
package libraries

import (
	"fmt"

	"slices"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Source is what a dump says about the process's libraries.
type Source struct {
	// Arch needs only WordSize and ByteOrder.
	Arch *arch.Arch
	// Mem is the memory in the dump itself, without what files could add.
	Mem arch.Memory
	// Mappings are all mappings of the process, ascending and disjoint; those of files
	// have a Path.
	Mappings []libstate.Mapping
	Auxv     libstate.Auxv
	// ExecPath is what to call the program if no mapping names it; "" for the name in
	// the auxiliary vector.
	ExecPath string
	// Files finds the files of libraries whose headers are not in memory; may be nil.
	// Only files that need no fetching are asked for. The library passed to it is the
	// one that the Table will hold, so far only with Path, Kind, Deleted, Start, End
	// and Mappings.
	Files modules.Source
}

// Limits on what a damaged or hostile dump may demand.
const (
	maxLibraries = 1 << 14
	maxWork      = 1 << 24 // mappings looked at in all, repeats included
	maxHeader    = 64 << 10
	maxNotes     = 64 << 10
	maxString    = 4096
	maxWarnings  = 100
)

// Build finds the libraries of a process from what a dump says about it. The warnings
// say what was contradictory or missing. It never fails: if a dump says nothing, the
// Table is empty.
//
// A library is known by its ELF header in memory, by an executable mapping of a file,
// or by the dynamic linker's list. Its load bias comes from its header, else from the
// dynamic linker, else from its file; otherwise it is guessed. Files that are only
// mapped as data (locale archives, fonts, databases, even ELF files mapped to be read)
// are not libraries.
func Build(src Source) (*libstate.Table, []string) {
	b := newBuilder(src)
	trap := b.find()
	b.addLostCode()
	return b.table(trap, b.isDynamic()), b.warnings
}

// table makes a Table from the modules.
func (b *builder) table(trap arch.Address, dynamic bool) *libstate.Table {
	t := libstate.NewTable(b.libraries(), trap)
	if dynamic {
		t.SetDynamic()
	}
	return t
}

func newBuilder(src Source) *builder {
	return &builder{
		Reader: procmem.Reader{Memory: src.Mem, Arch: src.Arch}, src: src, page: pageSize(src.Auxv),
		owner: make([]*module, len(src.Mappings)), mark: make([]int32, len(src.Mappings)),
	}
}

// find finds the modules, and the address that the dynamic linker calls at changes.
func (b *builder) find() (trap arch.Address) {
	b.addVDSO()
	b.addFiles()
	b.addImages()
	b.addProgram()
	b.addInterpreter()
	return b.addLinkMap()
}

// libraries returns the modules' libraries, completed.
func (b *builder) libraries() []*libstate.Library {
	libs := make([]*libstate.Library, 0, len(b.mods))
	for _, m := range b.mods {
		b.finish(m)
		// A library loaded below its file's addresses has a negative bias (vDSOs of old
		// i386 kernels, whose files say 0xffffe000). Sums and differences with it do
		// not wrap at 32 bits.
		if l := m.lib; b.Arch.WordSize == 4 && l.LoadBias > l.Start {
			l.LoadBias |= 0xffffffff_00000000
		}
		libs = append(libs, m.lib)
	}
	return libs
}

// isDynamic reports whether a dynamic linker started the program, even if the linker
// was not found.
func (b *builder) isDynamic() bool {
	for _, m := range b.mods {
		if m.lib.Kind == libstate.Executable && m.elf != nil && prog(m.elf, elffile.PT_INTERP) != nil {
			return true
		}
	}
	return address(b.src.Auxv, libstate.ATBase) != 0
}

// A module is a Library while it is being built.
type module struct {
	lib *libstate.Library
	// elf has the program headers, read from memory or from the library's file; nil if
	// neither has them.
	elf *elffile.File
	// fromMem: elf was read from memory, and so certainly is the process's.
	fromMem bool
}

type builder struct {
	procmem.Reader
	src      Source
	page     uint64
	mods     []*module
	known    []*Module // the dump's own list, by address
	owner    []*module // by index of src.Mappings
	moved    bool      // src.Mappings are a copy, in which offsets were changed (moveTo)
	mark     []int32   // by index of src.Mappings: the last claim that took it
	epoch    int32
	work     int
	warnings []string
}

func (b *builder) warnf(format string, args ...any) {
	if len(b.warnings) < maxWarnings {
		b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
	}
}

// spend counts work that hostile input could multiply; false if it is too much.
func (b *builder) spend(n int) bool {
	if b.work > maxWork {
		return false
	}
	if b.work += n; b.work > maxWork {
		b.warnf("the list of mappings is too complex: only the first %d libraries were found", len(b.mods))
		return false
	}
	return true
}

func (b *builder) add(m *module) {
	if len(b.mods) == maxLibraries {
		b.warnf("more than %d libraries: the others are left out", maxLibraries)
	}
	if len(b.mods) >= maxLibraries {
		return
	}
	b.mods = append(b.mods, m)
}

func (b *builder) pageDown(a uint64) uint64 { return a &^ (b.page - 1) }
func (b *builder) pageUp(a uint64) uint64   { return b.truncate(a+b.page-1) &^ (b.page - 1) }
func (b *builder) truncate(a uint64) uint64 { return b.Arch.Truncate(a) }

// mappingAt returns the index of the mapping that contains addr, or -1.
func (b *builder) mappingAt(addr arch.Address) int {
	i, _ := slices.BinarySearchFunc(b.src.Mappings, addr, func(m libstate.Mapping, a arch.Address) int {
		if m.End <= a {
			return -1
		}
		return 1
	})
	if i < len(b.src.Mappings) && b.src.Mappings[i].Start <= addr {
		return i
	}
	return -1
}

// moduleAt returns the module that has claimed the mapping that contains addr.
func (b *builder) moduleAt(addr arch.Address) *module {
	if i := b.mappingAt(addr); i >= 0 {
		return b.owner[i]
	}
	return nil
}

// preliminary returns a library with what its mappings say.
func (b *builder) preliminary(path string, maps []libstate.Mapping) *libstate.Library {
	l := &libstate.Library{Kind: libstate.SharedLibrary}
	l.Path, l.Deleted = cutDeleted(path)
	l.SetMappings(maps)
	for _, m := range maps {
		if base := address(b.src.Auxv, libstate.ATBase); base != 0 && base >= m.Start && base < m.End {
			l.Kind = libstate.Interpreter
		}
	}
	// A program may have unmapped the page that has its program headers; its entry point is still in it.
	program := address(b.src.Auxv, libstate.ATPhdr)
	if b.mappingAt(program) < 0 {
		program = address(b.src.Auxv, libstate.ATEntry)
	}
	for _, m := range maps {
		if program != 0 && program >= m.Start && program < m.End {
			l.Kind = libstate.Executable
		}
	}
	return l
}

// file gets a library's file, and rejects one that cannot be this process's.
func (b *builder) file(l *libstate.Library) *elffile.File {
	if f := b.anyFile(l); f != nil && !f.DebugOnly() {
		return f
	}
	return nil
}

// anyFile returns the file of a library, or its debug file if that is all there is.
func (b *builder) anyFile(l *libstate.Library) *elffile.File {
	if b.src.Files == nil {
		return nil
	}
	b.identify(l)
	f := (*image.Image)(modules.LocalImage(b.src.Files, l)).ELF()
	if f == nil || f.Type != elffile.ET_EXEC && f.Type != elffile.ET_DYN || !b.fits(f) {
		return nil
	}
	return f
}

// fits reports whether f has the process's word size and byte order.
func (b *builder) fits(f *elffile.File) bool {
	return f.PtrSize() == b.Arch.WordSize && f.Big() == b.Arch.Big()
}

// finish completes what can be known only after all libraries are found.
func (b *builder) finish(m *module) {
	l := m.lib
	if l.Kind == libstate.SharedLibrary && l.Path == "" && m.elf != nil {
		l.Path = b.soname(m)
	}
	if m.elf != nil {
		id, inGo := b.buildID(m)
		if id != nil {
			l.BuildID = id
		} else if l.BuildID == nil {
			l.GoBuildID = inGo
		}
	}
	b.identify(l)
	if l.HeaderAddr == 0 {
		l.HeaderAddr = b.headerAddr(l.Mappings)
	}
	b.settlePerms(m)
}

// settlePerms sets the permissions of mappings for which the dump has none: to those of
// their segment or, if that is not known either, to what code may have. gdb's gcore
// leaves out what is in the file, which is mostly code.
func (b *builder) settlePerms(m *module) {
	for i := range m.lib.Mappings {
		mp := &m.lib.Mappings[i]
		if mp.Perm&libstate.Unknown == 0 {
			continue
		}
		mp.Perm = libstate.Unknown | libstate.Read | libstate.Exec
		if m.elf == nil || !b.spend(len(m.elf.Progs)) {
			continue
		}
		for k := range m.elf.Progs {
			p := &m.elf.Progs[k]
			if p.Type != elffile.PT_LOAD || p.Memsz == 0 {
				continue
			}
			if lo, hi := b.segment(m.lib.LoadBias, p.Vaddr, p.Vaddr+p.Memsz); mp.Start >= lo && mp.Start < hi {
				mp.Perm = permOf(p.Flags)
			}
		}
	}
}
