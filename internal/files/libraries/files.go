package libraries

import (
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// addVDSO adds the kernel's library, which no mapping names.
func (b *builder) addVDSO() {
	addr := address(b.src.Auxv, libstate.ATSysinfoEhdr)
	if addr == 0 {
		return
	}
	m := &module{lib: &libstate.Library{Path: libstate.VDSOName, Kind: libstate.VDSO, HeaderAddr: addr}}
	if f := b.header(addr); f != nil {
		m.elf, m.fromMem = f, true
		m.lib.LoadBias = b.headerBias(f, addr)
		b.own(m, b.claimed(f, m.lib.LoadBias, ""))
	} else if k := b.mappingAt(addr); k >= 0 && b.src.Mappings[k].Path == "" {
		// All kernels since about 2.6.24 link it at 0.
		m.lib.LoadBias, m.lib.BiasGuessed = addr, true
		c := b.newClaim()
		b.take(&c, k, b.src.Mappings[k])
		b.own(m, c)
	} else {
		return
	}
	b.add(m)
}

// addFiles adds the libraries whose mappings have their file's name.
func (b *builder) addFiles() {
	groups := make(map[string][]int)
	var order []string
	for i := range b.src.Mappings {
		path := b.src.Mappings[i].Path
		if path == "" || b.owner[i] != nil {
			continue
		}
		if groups[path] == nil {
			order = append(order, path)
		}
		groups[path] = append(groups[path], i)
	}
	for _, path := range order {
		b.addGroup(path, groups[path])
	}
}

// addGroup adds every library among the mappings idx of one file. A file may be loaded
// several times (dlmopen), and also be mapped only to be read.
func (b *builder) addGroup(path string, idx []int) {
	whole := false // a library has the file to itself
	for _, k := range idx {
		if b.owner[k] == nil && b.src.Mappings[k].Offset == 0 {
			if m := b.imageAt(b.src.Mappings[k].Start, path); m != nil {
				b.add(m)
				whole = true
			}
		}
	}
	if !whole {
		b.addArchived(path, idx)
	}
	var pending []int // those that no header in memory explains
	for _, k := range idx {
		if b.owner[k] == nil {
			pending = append(pending, k)
		}
	}
	for len(pending) > 0 {
		if b.owner[pending[0]] != nil {
			pending = pending[1:]
			continue
		}
		n := b.runLength(pending)
		if !whole && b.addArchivedRun(path, pending[:n]) {
			continue
		}
		b.addRun(path, pending[:n])
		pending = pending[n:]
	}
}

// imageAt makes a module of the image whose ELF header is in memory at addr, the start
// of a mapping of path; nil if there is no image that was loaded.
func (b *builder) imageAt(addr arch.Address, path string) *module {
	if !b.spend(1) {
		return nil
	}
	f := b.header(addr)
	if f == nil {
		return nil
	}
	var c claim
	var bias arch.Address
	starts := 0
	for _, try := range b.headerBiases(f, addr) {
		if found, n := b.claimed(f, try, path), b.starts(f, try); len(found.maps) > 0 && (n > starts || n == starts && len(found.maps) > len(c.maps)) {
			c, bias, starts = found, try, n
		}
	}
	if len(c.maps) == 0 || onlyRead(f, c.maps) {
		return nil
	}
	m := &module{elf: f, fromMem: true, lib: b.preliminary(path, c.maps)}
	m.lib.LoadBias, m.lib.HeaderAddr = bias, b.fileStart(f, bias)
	b.own(m, c)
	return m
}

// starts is how many segments of a file begin where mappings do, with a load bias.
func (b *builder) starts(f *elffile.File, bias arch.Address) (n int) {
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_LOAD || p.Memsz == 0 || p.Vaddr+p.Memsz < p.Vaddr || !b.spend(1) {
			continue
		}
		lo, _ := b.segment(bias, p.Vaddr, p.Vaddr+p.Memsz)
		if k := b.mappingAt(lo); k >= 0 && b.src.Mappings[k].Start == lo {
			n++
		}
	}
	return n
}

// maxHole is the largest gap between two segments of one library if only their offsets
// show that they belong together.
const maxHole = 64 << 20

// runLength returns how many of the mappings at the front of idx look like one load of
// the file: the offsets rise with the addresses. In a small program the data may be in
// the same page of the file as the code. Inaccessible mappings between segments keep
// the offsets of the mapping that they were cut from.
func (b *builder) runLength(idx []int) int {
	prev := b.src.Mappings[idx[0]]
	for n := 1; n < len(idx); n++ {
		m := b.src.Mappings[idx[n]]
		if b.owner[idx[n]] != nil || m.Offset < prev.Offset || m.Start-prev.End > maxHole ||
			m.Offset == 0 && m.Perm&libstate.Exec != 0 {
			return n
		}
		if m.Perm != 0 {
			prev = m
		}
	}
	return len(idx)
}

