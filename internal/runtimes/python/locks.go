package python

import (
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Fields of the objects of threading.Lock and RLock, after what each object begins with: the native lock; of an RLock
// then the ident of the thread that has it, and how often (from 3.14 on: how often besides).
const (
	lockNative = 0
	lockOwner  = 8
	lockCount  = 16
)

// locks says of threads that wait at a semaphore which is the native lock of a threading.Lock or RLock that it is one. An
// RLock records who has it.
func (r *runtime) locks(all []*tasks.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range all {
		if t.Kind != tasks.KindThread || t.Wait == nil || !r.parks(t.Wait.Kind) || t.Wait.Object.Address == 0 {
			continue
		}
		s := r.state(unwind.ThreadID(t.ID))
		if s == nil {
			continue
		}
		at, name := r.lockOf(s, t.Wait.Object.Address)
		if name == "" {
			continue
		}
		w := *t.Wait
		w.Kind, w.Object = tasks.WaitLock, tasks.Object{Address: at, Type: name, Language: language}
		own := at + r.at("object.size")
		if name == "_thread.RLock" && (r.minor >= 14 || r.word(own+lockCount) != 0) {
			if owner, ok := r.threadOf(r.word(own + lockOwner)); ok && uint64(owner) != t.ID {
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
		if s := &r.states[i]; ident != 0 && s.known && r.long(s.at, "thread.thread_id") == ident {
			return s.thread, true
		}
	}
	return 0, false
}

// lockOf finds the lock object for which a thread waits at a native semaphore.
func (r *runtime) lockOf(s *threadState, native unwind.Address) (at uint64, name string) {
	own := r.at("object.size") + lockNative
	if r.minor >= 14 {
		// The semaphore is the thread's own. Before it lies the address of what the thread waits for: the lock in the object.
		at = r.word(native-8) - own
		return at, r.lockType(at)
	}
	// Who waits for a lock has it, or a method of it, among the operands of its youngest call. What else lies there is not
	// a lock with this native lock.
	const chunk, most = 32, 512 // words
	from := r.top(s) + r.at("frame.localsplus")
	for n := uint64(0); n < most; n += chunk {
		words := r.words(from+n*8, chunk)
		if words == nil {
			break
		}
		for _, v := range words {
			if r.word(v+own) != native {
				// Or it is the lock's method: with, until 3.11, keeps __exit__ alone.
				method := v
				if v = r.field(v, "builtin.self"); r.word(v+own) != native {
					continue
				}
				if t := r.typeAt(r.field(method, "object.type")); t == nil || t.name != "builtin_function_or_method" {
					continue
				}
			}
			if name := r.lockType(v); name != "" {
				return v, name
			}
		}
	}
	return 0, ""
}

// lockType is the name of the type of a lock object; empty if the object is none.
func (r *runtime) lockType(at uint64) string {
	if t := r.typeAt(r.field(at, "object.type")); t != nil && (t.name == "_thread.lock" || t.name == "_thread.RLock") {
		return t.name
	}
	return ""
}

// parks reports whether a wait may be for a lock object. From 3.14 on the semaphore lies on the thread's stack, where not every
// C library's code tells what it is.
func (r *runtime) parks(kind tasks.WaitKind) bool {
	return kind == tasks.WaitSemaphore || r.minor >= 14 && kind == tasks.WaitAddress
}
