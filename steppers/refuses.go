package steppers

import "github.com/corewalk/corewalk/unwind"

// Walkers ask whether a stepper's refusal holds for all frames at the same place of the code.

// RefusesCode reports whether the code alone says that the frame, which made a call, is no
// bottom.
func (s *BottomOfStackStepper) RefusesCode(in *unwind.Frame) bool { return !interrupted(in) }

// RefusesCode reports whether the code alone says that the frame, which made a call, is not in relocated code.
func (s *DyninstInstrStepper) RefusesCode(in *unwind.Frame) bool {
	_, ok := relocatedIn(s.code, libraryAt(in.Walker().ProcessState(), in.LookupAddr()), in)
	return !ok
}

// RefusesCode reports whether the code alone says that the frame, which made a call, is not that of instrumentation.
func (s *DyninstInstFrameStepper) RefusesCode(in *unwind.Frame) bool {
	_, mayBe := s.placeOf(in)
	return !mayBe
}

// RefusesCode reports whether the code alone says that the frame, which made a call, is not that
// of a signal handler's return.
func (s *SigHandlerStepper) RefusesCode(in *unwind.Frame) bool {
	frame, _ := s.signalFrame(in)
	return frame == nil && !interrupted(in)
}
