package subject

import (
	"context"
	"io"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/report"
)

// OpenDump opens the core or minidump at path; unpacking stops when ctx is done. With some errors it also
// returns a Subject, which has what can be read of the dump and must be closed.
func OpenDump(ctx context.Context, path string, opts ...corestate.Option) (Subject, error) {
	core, mini, err := corestate.OpenDump(ctx, path, opts...)
	return ofDump(core, mini, path, err)
}

// OpenDumpReader is like OpenDump for a dump that is read from a stream. name is the dump's name in messages.
func OpenDumpReader(ctx context.Context, r io.Reader, name string, opts ...corestate.Option) (Subject, error) {
	core, mini, err := corestate.OpenDumpReader(ctx, r, opts...)
	return ofDump(core, mini, name, err)
}

func ofDump(core *corestate.ELFCore, mini *corestate.Minidump, path string, err error) (Subject, error) {
	switch {
	case core != nil:
		return newCore(core, path), err
	case mini != nil:
		// The process is the 32-bit program, not the WOW64 layer below it.
		if w, ok := mini.WOW64(); ok && err == nil {
			mini = w
		}
		return minidumpSubject{dump: mini, path: path}, err
	}
	return nil, err
}

// setSize records in d how much of a dump there is.
func setSize(d *report.Dump, cut bool, have, want int64) {
	d.Truncated, d.Size = cut, uint64(max(have, 0))
	if cut {
		d.FullSize = uint64(max(want, 0))
	}
}
