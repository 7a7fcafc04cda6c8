package native

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A waitFunction is a function that waits, and how to tell what for.
type waitFunction struct {
	names []string // without leading underscores
	has   []string // or all of these are in its name

	// wait describes the wait. If it is nil, the word is at an offset in an object of this kind and type, and nothing
	// tells who could end the wait.
	wait   func(r *runtime, c *futexCall, f *unwind.Frame, w *tasks.Wait)
	kind   tasks.WaitKind
	typ    string
	offset uint64
	// inner says that a function further out may tell more: a latch waits for an atomic word.
	inner bool
	// elsewhere says that the word is in no object of the program.
	elsewhere bool
	parked    bool // the word is a thread's, for parking_lot
}

// functions are asked for each frame, the innermost first.
var functions = []waitFunction{
	{names: []string{"pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock", "pthread_mutex_lock_full",
		"pthread_mutex_clocklock_common", "pthread_mutex_cond_lock", "pthread_mutex_cond_lock_full", "pthread_mutex_timedlock_pi"}, wait: (*runtime).mutex},
	{names: []string{"pthread_rwlock_rdlock", "pthread_rwlock_timedrdlock", "pthread_rwlock_clockrdlock", "pthread_rwlock_rdlock_full"}, wait: (*runtime).readLock},
	{names: []string{"pthread_rwlock_wrlock", "pthread_rwlock_timedwrlock", "pthread_rwlock_clockwrlock", "pthread_rwlock_wrlock_full"}, wait: (*runtime).writeLock},
	{names: []string{"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "cnd_wait", "cnd_timedwait"}, wait: (*runtime).condition},
	{names: []string{"pthread_join", "pthread_timedjoin_np", "pthread_clockjoin_np", "pthread_clockjoin_ex", "pthread_timedjoin_ex", "thrd_join"}, wait: (*runtime).join},
	{names: []string{"sem_wait", "sem_timedwait", "sem_clockwait", "new_sem_wait", "new_sem_wait_slow"},
		kind: tasks.WaitSemaphore, typ: "sem_t"},
	{names: []string{"pthread_barrier_wait"}, wait: (*runtime).barrier},
	{names: []string{"pthread_once", "pthread_once_slow", "pthread_once_full", "gthread_once", "call_once"}, kind: tasks.WaitOnce, typ: "pthread_once_t"},
	{names: []string{"cxa_guard_acquire"}, wait: (*runtime).guard},
	{names: []string{"flockfile", "IO_flockfile", "lockfile"}, wait: (*runtime).stream},
	{names: []string{"lll_lock_wait_private"}, wait: (*runtime).privateLock},

	// C++: libstdc++. Objects whose word is not an int wait for one of a pool.
	{has: []string{"std::__atomic_futex_unsigned_base::_M_futex_wait_until"}, wait: (*runtime).future},
	{has: []string{"std::latch::"}, kind: tasks.WaitBarrier, typ: "std::latch"},
	{has: []string{"std::barrier<", ">::"}, kind: tasks.WaitBarrier, typ: "std::barrier", elsewhere: true},
	{has: []string{"std::counting_semaphore<", ">::"}, kind: tasks.WaitSemaphore, typ: "std::counting_semaphore"},
	{has: []string{"std::__tree_barrier<", ">::wait"}, kind: tasks.WaitBarrier, typ: "std::barrier", elsewhere: true, inner: true},
	{has: []string{"std::__atomic_semaphore::_M_acquire"}, kind: tasks.WaitSemaphore, typ: "std::counting_semaphore", inner: true},
	{has: []string{"std::__atomic_base<int>::wait"}, kind: tasks.WaitAddress, typ: "std::atomic<int>", inner: true},
	{has: []string{"std::__detail::__platform_wait<"}, kind: tasks.WaitAddress, inner: true},

	// Rust's library, as its futex versions are (from 1.62 on, and where it has moved since).
	{has: []string{"std::sys", "utex", "read_contended"}, wait: (*runtime).rustRead},
	{has: []string{"std::sys", "utex", "write_contended"}, wait: (*runtime).rustWrite},
	{has: []string{"std::sys", "utex", "lock_contended"}, kind: tasks.WaitLock, typ: "std::sync::Mutex"},
	{has: []string{"std::sys", "Condvar", "wait_optional_timeout"}, kind: tasks.WaitCondition, typ: "std::sync::Condvar", inner: true},
	{has: []string{"std::sync::barrier::Barrier", "::wait"}, kind: tasks.WaitBarrier, typ: "std::sync::Barrier", elsewhere: true},
	{has: []string{"std::sys", "futex", "Once", "::call"}, kind: tasks.WaitOnce, typ: "std::sync::Once"},
	{has: []string{"std::sys", "futex", "Once", "::wait"}, kind: tasks.WaitOnce, typ: "std::sync::Once"},
	{has: []string{"std::sys", "Parker", "::park"}, kind: tasks.WaitSignal, typ: "std::thread::Thread::unpark", elsewhere: true, inner: true},
	{has: []string{"std::sync::mpmc::", "::recv"}, kind: tasks.WaitReceive, typ: "std::sync::mpsc channel", elsewhere: true},
	{has: []string{"std::sync::mpmc::", "::send"}, kind: tasks.WaitSend, typ: "std::sync::mpsc channel", elsewhere: true},
	{has: []string{"std::thread::scoped::scope"}, kind: tasks.WaitJoin, elsewhere: true},

	// parking_lot: a thread sleeps on its own data, which has the address of the lock.
	{has: []string{"parking_lot::raw_mutex::RawMutex", "lock_slow"}, kind: tasks.WaitLock, typ: "parking_lot::Mutex", parked: true},
	{has: []string{"parking_lot::raw_rwlock::RawRwLock", "shared_slow"}, kind: tasks.WaitReadLock, typ: "parking_lot::RwLock", parked: true},
	{has: []string{"parking_lot::raw_rwlock::RawRwLock", "_slow"}, kind: tasks.WaitLock, typ: "parking_lot::RwLock", parked: true},
	{has: []string{"parking_lot::condvar::Condvar", "wait_until_internal"}, kind: tasks.WaitCondition, typ: "parking_lot::Condvar", parked: true},
}

func (f *waitFunction) matches(name, bare string) bool {
	if len(f.has) == 0 {
		return slices.Contains(f.names, bare)
	}
	for _, part := range f.has {
		if !strings.Contains(name, part) {
			return false
		}
	}
	return true
}

func (f *waitFunction) describe(r *runtime, c *futexCall, at *unwind.Frame, w *tasks.Wait) {
	if f.wait != nil {
		f.wait(r, c, at, w)
		return
	}
	if f.parked {
		r.parked(c, w, f.kind, f.typ)
		return
	}
	w.Kind, w.Proved = f.kind, true
	w.Object = tasks.Object{Address: c.addr - f.offset, Type: f.typ}
	if f.elsewhere {
		w.Object.Address = 0
	}
}

// bare is the name of a function of the C library without what marks it as its own.
func bare(name string) string {
	name = strings.TrimLeft(name, "_")
	name = strings.TrimPrefix(name, "GI_")
	name = strings.TrimSuffix(strings.TrimSuffix(name, "64"), "_time") // of times of 64 bits
	return strings.TrimLeft(name, "_")
}

// ofLibrary reports whether a function belongs to what waits on behalf of the program: names that the standards
// reserve, and those of the languages' libraries.
func ofLibrary(name string) bool {
	if name == "" || name[0] == '_' {
		return true
	}
	name = strings.TrimPrefix(name, "<")
	for _, p := range []string{"syscall", "futex", "pthread_", "sem_", "new_sem_", "lll_", "do_futex_wait", "cnd_", "mtx_", "thrd_", "call_once", "flockfile",
		"std::", "core::", "alloc::", "parking_lot", "lock_api::", "gomp_", "GOMP_", "omp_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// function finds the function that waits in the frames of a thread, and the index of its frame; nil and -1 if there is none.
func (r *runtime) function(frames []*unwind.Frame) (fn *waitFunction, name string, at int) {
	at = -1
	for i, f := range frames[:min(len(frames), maxDepth)] {
		names := r.namesAt(f)
		for _, n := range names {
			f := r.named(n)
			if f != nil && !f.inner {
				return f, n, i
			}
			if f != nil {
				fn, name, at = f, n, i
			}
		}
		if slices.ContainsFunc(names, ofLibrary) {
			continue
		}
		if fn == nil && i > 0 && r.inLibc(frames[i-1]) && !r.inLibc(f) {
			fn, name, at = r.calledFunction(frames, i)
		}
		if fn != nil || len(names) > 0 {
			break
		}
	}
	return fn, name, at
}

// maxNamed is how many names are remembered.
const maxNamed = 1 << 10

// named finds the function that waits by its name: one that is not inner, if there is one. The threads of a process wait in few.
func (r *runtime) named(name string) *waitFunction {
	r.namedMu.Lock()
	defer r.namedMu.Unlock()
	if f, ok := r.byName[name]; ok {
		return f
	}
	var found *waitFunction
	b := bare(name)
	for k := range functions {
		if functions[k].matches(name, b) {
			found = &functions[k]
			if !found.inner {
				break
			}
		}
	}
	if r.byName == nil || len(r.byName) >= maxNamed {
		r.byName = map[string]*waitFunction{}
	}
	r.byName[name] = found
	return found
}

// calledFunction finds the function that waits by the call that the frame at an index makes. Without the symbols of the C library, the
// functions in which it waits have no names, and those with names have jumped to them and left no frame.
func (r *runtime) calledFunction(frames []*unwind.Frame, caller int) (fn *waitFunction, name string, at int) {
	if frames[caller].NonCall() {
		return nil, "", -1
	}
	const window = 8 // bytes; a call has fewer
	ra := frames[caller].RA()
	code := r.Bytes(ra-window, window)
	site, ok := disasm.CallBefore(r.Arch, code, ra)
	if !ok {
		return nil, "", -1
	}
	target := site.Target
	set := &functionSet{r: r}
	if !site.Direct {
		in, err := disasm.Decode(r.Arch, code[window-site.Len:], ra-uint64(site.Len))
		if err != nil {
			return nil, "", -1
		}
		target = set.target(&in)
	}
	if name = set.nameOf(target); name == "" {
		return nil, "", -1
	}
	name, _, _ = strings.Cut(name, "@")
	for k := range functions {
		if f := &functions[k]; len(f.has) == 0 && f.matches(name, bare(name)) {
			return f, name, caller - 1
		}
	}
	return nil, "", -1
}

// inLibc reports whether a frame's code is in the C library.
func (r *runtime) inLibc(f *unwind.Frame) bool {
	return r.inLibrary(f, "libc") || r.inLibrary(f, "ld-musl")
}

// namesAt names the functions of a frame, inlined ones first, without the versions of symbols.
func (r *runtime) namesAt(f *unwind.Frame) []string {
	var names []string
	if calls, ok := r.p.Names.(unwind.CallLookup); ok {
		var buf [8]unwind.Call
		if found, err := calls.LookupCalls(f.LookupAddr(), buf[:0]); err == nil {
			for i := range found {
				names = append(names, found[i].Name)
			}
		}
	}
	if len(names) == 0 {
		if n, err := f.Name(); err == nil {
			names = append(names, n)
		}
	}
	for i, n := range names {
		names[i], _, _ = strings.Cut(n, "@")
	}
	return names
}
