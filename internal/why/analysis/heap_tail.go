package analysis

import (
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A tail is a function that jumps to one that takes a block back at its end.
type tail struct {
	to   string // the function
	code *provenance.Func
	v    *provenance.Value // what it is given, as the code that jumps there has it: what that was passed, or what that leads to
	at   uint64            // of the jump
	met  bool              // others meet it there, of which none was read from memory
}

// leavesTo is the function that takes a block back to which a function jumps at its end: the only one, if all of its jumps out lead there, of one place. Its name is ""
// if they do not.
func (in *question) leavesTo(target uint64) (out tail) {
	code := &codeReader{in: in}
	f := provenance.New(in.arch, provenance.ABIOf(in.arch, false), code, target, in.symbolEnd(target))
	if f == nil {
		return tail{}
	}
	w := &witness{in: in}
	for call := range f.Calls {
		if !f.Leaves(&call) {
			continue
		}
		at, ok := w.callee(&call)
		if !ok || out.to != "" {
			return tail{}
		}
		called, ok := code.function(at)
		name, v := freeing(called.Name), f.Argument(call.PC, 0)
		if !ok || called.Entry != at || name == "" {
			return tail{}
		}
		out = tail{to: name, code: f, v: v, at: call.PC}
		if v.Kind == provenance.Join { // what was not read is of a way on which nothing is given back
			for _, a := range v.Alternatives() {
				if a.Kind != provenance.Load {
					continue
				}
				if out.met {
					return tail{}
				}
				out.v, out.met = a, true
			}
		}
	}
	return out
}

// leftWith is what a function gave back that left by a jump, and had it from memory.
func (w *witness) leftWith(t *tail, call uint64) givenBack {
	if t.to == "" {
		return givenBack{}
	}
	value, at, exact, ok := w.passedTo(t, call)
	if !ok || value == 0 {
		return givenBack{}
	}
	return givenBack{to: t.to, value: value, known: true, exact: exact, at: at}
}

// passedTo is what a function that left by a jump gave back, as its caller's registers and memory still tell what that passed in the call at an address.
func (w *witness) passedTo(t *tail, call uint64) (value, at uint64, exact, ok bool) {
	sure := true
	state := provenance.State{PC: t.at, Passed: func(r arch.Reg) (uint64, bool) {
		if !slices.Contains(w.abi.Args, r) {
			return 0, false
		}
		passed := w.code.Before(call, provenance.Reg(r))
		value, exact, ok := w.eval.Value(passed, 0)
		if !ok {
			value, exact, ok = w.passedOn(passed)
		}
		sure = sure && exact
		return value, ok
	}}
	state.Read, state.Reg = w.state.Read, func(arch.Reg) (uint64, bool) { return 0, false }
	eval := t.code.Evaluator(&state)
	if value, exact, ok = eval.Value(t.v, 0); ok && t.v.Kind == provenance.Load {
		at, _ = eval.Address(t.v, 0)
	}
	return value, at, exact && sure && !t.met, ok
}

// passedOn is a value that the frame was passed in a register, as its caller's own registers and memory still tell.
func (w *witness) passedOn(v *provenance.Value) (value uint64, exact, ok bool) {
	t := &tracer{in: w.in, stack: w.stack}
	defer t.close()
	return t.handed(w, v)
}

// listedInside says which block somebody gave back by a pointer into it, if an allocator's list of free blocks has that pointer; "" for other damages.
func (c *crash) listedInside(d *heap.Damage) string {
	value, ok := c.mem.Uint(d.At, d.Size)
	if !ok || d.Of.Start != 0 {
		return ""
	}
	b, ok := c.heap().BlockAt(value)
	if !ok || !b.Contains(value) || b.Start == value || b.Own {
		return ""
	}
	return fmt.Sprintf("the allocator may have been given back %#x, %s from the beginning of the block of %s at %#x%s: %s", value, byteCount(value-b.Start), byteCount(b.Size), b.Start, c.ownerInside(b, value, ""), d.Why)
}
