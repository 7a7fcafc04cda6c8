package ruby

import (
	"context"
	"iter"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Limits of the search for fibers: how many objects are looked at, and how many fibers are listed.
const (
	maxObjects = 1 << 19
	maxListed  = 1 << 12
)

// Tasks implements tasks.Runtime: the fibers that are suspended, among all objects.
func (r *runtime) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		running := r.running()
		looked, listed := uint64(0), 0
		r.pages(func(p page) bool {
			if ctx.Err() != nil {
				return false
			}
			if looked += p.slots; looked > maxObjects {
				yield(nil, chainError("there are more objects of Ruby: fibers may be missing"))
				return false
			}
			b := r.Some(p.start, int(p.slots*p.size))
			for off := uint64(0); off+p.size <= uint64(len(b)); off += p.size {
				if r.Arch.Word(b[off:])&typeMask != typeData {
					continue
				}
				t := r.fiber(p.start+off, running)
				if t == nil {
					continue
				}
				if listed++; listed > maxListed {
					yield(nil, chainError("there are more fibers of Ruby"))
					return false
				}
				if !yield(t, nil) {
					return false
				}
			}
			return true
		})
	}
}

// running are what threads execute: their fibers are in the stacks of the threads.
func (r *runtime) running() map[uint64]bool {
	out := map[uint64]bool{}
	for _, t := range r.threadList() {
		ec := t.ec
		for range maxFibers {
			if ec == 0 || out[ec] {
				break
			}
			out[ec] = true
			ec = r.resumer(ec)
		}
	}
	return out
}

// fiber is an object that is a suspended fiber; nil for others.
func (r *runtime) fiber(at uint64, running map[uint64]bool) *tasks.Task {
	data, ok := r.data(at, "fiber")
	if !ok || r.field(data, "fiber.self") != at {
		return nil
	}
	ec := data + r.at("fiber.ec")
	if running[ec] || r.field(ec, "ec.fiber") != data {
		return nil
	}
	list, _ := r.calls(ec)
	if len(list) == 0 { // it has not begun, or has ended
		return nil
	}
	t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindFiber, ID: at}, Runtime: r.Name(), Thread: unwind.NullThread, State: tasks.StateWaiting, Status: "suspended",
		Wait: &tasks.Wait{Kind: tasks.WaitFuture, Reason: list[0].function}}
	for i := range list {
		c := &list[i]
		if c.hidden {
			continue
		}
		f := tasks.SuspendedFrame{Object: c.at, Language: language, Function: c.function}
		if c.f != nil {
			if !c.f.native {
				f.File = c.f.path
				f.Line, f.Approximate = r.line(c)
			}
			f.Args, f.Locals = r.variables(c, true, r.p.Limits)
		}
		t.Suspended = append(t.Suspended, f)
	}
	return t
}
