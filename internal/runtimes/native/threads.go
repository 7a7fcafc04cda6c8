package native

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A runtime has the threads of a process.
type runtime struct {
	procmem.Reader
	p    *tasks.Process
	libc func() libc
	// windows reports whether the process is one of Windows.
	windows func() bool
	// variables are those of the process's frames.
	variables func() *dwarfvars.Reader
	// files are glibc's FILEs, by the addresses of their locks.
	files func() map[uint64]uint64

	basesOnce sync.Once
	base      map[uint64]uint64 // threads by their control blocks

	namedMu sync.Mutex
	byName  map[string]*waitFunction            // nil for functions that do not wait
	slept   map[unwind.ThreadID]livestate.Sleep // of a moving process: the calls in which threads slept when it was read who holds what they wait for
}

// Find returns the threads of a process as tasks; nil if nothing is known of how this system's
// threads wait.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	if _, ok := conventionOf(p.State.Arch()); !ok {
		return nil, nil
	}
	r := &runtime{Reader: procmem.Of(p.State).Charged(p.Spend), p: p, base: map[uint64]uint64{}}
	r.libc = sync.OnceValue(r.findLibc)
	r.windows = sync.OnceValue(r.ofWindows)
	r.files = sync.OnceValue(r.filesOf)
	r.variables = sync.OnceValue(func() *dwarfvars.Reader { return dwarfvars.New(p.State, p.Files) })
	return r, nil
}

// lives reports whether a thread of the process has an id, as the process knows it.
func (r *runtime) lives(tid uint64) bool {
	_, ok := r.p.ThreadKnownAs(tid)
	return ok
}

// threadAt returns the thread whose control block is at an address.
func (r *runtime) threadAt(base uint64) (tid uint64, ok bool) {
	r.basesOnce.Do(func() {
		ids, _ := r.p.State.ThreadIDs()
		for _, id := range ids {
			if regs, err := r.p.State.Registers(id); err == nil {
				if base, ok := threadPointer(r.Arch, &regs); ok {
					r.base[base] = uint64(id)
				}
			}
		}
	})
	tid, ok = r.base[base]
	return tid, ok
}

// Thread returns a thread that was walked as a task; nil if it is in no call that waits.
func (r *runtime) Thread(id unwind.ThreadID, frames []*unwind.Frame) *tasks.Task {
	if len(frames) == 0 {
		return nil
	}
	t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(id)}, Runtime: r.Name(), Thread: id, State: tasks.StateRunning}
	if r.windows() {
		if b, _ := r.windowsWaiting(frames); b == nil {
			return nil
		}
		t.State = tasks.StateWaiting
		return t
	}
	regs := frames[0].Registers()
	if call, _ := r.callIn(&regs, frames); call != nil || r.restarted(&regs) {
		t.State, t.Handle = tasks.StateWaiting, call
	} else if _, _, ok := r.underSignal(frames); !ok && r.spinning(frames) == nil {
		return nil
	}
	return t
}

func (r *runtime) Name() string { return "native" }

// threadPointer is the address of a thread's control block, where the registers have it.
func threadPointer(a *arch.Arch, regs *arch.RegSet) (uint64, bool) {
	switch a {
	case arch.AMD64:
		return regs.Get(arch.FSBase)
	case arch.X86:
		r, _ := a.RegByName("gs_base")
		return regs.Get(r)
	}
	return 0, false
}

// Tasks yields the threads.
func (r *runtime) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		ids, err := r.p.State.ThreadIDs()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, id := range ids {
			t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(id)}, Runtime: r.Name(), Thread: id, State: tasks.StateRunning}
			if regs, err := r.p.State.Registers(id); err == nil {
				if call, _ := r.callIn(&regs, nil); call != nil || r.restarted(&regs) { // of which, the frames tell
					t.State, t.Handle = tasks.StateWaiting, call
				}
			}
			if ctx.Err() != nil || !yield(t, nil) {
				return
			}
		}
	}
}

// maxDepth is how many frames above the system call the function is that waits.
const maxDepth = 24

