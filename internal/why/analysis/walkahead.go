package analysis

import (
	"context"
	"sync"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/unwind"
)

const (
	// fewThreads is how many threads are not worth a second goroutine.
	fewThreads = 8
	// walkedAhead is how many walked stacks may wait to be named.
	walkedAhead = 4
)

// walks returns a function that returns the stacks of threads, one at each call, in their order. If the options allow
// it, a second goroutine walks while the calling one names frames. stop ends it, and must be called.
func (in *question) walks(ctx context.Context, ids []unwind.ThreadID) (next func() *unwind.Stack, stop func()) {
	i := 0
	walk := func() *unwind.Stack {
		stack := in.walk(ctx, ids[i])
		i++
		return stack
	}
	if !in.Parallel || len(ids) < fewThreads {
		return walk, func() {}
	}
	walked := make(chan *unwind.Stack, walkedAhead)
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		defer close(walked)
		for _, id := range ids {
			var stack *unwind.Stack
			if mmapfile.Guard(func() { stack = in.walk(ctx, id) }) != nil {
				return // a file was cut short: the calling goroutine finds that, too
			}
			select {
			case walked <- stack:
			case <-done:
				return
			}
		}
	})
	next = func() *unwind.Stack {
		if stack, ok := <-walked; ok {
			i++
			return stack
		}
		return walk()
	}
	return next, func() {
		close(done)
		running.Wait()
	}
}
