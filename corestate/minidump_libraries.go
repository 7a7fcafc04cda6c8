package corestate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// BuildLibraries makes the libraries of the dump's module list, which LibraryTracker
// then returns. It also uses /proc/PID/maps and headers in memory. files has the files
// of ELF libraries whose headers are not in the dump; it may be nil, and is asked only
// for files that need no fetching.
func (d *Minidump) BuildLibraries(files modules.Source) (*libstate.Table, []string) {
	a := d.arch
	if a == nil {
		a = &arch.Arch{WordSize: d.wordSize, ByteOrder: d.order()}
	}
	src := libraries.Source{Arch: a, Mem: d.DumpMemory(), Auxv: d.Auxv(), Files: files}
	if len(d.file.Linux.Maps) > 0 {
		src.Mappings = d.Mappings()
	}
	table, warnings := libraries.FromModules(src, d.modules())
	d.libs.Store(table)
	return table, warnings
}

// modules returns the dump's list of modules.
func (d *Minidump) modules() []libraries.Module {
	list := make([]libraries.Module, 0, len(d.file.Modules))
	links := d.links()
	for i := range d.file.Modules {
		m := &d.file.Modules[i]
		if m.Size == 0 {
			continue
		}
		out := libraries.Module{Path: m.Path, Base: m.Base, BuildID: m.BuildID, ID: libstate.ModuleID{
			Format: d.format(m), DebugID: m.DebugID(), CodeID: m.CodeID(), DebugFile: m.DebugFile, Version: m.Version,
			Timestamp: m.Timestamp, Checksum: m.Checksum, Size: m.Size, PartialBuildID: m.PartialID,
		}}
		if out.ID.Format == libstate.FormatELF {
			// Symbol files go by the list's name (libstdc++.so.6), not by that of the file
			// which is mapped (libstdc++.so.6.0.30).
			out.ID.DebugFile = cmp.Or(out.ID.DebugFile, m.Path)
			out.Bias, out.HasBias = linkBias(links, m)
		}
		list = append(list, out)
	}
	return list
}

// format returns the file format of modules: that of the operating system.
func (d *Minidump) format(m *minidump.Module) libstate.Format {
	s := d.file.System
	switch {
	case m.Format == minidump.ELFBuildID || s.Known && s.Platform.Linux() || s.Platform == minidump.Fuchsia:
		return libstate.FormatELF
	case s.Known && s.Platform.Apple():
		return libstate.FormatMachO
	case s.Known && !s.Platform.Windows() && strings.HasPrefix(m.Path, "/"):
		return libstate.FormatELF
	}
	return libstate.FormatPE
}

// links returns the dynamic linker's list, by the addresses of the dynamic sections.
func (d *Minidump) links() []minidump.LinkMap {
	debug := d.file.Linux.DSODebug
	if debug == nil {
		return nil
	}
	list := slices.Clone(debug.Links)
	slices.SortStableFunc(list, func(a, b minidump.LinkMap) int { return cmp.Compare(a.Dynamic, b.Dynamic) })
	return list
}

// linkBias returns the load bias of a module from the list: that of the entry whose
// dynamic section is in the module.
func linkBias(links []minidump.LinkMap, m *minidump.Module) (arch.Address, bool) {
	i, _ := slices.BinarySearchFunc(links, m.Base, func(l minidump.LinkMap, base arch.Address) int { return cmp.Compare(l.Dynamic, base) })
	if i == len(links) || links[i].Dynamic-m.Base >= m.Size {
		return 0, false
	}
	return links[i].Addr, true
}