// Wait says what a thread waits for.
func (r *runtime) Wait(ctx context.Context, t *tasks.Task, frames []*unwind.Frame) *tasks.Wait {
	if r.windows() {
		b, at := r.windowsWaiting(frames)
		if b == nil {
			return nil
		}
		t.State = tasks.StateWaiting
		return r.waitOfWindows(b, t.ID, frames[:at+1])
	}
	interrupted := false
	if len(frames) > 0 {
		regs := frames[0].Registers()
		handle, at := r.callIn(&regs, frames)
		interrupted = at == failed
		if t.Handle == nil {
			if t.Handle = handle; handle != nil {
				t.State = tasks.StateWaiting
			} else if r.restarted(&regs) {
				return someTime()
			}
		}
	}
	call, ok := t.Handle.(futexCall)
	b, other := t.Handle.(*blocking)
	switch {
	case len(frames) == 0:
	case (ok || other) && ofGo(frames[0]):
		if !slices.ContainsFunc(frames, (*unwind.Frame).IsTrampoline) || !r.dying(frames) {
			return nil
		}
		ok = false
	case other:
		w := r.waitInCall(b, frames)
		if w != nil && interrupted {
			w.Proved, w.Note = false, interruptedNote
		}
		return w
	}
	handled := !ok // a signal interrupted it
	dying := handled && r.dying(frames)
	if handled {
		if w := r.spinning(frames); w != nil {
			return w // it runs
		}
		if call, frames, ok = r.underSignal(frames); !ok || ofGo(frames[0]) {
			return nil
		}
		t.State = tasks.StateWaiting // it would go on waiting after the signal
	}
	w := &tasks.Wait{Kind: tasks.WaitAddress, Reason: "futex", Timed: call.timed, Object: tasks.Object{Address: call.addr}}
	fn, name, at := r.function(frames)
	switch {
	case fn != nil:
		w.Reason = name
		fn.describe(r, &call, frames[at], w)
		r.again(t.Thread, &call, fn, frames[at], frames[0].SP(), w)
		if w.Object.Type == privateType {
			r.ownArena(t.Thread, &call, frames, w)
		}
	case call.op == futexLockPI || call.op == futexLockPI2:
		r.mutex(&call, nil, w)
	case len(frames) > 0 && r.inLibrary(frames[0], "libgomp."):
		r.openMP(&call, w)
	default:
		r.unnamed(&call, frames, w)
	}
	if call.op != futexLockPI && call.op != futexLockPI2 {
		if v, ok := r.U32(call.addr); !ok || v != call.expected {
			w.Proved, w.Holders = false, nil
			if ok {
				w.Note = "is being woken"
			}
		}
	}
	if interrupted && !waitsAgain(w.Kind) && w.Note == "" {
		w.Proved, w.Note = false, interruptedNote
	}
	if handled && !dying { // what handles the signal may do what the thread waits for
		w.Proved = false
	}
	return w
}

// interruptedNote is said of calls that a signal has ended, and that the program may make again.
const interruptedNote = "a signal interrupted it"

// waitsAgain reports whether functions that wait for this go on when a signal has interrupted the call in which they sleep.
func waitsAgain(k tasks.WaitKind) bool {
	switch k {
	case tasks.WaitLock, tasks.WaitReadLock, tasks.WaitJoin, tasks.WaitCondition, tasks.WaitBarrier, tasks.WaitOnce:
		return true
	}
	return false
}

// ofGo reports whether a frame is of Go's runtime: a thread of its scheduler that sleeps there has nothing to do.
func ofGo(f *unwind.Frame) bool {
	n, _ := f.Name()
	return strings.HasPrefix(n, "runtime.") || strings.HasPrefix(n, "internal/runtime/")
}

// dying reports whether a thread ends the program, in a handler of a signal: it does nothing else any more.
func (r *runtime) dying(frames []*unwind.Frame) bool {
	sleeps := false
	for _, f := range frames[:min(len(frames), maxDepth)] {
		if f.IsTrampoline() {
			return false
		}
		n, _ := f.Name()
		n, _, _ = strings.Cut(n, "@")
		switch n {
		case "runtime.dieFromSignal", "runtime.crash":
			return true
		case "runtime.usleep": // each thread prints its stack (GOTRACEBACK=crash), and waits for the last one to end the program
			sleeps = true
		case "runtime.sighandler":
			return sleeps
		}
		switch bare(n) {
		case "abort", "raise", "gsignal", "pthread_kill", "pthread_kill_implementation", "exit", "Exit":
			return true
		}
	}
	return false
}

// Resolve says who holds what threads wait for, and where they took it. walk walks the stack of a thread.
func (r *runtime) Resolve(ctx context.Context, all []*tasks.Task, walk func(context.Context, unwind.ThreadID) []*unwind.Frame) {
	r.stillAsleep(all)
	r.initialisers(ctx, all, walk)
	if r.libc() != otherLibc {
		r.refusedMutexes(ctx, all, walk)
		r.heldLocks(ctx, all, walk)
	}
}

// inLibrary reports whether a frame's code is in a library of this name.
func (r *runtime) inLibrary(f *unwind.Frame, name string) bool {
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return false
	}
	lib, ok := libs.LibraryAt(f.LookupAddr())
	return ok && strings.HasPrefix(strings.ToLower(lib.Path[strings.LastIndexAny(lib.Path, `/\`)+1:]), name)
}

// underSignal finds the call that a signal interrupted which the thread handles now: that of a
// watchdog that asks for a dump. Signals may be nested. It returns the frames from there on, too.
func (r *runtime) underSignal(frames []*unwind.Frame) (futexCall, []*unwind.Frame, bool) {
	for i, f := range frames {
		if i > 0 && f.NonCall() && frames[i-1].IsTrampoline() {
			regs := f.Registers()
			call, _ := r.callIn(&regs, frames[i:])
			if call, ok := call.(futexCall); ok {
				return call, frames[i:], true
			} // or a handler that a signal interrupted
		}
		if i == 4*maxDepth {
			break
		}
	}
	return futexCall{}, nil, false
}
