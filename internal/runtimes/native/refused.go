package native

import (
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
	for reg := range arch.Reg(r.arch.NumRegs()) {
		if v, ok := regs.Get(reg); ok && r.arch.CalleeSaved.Has(reg) {
			words = append(words, v)
		}
	}
	size := uint64(r.arch.WordSize)
	if top, ok := f.CFA(); ok && top > f.SP() && (top-f.SP())/size <= maxWords {
		for at := f.SP(); at < top; at += size {
			words = append(words, r.word(at))
		}
	}
	return words
}

// refused reports whether a thread sleeps because its lock was refused.
func (r *runtime) refused(c *futexCall, f *unwind.Frame) bool {
	return f != nil && !c.timed && (c.op == futexWait || c.op == futexWaitBitset) && c.expected == 0 && c.addr-f.SP()+256 < 4096
}

// unnamed describes the wait in a C library without symbols, whose own functions have no names and were
// jumped to: from the word, and from the stack.
func (r *runtime) unnamed(c *futexCall, frames []*unwind.Frame, w *tasks.Wait) {
	if len(frames) > 0 && r.arch == arch.X86 && !r.inLibrary(frames[0], "libc") {
		frames = frames[1:] // the system call, in the vDSO
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
			r.refusedMutex(f, w, r.glibcPI)
			return
		}
	}
	kind, ok := r.u32(c.addr + r.kindAt())
	if ok && kind <= maxKind && kind&kindRobust != 0 && r.lives(uint64(c.expected&ownerMask)) {
		r.mutex(c, nil, w)
	}
}

// refusedMutex finds the mutex that was refused: a priority-inheriting one that is held, to which, or to the kind of
// which, a register of the frame points, or else a word of its stack. Nothing proves that it is this one: code that never goes on need not
// keep its address.
func (r *runtime) refusedMutex(f *unwind.Frame, w *tasks.Wait, pi func(at uint64) (owner uint64, kind uint32, ok bool)) {
	w.Object = tasks.Object{Type: "pthread_mutex_t"}
	w.Note = "the lock was refused: there would be a deadlock"
	words := r.words(f)
	registers := min(len(words), r.arch.CalleeSaved.Count())
	for _, part := range [][]uint64{words[:registers], words[registers:]} {
		var found []uint64
		for _, v := range part {
			for _, at := range []uint64{v, v - r.kindAt()} {
				if owner, _, ok := pi(at); ok && r.lives(owner) && !slices.Contains(found, at) {
					found = append(found, at)
				}
			}
		}
		if len(found) == 1 {
			owner, kind, _ := pi(found[0])
			w.Object.Address, w.Object.Detail = found[0], mutexWords(kind)
			r.heldBy(w, owner, kind&kindShared != 0)
			w.Proved = false
		}
		if len(found) > 0 {
			return
		}
	}
}

// glibcPI reads a priority-inheriting mutex of glibc that is held.
func (r *runtime) glibcPI(at uint64) (owner uint64, kind uint32, ok bool) {
	if at == 0 || at%4 != 0 {
		return 0, 0, false
	}
	kind, ok = r.u32(at + r.kindAt())
	lock, ok2 := r.u32(at)
	return uint64(lock & ownerMask), kind, ok && ok2 && kind <= maxKind && kind&kindPI != 0 && lock&ownerDied == 0
}

// muslPI is the same of musl.
func (r *runtime) muslPI(at uint64) (owner uint64, kind uint32, ok bool) {
	if at == 0 || at%4 != 0 {
		return 0, 0, false
	}
	kind, ok = r.u32(at)
	lock, ok2 := r.u32(at + muslLockAt)
	return uint64(lock & ownerMask), kind&^uint32(muslPI) | kindPI, ok && ok2 && kind <= 0xff && kind&muslPI != 0 && lock&ownerDied == 0
}
