package tasks

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Kind says what sort of task it is.
type Kind string

const (
	KindThread    Kind = "thread"     // of the kernel
	KindGoroutine Kind = "goroutine"  // of Go
	KindAsync     Kind = "async-task" // scheduled by a program's own executor
	KindCoroutine Kind = "coroutine"  // of C++20 or Lua, resumed by whoever holds it
	KindFiber     Kind = "fiber"      // has a stack of its own, which the program switches to
)

// A Key identifies a task within a process. ID is the number that the runtime prints:
// the kernel's thread id, the goroutine's id; the address of a task that has no number.
type Key struct {
	Kind Kind
	ID   uint64
}

func (k Key) String() string {
	if k.Kind == KindCoroutine || k.Kind == KindFiber || k.Kind == KindAsync {
		return fmt.Sprintf("%s %#x", k.Kind, k.ID)
	}
	return fmt.Sprintf("%s %d", k.Kind, k.ID)
}

// A State is what a task is doing.
type State string

const (
	StateRunning  State = "running"  // on a processor, or on a thread that could be
	StateRunnable State = "runnable" // ready, no thread runs it
	StateSyscall  State = "syscall"  // in the kernel, or in code of another language
	StateWaiting  State = "waiting"
	StateDead     State = "dead"
)

// A Certainty says how sure a conclusion is.
type Certainty string

const (
	// Certain means that the process's memory proves it.
	Certain Certainty = "certain"
	// Likely is said of the place where a lock was taken: memory proves who holds the lock, and that the code at this place
	// took it, but not that no other code took it again since.
	Likely Certainty = "likely"
	// Possible means that nothing contradicts it.
	Possible Certainty = "possible"
)

// A Task is something that a program schedules.
type Task struct {
	Key
	Name    string // as the program named it; "" for none
	Runtime string // the name of its Runtime

	// Thread is the thread that runs the task, or unwind.NullThread.
	Thread unwind.ThreadID
	State  State
	// Status is the state in the words of the runtime: "chan receive", "syscall"; "" if the
	// runtime has no word of its own.
	Status string
	// Seconds is how long it has been in this state; 0 if unknown. It may have been longer: some runtimes note the time only
	// now and then, as Go's garbage collector does.
	Seconds float64
	// Wait is what the task waits for; nil if it does not wait, or if that is unknown.
	Wait *Wait
	// Created says where the task was created; nil if unknown.
	Created *Creation
	// Labels are what the program attached to the task, in the order of the runtime.
	Labels []Label
	// Locked says that the task runs on one thread only: LockedTo, unwind.NullThread if that is not known.
	Locked   bool
	LockedTo unwind.ThreadID
	// System marks tasks of the runtime itself, which reports leave out as the runtime does.
	System bool

	// Start has the registers at which the walk of the task's stack begins; nil if its stack is
	// that of Thread, or if it has none.
	Start *Start
	// Suspended are the frames of a task without a stack: first the one that is suspended, then
	// those that await it, each the one before.
	Suspended []SuspendedFrame
	// Certainty says whether memory proves that the task still exists: "" and Certain if so.
	Certainty Certainty
	// Stack has the bounds of the task's own stack, low and exclusive high; 0 if unknown.
	Stack [2]unwind.Address
	// Handle is for the Runtime's own use.
	Handle any
}

// A Start is where a walk begins on a stack that no thread is running on.
type Start struct {
	Regs arch.RegSet
	// AfterCall says that the pc is a return address: its call is looked up, not the
	// instruction there.
	AfterCall bool
}

// A Creation says where a task was created.
type Creation struct {
	By Key // zero if unknown
	PC unwind.Address
}

// A Label is a key and a value that a program attached to a task.
type Label struct{ Key, Value string }

// A WaitKind says what sort of thing a task waits for. The list is closed.
type WaitKind string

const (
	WaitLock      WaitKind = "lock"      // a mutex, or a lock for writing
	WaitReadLock  WaitKind = "read-lock" // a lock shared with other readers
	WaitCondition WaitKind = "condition" // a signal of a condition variable
	WaitSemaphore WaitKind = "semaphore"
	WaitBarrier   WaitKind = "barrier" // others to arrive, or a group to be done
	WaitOnce      WaitKind = "once"    // another task's initialisation
	WaitJoin      WaitKind = "join"    // the end of another task
	WaitFuture    WaitKind = "future"  // the result of another task
	WaitSend      WaitKind = "channel-send"
	WaitReceive   WaitKind = "channel-receive"
	WaitSelect    WaitKind = "select" // the first of several
	WaitTimer     WaitKind = "timer"
	WaitIO        WaitKind = "io"      // a descriptor
	WaitProcess   WaitKind = "process" // another process
	WaitSignal    WaitKind = "signal"
	WaitAddress   WaitKind = "address" // a change of memory; nothing more is known
	WaitRuntime   WaitKind = "runtime" // the runtime itself: garbage collection, a trace
	WaitForever   WaitKind = "forever" // what can never happen: a nil channel, a select without cases
)

// A Wait is what a task waits for.
type Wait struct {
	Kind WaitKind
	// Reason is the runtime's own words: "chan receive", "pthread_mutex_lock".
	Reason string
	// Object is what it waits for; the zero Object if unknown. Cases are the operations of a
	// select, any of which ends the wait.
	Object Object
	Cases  []Case
	// Holders are the tasks that could end the wait: of a lock, those that hold it.
	Holders []Holder
	// All says that all holders must act before the wait ends, as a writer waits for all
	// readers; otherwise any of them ends it.
	All bool
	// Open says that others than Holders may be able to end the wait, too. No deadlock is made of it.
	Open bool
	// Cancellable says that any thread may end the wait with the task, as pthread_cancel does: a deadlock of it is certain
	// only if no thread goes on.
	Cancellable bool
	// Abandoned says that who held what the task waits for has ended without giving it back.
	Abandoned bool
	// Timed says that the wait ends by itself.
	Timed bool
	// Proved says that memory proves that the task waits for Object; otherwise the frames
	// alone tell.
	Proved bool
	// Note is a short remark about the wait: that a lock's owner has died, that a process
	// outside holds it.
	Note string
}

// An Object is what a task waits for.
type Object struct {
	Address unwind.Address // 0 if unknown
	Name    string         // in the program: "q.mu"; "" if unknown
	Type    string         // as the program would write it: "pthread_mutex_t", "chan int"
	Detail  string         // its state: "0 of 4 buffered", "locked, 3 waiters"
	// Language is that of a runtime whose object it is: a task waits for it at the innermost call in this language.
	Language string
}

// A Case is one of the things that a select waits for.
type Case struct {
	Kind   WaitKind
	Object Object
}

// A Holder is a task that could end a wait.
type Holder struct {
	Key
	Certainty Certainty
	// AcquiredAt says where it took what it holds; nil if that is not known.
	AcquiredAt *AcquiredAt
}

// An AcquiredAt is the place in a task's code where it took a lock.
type AcquiredAt struct {
	PC        unwind.Address // of the call that took it
	Certainty Certainty      // Certain, Likely or Possible
}
