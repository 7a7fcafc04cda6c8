package analysis

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Which of the values that several ways lead to it was.

// common reports whether a value is a small number, of 8 bytes or of 4, also a negative one: two that are equal may be so by chance.
func common(value uint64) bool {
	const most = 1 << 16
	return value+most < 2*most || value>>32 == 0 && uint32(value)+most < 2*most
}

// choose picks the one value that a join can have had; nil if that is in doubt.
func (t *tracer) choose(w *witness, v *provenance.Value, value uint64) *provenance.Value {
	var left, same *provenance.Value
	sure, several := true, false
	for _, a := range v.Alternatives() {
		got, exact, ok := w.eval.Value(a, v.At)
		if !ok {
			got, exact, ok = t.handed(w, a)
		}
		if ok && got != value && !t.loose {
			sure = sure && exact
			continue
		}
		if t.impossible(w, v, a, value) {
			continue
		}
		if ok && !t.loose && same == nil {
			same = a
		}
		if left != nil {
			several = true
		}
		left = a
	}
	if several {
		t.mayRead(w, v, value)
		if same == nil || common(value) || t.mapped(value) {
			return t.member(w, v, value)
		}
		// What others were is not known: that one of them was the same wild value would be chance.
		left, sure = same, false
	}
	if left == nil || left.Kind == provenance.Unknown {
		return nil
	}
	if !sure {
		t.doubt(report.Likely)
	}
	if t.past == 0 {
		t.past = v.At
	}
	return left
}

// mayRead notes the memory of one of several values that has the bad one now, though what the others were is not known, nor whether it is the same memory still.
func (t *tracer) mayRead(w *witness, v *provenance.Value, value uint64) {
	if value < leastSmall || t.mapped(value) || t.loose {
		return
	}
	for _, a := range v.Alternatives() {
		if at, ok := t.asNow(w, a, 0); ok && a.Size == t.in.arch.WordSize {
			if now, ok := t.in.mem.LookupWord(at); ok && now == value && !slices.Contains(t.mayBe, at) {
				t.mayBe = append(t.mayBe, at)
			}
		}
	}
}

// asNow is the address that a value was read from, by what registers and memory on the way have now.
func (t *tracer) asNow(w *witness, v *provenance.Value, depth int) (at uint64, ok bool) {
	const most = 4
	if v.Kind != provenance.Load || v.Base == arch.NoReg || v.Index != arch.NoReg || depth == most {
		return 0, false
	}
	base := w.code.Before(v.At, provenance.Reg(v.Base))
	if now := w.code.Before(w.state.PC, provenance.Reg(v.Base)); now.Kind == base.Kind && now.At == base.At && now.Kind == provenance.Load && w.number == 0 {
		regs := t.stack[0].Registers()
		if t.early != nil {
			regs = *t.early
		}
		at, ok = regs.Get(v.Base)
	} else if base.Kind == provenance.Slot && w.state.HasCFA {
		at, ok = t.in.mem.LookupWord(w.state.CFA + uint64(base.K))
	} else if from, known := t.asNow(w, base, depth+1); known {
		at, ok = t.in.mem.LookupWord(from)
	}
	return t.in.arch.Truncate(at + uint64(v.K)), ok
}

// impossible reports whether a join that turned out to be null cannot be one of its alternatives.
func (t *tracer) impossible(w *witness, v, alternative *provenance.Value, value uint64) bool {
	if value != 0 || !t.pointer || t.loose || v.Kind != provenance.Join {
		return false
	}
	switch w.code.NotNull(v, alternative, w.state.PC) {
	case provenance.Possible:
		return false
	case provenance.Advanced:
		if w.number > 0 { // whether the function that was called read through it each time is not known
			t.doubt(report.Likely)
		}
	case provenance.Reread:
		if all, err := t.in.Walker.AvailableThreads(); err != nil || len(all) > 1 {
			t.doubt(report.Likely)
		}
	}
	return true
}
