package unwind

import "fmt"

// An Attempt is one stepper's answer about one frame, kept when the walk is
// asked to explain itself.
type Attempt struct {
	Stepper FrameStepper
	Status  Status
	Notes   []string // what the stepper said about it
	Refused string   // why the Walker did not take a success; "" when it did
}

// trace is what a frame remembers of how its caller was looked for (attempts)
// and, while it is a stepper's out, what the stepper has to say (notes), both
// where the walk explains itself; and what other steppers say of the frame.
type trace struct {
	explain  bool
	attempts []Attempt
	notes    []string
	verdicts []Verdict
}

// Tracing reports whether Notef keeps anything; test it before computing what a
// note says.
func (f *Frame) Tracing() bool { return f.trace != nil && f.trace.explain }

// Notef lets a stepper say, in its out frame, what it did or why it declined.
// It does nothing unless the walk explains itself.
func (f *Frame) Notef(format string, args ...any) {
	if f.Tracing() && !f.has(flagAccepted) {
		f.trace.notes = append(f.trace.notes, fmt.Sprintf(format, args...))
	}
}

// Attempts lists which steppers were asked for this frame's caller, in order,
// and what each answered. Nil unless the walk explained itself (Explain).
func (f *Frame) Attempts() []Attempt {
	if f.trace == nil {
		return nil
	}
	return f.trace.attempts
}
