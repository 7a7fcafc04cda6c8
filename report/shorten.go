package report

// Shorten removes frames from the middle of very deep stacks: it keeps the head innermost and the tail
// outermost frames of each. Frames keep their Index. Crash.Frame and Crash.Overflow still refer to the whole
// stack, but Crash.Frame becomes nil if its frame was removed.
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

// frameGap returns the index before which frames are missing that no row stands for, and how many; len(frames) and 0 if
// none are.
func frameGap(frames []Frame) (at, missing int) {
	folded := 0
	for i := 1; i < len(frames); i++ {
		folded += frames[i].LeftOut.Entries
		if n := frames[i].Index - folded - i; n > 0 {
			return i, n
		}
	}
	return len(frames), 0
}

// count returns how many frames the entries first to last stand for, with those that are left out between them.
func count(frames []Frame, first, last int) int {
	n := 1
	for i := first + 1; i <= last; i++ {
		n += 1 + frames[i].LeftOut.Entries
	}
	return n
}

// frameNumber returns the number of frame i in the whole stack.
func frameNumber(frames []Frame, i int) int { return max(i, frames[i].Index) }
