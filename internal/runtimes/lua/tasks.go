package lua

import (
	"context"
	"iter"
	"slices"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// maxObjects is how many objects are looked at for coroutines, and maxCoroutines how many of those are listed.
const (
	maxObjects    = 1 << 19
	maxCoroutines = 1 << 12
)

// Tasks implements tasks.Runtime: the coroutines that have yielded or have not begun, among the objects that the collector lists.
func (r *runtime) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		r.mu.Lock()
		all := slices.Clone(r.order)
		r.mu.Unlock()
		for _, g := range all {
			if !r.coroutines(ctx, g, yield) {
				return
			}
		}
	}
}

// coroutines yields those of a global state; false if no more are wanted.
func (r *runtime) coroutines(ctx context.Context, g uint64, yield func(*tasks.Task, error) bool) bool {
	listed, looked := 0, 0
	for at := r.field(g, "global.objects"); at != 0; at = r.next(at) {
		if looked++; looked > maxObjects {
			return yield(nil, chainError("there are more objects of Lua: coroutines may be missing"))
		}
		if at%8 != 0 || ctx.Err() != nil {
			return true
		}
		if !r.is(at, tagThread) || r.global(at) != g {
			continue
		}
		t := r.coroutine(at)
		if t == nil {
			continue
		}
		if listed++; listed > maxCoroutines {
			return yield(nil, chainError("there are more coroutines of Lua"))
		}
		if !yield(t, nil) {
			return false
		}
	}
	return true
}

// coroutine is a thread of Lua that waits to be resumed; nil for others.
func (r *runtime) coroutine(at uint64) *tasks.Task {
	t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindCoroutine, ID: at}, Runtime: r.Name(), Thread: unwind.NullThread, State: tasks.StateWaiting}
	main := r.field(r.field(at, "state.global"), "global.main")
	switch status := r.status(at); {
	case status == statusYield:
		t.Status = "suspended"
		t.Wait = &tasks.Wait{Kind: tasks.WaitFuture, Reason: "coroutine.yield"}
	case status == 0 && at != main && !r.busy(at):
		return r.fresh(at, t)
	default:
		return nil
	}
	list, _ := r.calls(at)
	for i := range list {
		c := &list[i]
		caller := callerOf(list, i)
		f := tasks.SuspendedFrame{Object: c.at, Language: language, Function: r.functionName(c, caller)}
		c.inner = false // it stored where it is
		if c.f != nil {
			f.File = c.f.source
			f.Line, f.Approximate = r.line(c)
		}
		f.Args, f.Locals = r.variables(c, caller, true, r.p.Limits)
		t.Suspended = append(t.Suspended, f)
	}
	return t
}

// fresh is a coroutine that has not begun: its function is on its stack. One that has ended has none.
func (r *runtime) fresh(at uint64, t *tasks.Task) *tasks.Task {
	stack, top := r.field(at, "state.stack"), r.field(at, "state.top")
	first := stack + r.valueSize()
	if r.jit {
		first = r.bottom(at)
	}
	if top <= first {
		return nil
	}
	v, ok := r.valueAt(first)
	if !ok || v.kind != kindFunction || !r.is(v.bits, tagFunction) {
		return nil
	}
	f := r.functionOf(v.bits)
	if f == nil {
		return nil
	}
	t.State, t.Status = tasks.StateRunnable, "not started"
	t.Suspended = []tasks.SuspendedFrame{{Object: v.bits, Language: language, Function: "function <" + place(f) + ">", File: f.source, Line: int(f.first), Approximate: true,
		Note: "not started"}}
	return t
}

// Raised implements tasks.Raiser: the error that nobody catches, which ends a thread of Lua. It is the last value on its stack.
func (r *runtime) Raised(id unwind.ThreadID) []tasks.Exception {
	r.mu.Lock()
	states, panicked := r.threads[id], r.panicked[id]
	r.mu.Unlock()
	for _, s := range states {
		if r.status(s) <= statusYield && !(panicked && (r.jit || r.forgot(s))) {
			continue
		}
		v, ok := r.valueAt(r.field(s, "state.top") - r.valueSize())
		if !ok {
			continue
		}
		e := tasks.Exception{Language: language, Type: "error"}
		if v.kind == kindString {
			e.Message, _, _ = r.text(v.bits, maxText)
		} else {
			e.Message = r.show(v, tasks.Limits{})
		}
		list, _ := r.calls(s)
		for i := range list {
			if c := &list[i]; c.f != nil {
				e.Function, e.File = r.functionName(c, callerOf(list, i)), c.f.source
				e.Line, _ = r.line(c)
				break
			}
		}
		return []tasks.Exception{e}
	}
	return nil
}
