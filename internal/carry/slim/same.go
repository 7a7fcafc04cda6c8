package slim

import (
	"fmt"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
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
// *Difference if a frame has another pc or stack pointer. A pc where neither dump has memory is a value that
// overwrote a return address: a redacted dump has another one.
func Same(a, b *unwind.Walker) (threads, frames int, err error) {
	ids, err := a.ProcessState().ThreadIDs()
	if err != nil {
		return 0, 0, err
	}
	for _, id := range ids {
		x, y := walk(a, id), walk(b, id)
		for i := range max(len(x), len(y)) {
			if i >= len(x) || i >= len(y) || x[i].SP() != y[i].SP() || x[i].RA() != y[i].RA() && !(wild(a, x[i].RA()) && wild(b, y[i].RA())) {
				return threads, frames, &Difference{id, i}
			}
			frames++
		}
		threads++
	}
	return threads, frames, nil
}

// wild reports whether an address is in no memory of the process.
func wild(w *unwind.Walker, addr arch.Address) bool {
	p, ok := w.ProcessState().(interface {
		MappingAt(arch.Address) (libstate.Mapping, bool)
	})
	if !ok {
		return false
	}
	_, mapped := p.MappingAt(addr)
	return !mapped
}

// walk returns the frames of a thread, as far as they can be walked.
func walk(w *unwind.Walker, id unwind.ThreadID) []*unwind.Frame {
	if s, err := w.WalkStack(id); err == nil || s != nil {
		return s.Frames
	}
	return nil
}
