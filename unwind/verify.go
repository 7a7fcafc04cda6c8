package unwind

// A Verdict is what one stepper says about a frame that another stepper found and the walk
// accepted. WithVerify asks for verdicts.
type Verdict struct {
	Stepper FrameStepper
	// Agrees says that the stepper finds the same frame: the same RA and SP, and the same
	// FP if both know it.
	Agrees bool
	// Bottom says that the stepper takes the callee to be the last frame of its stack. RA,
	// SP and FP are then zero.
	Bottom bool

	RA, SP, FP Address
	HasFP      bool // the stepper knows FP; a scan never does
	// Trust says how the stepper found its frame.
	Trust Trust
}

// WithVerify makes the walker also ask, for each frame that a stepper found, all later
// steppers (Frame.Verdicts). Their answers never change the walk, but cost time. A Budget with the method Extra
// ends it, as for WithExplain.
func WithVerify() Option {
	return func(w *Walker) error { w.verify = true; return nil }
}

// Verified reports whether the steppers after the one that found the frame were asked for it, too.
func (f *Frame) Verified() bool { return f.has(flagVerified) }

// Verdicts lists what the later steppers say about this frame, in the order in which they
// would have been asked. Steppers that decline are left out. It is nil for a top frame, and
// without WithVerify.
func (f *Frame) Verdicts() []Verdict {
	if f.trace == nil {
		return nil
	}
	return f.trace.verdicts
}

func (f *Frame) setVerdicts(v []Verdict) {
	if len(v) == 0 {
		return
	}
	if f.trace == nil {
		f.trace = &trace{}
	}
	f.trace.verdicts = v
}

// secondOpinions asks the steppers after s for the caller of in, for which s found out. It
// is called before out is accepted, so that they see in as s did.
func (w *Walker) secondOpinions(st *stepState, s FrameStepper, in, out *Frame) []Verdict {
	if st.second == nil {
		st.second = &Frame{}
	}
	other := st.second
	var verdicts []Verdict
	for last := s; ; {
		next, err := w.group.FindStepperForAddr(in.ra, last)
		if err != nil {
			return verdicts
		}
		last = next
		w.prepare(other, st.secondChanges, in)
		other.trace = nil
		status := next.CallerFrame(in, other)
		st.secondChanges = other.changes[:0]
		switch {
		case status == StatusStackBottom:
			verdicts = append(verdicts, Verdict{Stepper: next, Bottom: true})
		case status == StatusSuccess && w.refuse(in, other) == "":
			verdicts = append(verdicts, compare(next, out, other))
		}
	}
}

// compare makes the verdict of stepper s, which found other where the walk accepted f.
func compare(s FrameStepper, f, other *Frame) Verdict {
	v := Verdict{Stepper: s, RA: other.ra, SP: other.sp, Trust: other.trust}
	if other.trust != TrustScan { // a scan only guesses the frame pointer
		v.FP, _, v.HasFP = other.Reg(other.arch().FP)
	}
	fp, _, hasFP := f.Reg(f.arch().FP)
	v.Agrees = v.RA == f.ra && v.SP == f.sp && (!v.HasFP || !hasFP || v.FP == fp)
	return v
}
