package livestate

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// maxEvents limits the events kept for a caller who does not read them.
const maxEvents = 1 << 16

// events are what happened to the process and was not read yet. The tracer records
// events when they happen, so the process never waits for a reader.
type events struct {
	p *Process

	mu      sync.Mutex // guards what is below, and is that of arrived; no other lock is taken inside
	arrived *sync.Cond
	on      bool
	closed  bool
	fd      int // an eventfd that is readable while list is not empty; -1 for none
	list    []Event

	// The libraries that were reported, and the fingerprint of the mappings that they
	// were found in. Only the tracing thread uses them.
	known []*libstate.Library
	files uint64
}

func (e *events) init(p *Process) {
	e.p, e.fd = p, -1
	e.arrived = sync.NewCond(&e.mu)
}

// record records an event, if anybody wants events.
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

// onStop is called by the tracer for every stop and every end.
func (p *Process) onStop(l *lwp, w waited) (hold bool) {
	ev := Event{Thread: unwind.ThreadID(l.tid)}
	switch {
	case !w.status.Stopped():
		p.onEnd(ev, w)
		return false
	case w.event() == unix.PTRACE_EVENT_CLONE:
		if tid, err := eventMessage(l.tid); err == nil && p.t.isThread(tid) {
			p.events.record(Event{Kind: EventThreadCreate, Thread: unwind.ThreadID(tid)})
		}
	case w.event() == unix.PTRACE_EVENT_FORK || w.event() == unix.PTRACE_EVENT_VFORK:
		ev.Kind = EventFork
		ev.Child, _ = eventMessage(l.tid)
		p.events.record(ev)
	case w.event() == unix.PTRACE_EVENT_EXEC:
		p.onExec(ev)
	case w.event() == unix.PTRACE_EVENT_STOP && l.group:
		ev.Kind, ev.Signal = EventStop, int(w.status.StopSignal())
		p.events.record(ev)
	case w.event() == 0:
		return p.onSignal(l, ev)
	}
	return false
}

func (p *Process) onEnd(ev Event, w waited) {
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

func (p *Process) onExec(ev Event) {
	p.gen.Add(1)
	p.mem.forget()
	p.trap.Store(nil)
	_ = p.learn()
	ev.Kind = EventExec
	p.events.record(ev)
	p.events.known, p.events.files = nil, 0
	if !p.events.watching() || p.opts.noLibraryEvents {
		return
	}
	base, _ := p.Auxv().Get(libstate.ATBase)
	if addr := p.linkerTrap(base); addr == 0 || p.setTrap(addr) != nil {
		go p.seekTrap()
	}
}

// forked detaches from a process that a fork has created, and removes our breakpoint
// from it.
func (p *Process) forked(pid int) {
	if !sameMemory(p.living(), pid) {
		p.clearCopy(pid)
	}
}

// sameMemory reports whether two processes share one address space (kcmp(2)).
func sameMemory(a, b int) bool {
	const kcmpVM = 1
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	return errno == 0 && order == 0
}

// How often to check whether the dynamic linker of a new program has set up its list:
// often at first, then less and less often.
const (
	trapPace    = 10 * time.Millisecond
	maxTrapPace = 500 * time.Millisecond
)

// seekTrap sets the library trap as soon as that is possible. It is not called on the
// tracing thread, because subscribers may use the process.
func (p *Process) seekTrap() {
	if !p.seeking.CompareAndSwap(false, true) {
		return
	}
	defer p.seeking.Store(false)
	for pause := trapPace; p.events.watching() && !p.gone(); pause = min(pause+pause/8, maxTrapPace) {
		if p.tryTrap() {
			return
		}
		time.Sleep(pause)
	}
}

// tryTrap sets the library trap, and reports whether nothing is left to do: a static
// program's libraries do not change.
func (p *Process) tryTrap() bool {
	if p.opts.noLibraryEvents {
		return true
	}
	_ = p.libs.Refresh()
	addr := p.libs.LibTrapAddress()
	base, ok := p.Auxv().Get(libstate.ATBase)
	if addr == 0 {
		addr = p.linkerTrap(base)
	}
	if addr == 0 {
		return ok && base == 0
	}
	err := p.call(func() error {
		if !p.events.watching() {
			return nil
		}
		defer p.noteLibraries()
		return p.setTrap(addr)
	})
	return err == nil
}

func (e *events) watching() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.on && !e.closed
}

func (p *Process) onSignal(l *lwp, ev Event) (hold bool) {
	if p.passTrap(l) {
		p.noteLibraries()
		return false
	}
	ev.Kind, ev.Signal = EventSignal, l.sig
	ev.Fatal = p.isFatal(l)
	if ev.Fatal && p.opts.holdFatal && p.fatal.Load() == nil {
		f := &fatal{tid: ev.Thread, info: corestate.SignalInfo{Source: corestate.CurSig, Signo: l.sig}}
		if b, err := sigInfo(l.tid); err == nil {
			f.info = decodeSigInfo(b)
		}
		p.fatal.Store(f) // before any caller sees it
		hold = true
	}
	p.events.record(ev)
	return hold
}

// A fatal is the signal that HoldFatal stopped the process at.
type fatal struct {
	tid  unwind.ThreadID
	info corestate.SignalInfo
}

// NotificationFD returns a descriptor that is readable (select, poll) while events wait
// for HandleDebugEvent. Do not read or close it. The first call starts recording events.
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

