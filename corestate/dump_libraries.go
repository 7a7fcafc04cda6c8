package corestate

import (
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// LibraryTracker is the process's libraries, nil before BuildLibraries.
func (d *anyDump) LibraryTracker() libstate.LibraryState {
	if t := d.libs.Load(); t != nil {
		return t
	}
	return nil
}

func (d *anyDump) libraryAt(addr arch.Address) (*libstate.Library, bool) {
	t := d.libs.Load()
	if t == nil {
		return nil, false
	}
	return t.Known(addr)
}

// SetExecutable says which file the process executed, for dumps that do not tell
// where it was mapped or what it was called. f may be nil. It takes effect in
// BuildLibraries, which uses f only if its entry point and segments fit the
// process.
func (d *anyDump) SetExecutable(path string, f *elffile.File) { d.execPath, d.execFile = path, f }

// source is what libraries are built from, but for the architecture and the mappings.
func (d *anyDump) source(auxv libstate.Auxv, file func(*libstate.Library) *elffile.File) libstate.Source {
	return libstate.Source{Mem: d.DumpMemory(), Auxv: auxv, ExecPath: d.execPath,
		ELF: func(l *libstate.Library) *elffile.File {
			if l.Kind == libstate.Executable && d.execFile != nil {
				return d.execFile
			}
			if file == nil {
				return nil
			}
			return file(l)
		},
	}
}

// program is the path of the main program as BuildLibraries found it; "" for not known.
func (d *anyDump) program() string {
	if t := d.libs.Load(); t != nil {
		if l, ok := t.AOut(); ok {
			return l.Path
		}
	}
	return ""
}
