package livestate

import (
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// An lwp is a thread of the target, as the tracer knows it.
type lwp struct {
	tid     int
	stopped bool
	group   bool // it takes part in a job-control stop, and still does when resumed
	asked   bool // it was told to stop, and has not stopped yet
	sig     int  // the signal whose delivery stopped it: it gets the signal when it is resumed
	holds   int  // who wants it stopped, apart from those who want all stopped
	blocks  map[uint32][]byte
}

// A tracer traces one process from one thread of this program. Only that thread uses
// its fields, except the channels and the atomic ones.
type tracer struct {
	pid   int
	tid   int  // of the tracing thread
	child bool // this program started the process itself
	reqs  chan func()
	done  chan struct{} // closed when the tracing has ended
	chld  chan os.Signal
	// do runs a function on the thread of a caller who traces the process; nil if we
	// trace it.
	do     func(func())
	callMu sync.Mutex // held with do: the locks of what is done are taken inside

	lwps    map[int]*lwp
	scratch []byte // for register blocks
	holdAll int
	stuck   bool // detaching from some thread failed: the tracing thread must end
	closing bool

	exited atomic.Bool
	status unix.WaitStatus // of the process, when exited
	living atomic.Int64    // a living thread, for /proc and memory

	// onStop is called for every stop and end, before the thread is resumed. It may
	// change the thread's sig, and returns whether all threads are to stay stopped.
	onStop func(l *lwp, w waited) (hold bool)
	// stranger is called for a process that the kernel has attached because one of ours
	// created it. The process is stopped; the tracer detaches from it afterwards.
	stranger func(pid int)
	// changed is called when the process begins to run, and when it has stopped.
	changed func(running bool)
}

func newTracer(pid int) *tracer {
	t := &tracer{pid: pid, reqs: make(chan func()), done: make(chan struct{}), chld: make(chan os.Signal, 1), lwps: map[int]*lwp{}}
	t.living.Store(int64(pid))
	t.onStop = func(*lwp, waited) bool { return false }
	t.changed = func(bool) {}
	t.stranger = func(int) {}
	return t
}

// start begins the tracing thread.
func (t *tracer) start() {
	ready := make(chan struct{})
	go t.run(ready)
	<-ready
}

// run is the tracing thread.
func (t *tracer) run(ready chan struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The program's first thread cannot end, and inherits the children of others:
		// keep it while another goroutine finds itself a thread.
		found := make(chan struct{})
		go t.run(found)
		<-found
		runtime.UnlockOSThread()
		close(ready)
		return
	}
	t.tid = unix.Gettid()
	signal.Notify(t.chld, unix.SIGCHLD)
	close(ready)
	// This program may ignore SIGCHLD, or a burst of signals may lose one. Even so,
	// stopped threads must not wait long.
	look := time.NewTicker(lookPace)
	for !t.closing {
		select {
		case f := <-t.reqs:
			f()
		case <-t.chld:
		case <-look.C:
		}
		// After the end nothing belongs to us. But if this thread once started the
		// process, the kernel would give it the stops that the next tracer waits for.
		if !t.closing {
			t.drain()
		}
	}
	look.Stop()
	signal.Stop(t.chld)
	close(t.done)
	if !t.stuck {
		runtime.UnlockOSThread() // otherwise the thread ends, and the kernel detaches
	}
}

// call runs f on the tracing thread.
func (t *tracer) call(f func() error) error {
	var err error
	if t.do != nil {
		t.callMu.Lock()
		defer t.callMu.Unlock()
		if t.closing {
			return ErrDetached
		}
		t.do(func() { err = f() })
		return err
	}
	finished := make(chan struct{})
	select {
	case t.reqs <- func() { defer close(finished); err = f() }:
		<-finished
		return err
	case <-t.done:
		return ErrDetached
	}
}

// drain handles all pending events.
func (t *tracer) drain() {
	for t.do == nil && !t.exited.Load() {
		tid, ended, status := peek()
		if tid == 0 {
			return
		}
		if ended && t.child && tid == t.pid {
			t.ended(waited{tid, status}) // not removed: this program may be waiting for it elsewhere
			return
		}
		w, ok := waited{}, false
		if t.ours(tid) {
			w, ok = take(tid)
		}
		if !ok {
			// Somebody else's child is first in the queue, or one that this thread started and somebody
			// stopped, which is no event of a thread that is traced: ask for each of ours.
			t.drainEach()
			return
		}
		t.handle(w)
	}
}

