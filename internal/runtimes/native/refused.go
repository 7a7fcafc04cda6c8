package native

import (
	"context"
	"slices"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A priority-inheriting mutex is locked by the kernel, which refuses the last lock of a circle (EDEADLK). For a mutex of the
// normal type, the C library then lets the thread sleep for ever: on a word of the thread's own stack.

// maxWords is how many words of a frame are looked at.
const maxWords = 96

// words returns what is in the registers and in the memory of a frame.
func (r *runtime) words(f *unwind.Frame) []uint64 {
	var words []uint64
	regs := f.Registers()
	for reg := range arch.Reg(r.Arch.NumRegs()) {
		if v, ok := regs.Get(reg); ok && r.Arch.CalleeSaved.Has(reg) {
			words = append(words, v)
		}
	}
	size := uint64(r.Arch.WordSize)
	if top, ok := f.CFA(); ok && top > f.SP() && (top-f.SP())/size <= maxWords {
		for at := f.SP(); at < top; at += size {
			words = append(words, r.Word(at))
		}
	}
	return words
}

// refused reports whether a thread sleeps because its lock was refused: on a word that is 0, as no lock is that others hold. One with a time limit
// sleeps until then.
func (r *runtime) refused(c *futexCall, f *unwind.Frame) bool {
	return f != nil && (c.op == futexWait || c.op == futexWaitBitset) && c.expected == 0 && c.addr-f.SP()+256 < 4096
}

// unnamed describes the wait in a C library without symbols, whose own functions have no names and were
// jumped to: from the word, and from the stack.
func (r *runtime) unnamed(c *futexCall, frames []*unwind.Frame, w *tasks.Wait) {
	if len(frames) > 0 && r.Arch == arch.X86 && !r.inLibrary(frames[0], "libc") {
		frames = frames[1:] // the system call, in the vDSO
	}
	if r.libc() == musl && len(frames) > 0 && r.inLibc(frames[0]) && c.expected&muslWanted != 0 && r.lives(uint64(c.expected&^muslWanted)) {
		r.stream(c, nil, w) // of musl's words, only those of FILEs have that
		return
	}
	if r.libc() != glibc || len(frames) == 0 || !r.inLibrary(frames[0], "libc") {
		return
	}
	for _, f := range frames[:min(len(frames), 4)] {
		if !r.inLibrary(f, "libc") {
			break
		}
		if top, ok := f.CFA(); ok && c.addr >= f.SP() && c.addr < top && r.refused(c, f) {
			w.Kind = tasks.WaitLock
			refusedMutex(w)
			return
		}
	}
	kind, ok := r.U32(c.addr + r.kindAt())
	if ok && kind <= maxKind && kind&kindRobust != 0 && r.lives(uint64(c.expected&ownerMask)) {
		r.mutex(c, nil, w)
	}
}

// What is said of a lock that the kernel refused, and of one that it possibly was.
const (
	refusedNote  = "the lock was refused: there would be a deadlock"
	possiblyNote = "a lock was refused, possibly this one: there would be a deadlock"
)

// refusedMutexes finds the mutexes that were refused, once all waits are known. The kernel refuses a lock whose owner waits, directly
// or not, for the thread that wants it, and has marked it as wanted by then: that is how the mutex is known among those that the thread's frames
// have. It is proved if the code of the function that wanted it, or the debug information of the C library's, says that it was passed.
func (r *runtime) refusedMutexes(ctx context.Context, all []*tasks.Task, walk func(context.Context, unwind.ThreadID) []*unwind.Frame) {
	set := &functionSet{r: r, known: map[uint64]*function{}}
	pi := r.glibcPI
	if r.libc() == musl {
		pi = r.muslPI
	}
	var waits map[uint64]*tasks.Wait
	for _, t := range all {
		w := t.Wait
		if w == nil || t.Runtime != r.Name() || w.Note != refusedNote || ctx.Err() != nil || r.p.Spend(heldFrameCost) != nil {
			continue
		}
		if waits == nil {
			waits = map[uint64]*tasks.Wait{}
			for _, t := range all {
				if t.Kind == tasks.KindThread {
					waits[t.ID] = t.Wait
				}
			}
		}
		closes := func(at uint64) bool {
			owner, _, ok := pi(at)
			tid, lives := r.p.ThreadKnownAs(owner)
			return ok && lives && leadsTo(waits, uint64(tid), t.ID)
		}
		frames := walk(ctx, t.Thread)
		_, _, at := r.function(frames)
		for at+1 < len(frames) && at < 0 && r.inLibrary(frames[at+1], "libc") { // without symbols
			at++
		}
		if at < 0 {
			continue
		}
		mutex, ok := r.passed(set, frames, at)
		if owner, kind, is := pi(mutex); ok && is && !r.lives(owner) { // which the kernel refuses, too
			kind = r.kindSaid(kind, mutex)
			w.Object.Address, w.Object.Detail, w.Holders = mutex, mutexWords(kind), nil
			if owner != 0 {
				w.Note = ""
				r.heldBy(w, owner, kind&kindShared != 0)
			} else if r.muslLost(mutex) {
				w.Abandoned, w.Note = true, endedNote
			}
			w.Proved = false
			continue
		}
		proved := ok && closes(mutex)
		if !proved {
			var found []uint64
			for _, f := range frames[:min(at+2, len(frames))] {
				for _, m := range r.pointees(f, pi) {
					// A frame has the mutexes that the thread holds, too.
					if owner, _, _ := pi(m); closes(m) && !r.is(owner, t.ID) && r.wanted(m) && !slices.Contains(found, m) {
						found = append(found, m)
					}
				}
			}
			if len(found) > 1 { // those for which others wait are marked anyway
				found = slices.DeleteFunc(found, func(m uint64) bool {
					return slices.ContainsFunc(all, func(o *tasks.Task) bool { return o != t && o.Wait != nil && o.Wait.Object.Address == m })
				})
			}
			if len(found) != 1 {
				continue
			}
			mutex = found[0]
		}
		owner, kind, _ := pi(mutex)
		kind = r.kindSaid(kind, mutex)
		w.Object.Address, w.Object.Detail = mutex, mutexWords(kind)
		r.heldBy(w, owner, kind&kindShared != 0)
		if w.Proved = proved; !proved {
			w.Note = possiblyNote
			for i := range w.Holders {
				w.Holders[i].Certainty = tasks.Possible
			}
		}
	}
}

// wanted reports whether the kernel has marked a mutex as one that others than its owner want.
func (r *runtime) wanted(at uint64) bool {
	if r.libc() == musl {
		at += muslLockAt
	}
	lock, ok := r.U32(at)
	return ok && lock&lockWanted != 0
}

// is reports whether a thread is the one that the process knows by an id.
func (r *runtime) is(own, tid uint64) bool {
	id, ok := r.p.ThreadKnownAs(own)
	return ok && uint64(id) == tid
}

// leadsTo reports whether a thread certainly waits for another, directly or not, or is that thread. A thread that was refused a lock, too,
// waits for one of the same circle.
func leadsTo(waits map[uint64]*tasks.Wait, from, to uint64) bool {
	for range len(waits) + 1 {
		if from == to {
			return true
		}
		w := waits[from]
		if w != nil && (w.Note == refusedNote || w.Note == possiblyNote) {
			return true
		}
		if w == nil || !w.Proved || w.Timed || len(w.Holders) != 1 || w.Holders[0].Certainty != tasks.Certain {
			return false
		}
		from = w.Holders[0].ID
	}
	return false
}

// passed is the mutex that was passed to the function at an index of frames: as its debug information says, or the code of its caller.
func (r *runtime) passed(set *functionSet, frames []*unwind.Frame, at int) (mutex uint64, ok bool) {
	if mutex, ok = r.parameter(frames, at, "mutex"); ok || at+2 >= len(frames) {
		return mutex, ok
	}
	f, caller := frames[at+1], frames[at+2]
	for _, wrappers := range []bool{false, true} {
		code := set.at(f.LookupAddr(), wrappers)
		if code == nil {
			return 0, false
		}
		eval, pc, ok := r.evaluator(code.Func, f, caller)
		if !ok {
			return 0, false
		}
		if e := code.event(pc); e != nil {
			if e.unlocks || len(e.locks) != 1 || e.by != nil && !e.inner.tail {
				return 0, false
			}
			h := &heldIn{r: r, f: code, eval: eval, pc: pc}
			return h.address(e, e.locks[0])
		}
	}
	return 0, false
}

// parameter is the value of a parameter of the function of a frame that is a pointer, by debug information.
func (r *runtime) parameter(frames []*unwind.Frame, at int, name string) (uint64, bool) {
	if r.p.Files == nil {
		return 0, false
	}
	act, err := r.variables().At(frames, at)
	if err != nil {
		return 0, false
	}
	defer act.Close()
	for _, s := range act.Live() {
		for _, v := range s.Params {
			if v.Name != name {
				continue
			}
			var buf [8]byte
			n, _, err := r.variables().GetLocalVariableValue(v, frames, at, buf[:r.Arch.WordSize])
			if err != nil || n != r.Arch.WordSize {
				return 0, false
			}
			if n == 4 {
				return uint64(r.Arch.ByteOrder.Uint32(buf[:])), true
			}
			return r.Arch.ByteOrder.Uint64(buf[:]), true
		}
	}
	return 0, false
}

// pointees returns the mutexes that are held to which, or to the kind of which, the registers of a frame or the words of its stack point.
func (r *runtime) pointees(f *unwind.Frame, pi func(at uint64) (owner uint64, kind uint32, ok bool)) (found []uint64) {
	for _, v := range r.words(f) {
		for _, at := range []uint64{v, v - r.kindAt()} {
			if owner, _, ok := pi(at); ok && r.lives(owner) && !slices.Contains(found, at) {
				found = append(found, at)
			}
		}
	}
	return found
}

// refusedMutex describes the wait for a mutex that was refused, before it is known which that was.
func refusedMutex(w *tasks.Wait) {
	w.Object, w.Note = tasks.Object{Type: "pthread_mutex_t"}, refusedNote
}

// glibcPI reads a priority-inheriting mutex of glibc that is held.
func (r *runtime) glibcPI(at uint64) (owner uint64, kind uint32, ok bool) {
	if at == 0 || at%4 != 0 {
		return 0, 0, false
	}
	kind, ok = r.U32(at + r.kindAt())
	lock, ok2 := r.U32(at)
	return uint64(lock & ownerMask), kind, ok && ok2 && kind <= maxKind && kind&kindPI != 0 && lock&ownerDied == 0
}

// muslPI is the same of musl.
func (r *runtime) muslPI(at uint64) (owner uint64, kind uint32, ok bool) {
	if at == 0 || at%4 != 0 {
		return 0, 0, false
	}
	kind, ok = r.U32(at)
	lock, ok2 := r.U32(at + muslLockAt)
	return uint64(lock & ownerMask), kind&^uint32(muslPI) | kindPI, ok && ok2 && kind <= 0xff && kind&muslPI != 0 && lock&ownerDied == 0
}

// muslLost reports whether musl has found that the owner of a priority-inheriting mutex has ended: nobody gets it any more.
func (r *runtime) muslLost(at uint64) bool {
	waiters, ok := r.U32(at + muslWaitersAt)
	return r.libc() == musl && ok && int32(waiters) == -1
}
