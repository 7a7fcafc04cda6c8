package corewalk

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/report"
)

// Info lists what is in a dump: its notes, the mappings of its process with how much of
// each was dumped, and its modules with the files found for them. If another process
// truncates a file meanwhile, Info leaves out what it could not read and warns.
func (t *Target) Info() *report.Info { return t.InfoWith(InfoOptions{}) }

// InfoOptions select what Info lists.
type InfoOptions struct {
	// Memory lists a minidump's ranges of memory, and the regions of pages that it
	// describes.
	Memory bool
}

// InfoWith is like Info, with options.
func (t *Target) InfoWith(o InfoOptions) *report.Info {
	in := &report.Info{Schema: report.InfoSchema}
	// What can be told without reading the file again comes first.
	fault := t.guard(func() {
		in.Mappings = subject.Mappings(t.subject)
		p := t.parts(t.subject)
		in.Dump, in.Warnings = p.Dump, p.Warnings
		in.Notes = t.subject.Notes()
		in.Modules = analysis.Modules(p)
		in.Details = t.subject.Details()
		in.Threads, in.Memory = t.subject.ThreadInfos(), t.subject.MemoryInfo(o.Memory)
		for _, list := range []struct {
			name string
			n    int
		}{{"notes", len(in.Notes)}, {"mappings", len(in.Mappings)}} {
			if list.n == subject.MaxListed {
				in.Warnings = append(in.Warnings, report.Warning{Code: "list", Message: fmt.Sprintf("only the first %d %s are listed", list.n, list.name)})
			}
		}
	})
	if fault != nil {
		in.Warnings = append(in.Warnings, report.Warning{Code: report.WarnChanged, Message: fault.Error()})
	}
	return in
}
