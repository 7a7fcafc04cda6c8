package native

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/tasks"
)

// A waitFunction is a function that waits, and how to tell what for.
type waitFunction struct {
	names []string // without leading underscores
	wait  func(r *runtime, t *tasks.Task, c *futexCall, w *tasks.Wait)
	// If wait is nil, the word is at the start of an object of this kind and type, and nothing tells who could end the wait.
	kind tasks.WaitKind
	typ  string
}

func (f *waitFunction) describe(r *runtime, t *tasks.Task, c *futexCall, w *tasks.Wait) {
	if f.wait != nil {
		f.wait(r, t, c, w)
		return
	}
	w.Kind, w.Object.Type, w.Proved = f.kind, f.typ, true
}

func (f *waitFunction) matches(name string) bool {
	name = strings.TrimLeft(name, "_")
	name = strings.TrimPrefix(name, "GI_")
	name = strings.TrimLeft(name, "_")
	for _, n := range f.names {
		if name == n {
			return true
		}
	}
	return false
}

// functions are asked for each frame, the innermost first.
var functions = []waitFunction{
	{[]string{"pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock", "pthread_mutex_lock_full",
		"pthread_mutex_clocklock_common", "pthread_mutex_cond_lock", "pthread_mutex_cond_lock_full"}, (*runtime).mutex, "", ""},
	{[]string{"pthread_rwlock_rdlock", "pthread_rwlock_timedrdlock", "pthread_rwlock_clockrdlock", "pthread_rwlock_rdlock_full64"}, (*runtime).readLock, "", ""},
	{[]string{"pthread_rwlock_wrlock", "pthread_rwlock_timedwrlock", "pthread_rwlock_clockwrlock", "pthread_rwlock_wrlock_full64"}, (*runtime).writeLock, "", ""},
	{[]string{"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "cnd_wait", "cnd_timedwait"}, (*runtime).condition, "", ""},
	{[]string{"pthread_join", "pthread_timedjoin_np", "pthread_clockjoin_np", "pthread_clockjoin_ex", "pthread_timedjoin_ex", "thrd_join"}, (*runtime).join, "", ""},
	{[]string{"sem_wait", "sem_timedwait", "sem_clockwait", "new_sem_wait", "new_sem_wait_slow64", "new_sem_wait_slow"}, nil, tasks.WaitSemaphore, "sem_t"},
	{[]string{"pthread_barrier_wait"}, (*runtime).barrier, "", ""},
	{[]string{"pthread_once", "pthread_once_slow", "call_once"}, nil, tasks.WaitOnce, "pthread_once_t"},
	{[]string{"cxa_guard_acquire"}, nil, tasks.WaitOnce, "guard of a static variable"},
	{[]string{"flockfile", "IO_flockfile", "lll_lock_wait_private_stdio"}, (*runtime).stream, "", ""},
}

// glibc's pthread_mutex_t: lock 0, count 4, owner 8, then nusers and kind, which change places.
const (
	mutexOwner  = 8
	mutexKind64 = 16
	mutexKind32 = 12

	kindRecursive  = 1
	kindErrorCheck = 2
	kindTypeMask   = 3
	kindRobust     = 0x10
	kindPI         = 0x20
	kindPP         = 0x40
	kindShared     = 0x80
	kindElision    = 0x100

	lockStates = 1<<19 - 1 // below the ceiling
	ownerMask  = 0x3fffffff
	ownerDied  = 0x40000000
	ownerLost  = 0x7ffffffe
)

// mutex describes the mutex whose lock word a thread sleeps on.
func (r *runtime) mutex(t *tasks.Task, c *futexCall, w *tasks.Wait) {
	w.Kind = tasks.WaitLock
	if r.libc() == musl {
		r.muslMutex(t, c, w)
		return
	}
	w.Object = tasks.Object{Address: c.addr, Type: "pthread_mutex_t"}
	if r.libc() != glibc {
		return
	}
	at := c.addr + mutexKind64
	if r.arch.WordSize == 4 {
		at = c.addr + mutexKind32
	}
	lock, ok := r.u32(c.addr)
	kind, ok2 := r.u32(at)
	owner, ok3 := r.u32(c.addr + mutexOwner)
	if !ok || !ok2 || !ok3 || kind > 0x3ff {
		return
	}
	w.Object.Detail = mutexWords(kind)
	byID := kind&(kindRobust|kindPI) != 0 // the word has the owner's id; else 0, 1 or 2 besides the ceiling of a protected one
	switch {
	case lock&lockStates == 0 && !byID || lock == 0:
		w.Note = "the lock is free: it is being handed over"
		return
	case byID && lock&ownerDied != 0 || owner == ownerLost:
		w.Note = "its owner died holding it"
		return
	case byID: // the field may say that the state is inconsistent
		owner = lock & ownerMask
	}
	if owner == 0 {
		w.Note = "the owner is not recorded yet"
		return
	}
	r.heldBy(w, uint64(owner), kind&kindShared != 0)
}

// heldBy says which thread holds what a thread waits for.
func (r *runtime) heldBy(w *tasks.Wait, tid uint64, shared bool) {
	w.Proved = true
	switch {
	case r.lives(tid):
		w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: tid}, Certainty: tasks.Certain}}
	case shared:
		w.Note = fmt.Sprintf("held by thread %d of another process", tid)
		w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: tid}, Certainty: tasks.Possible}}
	default:
		w.Note = "the thread that held it has ended"
	}
}

