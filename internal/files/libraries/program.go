package libraries

import (
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// addProgram finds the main program by the auxiliary vector, and adds it if neither a
// named mapping nor a header in memory has shown it.
func (b *builder) addProgram() {
	phdr, entry := address(b.src.Auxv, libstate.ATPhdr), address(b.src.Auxv, libstate.ATEntry)
	m := b.moduleAt(phdr)
	if m == nil {
		m = b.moduleAt(entry)
	}
	if m == nil {
		m = b.programWithoutHeaders(phdr, entry)
	}
	if m == nil {
		m = b.programByType()
	}
	if m == nil || m.lib.Kind == libstate.VDSO {
		return
	}
	b.makeProgram(m)
	if m.lib.Path == "" {
		m.lib.Path, m.lib.Deleted = cutDeleted(b.execName())
	}
}

// makeProgram makes m the only Executable. What was the Executable before is the
// dynamic linker, which can be executed with a program's name.
func (b *builder) makeProgram(m *module) {
	for _, other := range b.mods {
		if other.lib.Kind == libstate.Executable {
			other.lib.Kind = libstate.Interpreter
		}
	}
	m.lib.Kind = libstate.Executable
}

func (b *builder) execName() string {
	if b.src.ExecPath != "" {
		return b.src.ExecPath
	}
	return b.cstring(address(b.src.Auxv, libstate.ATExecFn))
}

// programByType finds the program of a dump without an auxiliary vector: the only image
// that is linked to fixed addresses or asks for an interpreter.
func (b *builder) programByType() *module {
	if len(b.src.Auxv) > 0 {
		return nil
	}
	for _, m := range b.mods {
		if m.elf != nil && m.lib.Kind != libstate.VDSO && (m.elf.Type == elffile.ET_EXEC || prog(m.elf, elffile.PT_INTERP) != nil) {
			return m
		}
	}
	return nil
}

// programWithoutHeaders makes the program from the addresses of its program headers and
// its entry point, for dumps of qemu-user, which have neither file names nor read-only
// pages.
func (b *builder) programWithoutHeaders(phdr, entry arch.Address) *module {
	c := b.newClaim()
	for _, a := range []arch.Address{phdr, entry} {
		if k := b.mappingAt(a); a != 0 && k >= 0 && b.src.Mappings[k].Path == "" {
			b.take(&c, k, b.src.Mappings[k])
		}
	}
	if len(c.maps) == 0 && (phdr == 0 || b.src.Files == nil) {
		return nil
	}
	lib := b.preliminary(b.execName(), c.maps)
	lib.Kind = libstate.Executable
	m := &module{lib: lib}
	if f := b.file(lib); f != nil && b.programFits(f, phdr, entry) {
		m.elf, lib.LoadBias = f, b.truncate(entry-f.Entry)
		if at := b.fileStart(f, lib.LoadBias); b.mappingAt(at) >= 0 {
			lib.HeaderAddr = at
		}
		c = b.claimed(f, lib.LoadBias, "")
		if len(c.maps) == 0 {
			c.maps = b.assumed(f, lib.LoadBias)
		}
	} else {
		b.guessProgram(m, phdr)
	}
	if len(c.maps) == 0 {
		return nil
	}
	b.own(m, c)
	b.add(m)
	return m
}

// programFits checks that a file can be the program whose program headers and entry
// point are there.
func (b *builder) programFits(f *elffile.File, phdr, entry arch.Address) bool {
	bias := b.truncate(entry - f.Entry)
	p := prog(f, elffile.PT_PHDR)
	if bias%b.page != 0 || f.Type == elffile.ET_EXEC && bias != 0 || p != nil && b.truncate(bias+p.Vaddr) != phdr {
		b.warnf("%s: the file's entry point is %#x, the process's is %#x: not the program of this process", b.execName(), f.Entry, entry)
		return false
	}
	return true
}

// guessProgram takes the load bias from the program headers in memory, or else from
// their address: position-independent programs are loaded far above the addresses that
// others are linked to.
func (b *builder) guessProgram(m *module, phdr arch.Address) {
	m.lib.BiasGuessed = true
	base := b.pageDown(phdr)
	if f := b.header(base); f != nil {
		m.elf, m.fromMem, m.lib.BiasGuessed = f, true, false
		m.lib.HeaderAddr, m.lib.LoadBias = base, b.headerBias(f, base)
		return
	}
	m.lib.LoadBias = guessedBias(base)
}

// guessedBias returns the likely load bias of a program that begins at base: 0 at the
// addresses where linkers put programs.
func guessedBias(base arch.Address) arch.Address {
	const lowest = 0x4000_0000 // above the defaults of most linkers, below the addresses that loaders choose
	switch {
	case base < lowest,
		base == 0x8000_0000,   // m68k, s390x
		base == 0x1_2000_0000: // alpha, mips64, loongarch64
		return 0
	}
	return base
}

// assumed returns the mappings that a file's segments must have had, for a dump that
// lists none.
func (b *builder) assumed(f *elffile.File, bias arch.Address) []libstate.Mapping {
	var maps []libstate.Mapping
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_LOAD || p.Memsz == 0 || len(maps) >= 64 {
			continue
		}
		m := libstate.Mapping{Perm: permOf(p.Flags)}
		m.Start, m.End = b.segment(bias, p.Vaddr, p.Vaddr+p.Memsz)
		maps = append(maps, m)
	}
	return maps
}

