package analysis

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/unwind/arch"
)

// leavesTo is the function that takes a block back to which a function jumps at its end, with what it was passed in a register: the only one, if all of its jumps
// out lead there. "" if they do not.
func (in *question) leavesTo(target uint64) (to string, reg arch.Reg) {
	code := &codeReader{in: in}
	f := provenance.New(in.arch, provenance.ABIOf(in.arch, false), code, target, in.symbolEnd(target))
	if f == nil {
		return "", arch.NoReg
	}
	w := &witness{in: in}
	for call := range f.Calls {
		if !f.Leaves(&call) {
			continue
		}
		at, ok := w.callee(&call)
		if !ok {
			return "", arch.NoReg
		}
		called, ok := code.function(at)
		name, v := freeing(called.Name), f.Argument(call.PC, 0)
		if !ok || called.Entry != at || name == "" || v.Kind != provenance.Entry || to != "" && (name != to || v.Reg != reg) {
			return "", arch.NoReg
		}
		to, reg = name, v.Reg
	}
	return to, reg
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
	if !ok || d.Of.Start != 0 || d.Size != c.arch.WordSize {
		return ""
	}
	b, ok := c.heap().BlockAt(value)
	if !ok || !b.Contains(value) || b.Start == value || b.Own {
		return ""
	}
	return fmt.Sprintf("the allocator may have been given back %#x, %s from the beginning of the block of %s at %#x%s: %s", value, byteCount(value-b.Start), byteCount(b.Size), b.Start, c.ownerInside(b, value, ""), d.Why)
}
