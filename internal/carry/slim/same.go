package slim

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind"
)

// A Difference is a stack that is not walked as before.
type Difference struct {
	Thread unwind.ThreadID
	Frame  int // index of the first frame that differs
}

func (d *Difference) Error() string {
	return fmt.Sprintf("the stack of thread %d differs from frame %d on", d.Thread, d.Frame)
}

// Same walks the stacks of all threads of two dumps. It returns the numbers of threads and frames, and a
// *Difference if a frame has another pc or stack pointer.
func Same(a, b *unwind.Walker) (threads, frames int, err error) {
	ids, err := a.ProcessState().ThreadIDs()
	if err != nil {
		return 0, 0, err
	}
	for _, id := range ids {
		x, y := walk(a, id), walk(b, id)
		for i := range max(len(x), len(y)) {
			if i >= len(x) || i >= len(y) || x[i].RA() != y[i].RA() || x[i].SP() != y[i].SP() {
				return threads, frames, &Difference{id, i}
			}
			frames++
		}
		threads++
	}
	return threads, frames, nil
}

// walk returns the frames of a thread, as far as they can be walked.
func walk(w *unwind.Walker, id unwind.ThreadID) []*unwind.Frame {
	if s, err := w.WalkStack(id); err == nil || s != nil {
		return s.Frames
	}
	return nil
}
