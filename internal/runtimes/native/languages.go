package native

import (
	"fmt"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// future describes the shared state of a std::future: a vtable, the result, and the word that tells whether it is
// ready (libstdc++'s <future>, _State_baseV2).
func (r *runtime) future(c *futexCall, _ *unwind.Frame, w *tasks.Wait) {
	w.Kind, w.Proved = tasks.WaitFuture, true
	w.Object = tasks.Object{Address: c.addr - 2*uint64(r.Arch.WordSize), Type: "shared state of a std::future"}
}

// rustRead describes Rust's RwLock: the low 30 bits count the readers, and are all set while a writer has it.
func (r *runtime) rustRead(c *futexCall, _ *unwind.Frame, w *tasks.Wait) {
	const readers = 1<<30 - 1
	w.Kind, w.Proved = tasks.WaitReadLock, true
	w.Object = tasks.Object{Address: c.addr, Type: "std::sync::RwLock"}
	switch n := c.expected & readers; n {
	case readers:
		w.Object.Detail = "locked for writing"
	case 0:
	default:
		w.Object.Detail = fmt.Sprintf("%d readers, and a writer waits", n)
	}
}

// rustWrite describes Rust's RwLock for a thread that wants to write: it sleeps on the word after the state.
func (r *runtime) rustWrite(c *futexCall, _ *unwind.Frame, w *tasks.Wait) {
	const readers = 1<<30 - 1
	w.Kind = tasks.WaitLock
	w.Object = tasks.Object{Address: c.addr - 4, Type: "std::sync::RwLock"}
	state, ok := r.U32(c.addr - 4)
	switch n := state & readers; {
	case !ok || n == 0:
		w.Note = "the lock is free: it is being handed over"
		return
	case n == readers:
		w.Object.Detail = "locked for writing"
	default:
		w.Object.Detail, w.Note = fmt.Sprintf("%d readers", n), readersNote
	}
	w.Proved = true
}

// parked describes a lock of parking_lot: the thread's data (parking_lot_core's ThreadData, as rustc orders it) begins with the
// address of the lock, and has the word 32 bytes on.
func (r *runtime) parked(c *futexCall, w *tasks.Wait, kind tasks.WaitKind, typ string) {
	w.Kind = kind
	w.Object = tasks.Object{Type: typ}
	if r.Arch.WordSize != 8 {
		return
	}
	key := r.Word(c.addr - 4*8)
	if typ == "parking_lot::RwLock" {
		key &^= 1 // a writer waits for readers at the next address
	}
	if state, ok := r.U32(key &^ 3); ok && key != 0 && state != 0 {
		w.Object.Address, w.Proved = key, true
	}
}

// openMP describes what threads wait for in libgomp, which has no names for its own functions: of its locks the
// word is -1 while another thread has one and others wait; else it is the generation of a barrier.
func (r *runtime) openMP(c *futexCall, w *tasks.Wait) {
	w.Reason, w.Proved = "libgomp", true
	if int32(c.expected) == -1 {
		w.Kind, w.Object.Type = tasks.WaitLock, "lock of OpenMP"
		return
	}
	w.Kind, w.Object.Type = tasks.WaitBarrier, "barrier of OpenMP"
}

// spinning describes the spin lock at which a thread is busy; nil if it is not. Its address is the first argument, which
// glibc's code on x86-64 leaves in its register.
func (r *runtime) spinning(frames []*unwind.Frame) *tasks.Wait {
	if len(frames) == 0 {
		return nil
	}
	if n, err := frames[0].Name(); err != nil || bare(n) != "pthread_spin_lock" {
		return nil
	}
	w := &tasks.Wait{Kind: tasks.WaitLock, Reason: "pthread_spin_lock", Object: tasks.Object{Type: "pthread_spinlock_t"}, Note: "spins; who holds it is not recorded"}
	if r.Arch == arch.AMD64 {
		regs := frames[0].Registers()
		if v, ok := regs.Get(arch.RDI); ok {
			if _, mapped := r.U32(v); mapped {
				w.Object.Address = v
			}
		}
	}
	return w
}
