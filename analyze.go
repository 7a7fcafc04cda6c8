package corewalk

import (
	"cmp"
	"context"
	"time"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// AnalyzeOptions select what goes into a report.
type AnalyzeOptions struct {
	Threads   []unwind.ThreadID // whose stacks to walk; nil for all, an empty slice for none
	MaxFrames int               // frames walked of each thread, without inlined calls; 0 for all
	// Tasks are the numbers of the goroutines and other tasks to report; nil for all. NoTasks leaves out all of them, and
	// what threads wait for.
	Tasks   []uint64
	NoTasks bool
	Locals  Locals // which variables to read
	// VariablesUntil is the time from which on no more variables are read; the rest of the analysis goes on. The zero time
	// is no limit. If variables are missing for this reason, the warning report.WarnVariables says so.
	VariablesUntil time.Time
	// NoBlame leaves out which value was bad and where it came from (report.Crash.Blame).
	NoBlame bool
	Include Include // what else to report
	// For says what of the report will be shown: what will not be is not found out. It may be told of parts of the report
	// before the rest is known (report.Projection). nil is report.Whole: everything.
	For report.Projection
}

// Include says what to report besides stacks and variables.
type Include struct {
	// Source is how many lines of source to report before and after the line of each frame whose source is found
	// (modules.WithSourceMap says where it is looked for); 0 for none. Source and Code are for the threads in
	// AnalyzeOptions.Threads; if that is nil, for the thread that crashed, or for all if none did.
	Source int
	// Code adds the instructions around the address of each frame.
	Code bool
	// Memory adds the memory around the bad address, the values of the crashed thread's registers, and its stack pointer.
	Memory bool
	// Environment adds the environment that the process was started with.
	Environment Environment
	// Details adds report.Report.Details: what else is known of the process and its machine.
	Details bool
}

// An Environment says how much to report of a process's environment, which often has secrets.
type Environment uint8

const (
	EnvironmentNone   Environment = iota
	EnvironmentMasked             // all variables; "***" stands for what looks like a secret
	EnvironmentAll                // all variables as they were, and the command line, too
)

// Analyze is Facts.Analyze with all defaults of FactsOptions.
func (t *Target) Analyze(ctx context.Context, o AnalyzeOptions) (*report.Report, error) {
	return t.AnalyzeWith(ctx, FactsOptions{}, o)
}

// AnalyzeWith is Facts.Analyze for callers who ask only once. Nothing is kept for a second question.
func (t *Target) AnalyzeWith(ctx context.Context, how FactsOptions, o AnalyzeOptions) (*report.Report, error) {
	f, err := t.factsKept(how, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.analyze(ctx, o, true)
}

// Analyze walks the stacks of the threads and returns a report. When ctx is done, it stops
// early and reports what it has; so it does when the dump asks for far more work than its
// size explains, which no honest dump does. A report with gaps is not an error; an error means that
// there is nothing to report.
//
// It returns ErrChanged when a file is truncated. Without Walker options, a second
// goroutine walks threads while the calling one names their frames; with a Fetcher several
// walk first, so that several files are fetched at the same time.
func (f *Facts) Analyze(ctx context.Context, o AnalyzeOptions) (*report.Report, error) {
	return f.analyze(ctx, o, false)
}

// analyze is Analyze. The last question lets a running process go on before it returns.
func (f *Facts) analyze(ctx context.Context, o AnalyzeOptions, last bool) (r *report.Report, err error) {
	t := f.t
	defer f.Ask(ctx)()
	var later []report.Task
	fault := t.guard(func() {
		opts := analysis.Options{Threads: o.Threads, MaxFrames: o.MaxFrames, NoBlame: o.NoBlame, NoTasks: o.NoTasks, Tasks: o.Tasks,
			Locals: analysis.Locals(o.Locals), VariablesUntil: o.VariablesUntil,
			Around: analysis.Around{Source: o.Include.Source, Code: o.Include.Code, Memory: o.Include.Memory}}
		f.project(&opts, &o, &later)
		if f.w.SymbolLookup() == unwind.SymbolLookup(t.lookup) { // another may need no debug information
			if err = f.engine.FetchAhead(ctx, opts); err != nil {
				err = t.changed(err)
				return
			}
		}
		r = f.engine.Report(ctx, opts)
		t.warnLate(r)
		t.complete(r, f.now, &o)
		if o.Include.Details {
			r.Details = t.subject.Details()
		}
	})
	if err = cmp.Or(fault, err); err != nil {
		return nil, err
	}
	if last {
		r.Warnings = append(r.Warnings, f.release()...)
	}
	if p, ok := o.For.(taskProjection); ok {
		for i := range later {
			p.Task(&later[i])
		}
	}
	return r, nil
}

// What a report.Projection may have besides its methods.
type (
	deathProjection interface{ Died(*report.Report) }
	taskProjection  interface{ Task(*report.Task) }
)

// project puts what a projection needs into the options of an analysis. What it is told of tasks while the process may be stopped goes into
// later: whoever reads what it writes must not be waited for.
func (f *Facts) project(opts *analysis.Options, o *AnalyzeOptions, later *[]report.Task) {
	p := o.For
	if p == nil {
		p = report.Whole{}
	}
	opts.Needs, opts.Shown = p.Needs(), p.Shown
	if p, ok := p.(deathProjection); ok && !f.now.Pending() {
		opts.Died = func(r *report.Report) {
			f.t.complete(r, f.now, o)
			p.Died(r)
		}
	}
	if p, ok := p.(taskProjection); ok {
		if opts.Task = p.Task; f.now.Pending() {
			opts.Task = func(t *report.Task) { *later = append(*later, *t) }
		}
	}
}

// complete adds to a report what is known without an analysis.
func (t *Target) complete(r *report.Report, now subject.Moment, o *AnalyzeOptions) {
	r.Process = t.subject.Started().Report(o.Include.Environment != EnvironmentNone, o.Include.Environment == EnvironmentAll)
	for i := range r.Threads {
		th := &r.Threads[i]
		did := now.Activity[unwind.ThreadID(th.ID)]
		th.State, th.CPUSeconds = did.Word(), did.CPU.Seconds()
		if o.Include.Details {
			th.LastError = t.subject.LastError(unwind.ThreadID(th.ID))
		}
	}
}

// budget returns the limit on the work of a question; nil for none.
func (t *Target) budget(unlimited bool) *budget.Budget {
	if unlimited {
		return nil
	}
	return budget.New(t.size())
}

// size is that of the dump, in bytes.
func (t *Target) size() uint64 {
	if size := t.subject.Describe().Size; size > 0 {
		return size
	}
	return 1 << 40 // a running process: what it may cost is not known
}