func (t *tracer) drainEach() {
	for again := true; again; {
		again = false
		for _, l := range t.list() {
			if w, ok := take(l.tid); ok {
				t.handle(w)
				again = true
			}
		}
	}
}

// ours reports whether a waited-for thread is the target's: it is known, or the kernel
// attached to it because a known one created it.
func (t *tracer) ours(tid int) bool {
	return t.lwps[tid] != nil || tid == t.pid || readStatus(tid).tracer == t.tid
}

// list returns the threads by number.
func (t *tracer) list() []*lwp {
	out := make([]*lwp, 0, len(t.lwps))
	for _, l := range t.lwps {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *lwp) int { return a.tid - b.tid })
	return out
}

func (t *tracer) add(tid int) *lwp {
	l := t.lwps[tid]
	if l == nil {
		l = &lwp{tid: tid}
		t.lwps[tid] = l
	}
	return l
}

// handle records an event, and resumes the thread unless somebody wants it stopped.
func (t *tracer) handle(w waited) {
	l := t.lwps[w.tid]
	if !w.status.Stopped() {
		t.ended(w)
		return
	}
	if l == nil {
		if !t.isThread(w.tid) {
			t.stranger(w.tid)
			_ = detach(w.tid, 0)
			return
		}
		l = t.add(w.tid)
	}
	// Any stop cancels an earlier PTRACE_INTERRUPT.
	l.stopped, l.asked, l.group, l.sig, l.blocks = true, false, false, 0, nil
	switch w.event() {
	case 0:
		l.sig = int(w.status.StopSignal())
	case unix.PTRACE_EVENT_STOP:
		l.group = w.status.StopSignal() != unix.SIGTRAP
	case unix.PTRACE_EVENT_CLONE:
		if tid, err := eventMessage(l.tid); err == nil && t.isThread(tid) {
			t.add(tid)
		}
	case unix.PTRACE_EVENT_EXEC:
		t.execed(l)
	}
	if t.onStop(l, w) {
		if t.holdAll++; t.holdAll == 1 {
			t.changed(false)
		}
		t.askAll()
	}
	if _, still := t.lwps[w.tid]; still && !t.held(l) {
		t.resume(l)
	}
}

// isThread reports whether a thread is one of the process.
func (t *tracer) isThread(tid int) bool {
	_, err := os.Stat(procPath(t.pid, "task/"+strconv.Itoa(tid)))
	return err == nil
}

func (t *tracer) held(l *lwp) bool { return t.holdAll > 0 || l.holds > 0 }

// ended records that a thread has ended.
func (t *tracer) ended(w waited) {
	l := t.lwps[w.tid]
	if l == nil {
		l = &lwp{tid: w.tid}
	}
	t.forget(w.tid)
	if w.tid == t.pid {
		t.status = w.status
		t.exited.Store(true)
	}
	t.onStop(l, w)
}

func (t *tracer) forget(tid int) {
	l := t.lwps[tid]
	delete(t.lwps, tid)
	if l != nil && l.holds > 0 && t.holdAll == 0 {
		t.release() // no other thread may be held
	}
	if t.living.Load() != int64(tid) {
		return
	}
	for other := range t.lwps {
		t.living.Store(int64(other))
		return
	}
}

// execed: the process runs another program. Only the thread that called exec is left,
// with the number of the process.
func (t *tracer) execed(l *lwp) {
	for tid := range t.lwps {
		if tid != l.tid {
			t.forget(tid)
		}
	}
	t.living.Store(int64(l.tid))
}

// resume lets a stopped thread continue as it would without us.
func (t *tracer) resume(l *lwp) {
	var err error
	if l.group {
		err = listen(l.tid)
	} else {
		err = cont(l.tid, l.sig)
	}
	l.stopped, l.sig, l.blocks = false, 0, nil
	if err != nil && err != unix.ESRCH {
		l.stopped = true // this cannot fail; if it ever did, the next resume would try again
	}
}

