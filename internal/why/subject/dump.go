package subject

import (
	"io"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/report"
)

// OpenDump opens the core or minidump at path. With some errors there is a Subject as
// well: it answers what can be known of the dump, and must be closed.
func OpenDump(path string, opts ...corestate.Option) (Subject, error) {
	core, mini, err := corestate.OpenDump(path, opts...)
	return ofDump(core, mini, path, err)
}

// OpenDumpReader is OpenDump for a dump that comes as a stream. name is what to call it.
func OpenDumpReader(r io.Reader, name string, opts ...corestate.Option) (Subject, error) {
	core, mini, err := corestate.OpenDumpReader(r, opts...)
	return ofDump(core, mini, name, err)
}

func ofDump(core *corestate.ELFCore, mini *corestate.Minidump, path string, err error) (Subject, error) {
	switch {
	case core != nil:
		return coreSubject{ELFCore: core, path: path}, err
	case mini != nil:
		// What ran is the program of 32 bits, not the layer that it ran on.
		if w, ok := mini.WOW64(); ok && err == nil {
			mini = w
		}
		return minidumpSubject{dump: mini, path: path}, err
	}
	return nil, err
}

// setSize says in d how much of a dump is there.
func setSize(d *report.Dump, cut bool, have, want int64) {
	d.Truncated, d.Size = cut, uint64(max(have, 0))
	if cut {
		d.FullSize = uint64(max(want, 0))
	}
}