// mutexWords says of which type a mutex is, in words.
func mutexWords(kind uint32) string {
	words := []string{}
	switch kind & kindTypeMask {
	case kindRecursive:
		words = append(words, "recursive")
	case kindErrorCheck:
		words = append(words, "error-checking")
	}
	for _, b := range []struct {
		bit  uint32
		word string
	}{{kindRobust, "robust"}, {kindPI, "priority-inheriting"}, {kindPP, "priority-protected"}, {kindShared, "shared"}} {
		if kind&b.bit != 0 {
			words = append(words, b.word)
		}
	}
	return strings.Join(words, ", ")
}

// muslMutex reads musl's mutex: type 0, lock 4. The lock word has the owner's id, except in
// normal mutexes, which do not know it.
func (r *runtime) muslMutex(t *tasks.Task, c *futexCall, w *tasks.Wait) {
	const (
		lockAt   = 4
		typeMask = 15
		normal   = 0
		held     = 16 // of a normal one: EBUSY
	)
	m := c.addr - lockAt
	kind, ok := r.u32(m)
	lock, ok2 := r.u32(c.addr)
	w.Object = tasks.Object{Address: m, Type: "pthread_mutex_t"}
	if !ok || !ok2 {
		return
	}
	if kind&typeMask == normal {
		w.Note = "musl does not record who holds such a mutex"
		w.Proved = lock&ownerMask == held
		return
	}
	if owner := lock & ownerMask; owner != 0 {
		r.heldBy(w, uint64(owner), kind&0x80 != 0)
	}
}

// glibc's pthread_rwlock_t from 2.25 on.
const (
	rwReaders      = 0
	rwWriters      = 4
	rwPhaseFutex   = 8
	rwWritersFutex = 12
	rwCurWriter    = 24

	rwWritePhase  = 1
	rwWriteLocked = 2
	rwReaderShift = 3
)

func (r *runtime) readLock(t *tasks.Task, c *futexCall, w *tasks.Wait) {
	w.Kind = tasks.WaitReadLock
	r.rwlock(t, c, w, rwPhaseFutex)
}

func (r *runtime) writeLock(t *tasks.Task, c *futexCall, w *tasks.Wait) {
	w.Kind = tasks.WaitLock
	// A writer waits for other writers, or for readers to leave.
	if !r.rwlock(t, c, w, rwWritersFutex) {
		r.rwlock(t, c, w, rwPhaseFutex)
	}
}

// rwlock reads the lock of which the word that a thread sleeps on is at an offset.
func (r *runtime) rwlock(t *tasks.Task, c *futexCall, w *tasks.Wait, off uint64) bool {
	w.Object = tasks.Object{Address: c.addr - off, Type: "pthread_rwlock_t"}
	if r.libc() != glibc {
		return false
	}
	at := c.addr - off
	state, ok := r.u32(at + rwReaders)
	writer, ok2 := r.u32(at + rwCurWriter)
	if !ok || !ok2 {
		return false
	}
	switch {
	case state&(rwWritePhase|rwWriteLocked) == rwWritePhase|rwWriteLocked && r.lives(uint64(writer)):
		w.Object.Detail = "locked for writing"
		r.heldBy(w, uint64(writer), false)
		return true
	case state>>rwReaderShift > 0 && writer == 0:
		w.Object.Detail = fmt.Sprintf("%d readers", state>>rwReaderShift)
		w.Note = "readers are not recorded"
		w.Proved = true
		return true
	}
	return false
}

// condition describes a condition variable: its futexes are two words at its end.
func (r *runtime) condition(t *tasks.Task, c *futexCall, w *tasks.Wait) {
	const signals = 40 // to glibc 2.40
	w.Kind = tasks.WaitCondition
	w.Object.Type = "pthread_cond_t"
	if r.libc() == glibc {
		w.Object.Address = (c.addr &^ 7) - signals
	}
	w.Proved = true
}

// join says for which thread it waits: the word that sleeps is the thread's id, which the
// kernel clears when the thread ends.
func (r *runtime) join(t *tasks.Task, c *futexCall, w *tasks.Wait) {
	w.Kind = tasks.WaitJoin
	w.Object = tasks.Object{}
	tid := uint64(c.expected)
	if r.libc() == musl { // the word is the state of the thread that is joined, after its id
		v, _ := r.u32(c.addr - 8)
		tid = uint64(v)
	}
	if r.lives(tid) {
		w.Proved = true
		w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: tid}, Certainty: tasks.Certain}}
	}
}

// barrier describes glibc's pthread_barrier_t: in 0, round 4, count 8.
func (r *runtime) barrier(t *tasks.Task, c *futexCall, w *tasks.Wait) {
	w.Kind = tasks.WaitBarrier
	w.Object.Type = "pthread_barrier_t"
	if r.libc() != glibc {
		return
	}
	w.Object.Address = c.addr - 4
	in, ok := r.u32(w.Object.Address)
	round, ok2 := r.u32(w.Object.Address + 4)
	count, ok3 := r.u32(w.Object.Address + 8)
	if ok && ok2 && ok3 && count > 0 && in >= round {
		w.Object.Detail = fmt.Sprintf("%d of %d arrived", in-round, count)
		w.Proved = true
	}
}

// stream describes the lock of a FILE: lock 0, count 4, and the thread pointer of its owner.
func (r *runtime) stream(t *tasks.Task, c *futexCall, w *tasks.Wait) {
	w.Kind = tasks.WaitLock
	w.Object.Type = "lock of a FILE"
	if r.libc() != glibc {
		return
	}
	if tid, ok := r.threadAt(r.word(c.addr + 8)); ok {
		r.heldBy(w, tid, false)
	}
}
