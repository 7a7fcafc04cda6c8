package coro

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// An awaitable is a future of a library that async functions end in: what it waits for.
type awaitable struct {
	typ  string // the type's full name begins with it
	kind tasks.WaitKind
	as   string // what it is, in the library's words
}

var awaitables = []awaitable{
	{"tokio::time::sleep::Sleep", tasks.WaitTimer, "tokio::time::Sleep"},
	{"tokio::time::interval::Interval", tasks.WaitTimer, "tokio::time::Interval"},
	{"tokio::sync::notify::Notified", tasks.WaitCondition, "tokio::sync::Notify"},
	{"tokio::sync::oneshot::Receiver<", tasks.WaitReceive, "tokio::sync::oneshot"},
	{"tokio::runtime::io::scheduled_io::Readiness", tasks.WaitIO, ""},
	{"tokio::io::util::", tasks.WaitIO, ""},
	{"async_io::Timer", tasks.WaitTimer, "async_io::Timer"},
	{"async_io::reactor::", tasks.WaitIO, ""},
	{"async_channel::Recv<", tasks.WaitReceive, "async_channel"},
	{"async_channel::Send<", tasks.WaitSend, "async_channel"},
	{"core::future::pending::Pending<", tasks.WaitForever, ""},
}

// An awaiter is an async function of a library, by the name of which it is known what its innermost future waits for.
type awaiter struct {
	function string // is in its name
	kind     tasks.WaitKind
	as       string
}

var awaiters = []awaiter{
	{"tokio::sync::mutex::", tasks.WaitLock, "tokio::sync::Mutex"},
	{"tokio::sync::rwlock::", tasks.WaitLock, "tokio::sync::RwLock"},
	{"tokio::sync::mpsc::", tasks.WaitReceive, "tokio::sync::mpsc"},
	{"tokio::sync::broadcast::", tasks.WaitReceive, "tokio::sync::broadcast"},
	{"tokio::sync::watch::", tasks.WaitReceive, "tokio::sync::watch"},
	{"tokio::sync::semaphore::", tasks.WaitSemaphore, "tokio::sync::Semaphore"},
	{"tokio::sync::barrier::", tasks.WaitBarrier, "tokio::sync::Barrier"},
	{"tokio::runtime::io::", tasks.WaitIO, ""},
	{"tokio::net::", tasks.WaitIO, ""},
	{"async_std::task::sleep::", tasks.WaitTimer, "async_std::task::sleep"},
	{"async_std::io::timeout::", tasks.WaitTimer, ""},
	{"async_lock::mutex::", tasks.WaitLock, "async_lock::Mutex"},
	{"async_lock::rwlock::", tasks.WaitLock, "async_lock::RwLock"},
	{"async_lock::semaphore::", tasks.WaitSemaphore, "async_lock::Semaphore"},
	{"async_lock::barrier::", tasks.WaitBarrier, "async_lock::Barrier"},
}

// waits describes what the innermost function of a chain awaits. A future that wraps another on the way there may end by itself, as one
// with a time limit, or await several.
func (s *reach) waits(c *chain) *tasks.Wait {
	w := s.innermost(c)
	if slices.ContainsFunc(c.levels, func(l level) bool { return !l.sure }) {
		w.Open, w.Proved = true, false
		for i := range w.Holders {
			w.Holders[i].Certainty = tasks.Possible
		}
	}
	return w
}

// methodOf is the last part of a function's name, without the blocks in it: "read" of "RwLock::read::{async_fn#0}::{async_block#0}<u32>".
func methodOf(fn string) string {
	fn, _, _ = strings.Cut(fn, "::{async_")
	return fn[strings.LastIndexByte(fn, ':')+1:]
}

func (s *reach) innermost(c *chain) *tasks.Wait {
	t := c.lastType
	name := t.FullName()
	w := &tasks.Wait{Kind: tasks.WaitFuture, Reason: "await", Object: tasks.Object{Type: name}}
	if join := s.joined(t, c.lastAt); join != nil {
		w.Kind, w.Object = tasks.WaitJoin, tasks.Object{}
		if !join.ended() {
			w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindAsync, ID: join.at}, Certainty: tasks.Certain}}
			w.Proved = true
		}
		return w
	}
	for _, a := range awaitables {
		if strings.HasPrefix(name, a.typ) {
			w.Kind, w.Object.Type = a.kind, a.as
			w.Timed = a.kind == tasks.WaitTimer
			w.Object.Address = s.pointedBy(t, c.lastAt, "notify")
			return w
		}
	}
	for i := len(c.levels) - 1; i >= 0; i-- {
		fn := asyncName(c.levels[i].typ)
		for _, a := range awaiters {
			if strings.Contains(fn, a.function) || i == len(c.levels)-1 && strings.Contains(name, "<"+a.function) {
				w.Kind, w.Object.Type = a.kind, a.as
				w.Timed = a.kind == tasks.WaitTimer
				switch method := methodOf(fn); {
				case a.kind == tasks.WaitLock && strings.HasPrefix(method, "read"):
					w.Kind = tasks.WaitReadLock
				case a.kind == tasks.WaitReceive && (strings.HasPrefix(method, "reserve") || strings.HasPrefix(method, "send") || method == "closed"):
					w.Kind = tasks.WaitSend
				}
				s.queuedAt(w, t, c.lastAt)
				return w
			}
		}
		if f := fn; !strings.HasPrefix(f, "tokio::") && !strings.HasPrefix(f, "async_") {
			break // of the program itself
		}
	}
	s.queuedAt(w, t, c.lastAt)
	return w
}

