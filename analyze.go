package corewalk

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// AnalyzeOptions select what goes into a report.
type AnalyzeOptions struct {
	Threads   []unwind.ThreadID // nil for all
	MaxFrames int               // physical frames walked of each thread; 0 for all
	NoInlines bool              // leave out inlined and tail-called functions
	Explain   bool              // report for each frame how it was found
	Verify    bool              // ask the other steppers about each frame, and report what they find
	Locals    Locals            // which variables to read
	Values    dwarfvars.Options // how much of each variable to read
	// VariablesUntil is when reading variables ends, but not the rest of the analysis; zero for no
	// limit. A warning (report.WarnVariables) says that it came to that.
	VariablesUntil time.Time
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
	// Runtimes find runtimes of the program's own: schedulers, whose tasks are reported with the others (fibers), and
	// languages, which know what frames mean (tasks.Framer) or make frames of their own (tasks.Stepping). They are
	// looked for in all modules before threads are walked.
	Runtimes []tasks.Finder
	// NoTasks leaves out goroutines and other tasks, and what threads wait for.
	NoTasks bool
	// Tasks are the numbers of the goroutines and other tasks to report, of threads only what they wait for;
	// nil for all.
	Tasks []uint64
	// NoBlame leaves out which value was bad and where it came from
	// (report.Crash.Blame).
	NoBlame bool
	// SourceLines adds as many lines of source before and after each frame's own, where the
	// source is found (modules.WithSourceMap says where); 0 for none. Disassemble adds the
	// instructions around each frame's address. Both are for the crashed thread, or those in
	// Threads, or all of a process that did not crash.
	SourceLines int
	Disassemble bool
	// Memory adds the memory around the bad address, the values of the crashed thread's
	// registers, and its stack pointer.
	Memory bool
	// Environment says whether to report the environment that the process was started with.
	Environment Environment
	// Details adds what else is known of the process and its machine, besides threads,
	// modules and memory: report.Report.Details.
	Details bool
	// Unlimited lifts the limit on the work of the analysis, which is in proportion to the
	// size of the dump; then only ctx ends it. For running processes it is the largest.
	Unlimited bool
	// Walker options are applied after the defaults: more steppers, another lookup.
	Walker []unwind.Option
	// Setup, if set, may change the Walker before it is used: for instance, add steppers.
	Setup func(*unwind.Walker) error
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

// Analyze walks the stacks of the threads and returns a report. When ctx is done, it stops
// early and reports what it has; so it does when the dump asks for far more work than its
// size explains, which no honest dump does. A report with gaps is not an error; an error means that
// there is nothing to report.
//
// It returns ErrChanged when a file is truncated. Without Walker options and Setup, a second
// goroutine walks threads while the calling one names their frames; with a Fetcher several
// walk first, so that several files are fetched at the same time.
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
	limit, spent := t.budget(ctx, o.Unlimited)
	defer spent()
	if limit != nil {
		wopts = append(wopts, unwind.WithBudget(limit))
	}
	now, err := t.subject.Moment(nil)
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
	var later []report.Task
	fault := t.guard(func() {
		p := t.parts(now.State, o.Values)
		p.Walker, p.Budget, p.ReadsLate = w, limit, now.Moving()
		if err = t.ownRuntimes(&p, w, o.Runtimes); err != nil {
			return
		}
		opts := analysis.Options{Threads: o.Threads, NoInlines: o.NoInlines, Explain: o.Explain, Verify: o.Verify,
			NoBlame: o.NoBlame, NoTasks: o.NoTasks, Tasks: o.Tasks, Locals: analysis.Locals(o.Locals), Values: o.Values, VariablesUntil: o.VariablesUntil, Structured: o.Structured, ShareFrames: o.ShareFrames, Each: o.Each, Text: o.Text, LeaveRounds: o.LeaveRounds,
			Around: analysis.Around{Source: o.SourceLines, Code: o.Disassemble, Memory: o.Memory}}
		if o.First != nil && !now.Pending() {
			opts.First = func(r *report.Report) {
				t.complete(r, now, &o)
				o.First(r)
			}
		}
		if o.Each != nil && now.Pending() { // the process may be stopped, and wait for who reads what Each writes
			opts.Each = func(t *report.Task) { later = append(later, *t) }
		}
		opts.Parallel = len(o.Walker) == 0 && o.Setup == nil   // the user's steppers need not be safe for it
		if w.SymbolLookup() == unwind.SymbolLookup(t.lookup) { // another may need no debug information
			ahead = analysis.Ahead(ctx, p, opts, o.MaxFrames)
		}
		if ahead == nil {
			r = analysis.Run(ctx, p, opts)
			t.warnLate(r)
			t.complete(r, now, &o)
			if o.Details {
				r.Details = t.subject.Details()
			}
		}
	})
	if ahead != nil {
		fault = t.changed(ahead)
	}
	if fault != nil {
		return nil, fault
	}
	if err != nil {
		return nil, err
	}
	r.Warnings = append(r.Warnings, released()...)
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

// budget returns the limit on the work of an analysis, which ctx ends too, until done is called; nil for none.
func (t *Target) budget(ctx context.Context, unlimited bool) (b *budget.Budget, done func() bool) {
	if unlimited {
		return nil, func() bool { return false }
	}
	size := t.subject.Describe().Size
	if size == 0 {
		size = 1 << 40 // a running process: what it may cost is not known
	}
	b = budget.New(size)
	return b, context.AfterFunc(ctx, func() { b.Stop(context.Cause(ctx)) })
}
