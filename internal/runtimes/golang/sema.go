package golang

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// semaphores finds the word that each goroutine waits for that waits for a semaphore, by g. They
// are in runtime.semtable: a table of treaps; a node is the sudog of the first goroutine that waits for an address
// (its elem), the others follow by waitlink.
func (r *runtime) semaphores() map[uint64]uint64 {
	r.semaOnce.Do(func() {
		r.sema = map[uint64]uint64{}
		table := r.of("semtable")
		at, ok := r.semaTable()
		if !ok || table == nil {
			return
		}
		seen := map[uint64]bool{}
		stride, count := table.fields["stride"], table.fields["count"]
		for i := range count {
			root, ok := r.object(r.of("semaroot"), at+i*stride)
			if !ok {
				return
			}
			if root.u32("nwait") != 0 || root.word("treap") != 0 {
				r.treap(root.word("treap"), seen)
			}
		}
	})
	return r.sema
}

// treap reads a tree of sudogs. prev and next lead to its children. seen has those of all trees: no goroutine waits for two semaphores, so that
// there are not more than goroutines.
func (r *runtime) treap(at uint64, seen map[uint64]bool) {
	rec := r.of("sudog")
	read := func(at uint64) (s object, ok bool) {
		if at == 0 || seen[at] || uint64(len(seen)) >= min(maxQueue, r.count) || r.p.Spend(queuedCost) != nil {
			return s, false
		}
		seen[at] = true
		return r.object(rec, at)
	}
	for todo := []uint64{at}; len(todo) > 0; {
		s, ok := read(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if !ok {
			continue
		}
		addr := s.second("elem")
		todo = append(todo, s.word("prev"), s.word("next"))
		for in := s; ok; in, ok = read(in.word("waitlink")) {
			r.sema[in.word("g")] = addr
		}
	}
}

// semaphore says which lock a goroutine waits for: the runtime's table has the semaphore, a
// function of package sync among the frames tells what that is part of, and how it is wanted.
func (r *runtime) semaphore(o *object, w *tasks.Wait, frames []*unwind.Frame) {
	function, kind := r.asker(frames)
	if function != "" && (w.Kind == tasks.WaitSemaphore || kind == tasks.WaitOnce) {
		w.Kind = kind
	}
	sema, ok := r.semaphores()[o.at]
	if !ok || sema == 0 {
		return
	}
	switch {
	case strings.Contains(function, "(*Mutex)"), w.Kind == tasks.WaitOnce:
		r.mutex(w, sema)
	case strings.Contains(function, "(*RWMutex)") && r.isInner(frames):
		r.mutex(w, sema)
		w.Object.Type = rwmutexType
		w.Object.Detail = "another writer holds it or waits before this one"
	case strings.Contains(function, "(*RWMutex)"):
		r.rwmutex(w, sema)
	case strings.Contains(function, "(*WaitGroup)"):
		r.waitgroup(w, sema)
	default:
		w.Object = tasks.Object{Address: sema, Type: "semaphore"}
		w.Proved = true
	}
}

// maxAsker is how many frames there are from a goroutine's youngest to the function of package sync that made it wait.
const maxAsker = 8

// asker finds the function of package sync that waits for a semaphore: the last one before the program's own, as Once and RWMutex
// have a Mutex inside.
func (r *runtime) asker(frames []*unwind.Frame) (function string, kind tasks.WaitKind) {
	for _, f := range frames[:min(len(frames), maxAsker)] {
		for _, name := range r.calls(f) {
			if function != "" && !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/sync.") {
				return function, kind
			}
			for _, k := range kindByFrame {
				if strings.HasPrefix(name, k.function) {
					function, kind = k.function, k.kind
				}
			}
		}
	}
	return function, kind
}

// mutex describes the sync.Mutex that a semaphore is part of.
func (r *runtime) mutex(w *tasks.Wait, sema uint64) {
	rec := r.of("mutex")
	off, ok := rec.off("sema")
	m, read := r.object(rec, sema-off)
	if !ok || !read {
		return
	}
	const locked, starving, waiterShift = 1, 4, 3
	state := m.u32("state")
	w.Object = tasks.Object{Address: m.at, Type: "sync.Mutex", Detail: "unlocked"}
	if state&locked != 0 {
		w.Object.Detail = "locked"
	}
	if n := state >> waiterShift; n > 0 {
		w.Object.Detail += fmt.Sprintf(", %d waiting", n)
	}
	if state&starving != 0 {
		w.Object.Detail += ", starving"
	}
	// It is handed over to who waits: a lock that is free does not keep a goroutine waiting.
	w.Proved = state&locked != 0
}

const (
	rwmutexType = "sync.RWMutex"
	noteWriter  = "no reader may enter before it"
)

// isInner reports whether a goroutine waits for the mutex inside an RWMutex, as the frames say.
func (r *runtime) isInner(frames []*unwind.Frame) bool {
	for _, f := range frames[:min(len(frames), maxAsker)] {
		for _, name := range r.calls(f) {
			if strings.Contains(name, "sync.(*Mutex)") {
				return true
			}
		}
	}
	return false
}

// rwmutex describes the sync.RWMutex that a semaphore is part of; which of its two
// semaphores it is tells readers from the writer.
func (r *runtime) rwmutex(w *tasks.Wait, sema uint64) {
	rec := r.of("rwmutex")
	field := "writersem"
	if w.Kind == tasks.WaitReadLock {
		field = "readersem"
	}
	off, ok := rec.off(field)
	m, read := r.object(rec, sema-off)
	if !ok || !read {
		return
	}
	const maxReaders = 1 << 30
	count, leaving := int32(m.u32("readercount")), int32(m.u32("readerwait"))
	w.Object = tasks.Object{Address: m.at, Type: rwmutexType}
	switch {
	case count >= 0:
		w.Object.Detail = fmt.Sprintf("%d readers", count)
	case leaving > 0:
		if w.Kind == tasks.WaitLock {
			w.Note, w.All = noteWriter, true
		}
		w.Object.Detail = fmt.Sprintf("a writer waits for %d readers", leaving)
	default:
		w.Object.Detail = fmt.Sprintf("locked for writing, %d readers waiting", count+maxReaders)
	}
	w.Proved = count < 0
}

// waitgroup describes the sync.WaitGroup that a semaphore is part of.
func (r *runtime) waitgroup(w *tasks.Wait, sema uint64) {
	rec := r.of("waitgroup")
	off, ok := rec.off("sema")
	if !ok {
		return
	}
	g, read := r.object(rec, sema-off)
	if !read {
		return
	}
	w.Object = tasks.Object{Address: g.at, Type: "sync.WaitGroup"}
	state := g.u64("state")
	w.Object.Detail = fmt.Sprintf("counter %d", int32(state>>32))
	w.Proved = state>>32 != 0
}