// pointedBy is what a member with a name points to; 0 if there is none.
func (s *reach) pointedBy(t *types.Type, at unwind.Address, name string) unwind.Address {
	f := fieldNamed(t.Strip().Members().Fields, name)
	if f == nil || s.types.OfField(f).Size() != s.word {
		return 0
	}
	return s.Word(at + f.Off)
}

const tokioSemaphore = "tokio::sync::batch_semaphore::Semaphore"

// queuedAt describes the semaphore in which a future is queued: all locks of tokio are made of one.
func (s *reach) queuedAt(w *tasks.Wait, t *types.Type, at unwind.Address) {
	if !strings.HasPrefix(t.FullName(), "tokio::sync::batch_semaphore::Acquire") {
		return
	}
	if w.Kind == tasks.WaitFuture {
		w.Kind, w.Object.Type = tasks.WaitSemaphore, "tokio::sync::Semaphore"
	}
	sem := s.pointedBy(t, at, "semaphore")
	f := fieldNamed(t.Strip().Members().Fields, "semaphore")
	if sem == 0 || f == nil {
		return
	}
	w.Object.Address = sem
	in := s.types.OfField(f).Strip()
	if !in.Pointer() {
		return
	}
	permits := fieldNamed(in.Target().Strip().Members().Fields, "permits")
	if permits == nil {
		return
	}
	const closed = 1 // the lowest bit
	v, err := s.ReadWord(sem + permits.Off)
	if err != nil || v&closed != 0 {
		return
	}
	w.Proved = true
	if w.Kind == tasks.WaitSemaphore {
		w.Object.Detail = fmt.Sprintf("%d permits", v>>1)
	}
}

// joined is the task that a handle of a task which is awaited refers to; nil if a type is none.
func (s *reach) joined(t *types.Type, at unwind.Address) *ownedTask {
	name := t.FullName()
	if !strings.HasPrefix(name, "tokio::runtime::task::join::JoinHandle<") && !strings.HasPrefix(name, "async_std::task::join_handle::JoinHandle<") &&
		!strings.HasPrefix(name, "async_task::task::Task<") && !strings.HasPrefix(name, "async_task::task::FallibleTask<") &&
		!strings.HasPrefix(name, "async_global_executor::executor::Task<") {
		return nil
	}
	for off := uint64(0); off+s.word <= min(t.Size(), 8*s.word); off += s.word {
		if v, err := s.ReadWord(at + off); err == nil {
			if task := s.isHeader(v); task != nil {
				return task
			}
		}
	}
	return nil
}

// holders says which tasks have guards of the locks that others wait for, in variables that are alive where they are suspended. It is
// possible only: a guard may have been moved or dropped on one of the ways there.
func (s *reach) holders(all []*tasks.Task) {
	for _, t := range all {
		w := t.Wait
		if w == nil || w.Kind != tasks.WaitLock && w.Kind != tasks.WaitReadLock || w.Object.Address == 0 {
			continue
		}
		for _, key := range s.futures.guards[w.Object.Address] {
			if !slices.ContainsFunc(w.Holders, func(h tasks.Holder) bool { return h.Key == key }) {
				w.Holders = append(w.Holders, tasks.Holder{Key: key, Certainty: tasks.Possible})
			}
		}
	}
}

// guard notes the semaphore of a variable that is the guard of a lock of tokio.
func (s *reach) guard(v *variable, at unwind.Address, key tasks.Key) {
	name := v.typ.FullName()
	if !strings.HasPrefix(name, "tokio::sync::") || !strings.Contains(v.typ.Strip().BareName, "Guard<") {
		return
	}
	fields := v.typ.Strip().Members().Fields
	for _, name := range []string{"s", "lock"} {
		f := fieldNamed(fields, name)
		if f == nil {
			continue
		}
		typ := s.types.OfField(f)
		p, err := s.ReadWord(at + v.off + f.Off)
		to := s.pointsAt(typ)
		if err != nil || p == 0 || to == nil {
			continue
		}
		if sem, off, ok := s.part(to, "Semaphore"); ok && sem.FullName() == tokioSemaphore {
			s.futures.guards[p+off] = append(s.futures.guards[p+off], key)
			return
		}
	}
}
