package debuginfod

import (
	"context"
	"sync"
)

// answers caches the results of requests. Goroutines that make the same request wait for
// the first.
type answers[K comparable] struct {
	mu    sync.Mutex // guards asked; no other lock is taken inside
	asked map[K]*answer
}

// An answer is the result of a request. The goroutine that creates it asks the servers;
// others wait until done is closed.
type answer struct {
	done   chan struct{}
	path   string
	err    error
	gaveUp bool // the asking goroutine was cancelled: nothing is known about the file
}

// get returns the answer to r, using find to obtain it if needed.
func (as *answers[K]) get(ctx context.Context, r K, find func() (string, error)) (string, error) {
	for {
		a, first := as.answer(r)
		if first {
			as.settle(ctx, r, a, find)
			return a.path, a.err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-a.done:
		}
		if !a.gaveUp {
			return a.path, a.err
		}
	}
}

// answer returns the answer to a request; if first is true, the caller must settle it.
func (as *answers[K]) answer(r K) (a *answer, first bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if a = as.asked[r]; a == nil {
		if as.asked == nil {
			as.asked = map[K]*answer{}
		}
		a, first = &answer{done: make(chan struct{})}, true
		as.asked[r] = a
	}
	return a, first
}

// settle obtains the answer to a request. An answer that was given up is forgotten, so that
// the next caller tries again.
func (as *answers[K]) settle(ctx context.Context, r K, a *answer, find func() (string, error)) {
	defer close(a.done)
	a.path, a.err = find()
	if a.gaveUp = a.err != nil && ctx.Err() != nil; a.gaveUp {
		as.mu.Lock()
		defer as.mu.Unlock()
		delete(as.asked, r)
	}
}
