package corewalk

import (
	"context"
	"iter"

	"github.com/corewalk/corewalk/internal/runtimes/golang"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// runtimes are the schedulers whose tasks are listed.
var runtimes = []tasks.Finder{golang.Find}

// Tasks yields what the process's own schedulers run: goroutines. Each Task says what it
// waits for and where its walk begins: WalkTask walks it. It reads one task at a time.
// Errors say what could not be read; the tasks that can be read follow. finders add
// the runtimes of the caller.
//
// The Target's memory must not change meanwhile: of a running process, Hold it first.
func (t *Target) Tasks(ctx context.Context, finders ...tasks.Finder) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		p := &tasks.Process{State: t.subject, Files: t.images, Symbols: t.lookup, Names: t.lookup}
		if libs := t.subject.LibraryTracker(); libs != nil {
			p.Modules, _ = libs.Libraries(false)
		}
		for _, find := range append(runtimes[:len(runtimes):len(runtimes)], finders...) {
			r, err := find(p)
			if err != nil && !yield(nil, err) {
				return
			}
			if r == nil {
				continue
			}
			for task, err := range r.Tasks(ctx) {
				if !yield(task, err) {
					return
				}
			}
		}
	}
}

// WalkTask walks the stack of a task. The Stack of a task that a thread runs is that thread's.
func WalkTask(ctx context.Context, w *unwind.Walker, t *tasks.Task) (*unwind.Stack, error) {
	if t.Start == nil {
		return w.WalkStackContext(ctx, t.Thread)
	}
	f, err := tasks.FirstFrame(w, t)
	if err != nil {
		return &unwind.Stack{Thread: unwind.NullThread, End: unwind.EndNoRegister, Err: err}, err
	}
	return w.WalkStackFromFrame(f)
}
