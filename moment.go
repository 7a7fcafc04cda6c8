package corewalk

import (
	"context"
	"time"

	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A Moment is what all threads of a process did at one instant: their stacks, and what belongs to them.
type Moment struct {
	Stacks []*unwind.Stack // one for each thread; its Err says how the walk ended
	Names  []string        // of the threads; "" if not known
	// Activity is what the threads of a running process did just before; zero if not
	// known.
	Activity []livestate.Activity
	// Tasks are the tasks of the process's own schedulers, such as goroutines, and the threads that run no task. Only a
	// Sampler fills them in.
	Tasks []TaskStack
	// Calls are the calls of Python, Java and the like that parts of a thread's stack stand for. Only a Sampler fills them in.
	Calls map[unwind.ThreadID][]tasks.Stretch
	// Pause is how long a running process was stopped; 0 for others.
	Pause time.Duration
}

// Moment walks the stacks of all threads as they are at one time. A running process
// continues as soon as its registers and stacks are copied (but see WithHold); walking and
// naming take none of its time. Moment stops early when ctx is done.
//
// The frames use the Target's symbols, and read memory as Analyze does.
func (t *Target) Moment(ctx context.Context, opts ...unwind.Option) (*Moment, error) {
	now, err := t.subject.Moment(nil)
	if err != nil {
		return nil, err
	}
	defer now.Release()
	m := &Moment{}
	fault := t.guard(func() { err = m.walk(ctx, t, now, opts) })
	if fault != nil {
		return nil, fault
	}
	if err != nil {
		return nil, err
	}
	m.Pause = now.Pause()
	return m, nil
}

func (m *Moment) walk(ctx context.Context, t *Target, now subject.Moment, opts []unwind.Option) error {
	w, err := t.newWalker(now.State, opts)
	if err != nil {
		return err
	}
	return m.walkWith(ctx, w, now)
}

// walkWith walks with a Walker, and closes it.
func (m *Moment) walkWith(ctx context.Context, w *unwind.Walker, now subject.Moment) error {
	defer w.Close()
	ids, err := now.State.ThreadIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		s, _ := w.WalkStackContext(ctx, id) // its Err says what there is to say
		m.Stacks = append(m.Stacks, s)
		m.Names = append(m.Names, now.State.ThreadName(id))
		m.Activity = append(m.Activity, now.Activity[id])
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}
