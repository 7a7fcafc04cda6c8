package native

import (
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// glibc's pthread_rwlock_t: the readers and two bits, then how many writers wait, and two words on which threads sleep. To glibc
// 2.24 the first word is a lock that is free while a thread sleeps, the second counts the readers, and two more count who sleeps on which word.
const (
	rwReaders       = 0
	rwPhaseFutex    = 8
	rwWritersFutex  = 12
	rwCurWriter64   = 24
	rwCurWriter32   = 28
	rwShared64      = 28
	rwShared32      = 24 // in the second byte of the word
	rwOldReaders    = 4
	rwOldReadQueue  = 16
	rwOldWriteQueue = 20

	rwWritePhase  = 1
	rwWriteLocked = 2
	rwReadersWait = 4
	rwReaderShift = 3
	rwStateMask   = 1<<rwReaderShift - 1

	// A word on which threads sleep has this bit, besides 1 for as long as there is something to wait for.
	rwFutexUsed = 2
)

// readersNote is said of a lock that readers hold, all of which must leave it before a writer goes on.
const readersNote = "readers are not recorded"

func (r *runtime) readLock(c *futexCall, f *unwind.Frame, w *tasks.Wait) {
	w.Kind = tasks.WaitReadLock
	r.rwlock(c, f, w, []rwWord{
		{rwPhaseFutex, rwOldReadQueue, func(v uint32) bool { return v == rwFutexUsed|1 }},
		// Where writers come first, a reader waits for the writers before it on the readers' word itself.
		{rwReaders, 0, func(v uint32) bool { return v&rwStateMask == rwWriteLocked|rwReadersWait && v>>rwReaderShift > 0 }},
	})
}

func (r *runtime) writeLock(c *futexCall, f *unwind.Frame, w *tasks.Wait) {
	w.Kind = tasks.WaitLock
	r.rwlock(c, f, w, []rwWord{
		{rwWritersFutex, rwOldWriteQueue, func(v uint32) bool { return v == rwFutexUsed|1 }}, // another writer is before it
		{rwPhaseFutex, 0, func(v uint32) bool { return v == rwFutexUsed }},                   // readers are to leave
	})
}

// A rwWord is a word of a lock on which a thread sleeps.
type rwWord struct {
	off      uint64
	oldQueue uint64                  // counts those who sleep on it, to glibc 2.24; 0 if nobody did
	sleeps   func(value uint32) bool // whether a thread sleeps while the word has a value, from glibc 2.25 on
}

// rwlock reads the lock of which a thread sleeps on one of the words.
func (r *runtime) rwlock(c *futexCall, f *unwind.Frame, w *tasks.Wait, words []rwWord) {
	w.Object.Type = "pthread_rwlock_t"
	if r.libc() == musl {
		r.muslRWLock(c, w)
		return
	}
	at, old, ok := uint64(0), false, false
	if r.libc() == glibc {
		at, old, ok = r.rwlockOf(c, f, words)
	}
	if w.Object.Address = at; !ok {
		return
	}
	writerAt, sharedAt, sharedMask := uint64(rwCurWriter64), uint64(rwShared64), ^uint32(0)
	if r.Arch.WordSize == 4 {
		writerAt, sharedAt, sharedMask = rwCurWriter32, rwShared32, 0xff00
	}
	state, _ := r.U32(at + rwReaders)
	writer, ok := r.U32(at + writerAt)
	shared, _ := r.U32(at + sharedAt)
	readers := state >> rwReaderShift
	written := state&(rwWritePhase|rwWriteLocked) == rwWritePhase|rwWriteLocked
	reading := state&rwWritePhase == 0 // else those that are counted wait
	if old {
		readers, _ = r.U32(at + rwOldReaders)
		written, reading = writer != 0, true
	}
	switch {
	case !ok:
	case written && writer == 0:
		w.Object.Detail, w.Note = "locked for writing", "the owner is not recorded yet"
	case written:
		w.Object.Detail = "locked for writing"
		r.heldBy(w, uint64(writer), shared&sharedMask != 0)
	case reading && readers > 0 && writer == 0:
		w.Object.Detail, w.Note, w.Proved = fmt.Sprintf("%d readers", readers), readersNote, true
	default:
		w.Note = "the lock is free: it is being handed over"
	}
}

// rwlockOf finds the lock by which word of it a thread sleeps on. Each word has values of its own while somebody sleeps on it; a lock is
// aligned, and the frame of the function that waits has its address. It is not known if that leaves several.
func (r *runtime) rwlockOf(c *futexCall, f *unwind.Frame, words []rwWord) (at uint64, old, ok bool) {
	type lock struct {
		at  uint64
		old bool
	}
	var found []lock
	passed := r.words(f)
	for _, word := range words {
		l := lock{at: c.addr - word.off}
		state, ok := r.U32(l.at + rwReaders)
		if !ok || l.at%uint64(r.Arch.WordSize) != 0 && !slices.Contains(passed, l.at) {
			continue
		}
		if state == 0 { // and so is the count of a word on which nobody slept
			queued, ok := r.U32(l.at + word.oldQueue)
			l.old = ok && queued > 0
		}
		if l.old || word.sleeps(c.expected) {
			found = append(found, l)
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(l lock) bool { return !slices.Contains(passed, l.at) })
	}
	if len(found) != 1 {
		return 0, false, false
	}
	return found[0].at, found[0].old, true
}
