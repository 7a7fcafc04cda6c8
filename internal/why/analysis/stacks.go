package analysis

import (
	"context"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A Named is a stack with the names of its frames.
type Named struct {
	Frames []report.Frame // without variables

	in        *question
	stack     []*unwind.Frame
	calls     []*tasks.Call
	suspended []tasks.SuspendedFrame
}

// alone asks of one stack.
func (e *Engine) alone() *question {
	e.forgetCalls()
	return e.question(Options{Locals: LocalsNone, Needs: report.Whole{Trees: true}.Needs(), NoTasks: true, NoBlame: true})
}

// WalkMore walks more of the stack of a thread, up to a number of frames. The frames that it has stay the same.
func (e *Engine) WalkMore(ctx context.Context, stack *unwind.Stack, frames int) {
	e.stacks.more(ctx, stack, frames)
}

// Thread names the frames of a thread's stack.
func (e *Engine) Thread(ctx context.Context, stack *unwind.Stack) *Named {
	in := e.alone()
	defer e.forgetCalls()
	n := &naming{question: in, keepsCalls: true}
	var named report.Thread
	if n.crashed = stack.Thread == in.died() && len(stack.Frames) > 0; n.crashed {
		s := in.diedIn(ctx, n, stack).shown(ctx)
		named, n.languageCalls = s.thread, s.calls
		in.forgetEvaluations()
	} else {
		named = n.thread(ctx, stack)
		n.addLanguageCalls(ctx, &named, stack, nil)
	}
	return &Named{Frames: named.Frames, in: in, stack: stack.Frames, calls: n.languageCalls}
}

// End says why a walk ended, as a report does.
func (e *Engine) End(stack *unwind.Stack) string { return e.endDetail(stack) }

// Task names the frames of a task's stack, which may be that of a thread, or those that it is suspended in.
func (e *Engine) Task(ctx context.Context, t *tasks.Task, stack *unwind.Stack) *Named {
	in := e.alone()
	if len(t.Suspended) > 0 {
		return &Named{Frames: in.suspended(t).frames, in: in, suspended: t.Suspended}
	}
	defer e.forgetCalls()
	n := &naming{question: in, keepsCalls: true}
	named := n.thread(ctx, stack)
	if in.walkedByLanguage(stack.Frames) { // one address may stand for any function
		n.addLanguageCalls(ctx, &named, stack, nil)
	}
	return &Named{Frames: named.Frames, in: in, stack: stack.Frames, calls: n.languageCalls}
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
		args, own := c.Variables(true, LimitsOf(in.Values))
		return in.suspendedVariables(args), in.suspendedVariables(own)
	}
	physical := n.Frames[i].Physical
	if in.Variables == nil || physical >= len(n.stack) {
		return nil, nil
	}
	// The entries of one frame lie side by side, those of languages apart.
	beside := func(k int) bool {
		return k >= 0 && k < len(n.Frames) && n.Frames[k].Physical == physical && callAt(n.calls, k) == nil
	}
	first, end := i, i+1
	for beside(first - 1) {
		first--
	}
	for beside(end) {
		end++
	}
	entries := append([]report.Frame(nil), n.Frames[first:end]...)
	of := *in
	of.opts.Locals = LocalsAll
	(&naming{question: &of, frames: n.stack}).variables(entries, n.stack, physical, true)
	return entries[i-first].Args, entries[i-first].Locals
}
