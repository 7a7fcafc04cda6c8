// Goroutines that wait for what package sync has, for ever: the runtime ends the program.
package main

import "sync"

var (
	rw sync.RWMutex
	// ready is of a queue that nobody fills.
	full  sync.Mutex
	ready = sync.NewCond(&full)
	other = sync.NewCond(&full)
)

type queue struct {
	mu   sync.Mutex
	cond sync.Cond
}

//go:noinline
func (q *queue) take() {
	q.mu.Lock()
	q.cond.Wait()
	q.mu.Unlock()
}

//go:noinline
func take() {
	full.Lock()
	ready.Wait()
	full.Unlock()
}

//go:noinline
func change() {
	rw.Lock()
	rw.Unlock()
}

func main() {
	q := new(queue)
	q.cond.L = &q.mu
	go q.take()
	go q.take()
	go take()
	rw.RLock()
	change()
	other.Signal()
}