// permOf returns what a segment's p_flags permit.
func permOf(flags uint32) (perm libstate.Perm) {
	if flags&elffile.PF_R != 0 {
		perm |= libstate.Read
	}
	if flags&elffile.PF_W != 0 {
		perm |= libstate.Write
	}
	if flags&elffile.PF_X != 0 {
		perm |= libstate.Exec
	}
	return perm
}

// addInterpreter finds the dynamic linker by the auxiliary vector, and adds it if
// nothing else has shown it.
func (b *builder) addInterpreter() {
	base := address(b.src.Auxv, libstate.ATBase)
	if base == 0 {
		return
	}
	m := b.moduleAt(base)
	if m == nil {
		m = b.interpreterAt(base)
	}
	if m == nil || m.lib.Kind == libstate.VDSO || m.lib.Kind == libstate.Executable {
		return
	}
	m.lib.Kind = libstate.Interpreter
	if m.lib.Path == "" {
		m.lib.Path = b.interpreterName()
	}
}

// interpreterAt makes the interpreter of a dump that does not name it.
func (b *builder) interpreterAt(base arch.Address) *module {
	if m := b.imageAt(base, ""); m != nil {
		b.add(m)
		return m
	}
	k := b.mappingAt(base)
	if k < 0 || b.src.Mappings[k].Path != "" || b.owner[k] != nil {
		return nil
	}
	return b.headerless(b.interpreterName(), libstate.Interpreter, base, k)
}

// headerless makes a module of a library that is known to be loaded with a bias, and
// whose headers are not in memory. Mapping k is one of its mappings.
func (b *builder) headerless(path string, kind libstate.Kind, bias arch.Address, k int) *module {
	c := b.newClaim()
	b.take(&c, k, b.src.Mappings[k])
	lib := b.preliminary(path, c.maps)
	lib.Kind, lib.LoadBias = kind, bias
	m := &module{lib: lib}
	if f := b.file(lib); f != nil {
		if found := b.claimed(f, bias, b.src.Mappings[k].Path); b.mark[k] == b.epoch {
			m.elf, c = f, found
		} else {
			b.warnf("%s: the segments of the file that was found are not where the process had them", lib.Path)
			c = b.newClaim()
			b.take(&c, k, b.src.Mappings[k])
		}
	}
	b.own(m, c)
	b.add(m)
	return m
}

// interpreterName returns PT_INTERP of the program.
func (b *builder) interpreterName() string {
	for _, m := range b.mods {
		if m.lib.Kind != libstate.Executable || m.elf == nil {
			continue
		}
		if !m.fromMem {
			return m.elf.Interp()
		}
		if p := prog(m.elf, elffile.PT_INTERP); p != nil {
			return b.cstring(b.truncate(m.lib.LoadBias + p.Vaddr))
		}
	}
	return ""
}
