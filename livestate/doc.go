// Package livestate gives the walker a running process: its threads, registers,
// memory and libraries, as the debugger interface of Linux shows them.
//
// Attach traces a process that runs already, Launch starts one, Adopt takes one
// over that the caller traces himself. A Process is a unwind.ProcessState: a
// Walker stops the thread that it walks and lets it go on after. StopAll stops
// all threads at once, and Snapshot copies what walks need and lets the process
// go on at once.
//
// Threads are attached with PTRACE_SEIZE and stopped with PTRACE_INTERRUPT, so
// that a process which was stopped stays stopped, and no signal is made up or
// lost (ptrace(2)). What a stop cannot hide: a few system calls (epoll_wait,
// semop, sigtimedwait and others that signal(7) lists) end with EINTR when their
// thread was stopped meanwhile, as under every debugger.
//
// Memory is read with process_vm_readv(2), and where that may not, from
// /proc/PID/mem. Registers go through the decoder that also reads cores
// (arch.DecodeGRegSet).
//
// All ptrace calls of a Process are made on one thread of this program, which
// also waits for the target's events, notes them and lets the target go on.
// Should this program die, the kernel detaches and the target runs on.
//
// On other hosts than Linux everything answers ErrUnsupported.
package livestate

import (
	"errors"
	"os"
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// Why a process cannot be traced. Errors of this package wrap one of these, or
// unwind.ErrNoThread, where they have one of these causes.
var (
	ErrUnsupported = errors.New("live processes are not supported on this host")
	ErrNoProcess   = errors.New("no such process")
	ErrExited      = errors.New("the process has ended")
	ErrPermission  = errors.New("the process must not be traced")
	ErrTraced      = errors.New("the process is traced by another")
	ErrSelf        = errors.New("a process cannot trace itself")
	ErrArch        = errors.New("architecture not supported")
	ErrNotStopped  = errors.New("the thread does not stop")
	ErrDetached    = errors.New("detached from the process")
)

// An Option changes how a process is attached to or launched.
type Option func(*options)

type options struct {
	execPath    string
	stopTimeout time.Duration
	holdFatal   bool

	noLibraryEvents bool
	dir             string
	env             []string
	files           []*os.File
}

// defaultStopTimeout is how long a stop waits for the last thread.
const defaultStopTimeout = time.Second

func newOptions(opts []Option) options {
	o := options{stopTimeout: defaultStopTimeout}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// ExecPath says what to call the program where the system does not tell.
func ExecPath(path string) Option { return func(o *options) { o.execPath = path } }

// StopTimeout bounds how long stopping waits for threads that the kernel cannot
// stop just now (in uninterruptible sleep); the default is a second.
func StopTimeout(d time.Duration) Option { return func(o *options) { o.stopTimeout = d } }

// HoldFatal stops all threads when a signal is about to end the process, and keeps
// them stopped until ResumeAll: its state is then that of a core. Signal tells
// which it is.
func HoldFatal() Option { return func(o *options) { o.holdFatal = true } }

// NoLibraryEvents leaves the coming and going of libraries out of the events, so that
// no breakpoint is put into the process for them.
func NoLibraryEvents() Option { return func(o *options) { o.noLibraryEvents = true } }

// Dir is a launched program's working directory; "" is this program's.
func Dir(dir string) Option { return func(o *options) { o.dir = dir } }

// Env is a launched program's environment; nil is this program's.
func Env(env []string) Option { return func(o *options) { o.env = env } }

// Files are a launched program's open files, from descriptor 0 on. Without the
// option it has none that lead anywhere (/dev/null).
func Files(files ...*os.File) Option { return func(o *options) { o.files = files } }

// An EventKind is what an Event tells of.
type EventKind uint8

const (
	EventThreadCreate  EventKind = iota // Thread has begun
	EventThreadExit                     // Thread has ended
	EventLibraryLoad                    // Library was loaded
	EventLibraryUnload                  // Library was unloaded
	EventSignal                         // Signal is being delivered to Thread
	EventStop                           // Signal has stopped the process (job control)
	EventFork                           // Thread made the process Child, which is not traced
	EventExec                           // the process has become another program
	EventExit                           // the process has ended, with Status or by Signal
	EventLost                           // events before this one were not read in time, and are lost
)

var eventNames = [...]string{"thread_create", "thread_exit", "library_load", "library_unload", "signal", "stop", "fork", "exec", "exit", "lost"}

func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "?"
}

// An Event is something that happened to a process. Fields that its kind does not
// mention are zero.
type Event struct {
	Kind    EventKind
	Thread  unwind.ThreadID
	Signal  int
	Fatal   bool // EventSignal: it is going to end the process
	Child   int
	Status  int
	Library *libstate.Library
}

// A Result is what became of one process of a group.
type Result struct {
	PID     int
	Process *Process // nil where Err is not
	Err     error
}

// AttachAll attaches to a group of processes: one Result for each pid, in their
// order.
func AttachAll(pids []int, opts ...Option) []Result {
	out := make([]Result, len(pids))
	for i, pid := range pids {
		p, err := Attach(pid, opts...)
		out[i] = Result{PID: pid, Process: p, Err: err}
	}
	return out
}

var (
	_ unwind.ProcessState = (*Process)(nil)
	_                     = corestate.SignalInfo{}
)
