package php

import (
	"context"
	"iter"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// maxObjects is how many objects are looked at for fibers, and maxFibers how many of those are listed.
const (
	maxObjects = 1 << 19
	maxFibers  = 1 << 12
)

// States of fibers.
const (
	fiberNew = iota
	fiberRuns
	fiberSuspended
	fiberEnded
)

// Tasks implements tasks.Runtime: the fibers that are suspended, among all objects.
func (r *runtime) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		if !r.has("fiber.status") {
			return
		}
		ids, _ := r.p.State.ThreadIDs()
		for _, id := range ids {
			s, ok := r.stateOf(id)
			if ok && !r.fibers(ctx, s, id, yield) {
				return
			}
		}
	}
}

// fibers yields those of a thread; false if no more are wanted.
func (r *runtime) fibers(ctx context.Context, s state, id unwind.ThreadID, yield func(*tasks.Task, error) bool) bool {
	store := s.executor + r.at("globals.objects")
	table := r.Word(store)
	top, ok := r.U32(store + 8)
	if !ok || table == 0 || table%8 != 0 {
		return true
	}
	if top > maxObjects && !yield(nil, chainError("there are more objects of PHP: fibers may be missing")) {
		return false
	}
	listed := 0
	const step = 512
	for from := uint64(1); from < uint64(min(top, maxObjects)); from += step { // 0 is none
		if ctx.Err() != nil {
			return false
		}
		objects, ok := r.Words(table+8*from, int(min(step, uint64(top)-from)))
		if !ok {
			return true
		}
		for _, at := range objects {
			if at == 0 || at%8 != 0 { // given back
				continue
			}
			t := r.fiber(at, id)
			if t == nil {
				continue
			}
			if listed++; listed > maxFibers {
				return yield(nil, chainError("there are more fibers of PHP"))
			}
			if !yield(t, nil) {
				return false
			}
		}
	}
	return true
}

// fiber is an object that is a suspended fiber; nil for others.
func (r *runtime) fiber(at uint64, id unwind.ThreadID) *tasks.Task {
	if name, ok := r.className(r.field(at, "object.class")); !ok || name != "Fiber" || !r.counted(at, typeObject) || r.number(at, "fiber.status") != fiberSuspended {
		return nil
	}
	list, _ := r.chain(r.field(at, "fiber.call"))
	t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindFiber, ID: at}, Runtime: r.Name(), Thread: unwind.NullThread, State: tasks.StateWaiting,
		Status: "suspended", Wait: &tasks.Wait{Kind: tasks.WaitFuture, Reason: "Fiber::suspend"}}
	for i := range list {
		c := &list[i]
		if c.f.kind == funcInternal && c.f.name == "" { // it began here
			break
		}
		f := tasks.SuspendedFrame{Object: c.at, Language: language}
		var caller *call
		if i+1 < len(list) {
			caller = &list[i+1]
		}
		f.Function, f.File = r.called(c, caller), c.f.file
		f.Line, f.Approximate = r.line(c)
		f.Args, f.Locals = r.variables(c, true, r.p.Limits)
		t.Suspended = append(t.Suspended, f)
		if len(t.Suspended) >= maxDepth {
			break
		}
	}
	return t
}
