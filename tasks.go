package corewalk

import (
	"context"
	"iter"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Tasks yields the process's threads and the tasks of its own schedulers, such as goroutines. Each Task says what it waits
// for, and WalkTask walks its stack. One task is read at a time. An error says what could not be read; the tasks that can be
// read follow it. finders add runtimes of the caller's own.
//
// The process must not run meanwhile: stop a running one first (Live().StopAll), or use Facts.Tasks, which are of one moment.
func (t *Target) Tasks(ctx context.Context, finders ...tasks.Finder) iter.Seq2[*tasks.Task, error] {
	return tasksOf(ctx, func() []tasks.Runtime { return t.taskRuntimes(t.subject, finders, nil) })
}

// tasksOf yields the tasks of runtimes, which are found when the first is asked for.
func tasksOf(ctx context.Context, find func() []tasks.Runtime) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		for _, r := range find() {
			for task, err := range r.Tasks(ctx) {
				if !yield(task, err) {
					return
				}
			}
		}
	}
}

// taskRuntimes finds the runtimes of a state of the process. What they do is charged to limit, if that is not nil.
func (t *Target) taskRuntimes(state subject.State, finders []tasks.Finder, limit *budget.Budget) []tasks.Runtime {
	p := &tasks.Process{State: state, Files: t.images, Symbols: t.lookup, Names: t.lookup}
	if limit != nil {
		p.Budget = limit
	}
	if libs := t.subject.LibraryTracker(); libs != nil {
		p.Modules, _ = libs.Libraries(false)
	}
	return findRuntimes(p, everything(finders))
}

// ownRuntimes finds the caller's runtimes, before threads are walked, and registers their steppers.
func (t *Target) ownRuntimes(p *analysis.Parts, w *unwind.Walker, finders []tasks.Finder) error {
	if len(finders) == 0 {
		return nil
	}
	own := &tasks.Process{State: p.Proc, Files: t.images, Symbols: t.lookup, Names: t.lookup}
	if p.Budget != nil {
		own.Budget = p.Budget
	}
	if libs := t.subject.LibraryTracker(); libs != nil {
		own.Modules, _ = libs.Libraries(false)
	}
	p.Found = findRuntimes(own, finders)
	for _, r := range p.Found {
		if s, ok := r.(tasks.Stepping); ok {
			for _, stepper := range s.Steppers() {
				if err := w.StepperGroup().RegisterStepper(stepper); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// findRuntimes finds runtimes in a process. One that cannot be used says so where its tasks are listed.
func findRuntimes(p *tasks.Process, finders []tasks.Finder) []tasks.Runtime {
	var found []tasks.Runtime
	for _, find := range finders {
		switch r, err := find(p); {
		case err != nil:
			found = append(found, unusable{err})
		case r != nil:
			found = append(found, r)
		}
	}
	return found
}

// An unusable runtime is there, but its tasks cannot be listed.
type unusable struct{ err error }

func (unusable) Name() string { return "tasks" }

func (u unusable) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) { yield(nil, u.err) }
}

// WalkTask walks the stack of a task. The Stack of a task that a thread runs is that thread's.
// The Stack of a task without one has no frames: those of a coroutine are its Suspended.
func WalkTask(ctx context.Context, w *unwind.Walker, t *tasks.Task) (*unwind.Stack, error) {
	if len(t.Suspended) > 0 {
		return &unwind.Stack{Thread: unwind.NullThread, End: unwind.EndBottom}, nil
	}
	if t.Start == nil {
		return w.WalkStackContext(ctx, t.Thread)
	}
	f, err := tasks.FirstFrame(w, t)
	if err != nil {
		return &unwind.Stack{Thread: unwind.NullThread, End: unwind.EndNoRegister, Err: err}, err
	}
	return w.WalkStackFromFrame(f)
}
