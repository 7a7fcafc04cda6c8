package ruby

import (
	"context"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Resolve implements tasks.Resolver: for which Mutex a thread waits and who has it, and for the end of which thread.
func (r *runtime) Resolve(_ context.Context, all []*tasks.Task, _ func(context.Context, unwind.ThreadID) []*unwind.Frame) {
	joins := r.joins()
	for _, t := range all {
		if t.Kind != tasks.KindThread || t.State == tasks.StateRunning || t.State == tasks.StateDead {
			continue
		}
		own := r.threadOf(unwind.ThreadID(t.ID))
		if own == nil {
			continue
		}
		if w := r.mutexWait(own); w != nil {
			t.Wait = w
		} else if target, ok := joins[own.at]; ok {
			t.Wait = r.joinWait(own, target)
		}
	}
}

// joinWait is the wait of a thread for the end of another.
func (r *runtime) joinWait(own, target *thread) *tasks.Wait {
	w := &tasks.Wait{Kind: tasks.WaitJoin, Reason: "Thread#join", Object: tasks.Object{Address: r.field(target.at, "thread.self"), Type: "Thread", Name: target.name, Language: language}}
	r.holds(w, target, own)
	timed, known := r.joinsFor(own)
	if w.Timed = timed; !known && w.Proved {
		w.Proved, w.Holders[0].Certainty = false, tasks.Possible
	}
	return w
}

// lastIndex is how many words before ep a function of C without variables has its last argument; without arguments that is its self.
const lastIndex = 3

// joinsFor reports whether the Thread#join that a thread runs has a limit of time; false, false if it runs none.
func (r *runtime) joinsFor(t *thread) (timed, known bool) {
	list, _ := r.stack(t.ec)
	for i := range list {
		c := &list[i]
		switch {
		case c.f != nil:
			return false, false // it does something else meanwhile
		case c.function == "Thread#value":
			return false, true
		case c.function == "Thread#join":
			last, ok := r.LookupWord(c.ep - 8*lastIndex)
			return last != c.self && last != r.at("value.nil"), ok
		}
	}
	return false, false
}

// holds says that a thread can end a wait of another.
func (r *runtime) holds(w *tasks.Wait, by, of *thread) {
	if by.id != unwind.NullThread && by.id != 0 && by.at != of.at {
		w.Proved = true
		w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(by.id)}, Certainty: tasks.Certain}}
	}
}

// mutexWait is the wait of a thread for a Mutex; nil if it waits for none.
func (r *runtime) mutexWait(t *thread) *tasks.Wait {
	mutex := r.field(t.at, "thread.locking")
	if mutex == 0 || mutex == r.at("value.nil") {
		return nil
	}
	data, ok := r.data(mutex, "mutex")
	if !ok {
		return nil
	}
	w := &tasks.Wait{Kind: tasks.WaitLock, Reason: "Mutex#lock", Object: tasks.Object{Address: mutex, Type: "Mutex", Language: language}}
	owner := r.field(data, "mutex.owner")
	if owner != 0 && r.version >= "3.0" { // a fiber has it
		ec := owner + r.at("fiber.ec")
		if r.field(ec, "ec.fiber") != owner { // it is none
			return w
		}
		owner = r.field(ec, "ec.thread")
	}
	if by := r.threadAt(owner); by != nil && r.keeps(by, data) {
		r.holds(w, by, t)
	}
	return w
}

// maxKept limits how many locks a thread has.
const maxKept = 1 << 12

// keeps reports whether a lock is among those that a thread has, as the thread lists them.
func (r *runtime) keeps(t *thread, mutex uint64) bool {
	at := r.field(t.at, "thread.keeping")
	for range maxKept {
		if at == mutex {
			return true
		}
		if at == 0 || at%8 != 0 || r.p.Spend(2) != nil {
			break
		}
		at = r.field(at, "mutex.next")
	}
	return false
}

// threadAt returns the thread at an address; nil if there is none.
func (r *runtime) threadAt(at uint64) *thread {
	list := r.threadList()
	for i := range list {
		if at != 0 && list[i].at == at {
			return &list[i]
		}
	}
	return nil
}

// joins are the threads whose end others wait for, by those.
func (r *runtime) joins() map[uint64]*thread {
	out := map[uint64]*thread{}
	list := r.threadList()
	for i := range list {
		seen := 0
		for at := r.field(list[i].at, "thread.join"); at != 0 && at%8 == 0 && seen < maxThreads && r.p.Spend(4) == nil; at = r.Word(at) {
			seen++
			if waiter := r.Word(at + 8); waiter != list[i].at {
				out[waiter] = &list[i]
			}
		}
	}
	return out
}

// maxType limits the name of what C keeps in an object.
const maxType = 64

// data returns where the data is that C keeps in an object, if it is of a type, "mutex".
func (r *runtime) data(v uint64, kind string) (uint64, bool) {
	if !r.is(v, typeData) {
		return 0, false
	}
	if name, ended := r.CString(r.field(r.field(v, "data.type"), "type.name"), maxType); !ended || string(name) != kind {
		return 0, false
	}
	at := r.contents(v)
	return at, at != 0 && at%8 == 0
}
