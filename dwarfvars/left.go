package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Functions that left by tail calls have no frames, but the calls that led through them tell
// some of what was passed to them.

// Left returns activations of the functions that left by tail calls between the call in the
// caller's frame and this function, youngest first; none if they are not all known. Of their
// variables those have values that their callers' call sites tell, or registers that calls
// preserve. Close each of them when done.
func (a *Activation) Left() []*Activation {
	var out []*Activation
	by, err := a.e.calledFrom()
	for err == nil && by.virtual {
		b := activations.Get().(*Activation)
		b.Function, b.r, b.frames, b.index = by.fn, a.r, a.frames, by.index
		b.e.begin(setting{r: a.r, fn: by.fn, frames: a.frames, index: by.index, unit: by.fn.fn.Unit}, answers{}, nil, 0)
		b.e.enter(by)
		out = append(out, b)
		by, err = b.e.calledFrom()
	}
	return out
}

// Ask implements where.Process.
func (r *readerWhere) Ask(c where.Callers) { r.asks = c }

// calledAt returns the address that the call was of which led to frame number callee of a stack, if somebody knows it; otherwise 0.
func (r *Reader) calledAt(frames []*unwind.Frame, callee int) arch.Address {
	if r.asks == nil {
		return 0
	}
	return r.asks.CalledAs(frames, callee+1)
}
