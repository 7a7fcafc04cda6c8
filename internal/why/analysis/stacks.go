package analysis

import (
	"context"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Stacks tells of single stacks what a report says of them, for who asks about one frame at a time. It is not for several goroutines.
type Stacks struct{ in *inspection }

// NewStacks returns the Stacks of a process. Of the options NoInlines and Values count.
func NewStacks(p Parts, o Options) *Stacks {
	in := newInspection(p, Options{NoInlines: o.NoInlines, Values: o.Values, Locals: LocalsNone, Structured: true, NoTasks: true, NoBlame: true})
	in.keepsCalls = true
	return &Stacks{in}
}

// A Named is a stack with the names of its frames.
type Named struct {
	Frames []report.Frame // without variables

	in        *inspection
	stack     []*unwind.Frame
	calls     []*tasks.Call
	suspended []tasks.SuspendedFrame
}

// Thread names the frames of a thread's stack.
func (s *Stacks) Thread(ctx context.Context, stack *unwind.Stack) *Named {
	in := s.in
	in.spoken = nil
	n := &Named{in: in, stack: stack.Frames}
	if stack.Thread == in.died() && len(stack.Frames) > 0 {
		r := &report.Report{}
		in.deadThread(ctx, r, stack)
		n.Frames = r.Threads[0].Frames
	} else {
		t := in.thread(ctx, stack, false)
		in.addLanguageCalls(ctx, &report.Report{}, &t, stack)
		n.Frames = t.Frames
	}
	n.calls = in.spoken
	return n
}

// End says why a walk ended, as a report does.
func (s *Stacks) End(stack *unwind.Stack) string { return s.in.endDetail(stack) }

// Task names the frames of a task's stack, which may be that of a thread, or those that it is suspended in.
func (s *Stacks) Task(ctx context.Context, t *tasks.Task, stack *unwind.Stack) *Named {
	in := s.in
	if len(t.Suspended) > 0 {
		return &Named{Frames: in.suspended(t).frames, in: in, suspended: t.Suspended}
	}
	in.spoken = nil
	n := &Named{in: in, stack: stack.Frames}
	named := in.thread(ctx, stack, false)
	if in.walkedByLanguage(stack.Frames) { // one address may stand for any function
		in.addLanguageCalls(ctx, &report.Report{}, &named, stack)
		n.calls = in.spoken
	}
	n.Frames = named.Frames
	return n
}

// Variables reads all variables of entry number i, as a report has them. They are nil if the entry has none that are known of.
func (n *Named) Variables(i int) (args, locals []report.Variable) {
	in := n.in
	if i < 0 || i >= len(n.Frames) {
		return nil, nil
	}
	if n.suspended != nil {
		return in.suspendedVariables(n.suspended[i].Args), in.suspendedVariables(n.suspended[i].Locals)
	}
	if c := callAt(n.calls, i); c != nil {
		if c.Variables == nil {
			return nil, nil
		}
		args, own := c.Variables(true, LimitsOf(in.opts.Values))
		return in.suspendedVariables(args), in.suspendedVariables(own)
	}
	physical := n.Frames[i].Physical
	if in.Variables == nil || physical >= len(n.stack) {
		return nil, nil
	}
	// The entries of one frame lie side by side, those of languages apart.
	of := func(k int) bool {
		return k >= 0 && k < len(n.Frames) && n.Frames[k].Physical == physical && callAt(n.calls, k) == nil
	}
	first, end := i, i+1
	for of(first - 1) {
		first--
	}
	for of(end) {
		end++
	}
	entries := append([]report.Frame(nil), n.Frames[first:end]...)
	in.opts.Locals, in.shown, in.frames = LocalsAll, nil, n.stack
	in.variables(entries, n.stack, physical, true)
	in.opts.Locals = LocalsNone
	return entries[i-first].Args, entries[i-first].Locals
}
