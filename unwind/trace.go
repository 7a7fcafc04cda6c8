package unwind

import "fmt"

// An Attempt is one stepper's answer about one frame, recorded when the walker explains its
// walks (WithExplain).
type Attempt struct {
	Stepper FrameStepper
	Status  Status
	Notes   []string // what the stepper reported with Notef
	Refused string   // why the Walker rejected a success; "" if it did not
}

// trace is the explanation of one frame: the attempts to find its caller, the notes of the
// stepper that is filling it in, and what other steppers say about it.
type trace struct {
	explain  bool
	attempts []Attempt
	notes    []string
	verdicts []Verdict
}

// Tracing reports whether Notef keeps anything; check it before computing the arguments of
// a note.
func (f *Frame) Tracing() bool { return f.trace != nil && f.trace.explain }

// Notef lets a stepper record, in its out frame, what it did or why it declined. It does
// nothing unless the walker explains its walks (WithExplain).
func (f *Frame) Notef(format string, args ...any) {
	if f.Tracing() && !f.has(flagAccepted) {
		f.trace.notes = append(f.trace.notes, fmt.Sprintf(format, args...))
	}
}

// Attempts lists the steppers that were asked for this frame's caller, in order, with their
// answers. It is nil unless the walker explains its walks (WithExplain).
func (f *Frame) Attempts() []Attempt {
	if f.trace == nil {
		return nil
	}
	return f.trace.attempts
}
