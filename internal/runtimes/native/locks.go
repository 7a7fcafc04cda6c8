package native

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

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
	maxKind        = 0x3ff

	lockStates = 1<<19 - 1 // below the ceiling
	ownerMask  = 0x3fffffff
	lockWanted = 0x80000000
	ownerDied  = 0x40000000
	ownerLost  = 0x7ffffffe
)

// mutex describes the mutex whose lock word a thread sleeps on.
func (r *runtime) mutex(c *futexCall, f *unwind.Frame, w *tasks.Wait) {
	w.Kind = tasks.WaitLock
	if r.libc() == musl {
		r.muslMutex(c, f, w)
		return
	}
	w.Object = tasks.Object{Address: c.addr, Type: "pthread_mutex_t"}
	if r.libc() != glibc {
		return
	}
	if r.refused(c, f) {
		refusedMutex(w)
		return
	}
	at := c.addr + r.kindAt()
	lock, ok := r.U32(c.addr)
	kind, ok2 := r.U32(at)
	owner, ok3 := r.U32(c.addr + mutexOwner)
	if !ok || !ok2 || !ok3 || kind > maxKind {
		return
	}
	kind = r.kindSaid(kind, c.addr)
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

// kindSaid is the kind of a mutex without what nobody asked for: glibc marks all that are robust as shared, also those in memory that nobody shares.
func (r *runtime) kindSaid(kind uint32, addr uint64) uint32 {
	if r.libc() == glibc && kind&kindRobust != 0 && !r.sharable(addr) {
		kind &^= kindShared
	}
	return kind
}

// kindAt is where glibc's mutexes have their kind.
func (r *runtime) kindAt() uint64 {
	if r.Arch.WordSize == 4 {
		return mutexKind32
	}
	return mutexKind64
}

// heldBy says which thread holds what a thread waits for, by the id that the process's memory has.
func (r *runtime) heldBy(w *tasks.Wait, own uint64, shared bool) {
	w.Proved = true
	tid, lives := r.p.ThreadKnownAs(own)
	switch {
	case lives:
		r.held(w, tid)
		if shared && r.sharable(w.Object.Address) {
			w.Note = "shared memory: a thread of another process may have the same id"
			w.Holders[0].Certainty = tasks.Possible
		}
	case shared:
		w.Note = fmt.Sprintf("held by thread %d of another process", own)
		w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: own}, Certainty: tasks.Possible}}
	case own < r.ownID():
		w.Abandoned = true
		w.Note = fmt.Sprintf("held by thread %d%s", own, forkedNote)
	default:
		w.Abandoned, w.Note = true, endedNote
	}
}

// sharable reports whether other processes may have the memory at an address: it is that of a file, and no library's. What processes share
// without a name has one for the kernel, too. A core that names no files, as qemu writes them, does not tell.
func (r *runtime) sharable(addr uint64) bool {
	p, ok := r.p.State.(interface{ Mappings() []libstate.Mapping })
	if !ok {
		return false
	}
	if libs := r.p.State.LibraryTracker(); libs != nil {
		if _, ok := libs.LibraryAt(addr); ok {
			return false
		}
	}
	named := false
	for _, m := range p.Mappings() {
		if m.Path == "" || m.Path[0] == '[' {
			continue
		}
		if m.Start <= addr && addr < m.End {
			return true
		}
		named = true
	}
	return !named
}

// What is said of locks whose owner is recorded, but is no thread of the process.
const (
	endedNote  = "the thread that held it has ended"
	forkedNote = " of the process that this one was forked from"
)

// ownID is the id of the process as it knows itself. Its threads came later, and so have larger ids until the kernel begins anew with small ones.
func (r *runtime) ownID() uint64 {
	return r.p.OwnThreadID(unwind.ThreadID(r.p.State.ProcessID()))
}

// held says which living thread holds what a thread waits for.
func (r *runtime) held(w *tasks.Wait, tid unwind.ThreadID) {
	w.Proved = true
	w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(tid)}, Certainty: tasks.Certain}}
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

// condition describes a condition variable: its futexes are two words at its end, or, to glibc 2.24, the second. The frame has its address.
func (r *runtime) condition(c *futexCall, f *unwind.Frame, w *tasks.Wait) {
	w.Kind = tasks.WaitCondition
	w.Object.Type = "pthread_cond_t"
	w.Proved = true
	switch r.libc() {
	case musl:
		w.Object.Address = r.muslCondition(c, f)
		return
	case otherLibc:
		return
	}
	const signals = 40 // from glibc 2.25 to 2.40; 32 later
	w.Object.Address = (c.addr &^ 7) - signals
	words := r.words(f)
	for _, off := range []uint64{signals, signals + 4, 32, 36, 4} {
		if slices.Contains(words, c.addr-off) {
			w.Object.Address = c.addr - off
			return
		}
	}
}

// join says for which thread it waits: the word that sleeps is the thread's id, which the
// kernel clears when the thread ends.
func (r *runtime) join(c *futexCall, _ *unwind.Frame, w *tasks.Wait) {
	w.Kind, w.Cancellable = tasks.WaitJoin, true
	w.Object = tasks.Object{}
	own := uint64(c.expected)
	if r.libc() == musl { // the word is the state of the thread that is joined, after its id
		v, _ := r.U32(c.addr - 8)
		own = uint64(v)
	}
	if tid, ok := r.p.ThreadKnownAs(own); ok {
		r.held(w, tid)
	}
}

// barrier describes glibc's pthread_barrier_t: in 0, round 4, count 8.
func (r *runtime) barrier(c *futexCall, _ *unwind.Frame, w *tasks.Wait) {
	w.Kind = tasks.WaitBarrier
	w.Object.Type = "pthread_barrier_t"
	if r.libc() == musl { // the word is on the stack of the thread that came first
		w.Object.Address, w.Proved = 0, true
	}
	if r.libc() != glibc {
		return
	}
	w.Object.Address = c.addr - 4
	in, ok := r.U32(w.Object.Address)
	round, ok2 := r.U32(w.Object.Address + 4)
	count, ok3 := r.U32(w.Object.Address + 8)
	if ok && ok2 && ok3 && count > 0 && in >= round {
		w.Object.Detail = fmt.Sprintf("%d of %d arrived", in-round, count)
		w.Proved = true
	}
}
