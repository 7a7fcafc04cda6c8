package corewalk

import (
	"context"
	"iter"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Facts tell what is known of a process at one moment: they make whole reports, and they answer questions about one
// stack, frame or variable, in the words of a report. Each fact is found when it is first asked for, at the cost of that
// fact alone, and none depends on what was asked before. Stacks and names are kept for later questions. Only one
// goroutine may use Facts at a time.
type Facts struct {
	t      *Target
	now    subject.Moment
	w      *unwind.Walker
	engine *analysis.Engine
	limit  *budget.Budget
	own    []tasks.Finder
	runs   bool // the moment was released
}

// FactsOptions say how facts are found.
type FactsOptions struct {
	Values    dwarfvars.Options // how much of each variable is read
	NoInlines bool              // inlined and tail-called functions are left out
	Explain   bool              // reports say for each frame how it was found
	Verify    bool              // other steppers are asked about each frame, and reports say what they find
	// Runtimes find runtimes of the program's own: schedulers, whose tasks are reported with the others (fibers), and
	// languages, which know what frames mean (tasks.Framer) or make frames of their own (tasks.Stepping). They are
	// looked for in all modules before threads are walked.
	Runtimes []tasks.Finder
	// Unlimited lifts the limit on the work of each question, which is in proportion to the size of the dump; then only its context
	// ends it. For running processes the limit is the largest.
	Unlimited bool
	// Walker options are applied after the defaults: more steppers, another lookup. Threads are then walked by one goroutine.
	Walker []unwind.Option
}

// keptFrames is how many frames of threads' stacks are kept for the next question.
const keptFrames = 1 << 12

// Facts returns the Facts of the Target at this moment. Close them when done, and before the Target. A running process
// is stopped until its stacks are copied; with WithHold, until the Facts are closed.
//
// If another process truncates a file of the Target, the error of Facts, and of each of their methods, wraps ErrChanged.
func (t *Target) Facts(o FactsOptions) (*Facts, error) { return t.factsKept(o, keptFrames) }

func (t *Target) factsKept(o FactsOptions, keep int) (*Facts, error) {
	now, err := t.subject.Moment(nil)
	if err != nil {
		return nil, err
	}
	f := &Facts{t: t, now: now, limit: t.budget(o.Unlimited), own: o.Runtimes}
	var opts []unwind.Option
	if o.Explain {
		opts = append(opts, unwind.WithExplain())
	}
	if o.Verify {
		opts = append(opts, unwind.WithVerify())
	}
	if f.limit != nil {
		opts = append(opts, unwind.WithBudget(f.limit))
	}
	fault := t.guard(func() {
		if f.w, err = t.newWalker(now.State, append(opts, o.Walker...)); err != nil {
			return
		}
		p := t.parts(now.State, o.Values)
		p.Walker, p.Budget, p.ReadsLate = f.w, f.limit, now.Moving()
		if f.limit != nil {
			p.Room = analysis.RoomOf(t.size())
		}
		p.NoInlines, p.Explain, p.Verify, p.Values, p.Keep = o.NoInlines, o.Explain, o.Verify, o.Values, keep
		p.Parallel = len(o.Walker) == 0 // the caller's steppers need not be safe for it
		if err = t.ownRuntimes(&p, f.w, o.Runtimes); err == nil {
			f.engine = analysis.NewEngine(p)
		}
	})
	if fault != nil {
		err = fault
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close ends the Facts. A running process that was held for them (WithHold) goes on.
func (f *Facts) Close() {
	if f.w != nil {
		f.w.Close()
	}
	f.release()
}

// release lets a running process go on, and says what went wrong.
func (f *Facts) release() []report.Warning {
	if f.runs {
		return nil
	}
	f.runs = true
	return f.now.Release()
}

// Ask begins a question, which ends when done is called. All work in between is charged to one budget, as large as that
// of an analysis, and stops early when the budget is spent or ctx is done. One question ends before the next begins.
func (f *Facts) Ask(ctx context.Context) (done func()) {
	f.engine.Begin()
	if f.limit == nil {
		return func() {}
	}
	f.limit.Renew()
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		f.limit.Stop(context.Cause(ctx))
		close(stopped)
	})
	return func() {
		if !stop() {
			<-stopped // else it would stop the next question
		}
	}
}

// Variables returns the Reader for variables of the frames of these stacks. Unlike Target.Variables, it also knows which
// values in registers survived calls, where the code of the callees proves it.
func (f *Facts) Variables() *dwarfvars.Reader { return f.engine.Variables }

// ValueAt reads an object of Python, Java or another language above the native code again, with other limits. at is
// the object's report.Data.Address, and by names the runtime that found it: the report.Frame.Stepper of a frame that
// has it. It returns false if the runtime reads no objects, or if there is none at the address.
func (f *Facts) ValueAt(by string, at unwind.Address, limits tasks.Limits) (report.Data, bool) {
	return f.engine.ValueAt(by, at, limits)
}

// At says what is at an address: a function, a variable or a part of it, a frame of a stack, a block of an allocator and
// who points at it, a mapping, or nothing. It may walk the stacks and read the heaps.
func (f *Facts) At(ctx context.Context, addr unwind.Address) (p report.Place, err error) {
	if fault := f.t.guard(func() { p = f.engine.At(ctx, addr) }); fault != nil {
		return p, fault
	}
	return p, context.Cause(ctx)
}

// Walker returns the Walker of these stacks. Do not close it. Steppers may be added before the first question; they are called by one
// goroutine.
func (f *Facts) Walker() *unwind.Walker {
	f.engine.Parallel = false
	return f.w
}

// SetValues says how much of each variable is read from now on.
func (f *Facts) SetValues(o dwarfvars.Options) { f.engine.Values = o }

// Threads lists the threads.
func (f *Facts) Threads() ([]unwind.ThreadID, error) { return f.w.AvailableThreads() }

// Thread returns the facts of a thread's stack. Nothing of it is walked before the first question.
func (f *Facts) Thread(id unwind.ThreadID) *StackFacts {
	return &StackFacts{f: f, walked: &unwind.Stack{Thread: id}}
}

// Tasks yields the threads and tasks as Target.Tasks does: of a running process, those of the moment of the Facts. The work
// is charged to the question (Ask) in which the iterator runs.
func (f *Facts) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return tasksOf(ctx, func() []tasks.Runtime { return f.t.taskRuntimes(f.now.State, f.own, f.limit) })
}

