// Package analysis makes a report of a process: it walks every thread, names the frames, and finds out why the
// process died and what was missing. It works on the parts of an opened dump, however that was opened.
package analysis

import (
	"context"
	"slices"
	"time"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/why/message"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A Process is the process to report on.
type Process interface {
	unwind.ProcessState
	Mappings() []libstate.Mapping
	// MappingAt returns the mapping that contains an address, whether the dump has its memory or not.
	MappingAt(unwind.Address) (libstate.Mapping, bool)
	// ThreadName returns the name of a thread; "" if not known.
	ThreadName(unwind.ThreadID) string
}

// Parts are what an analysis needs from an opened dump.
type Parts struct {
	Proc   Process
	Walker *unwind.Walker // its SymbolLookup names the frames
	// Dump describes the dump. Run copies it into the report.
	Dump report.Dump
	// Signal is the signal that killed the process; nil if none did. Its TID is the crashing thread's.
	Signal *reason.Signal
	// Exception is what stopped the process on a system without signals; nil if nothing did, and if there is a
	// Signal.
	Exception *reason.Exception
	// Assertion and Recorded are what the dump's writer recorded of the process's own messages: the failed
	// assertion, and other text. Most dumps have neither.
	Assertion, Recorded message.Words
	// Blocked returns the signals that a thread blocks, bit n-1 for signal n; false if that is not known. It may be nil.
	Blocked func(unwind.ThreadID) (uint64, bool)
	// Numbers is how the dump's system numbers signals.
	Numbers reason.Numbering
	// Files has the files of libraries; nil if files are not used.
	Files Files
	// PartialMaps says that Proc does not know all mappings.
	PartialMaps bool
	// Variables reads arguments and local variables; nil to read none.
	Variables *dwarfvars.Reader
	// Runtimes finds the schedulers in some modules of the process: that of its own threads always. It is nil if
	// tasks are not wanted.
	Runtimes func([]*libstate.Library, *budget.Budget) []tasks.Runtime
	// Languages are the runtimes of languages above the native code that stacks may show, and Found those that are
	// known to be there.
	Languages []Language
	Found     []tasks.Runtime
	// ReadsLate says that memory is read while the process runs on: what it says of waits may be of different moments.
	ReadsLate bool
	// Budget limits the work of the Walker and of the analysis; nil for no limit.
	Budget *budget.Budget
	// Room is how many bytes a report may have, of names and variables, as RoomOf gives; 0 for no limit.
	Room int64
	// Warnings are those from opening the dump.
	Warnings []report.Warning

	NoInlines bool              // inlined and tail-called functions are left out
	Explain   bool              // the Walker was made with WithExplain: report what it recorded
	Verify    bool              // the Walker was made with WithVerify: likewise
	Values    dwarfvars.Options // how much of each value is read
	// Parallel allows a second goroutine to walk threads while frames are named.
	Parallel bool
	// Keep is how many frames of stacks are kept for later questions.
	Keep int
}

// Files is what an analysis asks of the files of modules: *modules.Set. Its methods may be
// called by several goroutines.
type Files interface {
	// Resolve returns what is known of the file of a library. It fetches nothing.
	Resolve(*libstate.Library) modules.Resolution
	// Lacks reports whether files have to be fetched for the first frame in a library, and
	// FetchAll fetches them.
	Lacks(*libstate.Library) bool
	FetchAll(*libstate.Library)
	// Unreachable lists the servers that could not be reached, each with the reason.
	Unreachable() []string
	// Unusable lists files of symbol stores that could not be expanded, each with the reason.
	Unusable() []string
	// Release returns os-release(5) of the system that has a module's file where the process had it, at path; nil for none.
	Release(file, path string) []byte
	// SourceFile returns the source file at a path that the debug information of a library
	// records. It may fetch. The error wraps fs.ErrNotExist if there is none.
	SourceFile(lib *libstate.Library, path string) (*modules.SourceFile, error)
}

var _ Files = (*modules.Set)(nil)

// Options select what goes into the report.
type Options struct {
	Threads   []unwind.ThreadID // nil for all
	MaxFrames int               // of each stack; 0 for all
	NoTasks   bool              // do not list tasks, nor what threads wait for
	Tasks     []uint64          // the numbers of the tasks to report; nil for all
	NoBlame   bool              // do not trace where a bad value came from
	Around    Around            // what of source, code and memory to report
	Locals    Locals            // which variables to read
	// VariablesUntil is when reading variables ends, but not the rest of the analysis; zero for no limit.
	VariablesUntil time.Time
	report.Needs
	// Shown returns for each frame of a stack whether its variables are wanted; nil for all. It may be nil.
	Shown func([]report.Frame) []bool
	// Task, if not nil, is called with each task that is no thread when its stack is known: without the holders of its wait. The
	// report then has those of which more is known later, without frames. Frames are shared as with ShareFrames.
	Task func(*report.Task)
	// Died, if not nil, is called when the crashing thread and all that concerns the crash is in the report, before
	// other threads are walked. Of the modules, the report has only the program then. It is not called if the process
	// did not crash.
	Died func(*report.Report)
}

// LimitsOf are the limits that somebody asked for of values, for languages above the native code.
func LimitsOf(o dwarfvars.Options) tasks.Limits {
	return tasks.Limits{Elements: o.MaxElements, String: o.MaxString, Depth: o.MaxDepth}
}

func (e *Engine) question(o Options) *question {
	e.Begin()
	return &question{Engine: e, opts: o, room: room{all: e.Room, left: e.Room}}
}

// Report finds out what the options ask for. It always returns a report; what could not be done is in its warnings and in
// the ends of its threads. It stops early when ctx is done.
func (e *Engine) Report(ctx context.Context, o Options) *report.Report {
	forget := func() {
		e.forgetEvaluations()
		e.forgetCalls()
	}
	forget()
	defer forget()
	in := e.question(o)
	r := &report.Report{Schema: report.Schema, Dump: e.Dump, Warnings: slices.Clip(e.Warnings)}
	in.findThreads()
	c := in.threads(ctx, r)
	v := c.receivedFirst(ctx, r.Threads)
	known := c.report(ctx, v)
	in.listTasks(ctx, r, known)
	if c != nil {
		v.kind = c.hang(known, r.Deadlocks, r.Awaited)
		r.Crash = c.report(ctx, v)
	}
	in.moduleList(r)
	r.MissingFile = wanted(r)
	release := func(_, _ string) []byte { return nil }
	if in.Files != nil {
		release = in.Files.Release
	}
	nameless(r, release)
	in.servers(r)
	in.warnSources(r)
	in.warnLate(r)
	in.warnExtras(r)
	in.room.warn(r)
	return r
}

// tell puts into the report what is known of the crash before other threads are walked, and tells who wants to hear of it.
func (c *crash) tell(ctx context.Context, r *report.Report) {
	if c == nil {
		return
	}
	known := c.report(ctx, c.verdict())
	if c.opts.Around.Memory {
		r.Memory = c.memory(ctx)
	}
	if c.naming == nil {
		return
	}
	r.Threads = append(r.Threads, c.shown(ctx).thread)
	r.Warnings = append(r.Warnings, c.shown(ctx).warnings...)
	if c.opts.Died != nil && !c.needsTasks(known) {
		r.Modules, r.Crash = c.main(), known
		c.opts.Died(r)
		r.Modules, r.Crash = nil, nil
	}
	c.forgetEvaluations()
}

// servers warns of servers that could not be reached, once per server, and of symbol stores and images that could not be read.
func (in *Engine) servers(r *report.Report) {
	if in.Files == nil {
		return
	}
	for _, s := range in.Files.Unusable() {
		r.Warnings = append(r.Warnings, report.Warning{Code: "symbols-unusable", Message: "could not unpack files of modules: " + s})
	}
	for _, s := range in.Files.Unreachable() {
		r.Warnings = append(r.Warnings, report.Warning{Code: "server-unreachable",
			Message: "could not fetch files from a server: " + s,
			Advice:  "Try again later, or pass --debuginfod=none to ask no server"})
	}
}
