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
	Threads   []unwind.ThreadID // nil for all
	MaxFrames int               // physical frames walked of each thread; 0 for all
	// Tasks are the numbers of the goroutines and other tasks to report, of threads only what they wait for;
	// nil for all. NoTasks leaves out all, and what threads wait for.
	Tasks   []uint64
	NoTasks bool
	Locals  Locals // which variables to read
	// VariablesUntil is when reading variables ends, but not the rest of the analysis; zero for no
	// limit. A warning (report.WarnVariables) says that it came to that.
	VariablesUntil time.Time
	// NoBlame leaves out which value was bad and where it came from (report.Crash.Blame).
	NoBlame bool
	Around  Around
	// Environment says whether to report the environment that the process was started with.
	Environment Environment
	// Details adds what else is known of the process and its machine, besides threads,
	// modules and memory: report.Report.Details.
	Details bool
	// Structured adds each variable's value as a tree (report.Variable.Data) to the text.
	Structured bool
	// ShareFrames lets goroutines with the same code share their report.Task.Frames, as report.WriteJSON understands it:
	// report.Task.Places says where they are on each stack. A hundred thousand goroutines then take half the memory.
	ShareFrames bool
	// Text, if not nil, says that the report is for report.WriteText with these options.
	// Variables of frames that WriteText does not show by themselves are then not read, Type and
	// Location of the others are left out where it does not show them, and so are most frames
	// of a recursion of more than a thousand (report.Frame.LeftOut).
	Text *report.TextOptions
	// LeaveRounds leaves out the variables of the middle rounds of a recursion: of all its frames but the first and last 64
	// (report.InRounds). Their report.Frame.VariablesLeftOut says so. With Text it means nothing.
	LeaveRounds bool
	// First, if not nil, is called with the report when it has the thread that crashed and all
	// that concerns the crash, before other threads are walked: report.TextWriter.First can
	// write that. It is not called for processes that did not crash and for running ones. It must
	// not keep or change the report.
	First func(*report.Report)
	// Each, if not nil, is called with each goroutine or other task that is no thread as soon as its stack is walked: the first long
	// before the last, and what it takes of memory is free again. Who holds what a task waits for is not known yet. The report then has,
	// without frames, only the tasks of which more is known than Each was told: the holders, seconds or note of their waits; and
	// those of threads. Of a running process it is called at the end, when that goes on again. Frames are shared as with ShareFrames: report.LineWriter.Task can write them. Each must not keep or change the task.
	Each func(*report.Task)
}

// Around says what to report besides names and variables: of the crashed thread, or those in AnalyzeOptions.Threads, or all of a process that
// did not crash.
type Around struct {
	// Source is how many lines of source before and after each frame's own are reported, where the source is found
	// (modules.WithSourceMap says where).
	Source int
	// Code adds the instructions around each frame's address.
	Code bool
	// Memory adds the memory around the bad address, the values of the crashed thread's registers, and its stack pointer.
	Memory bool
}

// An Environment says what to report of a process's environment. Environments often have
// secrets: values whose names are those of secrets are masked, and so are passwords in URLs
// and in the command line.
type Environment uint8

const (
	EnvironmentNone   Environment = iota
	EnvironmentMasked             // all variables, secrets masked
	EnvironmentAll                // all variables, and the command line, as they were
)

// Analyze is Facts.Analyze with all defaults of FactsOptions.
func (t *Target) Analyze(ctx context.Context, o AnalyzeOptions) (*report.Report, error) {
	return t.AnalyzeWith(ctx, FactsOptions{}, o)
}

// AnalyzeWith is Facts.Analyze, for who asks of a moment only once. Nothing is kept for a second question.
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
			Locals: analysis.Locals(o.Locals), VariablesUntil: o.VariablesUntil, Structured: o.Structured, ShareFrames: o.ShareFrames, Each: o.Each, Text: o.Text, LeaveRounds: o.LeaveRounds,
			Around: analysis.Around(o.Around)}
		if o.First != nil && !f.now.Pending() {
			opts.First = func(r *report.Report) {
				t.complete(r, f.now, &o)
				o.First(r)
			}
		}
		if o.Each != nil && f.now.Pending() { // the process may be stopped, and wait for who reads what Each writes
			opts.Each = func(t *report.Task) { later = append(later, *t) }
		}
		if f.w.SymbolLookup() == unwind.SymbolLookup(t.lookup) { // another may need no debug information
			if err = f.engine.FetchAhead(ctx, opts); err != nil {
				err = t.changed(err)
				return
			}
		}
		r = f.engine.Report(ctx, opts)
		t.warnLate(r)
		t.complete(r, f.now, &o)
		if o.Details {
			r.Details = t.subject.Details()
		}
	})
	if err = cmp.Or(fault, err); err != nil {
		return nil, err
	}
	if last {
		r.Warnings = append(r.Warnings, f.release()...)
	}
	for i := range later {
		o.Each(&later[i])
	}
	return r, nil
}

// complete adds to a report what is known without an analysis.
func (t *Target) complete(r *report.Report, now subject.Moment, o *AnalyzeOptions) {
	r.Process = t.subject.Started().Report(o.Environment != EnvironmentNone, o.Environment == EnvironmentAll)
	for i := range r.Threads {
		th := &r.Threads[i]
		did := now.Activity[unwind.ThreadID(th.ID)]
		th.State, th.CPUSeconds = did.Word(), did.CPU.Seconds()
		if o.Details {
			th.LastError = t.subject.LastError(unwind.ThreadID(th.ID))
		}
	}
}

// budget returns the limit on the work of a question; nil for none.
func (t *Target) budget(unlimited bool) *budget.Budget {
	if unlimited {
		return nil
	}
	size := t.subject.Describe().Size
	if size == 0 {
		size = 1 << 40 // a running process: what it may cost is not known
	}
	return budget.New(size)
}
