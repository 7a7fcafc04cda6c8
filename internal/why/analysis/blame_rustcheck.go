package analysis

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxCheckSteps is how many instructions before the jump that decides to panic the checked pointer is looked for.
const maxCheckSteps = 12

// rustPointer says which pointer it was that Rust found to be null, or misaligned, before it was used: the code panics, there is no fault.
func (c *crash) rustPointer() []report.Cause {
	b := c.rustBlame()
	if b == nil {
		return nil
	}
	return []report.Cause{{Text: blameText(b, report.CrashSignal), Confidence: b.Confidence}}
}

// rustBlame traces that pointer back; nil for none.
func (c *crash) rustBlame() *report.Blame { return c.known.rustBlame.of(c.findRustPointer) }

func (c *crash) findRustPointer() *report.Blame {
	if w := c.words(); w.told != asReason || w.Panic == nil || c.Variables == nil || c.opts.NoBlame {
		return nil
	}
	frames := c.named.Frames
	at := slices.IndexFunc(frames, func(f report.Frame) bool {
		return strings.HasPrefix(f.Function, "core::panicking::panic_null_pointer_dereference") || strings.HasPrefix(f.Function, "core::panicking::panic_misaligned_pointer_dereference")
	})
	for at >= 0 && at+1 < len(frames) && frames[at+1].Physical == frames[at].Physical {
		at++ // the panic's own, which was inlined
	}
	if at < 0 || at+1 == len(frames) || frames[at+1].Physical >= len(c.stack) {
		return nil
	}
	t := &tracer{in: c.question, stack: c.stack[frames[at+1].Physical:], out: report.Blame{Confidence: report.Likely}}
	defer t.close()
	w := t.witness(0, nil)
	if w == nil {
		return nil
	}
	value := c.misaligned()
	v := w.code.Argument(w.state.PC, 1)
	if value == 0 {
		v = w.checkedNull()
	}
	if v == nil {
		return nil
	}
	b := t.trace(suspect{w: w, v: v, reg: arch.NoReg, value: value, pointer: true})
	if b == nil || strings.HasPrefix(b.Steps[0].Name, "[") && b.Steps[0].Kind == report.BlameRead {
		return nil
	}
	for i := range b.Steps {
		b.Steps[i].Physical += frames[at+1].Physical
	}
	return b
}

// checkedNull is the pointer in the frame that was compared with null before the call that the frame makes; nil for none.
func (w *witness) checkedNull() *provenance.Value {
	end := w.code.Decided(w.state.PC)
	var all []uint64
	for at := w.code.Start(); at < end; {
		in, ok := w.code.Inst(at)
		if !ok { // between parts of the code
			at++
			continue
		}
		if all = append(all, at); len(all) > maxCheckSteps {
			all = all[1:]
		}
		at = in.Next()
	}
	for _, at := range slices.Backward(all) {
		in, _ := w.code.Inst(at)
		if in.Kind.IsCall() {
			return nil
		}
		if in.Kind != disasm.Load || int(in.Size) != w.in.arch.WordSize {
			continue
		}
		v := w.code.Before(in.Next(), provenance.Reg(in.Dst))
		if now, _, ok := w.eval.Value(v, 0); ok && now == 0 {
			return v
		}
	}
	return nil
}
