package debuginfod

import (
	"context"
	"sync"
)

// answers remembers what requests came to. Goroutines that want the same wait for
// the one that asks.
type answers[K comparable] struct {
	mu    sync.Mutex
	asked map[K]*answer
}

// An answer is what a request came to. Whoever made it asks the servers; others
// wait until done is closed.
type answer struct {
	done   chan struct{}
	path   string
	err    error
	gaveUp bool // the one who asked had no more time: it says nothing of the file
}

// get is the answer to r, which find finds.
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

// answer is that of a request; first says that the caller is to settle it.
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

// settle finds the answer to a request. One that was given up is forgotten, so
// that the next who asks tries again.
func (as *answers[K]) settle(ctx context.Context, r K, a *answer, find func() (string, error)) {
	defer close(a.done)
	a.path, a.err = find()
	if a.gaveUp = a.err != nil && ctx.Err() != nil; a.gaveUp {
		as.mu.Lock()
		defer as.mu.Unlock()
		delete(as.asked, r)
	}
}
