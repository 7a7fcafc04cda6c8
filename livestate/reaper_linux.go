package livestate

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A reaper keeps PTRACE_SEIZE from waiting for ever. A thread that calls execve holds a lock
// of the process while it waits for the other threads to be gone, PTRACE_SEIZE of one more thread
// wants the same lock, and a thread that we trace already is only gone once we have waited for it:
// which the tracing thread cannot do meanwhile. So another thread of ours waits for those that
// have ended, when a request takes long. It waits for no process, only for threads.
type reaper struct {
	pid    int
	since  atomic.Int64 // when the request began, in ns of the clock of start; 0 for none
	start  time.Time
	stop   chan struct{}
	done   chan struct{}
	mu     sync.Mutex // guards reaped; no other lock is taken inside
	reaped []waited
}

// slowRequest is how long a request takes that may be waiting for us.
const slowRequest = 20 * time.Millisecond

func newReaper(pid int) *reaper {
	r := &reaper{pid: pid, start: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	go r.run()
	return r
}

func (r *reaper) run() {
	defer close(r.done)
	tick := time.NewTicker(slowRequest)
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
		}
		if since := r.since.Load(); since != 0 && time.Since(r.start)-time.Duration(since) >= slowRequest {
			r.reap()
		}
	}
}

// reap waits for the threads that have ended.
func (r *reaper) reap() {
	ids, err := tasks(r.pid)
	if err != nil {
		return
	}
	for _, tid := range ids {
		if tid == r.pid { // the process itself is waited for by its parent
			continue
		}
		// Unlike take this is about threads that another thread of ours traces.
		if got, ended, status := waitID(unix.P_PID, tid, unix.WEXITED); ended && got == tid {
			r.mu.Lock()
			r.reaped = append(r.reaped, waited{tid, status})
			r.mu.Unlock()
		}
	}
}

// request runs a request of the tracing thread, and returns the threads that were waited for meanwhile.
func (r *reaper) request(f func() error) ([]waited, error) {
	r.since.Store(max(1, int64(time.Since(r.start))))
	err := f()
	r.since.Store(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	reaped := r.reaped
	r.reaped = nil
	return reaped, err
}

// close ends the reaper, and returns the threads that it waited for last.
func (r *reaper) close() []waited {
	close(r.stop)
	<-r.done
	return r.reaped
}
