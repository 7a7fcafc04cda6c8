package libraries

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits on the dynamic linker's list.
const (
	maxLinkMap    = maxLibraries
	maxNamespaces = 64
)

// A linkEntry is one struct link_map of the dynamic linker (System V ABI; link.h of
// glibc and musl): where a library was loaded, and under which name.
type linkEntry struct {
	bias    arch.Address // l_addr
	name    string       // l_name; glibc's and musl's is "" for the program
	dynamic arch.Address // l_ld: its dynamic section
	first   bool         // it is the program's entry
}

// addLinkMap goes through the dynamic linker's list: it confirms load biases, names
// libraries, and adds those that nothing else has shown. It returns the address that
// the dynamic linker calls when the list changes (r_brk), or 0.
func (b *builder) addLinkMap() arch.Address {
	debug := b.findDebug()
	if debug == 0 {
		return 0
	}
	w := uint64(b.Arch.WordSize)
	trap := b.Word(debug + 2*w)
	if m := b.moduleAt(trap); m != nil && m.lib.Kind == libstate.SharedLibrary {
		m.lib.Kind = libstate.Interpreter // ATBase is 0 if the dynamic linker is prelinked
	}
	seen := make(map[arch.Address]bool)
	// struct r_debug: r_version, r_map, r_brk, r_state, r_ldbase; from version 2
	// on, r_next leads to the next namespace's (dlmopen).
	for n := 0; n < maxNamespaces && debug != 0; n++ {
		b.walkLinkMap(b.Word(debug+w), n == 0, seen)
		if version, _ := b.U32(debug); version < 2 || version > 16 {
			break
		}
		if debug = b.Word(debug + 5*w); seen[debug] {
			break
		}
		seen[debug] = true
	}
	return trap
}

// findDebug returns the address of the dynamic linker's struct r_debug, or 0. It is in
// the program's DT_DEBUG. If the dynamic linker itself was executed, the program is not
// the image that the auxiliary vector names.
func (b *builder) findDebug() arch.Address {
	for pass := range 2 {
		for _, m := range b.mods {
			if (m.lib.Kind == libstate.Executable) != (pass == 0) {
				continue
			}
			debug := b.debugOf(b.dynamic(m))
			if m.elf == nil && pass == 0 {
				debug = b.searchDebug(m)
			}
			if debug == 0 || b.Word(debug+uint64(b.Arch.WordSize)) == 0 {
				continue
			}
			if pass == 1 && prog(m.elf, elffile.PT_INTERP) != nil {
				b.makeProgram(m)
			}
			return debug
		}
	}
	return 0
}

// debugOf reads DT_DEBUG, or its counterpart on MIPS, whose dynamic section is
// read-only: the address of the pointer, absolute or relative to the entry.
func (b *builder) debugOf(d dynamic) arch.Address {
	if v, _, ok := d.find(elffile.DT_DEBUG); ok && v != 0 {
		return v
	}
	if v, at, ok := d.find(elffile.DT_MIPS_RLD_MAP_R); ok {
		return b.Word(b.truncate(at + v))
	}
	if v, _, ok := d.find(elffile.DT_MIPS_RLD_MAP); ok {
		return b.Word(v)
	}
	return 0
}

// maxSearch limits the bytes of a program that are searched for its dynamic section.
const maxSearch = 1 << 20

// searchDebug finds DT_DEBUG in the data of a program whose headers are not available:
// the tag DT_DEBUG before a pointer to a struct r_debug, the list of which begins with
// a library whose dynamic section contains the tag.
func (b *builder) searchDebug(m *module) arch.Address {
	w := uint64(b.Arch.WordSize)
	left := uint64(maxSearch)
	for _, mp := range b.dataOf(m) {
		data := b.Some(mp.Start, int(min(left, mp.End-mp.Start)))
		left -= uint64(len(data))
		for off := uint64(0); off+2*w <= uint64(len(data)); off += w {
			if b.Arch.Word(data[off:]) != elffile.DT_DEBUG {
				continue
			}
			debug := b.Arch.Word(data[off+w:])
			if debug == 0 || b.spend(1) && !b.isDebug(debug, mp.Start, mp.Start+off) {
				continue
			}
			return debug
		}
	}
	return 0
}

// isDebug reports whether a struct r_debug is at debug, and its first library has its
// dynamic section in [lo, hi].
func (b *builder) isDebug(debug, lo, hi arch.Address) bool {
	w := uint64(b.Arch.WordSize)
	version, _ := b.U32(debug)
	first := b.Word(debug + w)
	if version > 16 || first == 0 { // NetBSD writes 0
		return false
	}
	ld := b.Word(first + 2*w)
	return ld >= lo && ld <= hi
}

// dataOf returns what may be the data of a program without headers: its mappings and,
// in a dump without file names, those after them.
func (b *builder) dataOf(m *module) []libstate.Mapping {
	maps := slices.Clone(m.lib.Mappings)
	if len(maps) == 0 || maps[0].Path != "" {
		return maps
	}
	from, _ := b.indexes(m.lib.End, m.lib.End+1)
	for k := from; k < len(b.src.Mappings) && k < from+16 && b.owner[k] == nil; k++ {
		maps = append(maps, b.src.Mappings[k])
	}
	return maps
}

