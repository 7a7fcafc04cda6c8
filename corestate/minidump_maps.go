package corestate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// mappings combines what a dump says about the address space: /proc/PID/maps on Linux,
// otherwise the regions from VirtualQuery; where these have nothing, the modules, and
// the memory in the dump. all says that one of the first two was there.
func (d *Minidump) mappings() (maps []libstate.Mapping, all bool) {
	f := d.file
	maps = linuxMappings(f.Linux.Maps)
	maps = addUncovered(maps, d.regionMappings())
	all = len(maps) > 0
	maps = addUncovered(maps, moduleMappings(f.Modules))
	return addUncovered(maps, d.memoryMappings()), all
}

func linuxMappings(lines []minidump.LinuxMap) []libstate.Mapping {
	list := make([]libstate.Mapping, 0, len(lines))
	for _, l := range lines {
		m := libstate.Mapping{Start: l.Start, End: l.End, Offset: l.Offset, Perm: permText(l.Perm)}
		// "[stack]", "[heap]" and the like are not files.
		if strings.HasPrefix(l.Path, "/") {
			m.Path = l.Path
		}
		list = append(list, m)
	}
	return list
}

func permText(s string) (p libstate.Perm) {
	for i, bit := range []libstate.Perm{libstate.Read, libstate.Write, libstate.Exec} {
		if s[i] != '-' {
			p |= bit
		}
	}
	return p
}

// regionMappings returns the regions that were not free. Reserved regions and guard
// pages allow no access.
func (d *Minidump) regionMappings() []libstate.Mapping {
	list := make([]libstate.Mapping, 0, len(d.file.Regions))
	mods := modulesByBase(d.file.Modules)
	for i := range d.file.Regions {
		r := &d.file.Regions[i]
		if r.State == minidump.MemFree {
			continue
		}
		m := libstate.Mapping{Start: r.Base, End: r.Base + r.Size}
		if m.End == 0 {
			m.End = ^arch.Address(0)
		}
		if r.Readable() {
			m.Perm |= libstate.Read
		}
		if r.Writable() {
			m.Perm |= libstate.Write
		}
		if r.Executable() {
			m.Perm |= libstate.Exec
		}
		if mod := moduleOver(mods, r.Base); mod != nil && r.Type != minidump.MemPrivate {
			m.Path, m.Offset = mod.Path, r.Base-mod.Base
		}
		list = append(list, m)
	}
	return list
}

func modulesByBase(mods []minidump.Module) []*minidump.Module {
	list := make([]*minidump.Module, len(mods))
	for i := range mods {
		list[i] = &mods[i]
	}
	slices.SortStableFunc(list, func(a, b *minidump.Module) int { return cmp.Compare(a.Base, b.Base) })
	return list
}

// moduleOver returns the module that contains addr and begins last; nil if there is
// none.
func moduleOver(mods []*minidump.Module, addr arch.Address) *minidump.Module {
	i, _ := slices.BinarySearchFunc(mods, addr, func(m *minidump.Module, a arch.Address) int {
		if m.Base <= a {
			return -1
		}
		return 1
	})
	if i == 0 || addr-mods[i-1].Base >= mods[i-1].Size {
		return nil
	}
	return mods[i-1]
}

func moduleMappings(mods []minidump.Module) []libstate.Mapping {
	list := make([]libstate.Mapping, 0, len(mods))
	for i := range mods {
		m := &mods[i]
		end := m.End()
		if end < m.Base {
			end = ^arch.Address(0)
		}
		list = append(list, libstate.Mapping{Start: m.Base, End: end, Path: m.Path, Perm: libstate.Unknown | libstate.Read | libstate.Exec})
	}
	return list
}

// lowestMapped is the lowest address that Windows, and Linux by default, map.
const lowestMapped arch.Address = 0x10000

// memoryMappings returns the ranges in the dump. They are data, except those in which a
// thread was running.
func (d *Minidump) memoryMappings() []libstate.Mapping {
	spans := d.file.Memory.Spans()
	list := make([]libstate.Mapping, 0, len(spans))
	for _, s := range spans {
		m := libstate.Mapping{Start: s.Start, End: s.Start + uint64(len(s.Data)), Perm: libstate.Unknown | libstate.Read | libstate.Write}
		if m.End == 0 {
			m.End = ^arch.Address(0)
		}
		list = append(list, m)
	}
	for _, t := range d.threads {
		c, err := d.context(t)
		if err != nil {
			continue
		}
		pc, _ := c.Regs.Get(c.Arch.PC)
		// Some writers put zeros for the memory around a null pc.
		if i := mappingIndex(list, pc); i >= 0 && pc >= lowestMapped {
			list[i].Perm |= libstate.Exec
		}
	}
	return list
}

// addUncovered adds to maps, which are disjoint and ascending, the parts of add that
// they do not cover. If ranges of add overlap, the one that starts lower wins.
func addUncovered(maps, add []libstate.Mapping) []libstate.Mapping {
	if len(add) == 0 {
		return maps
	}
	slices.SortStableFunc(add, func(a, b libstate.Mapping) int { return cmp.Compare(a.Start, b.Start) })
	out := make([]libstate.Mapping, 0, len(maps)+len(add))
	i, pos := 0, arch.Address(0)
	for _, m := range add {
		for m.Start = advance(&m, max(pos, m.Start)); m.Start < m.End; {
			for i < len(maps) && maps[i].End <= m.Start {
				out = append(out, maps[i])
				i++
			}
			piece := m
			if i < len(maps) && maps[i].Start < m.End {
				piece.End = maps[i].Start
			}
			if piece.Start < piece.End {
				out = append(out, piece)
				m.Start = advance(&m, piece.End)
			} else {
				m.Start = advance(&m, min(maps[i].End, m.End))
			}
			pos = m.Start
		}
	}
	return append(out, maps[i:]...)
}

// advance moves the start of m, and the offset in its file with it. It returns the new
// start.
func advance(m *libstate.Mapping, to arch.Address) arch.Address {
	if to > m.Start && m.Path != "" {
		m.Offset += to - m.Start
	}
	return to
}

// Auxv is the process's auxiliary vector, nil when the dump has none.
func (d *Minidump) Auxv() libstate.Auxv {
	return libstate.ParseAuxv(d.file.Linux.Auxv, d.wordSize, d.order())
}

// KnowsMappings reports whether Mappings are all mappings of the process: whether the dump
// has a list of them.
func (d *Minidump) KnowsMappings() bool { return d.mapped }
