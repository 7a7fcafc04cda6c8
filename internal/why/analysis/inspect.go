// Package analysis makes a report of a process: it walks every thread, names the
// frames, says why the process died and what was missing. It takes the parts of
// an opened dump and knows nothing of how they were opened.
package analysis

import (
	"context"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/why/message"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// Parts are what an analysis needs of an opened dump.
type Parts struct {
	Proc   unwind.ProcessState
	Walker *unwind.Walker // its SymbolLookup names the frames
	// Dump describes the dump; Run copies it into the report.
	Dump report.Dump
	// Signal killed the process; nil when none did. Its TID is the crashing
	// thread's.
	Signal *reason.Signal
	// Exception is what stopped the process on a system without signals; nil for
	// none, and where there is a Signal.
	Exception *reason.Exception
	// Assertion and Recorded are what the dump's writer recorded of the process's own
	// last words: the assertion that failed, and other text. Both are mostly empty.
	Assertion, Recorded message.Words
	// Numbers is how the dump's system numbers signals.
	Numbers reason.Numbering
	// Resolve tells which file was found for a library; nil when files do not
	// matter.
	Resolve func(*libstate.Library) modules.Resolution
	// Lacks tells whether the first frame in a library has files fetched, and
	// Complete fetches them; nil when nothing is fetched. Both are called by
	// several goroutines.
	Lacks    func(*libstate.Library) bool
	Complete func(*libstate.Library)
	// Unreachable lists the servers that could not be asked for files, each with
	// the reason; nil for none.
	Unreachable func() []string
	// Unusable lists files of symbol stores that could not be expanded, each with the
	// reason; nil for none.
	Unusable func() []string
	// MappingAt returns the mapping that holds an address, in the dump or not.
	MappingAt func(addr unwind.Address) (libstate.Mapping, bool)
	// PartialMaps says that MappingAt does not know all mappings.
	PartialMaps bool
	// ThreadName names a thread; nil or "" where the dump does not.
	ThreadName func(unwind.ThreadID) string
	// SignalAt tells which signal a trampoline frame delivered.
	SignalAt func(*unwind.Frame) (signo int, ok bool)
	// Variables reads arguments and local variables; nil for none.
	Variables *dwarfvars.Reader
	// Warnings found when the dump was opened.
	Warnings []report.Warning
}

// Options say what to put into the report.
type Options struct {
	Threads   []unwind.ThreadID // nil for all
	NoInlines bool              // leave out inlined and tail-called functions
	Explain   bool              // the Walker was made with WithExplain: report what it kept
	Verify    bool              // the Walker was made with WithVerify: likewise
	NoBlame   bool              // do not look for where a bad value came from
	Locals    Locals            // which variables to read
	Values    dwarfvars.Options // how much of each
	// Structured says that values are wanted as trees (report.Variable.Data) too.
	Structured bool
}

// Run analyses. The report is never nil; what could not be done is in its
// warnings and in its threads' ends. It ends early when ctx is done.
func Run(ctx context.Context, p Parts, o Options) *report.Report {
	in := &inspection{Parts: p, opts: o, arch: p.Proc.Arch()}
	r := &report.Report{Schema: report.Schema, Dump: p.Dump, Warnings: p.Warnings}
	in.threads(ctx, r)
	in.crash(r)
	in.lastWords(r)
	in.moduleList(r)
	in.servers(r)
	return r
}

// servers warns of servers that could not be asked, once, not for each file, and of
// files of stores that are of no use.
func (in *inspection) servers(r *report.Report) {
	if in.Unusable != nil {
		for _, s := range in.Unusable() {
			r.Warnings = append(r.Warnings, report.Warning{Code: "symbols-unusable", Message: "a file of a symbol store could not be expanded: " + s})
		}
	}
	if in.Unreachable == nil {
		return
	}
	for _, s := range in.Unreachable() {
		r.Warnings = append(r.Warnings, report.Warning{Code: "server-unreachable",
			Message: "files could not be fetched from a server: " + s,
			Advice:  "Try again later, or leave the server out (--debuginfod=none asks none)"})
	}
}
