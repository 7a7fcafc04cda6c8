package python

import (
	"context"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A gil is the lock of an interpreter: the thread that has it runs Python.
type gil struct {
	at, cond uint64 // cond is the condition variable at which threads wait for it
	holder   unwind.ThreadID
	held     bool
	known    bool // holder is a thread of the process
}

// sizeofCond is the size of a pthread_cond_t.
const sizeofCond = 48

// gils reads the locks of the interpreters; until 3.11 all share one.
func (r *runtime) gils() []gil {
	read := func(at, holder, locked, cond uint64) gil {
		g := gil{at: at, cond: cond, held: r.u32(locked) == 1}
		state := r.word(holder)
		for i := range r.states {
			if s := &r.states[i]; s.at == state && s.known {
				g.holder, g.known = s.thread, true
			}
		}
		return g
	}
	switch {
	case r.has("runtime.gil_holder"):
		root := r.root - r.at("runtime.interpreters_head")
		at := root + r.at("runtime.gil_holder")
		return []gil{read(at, at, root+r.at("runtime.gil_locked"), root+r.at("runtime.gil_cond"))}
	case r.minor == 6:
		var at [3]uint64
		for i, name := range []string{"gil_last_holder", "gil_locked", "gil_cond"} {
			if s, ok := r.p.Symbols.SymbolByName(r.lib, name); ok {
				at[i] = s.Addr
			}
		}
		if at[0] == 0 || at[1] == 0 || at[2] == 0 {
			return nil
		}
		return []gil{read(at[0], at[0], at[1], at[2])}
	}
	if !r.has("gil.holder") {
		return nil
	}
	var list []gil
	seen := map[uint64]bool{}
	for i := range r.states {
		at := r.field(r.states[i].interp, "interp.ceval_gil")
		if at != 0 && !seen[at] {
			seen[at] = true
			list = append(list, read(at, at+r.at("gil.holder"), at+r.at("gil.locked"), at+r.at("gil.cond")))
		}
	}
	return list
}

// Resolve says of threads that wait for locks of threading what they wait for (locks), of tasks which others they wait for
// (awaited, asyncLocks), and of threads that wait at the condition variable of an interpreter's lock who has the lock. They ask again every
// few milliseconds, but do nothing else until they have it.
func (r *runtime) Resolve(_ context.Context, all []*tasks.Task, _ func(context.Context, unwind.ThreadID) []*unwind.Frame) {
	var locks []gil
	read := false
	for _, t := range all {
		if t.Kind != tasks.KindThread || t.Wait == nil || t.Wait.Object.Address == 0 {
			continue
		}
		if !read {
			locks, read = r.gils(), true
		}
		for _, g := range locks {
			if a := t.Wait.Object.Address; a < g.cond || a >= g.cond+sizeofCond {
				continue
			}
			w := &tasks.Wait{Kind: tasks.WaitLock, Reason: "take_gil", Object: tasks.Object{Address: g.at, Name: "the GIL", Type: "Python's lock"}}
			switch {
			case g.held && g.known && uint64(g.holder) != t.ID:
				w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(g.holder)}, Certainty: tasks.Certain}}
				w.Proved = true
			case g.held:
				w.Object.Detail = "held by a thread that is not known"
			default:
				w.Object.Detail = "free: the thread was about to take it"
				w.Timed = true
			}
			t.Wait = w
		}
	}
	r.locks(all)
	r.joins(all)
	r.asyncLocks(all)
	r.awaited(all)
}
