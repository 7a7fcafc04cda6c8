package report

import (
	"fmt"
	"strings"
)

// explain writes below frame i how its caller was found.
func (t *textWriter) explain(frames []Frame, i int) {
	f := &frames[i]
	t.whereVariables(f)
	if f.virtual() {
		return
	}
	t.why("", addressText(f))
	t.why("found by "+f.Stepper+"; ", f.Verify.text())
	e := f.Explain
	if e == nil {
		return
	}
	asked := make([]string, len(e.Asked))
	for k, a := range e.Asked {
		asked[k] = a.text()
	}
	t.why("asked: ", strings.Join(asked, "; "))
	t.why("", e.Rule)
	t.why("", callerText(frames, i))
	regs := make([]string, len(e.Registers))
	for k, r := range e.Registers {
		regs[k] = r.Name
		if r.Value != nil {
			regs[k] += " " + r.Value.String()
		}
		regs[k] += " " + r.Location
	}
	t.why("registers: ", strings.Join(regs, "; "))
	for _, n := range e.Notes {
		t.why("", n)
	}
}

// whereVariables writes where each variable is stored, and the expression that says so.
func (t *textWriter) whereVariables(f *Frame) {
	for _, list := range [2][]Variable{f.Args, f.Locals} {
		for i := range list {
			v := &list[i]
			s := v.Location
			if s == "" {
				s = "nowhere"
			}
			if v.Expression != "" {
				s += ", by " + v.Expression
			}
			t.why(brief(v.Name, maxName)+": ", s)
		}
	}
}

// text returns the stepper and its answer. A reason for "not_me" replaces that word.
func (a *Asked) text() string {
	switch {
	case a.Detail == "":
		return a.Stepper + " " + a.Status
	case a.Status == "not_me":
		return a.Stepper + " " + a.Detail
	}
	return a.Stepper + " " + a.Status + " (" + a.Detail + ")"
}

// why writes one paragraph of an explanation, nothing if s is empty.
func (t *textWriter) why(label, s string) {
	if s == "" {
		return
	}
	t.put(plain, "      ")
	t.put(dim, label)
	t.wrap(plain, 8, brief(s, 8*maxWords))
}

// addressText returns a frame's pc, its place in the module, and the address that was looked up.
func addressText(f *Frame) string {
	s := "pc " + f.PC.String()
	if f.Module != "" {
		s += ", " + moduleOffset(f)
	}
	if f.Lookup != 0 && f.Lookup != f.PC {
		at := f.Lookup
		if f.Module != "" {
			at = f.Offset - (f.PC - f.Lookup)
		}
		s += ", after a call (lookup at " + at.String() + ")"
	}
	return s
}

// callerText returns the CFA and the return address with its location.
func callerText(frames []Frame, i int) string {
	f := &frames[i]
	var parts []string
	if f.CFA != 0 {
		parts = append(parts, "cfa "+f.CFA.String())
	}
	if c := caller(frames, i); c != nil {
		ra := "return address " + c.PC.String()
		switch l := c.ReturnAddressLocation; {
		case l.Register != "":
			ra += " in " + l.Register
		case l.Address != 0:
			ra += fmt.Sprintf(" read at %v", l.Address)
		}
		parts = append(parts, ra)
	}
	return strings.Join(parts, "; ")
}

// caller returns the physical frame that frame i returns to. Virtual entries are skipped: they have no return
// address.
func caller(frames []Frame, i int) *Frame {
	for k := i + 1; k < len(frames); k++ {
		if frames[k].Physical != frames[i].Physical && !frames[k].virtual() {
			return &frames[k]
		}
	}
	return nil
}
