package unwind

// Steppers often say by the code alone that a frame is not theirs. In a recursion they need not be asked for each frame.

// A codeStepper knows when its StatusNotMe holds for all frames that made a call at the same place: only the code decided
// it, not registers or the stack.
type codeStepper interface {
	FrameStepper
	// RefusesCode is asked after CallerFrame returned StatusNotMe for a frame that made a call.
	RefusesCode(in *Frame) bool
}

// refusals are the steppers that need not be asked about frames that made a call at an address.
type refusals struct {
	at       Address
	steppers []FrameStepper
}

// refusalsAt returns the refusals at a frame's address. It returns false if they do not matter: the walk comes there for
// the first time, or the frame made no call, or the walk explains what each stepper did.
func (st *stepState) refusalsAt(in *Frame) (*refusals, bool) {
	if st.one || in.IsTopFrame() || in.NonCall() || in.Tracing() {
		return nil, false
	}
	const multiplier = 0x9e3779b97f4a7c15 // spreads addresses over the places
	r := &st.refusals[in.ra*multiplier>>60]
	if r.at == in.ra {
		return r, true
	}
	r.at, r.steppers = in.ra, r.steppers[:0]
	return nil, false
}

func (r *refusals) add(s FrameStepper, in *Frame) {
	if c, ok := s.(codeStepper); ok && c.RefusesCode(in) {
		r.steppers = append(r.steppers, s)
	}
}
