package corewalk

import (
	"context"
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// AnalyzeOptions say what a report holds.
type AnalyzeOptions struct {
	Threads   []unwind.ThreadID // nil for all
	MaxFrames int               // physical frames walked of each thread; 0 for all
	NoInlines bool              // leave out inlined and tail-called functions
	Explain   bool              // tell for each frame how it was found
	Verify    bool              // ask further steppers about each frame, and tell what they say
	Locals    Locals            // which variables to read
	Values    dwarfvars.Options // how much of each variable to read
	// Structured asks for each variable's value as a tree, report.Variable.Data,
	// besides the text.
	Structured bool
	// NoBlame leaves out which value was bad and where it came from (report.Crash.Blame).
	NoBlame bool
	// Details asks for what the dump tells of the process and its machine besides
	// threads, modules and memory: report.Report.Details.
	Details bool
	// Walker options, applied after the defaults: further steppers, another lookup.
	Walker []unwind.Option
	// Setup, when set, may change the walker before it is used, for instance add
	// steppers to it.
	Setup func(*unwind.Walker) error
}

// Analyze walks the target's threads and reports. It ends early, with a report
// of what was done, when ctx is done. A report with gaps is no error; the error
// says that there is nothing to report.
//
// It works on the calling goroutine, so that it can answer ErrChanged when a file
// is cut short under it. Where there is a Fetcher, it first walks on several others,
// so that files are fetched at a time.
func (t *Target) Analyze(ctx context.Context, o AnalyzeOptions) (*report.Report, error) {
	var wopts []unwind.Option
	if o.MaxFrames > 0 {
		wopts = append(wopts, unwind.WithMaxFrames(o.MaxFrames))
	}
	if o.Explain {
		wopts = append(wopts, unwind.WithExplain())
	}
	if o.Verify {
		wopts = append(wopts, unwind.WithVerify())
	}
	now, err := t.subject.Moment()
	if err != nil {
		return nil, err
	}
	released := sync.OnceValue(now.Release)
	defer released()
	var w *unwind.Walker
	if fault := t.guard(func() { w, err = t.newWalker(now.State, append(wopts, o.Walker...)) }); fault != nil {
		return nil, fault
	}
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if o.Setup != nil {
		if err := o.Setup(w); err != nil {
			return nil, fmt.Errorf("set the walker up: %w", err)
		}
	}
	var r *report.Report
	var ahead error
	fault := t.guard(func() {
		p := t.parts(now.State)
		p.Walker = w
		if w.SymbolLookup() != unwind.SymbolLookup(t.lookup) {
			p.Lacks, p.Complete = nil, nil // another lookup may need no debug information
		}
		opts := analysis.Options{Threads: o.Threads, NoInlines: o.NoInlines, Explain: o.Explain, Verify: o.Verify,
			NoBlame: o.NoBlame, Locals: analysis.Locals(o.Locals), Values: o.Values, Structured: o.Structured}
		if ahead = analysis.Ahead(ctx, p, opts, o.MaxFrames); ahead == nil {
			r = analysis.Run(ctx, p, opts)
			t.warnLate(r)
			if o.Details {
				r.Details = t.subject.Details()
				for i := range r.Threads {
					th := &r.Threads[i]
					th.LastError = t.subject.LastError(unwind.ThreadID(th.ID))
				}
			}
		}
	})
	if ahead != nil {
		fault = t.changed(ahead)
	}
	if fault != nil {
		return nil, fault
	}
	r.Warnings = append(r.Warnings, released()...)
	return r, nil
}