// addRun adds the library of a run of mappings whose headers are not in memory. A run
// without code is not a library, unless the auxiliary vector says that it is the
// program or the interpreter.
func (b *builder) addRun(path string, idx []int) {
	c := b.newClaim()
	var perm libstate.Perm
	for _, k := range idx {
		b.take(&c, k, b.src.Mappings[k])
		perm |= b.src.Mappings[k].Perm
	}
	if len(c.maps) == 0 {
		return
	}
	code := perm&libstate.Exec != 0 || perm&libstate.Unknown != 0 && strings.Contains(baseName(path), ".so")
	lib := b.preliminary(path, c.maps)
	// Compilers map their records executable, so that perf sees them. What they put into memory without a name has no headers.
	if lib.Kind == libstate.SharedLibrary && (!code || find.IsJitdump(path) || find.IsMemory(path)) {
		return
	}
	m := &module{lib: lib}
	lib.LoadBias, lib.BiasGuessed = b.truncate(lib.Mappings[0].Start-lib.Mappings[0].Offset), true
	if lib.Kind == libstate.Executable {
		lib.LoadBias = guessedBias(lib.LoadBias)
	}
	if f := b.file(lib); f != nil {
		b.settle(m, f)
	}
	if m.elf != nil {
		c = b.claimed(m.elf, lib.LoadBias, path)
	}
	b.own(m, c)
	b.add(m)
}

// settle takes the load bias from a library's file: the one with which most of the
// file's offsets are where the mappings have them. If no segment begins where a mapping
// does (a program that moved a part of itself), a mapping inside a segment counts.
func (b *builder) settle(m *module, f *elffile.File) {
	best, bias := b.bestBias(m, f, func(p *elffile.Prog, off uint64) bool { return b.pageDown(p.Off) == off })
	if best == 0 {
		best, bias = b.bestBias(m, f, func(p *elffile.Prog, off uint64) bool { return off > p.Off && off-p.Off < p.Filesz })
	}
	if best == 0 {
		b.warnf("%s: its mappings do not match the segments of the file that was found", m.lib.Path)
		return
	}
	m.elf, m.lib.LoadBias, m.lib.BiasGuessed = f, bias, false
	m.lib.HeaderAddr = b.headerAddr(m.lib.Mappings)
}

// bestBias tries the bias of each pair of a segment and a mapping whose file offset
// belongs to that segment, according to fits. best is how many mappings fit.
func (b *builder) bestBias(m *module, f *elffile.File, fits func(p *elffile.Prog, off uint64) bool) (best int, bias arch.Address) {
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_LOAD {
			continue
		}
		for _, mp := range m.lib.Mappings {
			try := b.truncate(mp.Start - mp.Offset - (p.Vaddr - p.Off))
			if mp.Path == "" || !fits(p, mp.Offset) || !b.spend(len(m.lib.Mappings)*len(f.Progs)) {
				continue
			}
			fit := 0
			for _, other := range m.lib.Mappings {
				if other.Path != "" && b.places(f, try, other) {
					fit++
				}
			}
			if fit > best {
				best, bias = fit, try
			}
		}
	}
	return best, bias
}

// headerAddr returns the address where the first byte of a file is mapped, or 0.
func (b *builder) headerAddr(maps []libstate.Mapping) arch.Address {
	for _, m := range maps {
		if m.Offset == 0 && m.Path != "" {
			return m.Start
		}
	}
	return 0
}

// isData reports whether memory is written and not executed.
func isData(p libstate.Perm) bool {
	return p&(libstate.Write|libstate.Exec|libstate.Unknown) == libstate.Write
}

// addImages adds what looks like a library in memory, in a dump without any file names.
// If there are file names, an ELF header in anonymous memory is data of a linker, a
// debugger or a JIT compiler.
func (b *builder) addImages() {
	for i := range b.src.Mappings {
		if b.src.Mappings[i].Path != "" {
			return
		}
	}
	for i := range b.src.Mappings {
		// Looking at the first page of everything would read a core with 100,000 mappings as
		// a whole. The headers of what was loaded are read-only, or in the way of a program
		// that is packed; what else is needed, the dynamic linker lists.
		if b.owner[i] != nil || isData(b.src.Mappings[i].Perm) {
			continue
		}
		if mod := b.imageAt(b.src.Mappings[i].Start, ""); mod != nil {
			b.add(mod)
		}
	}
}
