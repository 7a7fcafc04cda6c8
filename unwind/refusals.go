package unwind

import "slices"

// Steppers often say by the code alone that a frame is not theirs. In a recursion they need not be asked for each frame.

// A codeStepper knows when its StatusNotMe holds for all frames that made a call at the same place: only the code decided
// it, not registers or the stack.
type codeStepper interface {
	FrameStepper
	// RefusesCode is asked after CallerFrame returned StatusNotMe for a frame that made a call.
	RefusesCode(in *Frame) bool
}

// An unchanging ProcessState is of one moment: code and libraries stay as they are, from one walk to the next.
type unchanging interface{ Unchanging() bool }

// refusals are the steppers that need not be asked about frames that made a call at an address.
type refusals struct {
	at       Address
	steppers []FrameStepper

	// first is the first of the others, as long as the group's steppers are those of pieces. nil if it is not known.
	first  FrameStepper
	pieces *[]piece
}

// refusalBits is how many bits of a hash choose a place for refusals: the stacks of many tasks have some dozens of addresses.
const refusalBits = 6

// refusalsAt returns the refusals at a frame's address. It returns nil if they do not matter: the walk comes there for
// the first time, or the frame made no call, or the walk explains what each stepper did.
func (st *stepState) refusalsAt(in *Frame) *refusals {
	if st.one || in.IsTopFrame() || in.NonCall() || in.Tracing() {
		return nil
	}
	const multiplier = 0x9e3779b97f4a7c15 // spreads addresses over the places
	r := &st.refusals[in.ra*multiplier>>(64-refusalBits)]
	if r.at == in.ra {
		return r
	}
	r.at, r.steppers, r.first = in.ra, r.steppers[:0], nil
	return nil
}

func (r *refusals) add(s FrameStepper, in *Frame) {
	if c, ok := s.(codeStepper); ok && c.RefusesCode(in) {
		r.steppers, r.first = append(r.steppers, s), nil
	}
}

// firstStepper returns the first stepper to ask about in; refused may be nil.
func (w *Walker) firstStepper(in *Frame, refused *refusals) (FrameStepper, error) {
	group, ok := w.group.(*AddrRangeGroup)
	if refused == nil || !ok {
		return w.nextStepper(in, nil, refused)
	}
	pieces := group.pieces.Load()
	if refused.first == nil || refused.pieces != pieces {
		s, err := w.nextStepper(in, nil, refused)
		refused.first, refused.pieces = s, pieces
		return s, err
	}
	return refused.first, nil
}

// nextStepper returns the first stepper after last to ask about in; refused may be nil.
func (w *Walker) nextStepper(in *Frame, last FrameStepper, refused *refusals) (FrameStepper, error) {
	for {
		s, err := w.group.FindStepperForAddr(in.ra, last)
		if err != nil || refused == nil || !slices.Contains(refused.steppers, s) {
			return s, err
		}
		last = s
	}
}
