package python

import (
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Fields of the objects of threading.Lock and RLock, which all versions have after the type: the native lock; of an RLock
// then the ident of the thread that has it, and how often.
const (
	lockNative = 16
	lockOwner  = 24
	lockCount  = 32
)

// locks says of threads that wait at a semaphore which is the native lock of a threading.Lock or RLock that it is one. An
// RLock records who has it.
func (r *runtime) locks(all []*tasks.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range all {
		if t.Kind != tasks.KindThread || t.Wait == nil || t.Wait.Kind != tasks.WaitSemaphore || t.Wait.Object.Address == 0 {
			continue
		}
		s := r.state(unwind.ThreadID(t.ID))
		if s == nil {
			continue
		}
		at, name := r.lockOf(s, t.Wait.Object.Address)
		if at == 0 {
			continue
		}
		w := *t.Wait
		w.Kind, w.Object = tasks.WaitLock, tasks.Object{Address: at, Type: name, Language: language}
		if name == "_thread.RLock" && r.word(at+lockCount) != 0 {
			if owner, ok := r.threadOf(r.word(at + lockOwner)); ok && uint64(owner) != t.ID {
				w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(owner)}, Certainty: tasks.Certain}}
				w.Proved = true
			}
		}
		t.Wait = &w
	}
}

// threadOf returns the thread whose thread state has an ident.
func (r *runtime) threadOf(ident uint64) (unwind.ThreadID, bool) {
	for i := range r.states {
		if s := &r.states[i]; ident != 0 && s.known && r.field(s.at, "thread.thread_id") == ident {
			return s.thread, true
		}
	}
	return 0, false
}

// lockOf looks in the youngest call of a thread for the lock object whose native lock is at an address: who waits for a
// lock has it, or a method of it, among the operands of its call. What else lies there is not a lock with this native lock.
func (r *runtime) lockOf(s *threadState, native unwind.Address) (at uint64, name string) {
	const chunk, most = 32, 512 // words
	from := r.top(s) + r.at("frame.localsplus")
	for n := uint64(0); n < most; n += chunk {
		words := r.words(from+n*8, chunk)
		if words == nil {
			break
		}
		for _, v := range words {
			if r.word(v+lockNative) != native {
				// Or it is the lock's method: with, until 3.11, keeps __exit__ alone.
				const self = 24 // of a builtin method
				method := v
				if v = r.word(v + self); r.word(v+lockNative) != native {
					continue
				}
				if t := r.typeAt(r.field(method, "object.type")); t == nil || t.name != "builtin_function_or_method" {
					continue
				}
			}
			if t := r.typeAt(r.field(v, "object.type")); t != nil && (t.name == "_thread.lock" || t.name == "_thread.RLock") {
				return v, t.name
			}
		}
	}
	return 0, ""
}