// walkLinkMap follows the list of one namespace. The first entry of the first list is
// the program's.
func (b *builder) walkLinkMap(addr arch.Address, first bool, seen map[arch.Address]bool) {
	w := uint64(b.Arch.WordSize)
	for ; addr != 0; first = false {
		if seen[addr] {
			b.warnf("the dynamic linker's list of libraries has a loop at %#x", addr)
			return
		}
		if len(seen) >= maxLinkMap {
			b.warnf("the dynamic linker's list of libraries has more than %d entries: the others are left out", maxLinkMap)
			return
		}
		seen[addr] = true
		next, err := b.ReadWord(addr + 3*w)
		if err != nil {
			b.warnf("the dynamic linker's list of libraries breaks off: %v", err)
			return
		}
		b.addEntry(linkEntry{
			bias: b.Word(addr), name: b.cstring(b.Word(addr + w)), dynamic: b.Word(addr + 2*w), first: first,
		})
		addr = next
	}
}

func (b *builder) addEntry(e linkEntry) {
	if !b.spend(1) {
		return
	}
	m := b.moduleAt(e.dynamic)
	if m == nil {
		if m = b.moduleOf(e); m != nil {
			b.join(m, e.dynamic)
		}
	}
	if m == nil {
		m = b.newFromEntry(e)
	}
	if m == nil {
		return
	}
	l := m.lib
	if l.Path == "" {
		l.Path, l.Deleted = cutDeleted(e.name)
	}
	if strings.HasPrefix(e.name, "/") && e.name != l.Path && l.Kind == libstate.SharedLibrary {
		l.Linked = e.name
	}
	if l.Kind == libstate.VDSO || l.LoadBias == e.bias {
		l.BiasGuessed = false
		return
	}
	if l.BiasGuessed {
		l.LoadBias, l.BiasGuessed = e.bias, false
	} else if b.dynamicAt(m) != e.dynamic {
		b.warnf("%s: the dynamic linker says that it is at %#x, its headers say %#x; using the headers", l.Path, e.bias, l.LoadBias)
	}
}

// moduleOf finds the module whose dynamic section an entry has, for modules whose
// mappings do not show it.
func (b *builder) moduleOf(e linkEntry) *module {
	if !b.spend(len(b.mods)) {
		return nil
	}
	for _, m := range b.mods {
		switch {
		case m.lib.Kind == libstate.VDSO && isVDSOName(e.name),
			m.lib.Kind == libstate.Executable && e.first,
			m.elf != nil && e.dynamic != 0 && b.dynamicAt(m) == e.dynamic,
			m.elf == nil && m.lib.Kind != libstate.VDSO && e.bias != 0 && m.lib.LoadBias == e.bias:
			return m
		}
	}
	return nil
}

// join adds the mapping that contains addr to a module without headers.
func (b *builder) join(m *module, addr arch.Address) {
	k := b.mappingAt(addr)
	if k < 0 || m.elf != nil || b.owner[k] != nil {
		return
	}
	b.owner[k] = m
	m.lib.SetMappings(append(m.lib.Mappings, b.src.Mappings[k]))
}

func (b *builder) dynamicAt(m *module) arch.Address {
	if m.elf == nil {
		return 0
	}
	if p := prog(m.elf, elffile.PT_DYNAMIC); p != nil {
		return b.truncate(m.lib.LoadBias + p.Vaddr)
	}
	return 0
}

// newFromEntry adds a library that only the dynamic linker's list shows.
func (b *builder) newFromEntry(e linkEntry) *module {
	k := b.mappingAt(e.dynamic)
	if e.dynamic == 0 || k < 0 || b.src.Mappings[k].Path != "" && e.name == "" {
		return nil
	}
	if e.bias != 0 {
		if at := b.mappingAt(e.bias); at >= 0 && b.src.Mappings[at].Path == "" {
			if m := b.imageAt(e.bias, ""); m != nil {
				b.add(m)
				return m
			}
		}
	}
	kind := libstate.SharedLibrary
	if isVDSOName(e.name) {
		kind = libstate.VDSO
	} else if e.first {
		kind = libstate.Executable
		if e.name == "" {
			e.name = b.execName()
		}
	}
	m := b.headerless(e.name, kind, e.bias, k)
	if m != nil && m.elf == nil {
		b.spread(m, e.bias, k)
	}
	return m
}

// maxSpread limits the size of a library whose headers are not available.
const maxSpread = 1 << 30

// spread gives a library whose segments are not known all anonymous memory from its
// load address to its dynamic section: libraries that are not prelinked begin at their
// load bias.
func (b *builder) spread(m *module, bias arch.Address, k int) {
	first := b.mappingAt(bias)
	if bias == 0 || first < 0 || first > k || b.src.Mappings[k].End-bias > maxSpread || !b.spend(k-first+1) {
		return
	}
	c := b.newClaim()
	b.mark[k] = b.epoch
	c.idx, c.maps = append(c.idx, k), append(c.maps, b.src.Mappings[k])
	for i := first; i < k; i++ {
		if b.src.Mappings[i].Path == "" {
			b.take(&c, i, b.src.Mappings[i])
		}
	}
	b.own(m, c)
}
