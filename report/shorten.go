package report

// Shorten takes frames out of the middle of very deep stacks, so that head innermost
// and tail outermost ones are left of each. What is left keeps its Index; Crash.Frame
// and Crash.Overflow go on telling of the whole stack, but that Crash.Frame is nil when
// the frame is gone.
func (r *Report) Shorten(head, tail int) {
	for i := range r.Threads {
		th := &r.Threads[i]
		n := len(th.Frames) - head - tail
		if n <= 0 {
			continue
		}
		if c := r.Crash; c != nil && c.Frame != nil && th.Crashed && *c.Frame >= head {
			if at := *c.Frame - n; at >= head {
				c.Frame = &at
			} else {
				c.Frame = nil
			}
		}
		kept := make([]Frame, 0, head+tail)
		kept = append(kept, th.Frames[:head]...)
		th.Frames = append(kept, th.Frames[head+n:]...)
	}
}

// frameGap finds where frames are missing and how many; 0 of them, and all frames
// before it, where none are.
func frameGap(frames []Frame) (at, missing int) {
	for i := 1; i < len(frames); i++ {
		if n := frames[i].Index - i; n > 0 {
			return i, n
		}
	}
	return len(frames), 0
}

// frameNumber is the number of a frame in its whole stack.
func frameNumber(frames []Frame, i int) int { return max(i, frames[i].Index) }
