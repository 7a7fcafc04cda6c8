package livestate

import (
	"sync"
	"time"
)

// patience is how long a read of the target's memory may take. A process can have pages that
// another program fills when they are needed (userfaultfd(2), files of FUSE), and that
// program may never do so. Nothing but the end of this program interrupts such a read.
const patience = 3 * time.Second

// maxStuck is how many reads may take longer before memory is no longer read at all.
const maxStuck = 4

// maxPiece is the most that is read at once, in bytes.
const maxPiece = 1 << 20

// patient makes reads that end in time: each runs in a goroutine of its own, which is left
// behind if it takes too long. The zero value is ready for use.
type patient struct {
	limit time.Duration // instead of patience, if not 0

	mu     sync.Mutex // guards the three below; no other lock is taken inside
	idle   []*reading
	stuck  int
	closed bool
}

// A reading is a goroutine that reads into its own buffer.
type reading struct {
	todo chan func([]byte) int
	done chan int
	buf  []byte
}

func (r *reading) run() {
	for read := range r.todo {
		r.done <- read(r.buf)
	}
}

// read calls f with a buffer as large as buf, or of maxPiece bytes, and copies what it has
// read. late says that it did not return in time, or was not called.
func (p *patient) read(buf []byte, f func([]byte) int) (n int, late bool) {
	r := p.take(min(len(buf), maxPiece))
	if r == nil {
		return 0, true
	}
	limit := p.limit
	if limit == 0 {
		limit = patience
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	r.todo <- f
	select {
	case n = <-r.done:
		n = copy(buf, r.buf[:max(n, 0)])
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.closed {
			close(r.todo)
		} else {
			p.idle = append(p.idle, r)
		}
		return n, false
	case <-timer.C:
		close(r.todo)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stuck++
		return 0, true
	}
}

// take returns a goroutine with a buffer of size bytes; nil if too many are stuck.
func (p *patient) take(size int) *reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stuck >= maxStuck {
		return nil
	}
	var r *reading
	if n := len(p.idle); n > 0 {
		r, p.idle = p.idle[n-1], p.idle[:n-1]
	} else {
		r = &reading{todo: make(chan func([]byte) int), done: make(chan int, 1)}
		go r.run()
	}
	if cap(r.buf) < size {
		r.buf = make([]byte, size)
	}
	r.buf = r.buf[:size]
	return r
}

// close ends the goroutines that are not stuck. Later reads have goroutines that end at once.
func (p *patient) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, r := range p.idle {
		close(r.todo)
	}
	p.idle = nil
}
