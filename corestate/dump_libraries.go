package corestate

import (
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// LibraryTracker returns the process's libraries; nil before BuildLibraries.
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

// program returns the path of the main program that BuildLibraries found; "" if not known.
func (d *anyDump) program() string {
	if t := d.libs.Load(); t != nil {
		if l, ok := t.AOut(); ok {
			return l.Path
		}
	}
	return ""
}
