package native

import (
	"fmt"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// muslMutex reads musl's mutex: type 0, lock 4. The lock word has the owner's id, except in
// normal mutexes, which do not know it.
func (r *runtime) muslMutex(c *futexCall, f *unwind.Frame, w *tasks.Wait) {
	const (
		typeMask = 15
		normal   = 0
		held     = 16 // of a normal one: EBUSY
	)
	if r.refused(c, f) {
		refusedMutex(w)
		return
	}
	m := c.addr - muslLockAt
	kind, ok := r.U32(m)
	lock, ok2 := r.U32(c.addr)
	w.Object = tasks.Object{Address: m, Type: "pthread_mutex_t"}
	if !ok || !ok2 {
		return
	}
	if kind&typeMask == normal {
		w.Note = "musl does not record who holds such a mutex"
		w.Proved = lock&ownerMask == held
		return
	}
	w.Object.Detail = mutexWords(kind&kindTypeMask | kind&muslRobust<<2 | kind&muslPI<<2 | kind&kindShared)
	switch owner := lock & ownerMask; {
	case lock&ownerDied != 0:
		w.Note = "its owner died holding it"
	case owner != 0:
		r.heldBy(w, uint64(owner), kind&kindShared != 0)
	}
}

// musl's mutex: its type, then the lock and how many wait.
const (
	muslLockAt    = 4
	muslWaitersAt = 8
	muslRobust    = 4
	muslPI        = 8
)

// muslRWLock reads musl's lock: a word that counts the readers, or is all ones while a writer has it.
func (r *runtime) muslRWLock(c *futexCall, w *tasks.Wait) {
	const count = 0x7fffffff // besides the bit that says that threads wait
	w.Object = tasks.Object{Address: c.addr, Type: "pthread_rwlock_t"}
	v, ok := r.U32(c.addr)
	switch n := v & count; {
	case !ok || n == 0:
	case n == count:
		w.Object.Detail = "locked for writing"
		w.Note, w.Proved = "musl does not record who holds such a lock", true
	default:
		w.Object.Detail = fmt.Sprintf("%d readers", n)
		w.Note, w.Proved = readersNote, true
		if v&^count != 0 {
			c.expected = v // a reader that has come or gone since changed the count, and woke nobody
		}
	}
}

// muslCondition finds the condition variable of a thread that waits at it: threads form a list of nodes on
// their stacks, and the variable has the ends of the list. It is 0 if the thread is in the middle.
func (r *runtime) muslCondition(c *futexCall, f *unwind.Frame) unwind.Address {
	const head, tail, barrier = 8, 40, 20
	if r.Arch.WordSize != 8 {
		return 0
	}
	for _, v := range r.words(f) {
		if v%8 == 0 && v != 0 && (r.Word(v+head) == c.addr-barrier || r.Word(v+tail) == c.addr-barrier) {
			return v
		}
	}
	return 0
}
