package livestate

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// maxEvents bounds the events kept for a caller who does not read them.
const maxEvents = 1 << 16

// events are what happened to the process and was not consumed yet. The tracer
// writes them down when they happen, so that the process never waits for a reader.
type events struct {
	p *Process

	mu      sync.Mutex
	arrived *sync.Cond
	on      bool
	closed  bool
	fd      int // an eventfd that is readable while list is not empty; -1 for none
	list    []Event
	known   map[*libstate.Library]bool
	cancel  func()
}

func (e *events) init(p *Process) {
	e.p, e.fd = p, -1
	e.arrived = sync.NewCond(&e.mu)
}

// record notes an event, if somebody wants them.
func (e *events) record(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.on || e.closed {
		return
	}
	if len(e.list) >= maxEvents {
		e.list[len(e.list)-1] = Event{Kind: EventLost}
		return
	}
	e.list = append(e.list, ev)
	if len(e.list) == 1 {
		e.signal()
	}
	e.arrived.Broadcast()
}

func (e *events) signal() {
	if e.fd >= 0 {
		_, _ = unix.Write(e.fd, []byte{0: 1, 7: 0}) // any number but 0 makes it readable
	}
}

// heard is told by the tracer of every stop and every end.
func (p *Process) heard(l *lwp, w waited) (hold bool) {
	ev := Event{Thread: unwind.ThreadID(l.tid)}
	switch {
	case !w.status.Stopped():
		p.heardEnd(ev, w)
		return false
	case w.event() == unix.PTRACE_EVENT_CLONE:
		if tid, err := eventMessage(l.tid); err == nil {
			p.events.record(Event{Kind: EventThreadCreate, Thread: unwind.ThreadID(tid)})
		}
	case w.event() == unix.PTRACE_EVENT_EXEC:
		p.heardExec(ev)
	case w.event() == unix.PTRACE_EVENT_STOP && l.group:
		ev.Kind, ev.Signal = EventStop, int(w.status.StopSignal())
		p.events.record(ev)
	case w.event() == 0:
		return p.heardSignal(l, ev)
	}
	return false
}

func (p *Process) heardEnd(ev Event, w waited) {
	ev.Kind = EventThreadExit
	p.events.record(ev)
	if w.tid == p.pid {
		ev.Kind = EventExit
		if w.status.Signaled() {
			ev.Signal = int(w.status.Signal())
		} else {
			ev.Status = w.status.ExitStatus()
		}
		p.events.record(ev)
		p.changed(false)
	}
}

func (p *Process) heardExec(ev Event) {
	p.changed(false)
	_ = p.learn()
	ev.Kind = EventExec
	p.events.record(ev)
}

func (p *Process) heardSignal(l *lwp, ev Event) (hold bool) {
	ev.Kind, ev.Signal = EventSignal, l.sig
	ev.Fatal = p.isFatal(l)
	p.events.record(ev)
	if !ev.Fatal || !p.opts.holdFatal || p.fatal.Load() != nil {
		return false
	}
	f := &fatal{tid: ev.Thread, info: corestate.SignalInfo{Source: corestate.CurSig, Signo: l.sig}}
	if b, err := sigInfo(l.tid); err == nil {
		f.info = decodeSigInfo(b)
	}
	p.fatal.Store(f)
	return true
}

// A fatal is the signal that HoldFatal stopped the process at.
type fatal struct {
	tid  unwind.ThreadID
	info corestate.SignalInfo
}

// NotificationFD returns a descriptor that is readable (select, poll) while events
// wait for HandleDebugEvent. It is the Process's: do not read or close it. The
// first call begins the recording of events.
func (p *Process) NotificationFD() (int, error) {
	p.events.mu.Lock()
	fd := p.events.fd
	p.events.mu.Unlock()
	if fd >= 0 {
		return fd, nil
	}
	if err := p.WatchEvents(); err != nil {
		return -1, err
	}
	p.events.mu.Lock()
	defer p.events.mu.Unlock()
	return p.events.fd, nil
}

// WatchEvents begins the recording of events, until StopEvents or Close.
func (p *Process) WatchEvents() error {
	return p.call(func() error {
		e := &p.events
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.on {
			return nil
		}
		if e.fd < 0 {
			fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
			if err != nil {
				return fmt.Errorf("a descriptor for events: %w", err)
			}
			e.fd = fd
		}
		e.on = true
		return nil
	})
}

// HandleDebugEvent consumes the events that were recorded, in their order. Without
// any it waits when block is true, and answers none when it is not. ErrDetached
// says that none will ever come.
func (p *Process) HandleDebugEvent(block bool) ([]Event, error) {
	e := &p.events
	e.mu.Lock()
	defer e.mu.Unlock()
	for block && len(e.list) == 0 && e.on && !e.closed {
		e.arrived.Wait()
	}
	out := e.list
	e.list = nil
	if e.fd >= 0 {
		var b [8]byte
		_, _ = unix.Read(e.fd, b[:])
	}
	if len(out) == 0 && (e.closed || !e.on) {
		return nil, ErrDetached
	}
	return out, nil
}

// close ends the recording for good.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed, e.on = true, false
	if e.fd >= 0 {
		unix.Close(e.fd)
		e.fd = -1
	}
	e.arrived.Broadcast()
}

// The first signals whose default action is not to end the process.
const harmless = 1<<(unix.SIGCHLD-1) | 1<<(unix.SIGCONT-1) | 1<<(unix.SIGURG-1) | 1<<(unix.SIGWINCH-1) |
	1<<(unix.SIGSTOP-1) | 1<<(unix.SIGTSTP-1) | 1<<(unix.SIGTTIN-1) | 1<<(unix.SIGTTOU-1)

// isFatal reports whether the signal that a thread is about to get ends the
// process: nobody handles or ignores it.
func (p *Process) isFatal(l *lwp) bool {
	bit := uint64(1) << (l.sig - 1)
	if bit&harmless != 0 {
		return false
	}
	s := readStatus(l.tid)
	return s.ok && s.sigCgt&bit == 0 && s.sigIgn&bit == 0
}

// Signal is the signal that HoldFatal stopped the process at; its Source is
// NoSignal when there is none.
func (p *Process) Signal() corestate.SignalInfo {
	if f := p.fatal.Load(); f != nil {
		return f.info
	}
	return corestate.SignalInfo{}
}

// ThreadSignal is the signal that is being delivered to a thread; false for a
// thread that does not exist.
func (p *Process) ThreadSignal(tid unwind.ThreadID) (corestate.SignalInfo, bool) {
	var s corestate.SignalInfo
	err := p.call(func() error {
		l, err := p.thread(tid)
		if err != nil || l.sig == 0 {
			return err
		}
		s = corestate.SignalInfo{Source: corestate.CurSig, Signo: l.sig}
		if b, err := p.t.block(l, ntSigInfo); err == nil {
			s = decodeSigInfo(b)
		}
		return nil
	})
	return s, err == nil
}