// forkOptions are the additional trace options while events are recorded.
const forkOptions = unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK

// WatchEvents records events until StopEvents or Close. It fails with ErrUnsupported for an
// adopted process, whose events go to its tracer.
func (p *Process) WatchEvents() error {
	if p.t.do != nil {
		return fmt.Errorf("process %d is adopted, so its events go to its tracer: %w", p.pid, ErrUnsupported)
	}
	libs, _ := p.libs.Libraries(true)
	err := p.call(func() error {
		if on, err := p.events.begin(libs); on || err != nil {
			return err
		}
		p.t.stopAll(stopTimeout)
		defer p.t.resumeAll()
		for _, l := range p.t.list() {
			if l.stopped {
				_ = setOptions(l.tid, baseOptions|forkOptions)
			}
		}
		return nil
	})
	if err == nil && !p.tryTrap() {
		go p.seekTrap()
	}
	return err
}

// begin creates the descriptor; was says that events are already being recorded.
func (e *events) begin(libs []*libstate.Library) (was bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.on {
		return true, nil
	}
	if e.fd < 0 {
		if e.fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			e.fd = -1
			return false, fmt.Errorf("create a descriptor for events: %w", err)
		}
	}
	e.on = true
	e.known, e.files = libs, 0
	return false, nil
}

// StopEvents stops recording, and removes the library trap. HandleDebugEvent still returns
// the events recorded so far.
func (p *Process) StopEvents() error {
	return p.t.call(func() error {
		if !p.events.watching() {
			return nil
		}
		p.t.stopAll(stopTimeout)
		defer p.t.resumeAll()
		p.clearTrap()
		for _, l := range p.t.list() {
			if l.stopped {
				_ = setOptions(l.tid, baseOptions)
			}
		}
		p.events.end()
		return nil
	})
}

func (e *events) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.on = false
	e.arrived.Broadcast()
}

// HandleDebugEvent returns the recorded events, oldest first, and forgets them. If there
// are none, it waits if block is true, and returns none otherwise. ErrDetached means that
// there will be no more.
//
// If libraries were loaded or unloaded, it refreshes the LibraryTracker first, which calls
// its subscribers.
func (p *Process) HandleDebugEvent(block bool) ([]Event, error) {
	list, err := p.events.take(block)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(ev Event) bool { return ev.Library != nil }) {
		return list, nil
	}
	libs, _ := p.libs.Libraries(true)
	for i := range list {
		if ev := &list[i]; ev.Library != nil {
			if l := sameLibrary(ev.Library, libs); l != nil {
				ev.Library = l
			}
		}
	}
	return list, nil
}

// take removes and returns the recorded events.
func (e *events) take(block bool) ([]Event, error) {
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

// noteLibraries records which libraries have come and gone since the last time. It is
// called on the tracing thread while the thread that changed the list is stopped:
// later, a library loaded in between may be gone again.
func (p *Process) noteLibraries() {
	e := &p.events
	list, err := readMaps(p.living())
	if err != nil || len(list) == 0 || fingerprint(list) == e.files {
		return // no change yet, for example when the linker announces what it is about to do
	}
	e.files = fingerprint(list)
	pr := p.program.Load()
	table, _ := libraries.Build(libraries.Source{Arch: pr.arch, Mem: present{p}, Mappings: list, Auxv: pr.auxv, ExecPath: pr.path})
	libs, _ := table.Libraries(false)
	for _, l := range e.known {
		if sameLibrary(l, libs) == nil {
			e.record(Event{Kind: EventLibraryUnload, Library: l})
		}
	}
	for _, l := range libs {
		if sameLibrary(l, e.known) == nil {
			e.record(Event{Kind: EventLibraryLoad, Library: l})
		}
	}
	e.known = libs
}

// sameLibrary returns the library of a list that is l, even if its mappings differ; nil
// if there is none.
func sameLibrary(l *libstate.Library, list []*libstate.Library) *libstate.Library {
	for _, o := range list {
		if o.Path == l.Path && o.LoadBias == l.LoadBias {
			return o
		}
	}
	return nil
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

// Standard signals whose default action is not to end the process.
const harmless = 1<<(unix.SIGCHLD-1) | 1<<(unix.SIGCONT-1) | 1<<(unix.SIGURG-1) | 1<<(unix.SIGWINCH-1) |
	1<<(unix.SIGSTOP-1) | 1<<(unix.SIGTSTP-1) | 1<<(unix.SIGTTIN-1) | 1<<(unix.SIGTTOU-1)

// isFatal reports whether the signal that is about to be delivered to a thread ends the
// process: it is neither handled nor ignored.
func (p *Process) isFatal(l *lwp) bool {
	bit := uint64(1) << (l.sig - 1)
	if bit&harmless != 0 {
		return false
	}
	s := readStatus(l.tid)
	return s.ok && s.sigCgt&bit == 0 && s.sigIgn&bit == 0
}

// Signal returns the signal at which HoldFatal stopped the process; its Source is NoSignal
// if there is none.
func (p *Process) Signal() corestate.SignalInfo {
	if f := p.fatal.Load(); f != nil {
		return f.info
	}
	return corestate.SignalInfo{}
}

// ThreadSignal returns the signal that is being delivered to a thread; false if there is
// no such thread.
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
