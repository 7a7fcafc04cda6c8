package corewalk

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/report"
)

// Info tells what the dump holds: its notes, the mappings of its process with how
// much of each was dumped, and its modules with the files found for them. What
// could not be read because a file was cut short meanwhile is left out, with a
// warning.
func (t *Target) Info() *report.Info { return t.InfoWith(InfoOptions{}) }

// InfoOptions say what Info lists.
type InfoOptions struct {
	// Memory lists the ranges of memory that a minidump has, and the regions of pages
	// that it describes.
	Memory bool
}

// InfoWith is Info with options.
func (t *Target) InfoWith(o InfoOptions) *report.Info {
	in := &report.Info{Schema: report.InfoSchema}
	// What can be told without reading the file again comes first.
	fault := t.guard(func() {
		in.Mappings = t.mappings()
		p := t.parts(t.subject)
		in.Dump, in.Warnings = p.Dump, p.Warnings
		in.Notes = t.subject.notes()
		in.Modules = analysis.Modules(p)
		in.Details = t.details()
		if m := t.Minidump(); m != nil {
			in.Threads, in.Memory = threadInfos(m), memoryInfo(m, o.Memory)
		}
		for _, list := range []struct {
			name string
			n    int
		}{{"notes", len(in.Notes)}, {"mappings", len(in.Mappings)}} {
			if list.n == maxListed {
				in.Warnings = append(in.Warnings, report.Warning{Code: "list", Message: fmt.Sprintf("only the first %d %s are listed", list.n, list.name)})
			}
		}
	})
	if fault != nil {
		in.Warnings = append(in.Warnings, report.Warning{Code: report.WarnChanged, Message: fault.Error()})
	}
	return in
}

// maxListed bounds the notes and the mappings that are listed: several times what
// a process of ten thousand threads has. A damaged core can make a note of every
// twelve bytes.
const maxListed = 1 << 17

// maxOwner bounds the names of notes' owners, in bytes.
const maxOwner = 64

// mappings lists the process's memory with the files it was mapped from.
func (t *Target) mappings() []report.Mapping {
	held := t.subject.held()
	maps := t.subject.Mappings()
	maps = maps[:min(len(maps), maxListed)]
	out := make([]report.Mapping, 0, len(maps))
	for _, m := range maps {
		out = append(out, report.Mapping{
			Start: report.Addr(m.Start), End: report.Addr(m.End), Perm: m.Perm.String(),
			Offset: report.Addr(m.Offset), File: m.Path, InDump: held(m),
		})
	}
	return out
}
