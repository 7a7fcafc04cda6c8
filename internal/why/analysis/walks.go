package analysis

import (
	"context"
	"sync"

	"github.com/corewalk/corewalk/unwind"
)

// stacks walks the stacks of threads, and keeps them for later questions. Several goroutines may use it, but not for one thread at once.
type stacks struct {
	walker *unwind.Walker
	keep   int // how many frames may be kept

	mu   sync.Mutex // no other lock is taken inside
	kept map[unwind.ThreadID]*unwind.Stack
	used int // how many frames are kept
}

// walk walks the stack of a thread up to a number of frames, or with 0 as far as the Walker goes.
func (s *stacks) walk(ctx context.Context, id unwind.ThreadID, frames int) *unwind.Stack {
	out := &unwind.Stack{Thread: id}
	s.more(ctx, out, frames)
	return out
}

// more walks more of the stack of a thread: up to a number of frames, or with 0 as far as the Walker goes. The frames that it has stay the
// same.
func (s *stacks) more(ctx context.Context, stack *unwind.Stack, frames int) {
	most := s.walker.MaxFrames()
	walk := most // else one more: what is known of the last frame is then the same, however far a walk went
	if frames > 0 && frames < most {
		most, walk = frames, frames+1
	}
	id := stack.Thread
	whole := s.take(id)
	if whole == nil || len(whole.Frames) < len(stack.Frames) {
		own := *stack
		whole = &own
	}
	_ = s.walker.WalkMore(ctx, whole, walk-len(whole.Frames)) // how it ended is in the stack
	s.put(id, whole)
	*stack = *whole
	stack.Cut(most)
}

// take returns the stack of a thread as far as it has been walked, and keeps it no more: nil for none.
func (s *stacks) take(id unwind.ThreadID) *unwind.Stack {
	s.mu.Lock()
	defer s.mu.Unlock()
	stack := s.kept[id]
	if stack == nil {
		return nil
	}
	delete(s.kept, id)
	s.used -= len(stack.Frames)
	return stack
}

// put keeps the stack of a thread, if there is room and nothing but the stack decided where it ends.
func (s *stacks) put(id unwind.ThreadID, stack *unwind.Stack) {
	if stack.End == unwind.EndLimit || stack.End == unwind.EndCancelled {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+len(stack.Frames) <= s.keep {
		s.kept[id] = stack
		s.used += len(stack.Frames)
	}
}
