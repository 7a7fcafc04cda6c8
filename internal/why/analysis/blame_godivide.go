package analysis

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/report"
)

// divideError is the panic of a division by zero. Go's compiler compares the divisor before it divides: there is no fault.
const divideError = "runtime error: integer divide by zero"

// goDivisor says of a panic of that kind what the divisor was: what must have been zero for control to come to the call of the runtime.
func (c *crash) goDivisor() []report.Cause { return c.known.goDivisor.of(c.findGoDivisor) }

func (c *crash) findGoDivisor() []report.Cause {
	w := c.words()
	if w.told != asReason || w.Fault != nil || w.Panic == nil || w.Panic.Value != divideError || c.Variables == nil || c.opts.NoBlame {
		return nil
	}
	frames := c.named.Frames
	at := slices.IndexFunc(frames, func(f report.Frame) bool { return f.Function == "runtime.panicdivide" })
	if at < 0 || at+1 == len(frames) || frames[at+1].Physical >= len(c.stack) {
		return nil
	}
	t := &tracer{in: c.question, stack: c.stack[frames[at+1].Physical:], out: report.Blame{Confidence: report.Certain}}
	defer t.close()
	caller := t.witness(0, nil)
	if caller == nil {
		return nil
	}
	v, reg, size := caller.code.Zero(caller.state.PC)
	if v == nil {
		return nil
	}
	if v.Kind == provenance.Load { // of which the name is that of the whole slice
		if whole, length := caller.sized(provenance.Operand{Value: v, Reg: reg, At: v.At}); whole != "" {
			return []report.Cause{{Text: length + "(" + whole + ") = 0, in " + caller.call.Name, Confidence: report.Likely}}
		}
	}
	b := t.trace(suspect{w: caller, v: v, reg: reg, divides: true, size: size})
	if b == nil {
		return nil
	}
	return []report.Cause{{Text: blameText(b, report.CrashDivZero), Confidence: b.Confidence}}
}
