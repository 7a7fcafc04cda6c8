package libraries

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A lostSegment is code of a module that no mapping of the dump shows.
type lostSegment struct {
	m       *module
	mapping libstate.Mapping
}

// addLostCode adds the code of modules to their mappings where the dump has no mapping at all: gcore and other programs
// leave out what is in files, and cores without NT_FILE, or with some modules in it, do not list it either. The
// module's headers and its load bias, from headers in memory or from the dynamic linker, say where the code was. Of
// modules that claim the same memory, none gets it.
func (b *builder) addLostCode() {
	var lost []lostSegment
	for _, m := range b.mods {
		if m.elf == nil || m.lib.BiasGuessed || m.lib.Kind == libstate.VDSO || !b.spend(len(m.elf.Progs)) {
			continue
		}
		for i := range m.elf.Progs {
			p := &m.elf.Progs[i]
			if p.Type != elffile.PT_LOAD || p.Flags&elffile.PF_X == 0 || p.Memsz == 0 || p.Memsz > maxSpread || p.Vaddr+p.Memsz < p.Vaddr {
				continue
			}
			lo, hi := b.segment(m.lib.LoadBias, p.Vaddr, p.Vaddr+p.Memsz)
			if from, to := b.indexes(lo, hi); from == to && lo != 0 {
				lost = append(lost, lostSegment{m, libstate.Mapping{Start: lo, End: hi, Offset: b.pageDown(p.Off), Perm: permOf(p.Flags), Path: m.lib.Path}})
			}
		}
	}
	slices.SortStableFunc(lost, func(x, y lostSegment) int { return cmp.Compare(x.mapping.Start, y.mapping.Start) })
	end := arch.Address(0) // of the segments before
	for i, s := range lost {
		alone := s.mapping.Start >= end && (i+1 == len(lost) || lost[i+1].mapping.Start >= s.mapping.End)
		end = max(end, s.mapping.End)
		if alone {
			s.m.lib.SetMappings(append(s.m.lib.Mappings, s.mapping))
		}
	}
}