// ask tells a thread to stop.
func (t *tracer) ask(l *lwp) {
	if l.stopped || l.asked {
		return
	}
	if err := interrupt(l.tid); err == nil {
		l.asked = true
	} else if err == unix.ESRCH && deadTask(t.pid, l.tid) {
		t.forget(l.tid)
	}
}

func (t *tracer) askAll() {
	for _, l := range t.lwps {
		t.ask(l)
	}
}

// Waiting for threads to stop means checking often at first: most stop within
// microseconds.
var shortPause = unix.NsecToTimespec(int64(20 * time.Microsecond))

// lookPace is how often to check for stops that no signal announced.
const lookPace = 50 * time.Millisecond

const (
	shortWait   = 3 * time.Millisecond
	longPause   = time.Millisecond
	sleeperWait = 20 * time.Millisecond // how long to wait for a thread in uninterruptible sleep
)

// await waits until ready returns true; it returns false at the timeout. look handles
// the events that come. idle is called now and then, to check whether waiting makes
// sense.
func (t *tracer) await(timeout time.Duration, look func(), ready func() bool, idle func(waited time.Duration)) bool {
	for start := time.Now(); ; {
		look()
		if ready() {
			return true
		}
		d := time.Since(start)
		if d >= timeout {
			return false
		}
		if d <= shortWait {
			// Not time.Sleep: waking up a goroutine takes longer than this.
			_ = unix.Nanosleep(&shortPause, nil)
			continue
		}
		idle(d)
		time.Sleep(longPause)
	}
}

// awaitStops waits until all threads, or the only one wanted, have stopped or cannot
// stop.
func (t *tracer) awaitStops(timeout time.Duration, only *lwp) {
	sleeping := map[int]bool{}
	running := func(yield func(*lwp) bool) {
		if only != nil {
			if !only.stopped && t.lwps[only.tid] == only {
				yield(only)
			}
			return
		}
		for _, l := range t.lwps {
			if !l.stopped && !yield(l) {
				return
			}
		}
	}
	// Asking for each thread is much faster than for any: for that, the kernel goes
	// through all of them every time.
	look := func() {
		for l := range running {
			if w, ok := take(l.tid); ok {
				t.handle(w)
			}
		}
	}
	stopped := func() bool {
		for l := range running {
			if !sleeping[l.tid] {
				t.ask(l)
				return false
			}
		}
		return true
	}
	t.await(timeout, look, stopped, func(waited time.Duration) {
		t.drain()
		for l := range running {
			switch state := taskState(t.pid, l.tid); {
			case state == 0 || state == 'Z' || state == 'X':
				t.forget(l.tid) // the first thread ended before the others, which is not reported
			case state == 'D' && waited > sleeperWait:
				sleeping[l.tid] = true
			}
		}
	})
}

// stopAll stops all threads; calls nest.
func (t *tracer) stopAll(timeout time.Duration) {
	if t.holdAll++; t.holdAll == 1 {
		t.changed(false)
	}
	t.askAll()
	t.awaitStops(timeout, nil)
}

// resumeAll undoes one stopAll.
func (t *tracer) resumeAll() {
	if t.holdAll == 0 {
		return
	}
	if t.holdAll--; t.holdAll == 0 {
		t.release()
	}
}

// release resumes every thread that is not held.
func (t *tracer) release() {
	held := false
	for _, l := range t.list() {
		if t.held(l) {
			held = true
		}
	}
	if !held {
		t.changed(true)
	}
	for _, l := range t.list() {
		if l.stopped && !t.held(l) {
			t.resume(l)
		}
	}
}

// detachAll detaches and leaves the process as it was: it continues what it was doing.
func (t *tracer) detachAll(timeout time.Duration) {
	defer func() { t.closing = true }()
	if t.do != nil {
		return
	}
	t.stopAll(timeout)
	for _, l := range t.list() {
		if !l.stopped {
			t.stuck = t.stuck || !deadTask(t.pid, l.tid)
			continue
		}
		if err := detach(l.tid, l.sig); err != nil && err != unix.ESRCH {
			t.stuck = true
		}
	}
	clear(t.lwps)
	t.changed(true)
}
