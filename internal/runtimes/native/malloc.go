package native

import (
	"slices"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A signal handler may not allocate memory: the function that it interrupted may have the lock of the arena already, and the
// lock does not know its owner.

// arenaOwners are functions of glibc's malloc that are called only while the lock of the arena is held that is passed to them.
var arenaOwners = []string{"int_malloc", "int_realloc", "int_memalign", "sysmalloc", "systrim", "malloc_consolidate"}

// arenaUsers are functions that lock an arena at some time.
var arenaUsers = []string{"malloc", "free", "realloc", "calloc", "memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc", "malloc_trim", "mallinfo",
	"mallinfo2", "libc_malloc", "libc_free", "libc_realloc", "libc_calloc", "libc_memalign", "int_free", "mid_memalign", "malloc_info", "malloc_stats"}

// What is said of a lock of the C library that the thread itself has, and of one that it possibly has.
const (
	ownArenaNote      = "the thread itself has it: the signal handler interrupted malloc"
	possiblyArenaNote = "the thread itself possibly has it: the signal handler interrupted malloc"
)

// ownArena finds out whether a thread waits, in a signal handler, for the lock of an arena that the function has which the
// signal interrupted: the innermost one of malloc there was passed the arena, at the beginning of which the lock is. Without
// debug information, that one of its registers or words has the lock's address shows only that it is possible.
func (r *runtime) ownArena(tid unwind.ThreadID, c *futexCall, frames []*unwind.Frame, w *tasks.Wait) {
	if r.libc() != glibc {
		return
	}
	behind := false // a handler
	for i, f := range frames {
		switch {
		case f.IsTrampoline():
			behind = true
			continue
		case !behind || f.RALocation().Doubtful:
			continue
		}
		is := func(list []string) bool {
			return slices.ContainsFunc(r.namesAt(f), func(n string) bool { return slices.Contains(list, bare(n)) })
		}
		owns := is(arenaOwners)
		if !owns && !is(arenaUsers) {
			continue
		}
		arena, known := r.parameter(frames, i, "av")
		switch {
		case owns && known && arena == c.addr:
			w.Object.Type, w.Note = arenaType, ownArenaNote
			r.held(w, tid)
			return
		case known && arena == c.addr, !known && slices.Contains(r.words(f), c.addr):
			w.Object.Type, w.Note, w.Proved = arenaType, possiblyArenaNote, false
			w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(tid)}, Certainty: tasks.Possible}}
			return
		}
	}
}

const arenaType = "malloc's arena"