// Waits lists the threads and tasks with what each waits for. It walks all their stacks. Give the list to
// tasks.NewGraph to learn who waits for whom.
func (f *Facts) Waits(ctx context.Context) (all []*tasks.Task, err error) {
	defer f.Ask(ctx)()
	if fault := f.t.guard(func() { all = f.engine.Waits(ctx) }); fault != nil {
		return nil, fault
	}
	return all, context.Cause(ctx)
}

// Task returns the facts of a task's stack. Nothing of it is walked before the first question.
func (f *Facts) Task(t *tasks.Task) *StackFacts {
	s := &StackFacts{f: f, task: t, walked: &unwind.Stack{Thread: t.Thread}}
	if t.Start == nil {
		return s
	}
	s.walked.Thread = unwind.NullThread
	top, err := tasks.FirstFrame(f.w, t)
	if err != nil {
		s.walked.End, s.walked.Err = unwind.EndNoRegister, err
		return s
	}
	s.walked.Frames, s.walked.End = []*unwind.Frame{top}, unwind.EndMaxFrames
	return s
}

// StackFacts are the Facts of one stack. Walking further adds frames, and changes none of those before.
type StackFacts struct {
	f      *Facts
	task   *tasks.Task // nil for a thread
	walked *unwind.Stack
	named  *analysis.Named
	upTo   int // how many frames named has
}

// Walk walks the stack until it has n frames, or ends.
func (s *StackFacts) Walk(ctx context.Context, n int) error {
	if s.suspended() || n <= len(s.walked.Frames) {
		return nil
	}
	if len(s.walked.Frames) == 0 && s.walked.End == unwind.EndNoRegister {
		return s.walked.Err
	}
	if s.task == nil {
		s.f.engine.WalkMore(ctx, s.walked, n)
	} else {
		_ = s.f.w.WalkMore(ctx, s.walked, n-len(s.walked.Frames)) // how the walk ended is in the stack
	}
	return context.Cause(ctx)
}

// suspended reports whether the task has no stack, but is suspended in frames.
func (s *StackFacts) suspended() bool { return s.task != nil && len(s.task.Suspended) > 0 }

// Whole reports whether the stack has been walked to its end.
func (s *StackFacts) Whole() bool {
	return s.suspended() || s.walked.End != unwind.EndMaxFrames && (len(s.walked.Frames) > 0 || s.walked.Err != nil)
}

// Frames returns the frames that were walked, youngest first. The frames of a suspended task that has no stack
// (tasks.Task.Suspended) are not among them.
func (s *StackFacts) Frames() []*unwind.Frame {
	if s.suspended() {
		return nil
	}
	return s.walked.Frames
}

// spareFrames is how many frames beyond those wanted are walked: the names of a frame may depend on its callers.
const spareFrames = 8

// Entries returns the stack as a report has it, without variables: at least n entries if there are as many. all says
// that there are no others. The entries' numbers never change. An entry is a frame or a call inlined into one.
func (s *StackFacts) Entries(ctx context.Context, n int) (list []report.Frame, all bool, err error) {
	if s.named == nil || len(s.entries()) < n && !s.all() {
		want := min(max(n, 0), 1<<28)
		if err := s.Walk(ctx, 2*want+spareFrames); err != nil {
			return nil, false, err
		}
		if s.suspended() || s.task != nil {
			s.named = s.f.engine.Task(ctx, s.task, s.part(2*want+spareFrames))
		} else {
			s.named = s.f.engine.Thread(ctx, s.part(2*want+spareFrames))
		}
		if err := context.Cause(ctx); err != nil {
			s.named = nil
			return nil, false, err
		}
	}
	return s.entries(), s.all(), nil
}

// all reports whether the entries that have been named are all.
func (s *StackFacts) all() bool { return s.suspended() || s.Whole() && s.upTo >= len(s.walked.Frames) }

// part returns the stack up to n frames: more may have been walked for variables.
func (s *StackFacts) part(n int) *unwind.Stack {
	out := *s.walked
	out.Cut(n)
	s.upTo = len(out.Frames)
	return &out
}

// entries are those whose callers were known when they were named.
func (s *StackFacts) entries() []report.Frame {
	if s.named == nil {
		return nil
	}
	list := s.named.Frames
	if s.all() {
		return list
	}
	n := len(list)
	for n > 0 && list[n-1].Physical >= s.upTo-spareFrames {
		n--
	}
	return list[:n]
}

// End says why the walk ended, as a report does; "" if it has not come to the end.
func (s *StackFacts) End() string {
	if s.suspended() || !s.Whole() {
		return ""
	}
	return s.f.engine.End(s.walked)
}

// EntryVariables returns all variables of entry number i, as a report has them, with their values as trees; nil if
// none are known. Call it only for entries that Entries has returned.
func (s *StackFacts) EntryVariables(i int) (args, locals []report.Variable) {
	if s.named == nil {
		return nil, nil
	}
	return s.named.Variables(i)
}
