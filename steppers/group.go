package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// DefaultGroup returns a group with the steppers that walk an architecture's
// stacks; ErrUnsupported for one that has none. resolve finds the files of
// libraries. The group holds what was learned of the libraries it met, so make
// one for each process.
func DefaultGroup(a *arch.Arch, resolve Resolver) (*unwind.AddrRangeGroup, error) {
	g := unwind.NewAddrRangeGroup()
	for _, make := range []func() (unwind.FrameStepper, error){
		func() (unwind.FrameStepper, error) { return NewBottomOfStackStepper(a) },
		func() (unwind.FrameStepper, error) { return NewSigHandlerStepper(a) },
		func() (unwind.FrameStepper, error) { return NewDebugStepper(a, resolve) },
		func() (unwind.FrameStepper, error) { return NewWildPCStepper(a) },
		func() (unwind.FrameStepper, error) { return NewFrameFuncStepper(a, nil) },
		func() (unwind.FrameStepper, error) { return NewStepperWanderer(a, nil) },
	} {
		s, err := make()
		if err != nil {
			return nil, err
		}
		if err := g.RegisterStepper(s); err != nil {
			return nil, err
		}
	}
	return g, nil
}
