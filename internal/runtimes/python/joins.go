package python

import (
	"strconv"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// joinFrames is how many of a thread's youngest calls are looked through for one of Thread.join.
const joinFrames = 2

// joins says of threads that wait for a threading.Thread to end that they do, and for which. Until 3.12 they wait for a lock that the other thread has
// as long as it runs; later for a native event, in a method of the thread's object.
func (r *runtime) joins(all []*tasks.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var locks map[uint64]uint64
	for _, t := range all {
		if t.Kind != tasks.KindThread || t.Wait == nil || t.Wait.Object.Address == 0 || len(t.Wait.Holders) > 0 {
			continue
		}
		s := r.state(unwind.ThreadID(t.ID))
		if s == nil {
			continue
		}
		ident := uint64(0)
		switch {
		case r.minor >= 13 && (t.Wait.Kind == tasks.WaitSemaphore || t.Wait.Kind == tasks.WaitAddress || t.Wait.Kind == tasks.WaitCondition):
			ident = r.joined(s)
		case r.minor < 13 && t.Wait.Object.Type == "_thread.lock":
			if locks == nil {
				locks = r.endLocks(s.interp)
			}
			ident = locks[uint64(t.Wait.Object.Address)]
		}
		id, ok := r.threadOf(ident)
		if !ok || uint64(id) == t.ID {
			continue
		}
		w := *t.Wait
		w.Kind, w.Proved = tasks.WaitJoin, true
		w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(id)}, Certainty: tasks.Certain}}
		t.Wait = &w
	}
}

// joined returns the ident of the thread in whose method join a thread waits; 0 if it does not.
func (r *runtime) joined(s *threadState) uint64 {
	frames, _ := r.chain(s)
	for i := range frames[:min(len(frames), joinFrames)] {
		c := r.codeIn(frames[i].code)
		if c == nil || c.name != "join" || !isThreading(c.file) {
			continue
		}
		if self := r.words(frames[i].at+r.at("frame.localsplus"), 1); len(self) == 1 {
			return r.number(r.attribute(self[0]&^r.tag(), "_ident"))
		}
	}
	return 0
}

// isThreading reports whether a file is the module threading of the library.
func isThreading(file string) bool {
	const name = "threading.py"
	n := len(file) - len(name)
	return n > 0 && file[n:] == name && (file[n-1] == '/' || file[n-1] == '\\')
}

// endLocks returns the idents of an interpreter's threads by the locks that each has until it ends.
func (r *runtime) endLocks(interp uint64) map[uint64]uint64 {
	locks := map[uint64]uint64{}
	r.eachThread(interp, func(ident uint64, attributes []pair) {
		for _, a := range attributes {
			if key, _ := r.str(a.key, maxName); key == "_tstate_lock" && r.lockType(a.value) != "" {
				locks[a.value] = ident
			}
		}
	})
	return locks
}

// number returns an int that is an address or an ident; 0 for what is none.
func (r *runtime) number(at uint64) uint64 {
	if t := r.typeAt(r.field(at, "object.type")); t == nil || t.name != "int" {
		return 0
	}
	s, ok := r.integer(at)
	n, err := strconv.ParseUint(s, 10, 64)
	if !ok || err != nil {
		return 0
	}
	return n
}
