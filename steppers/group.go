package steppers

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// DefaultGroup returns a group with the steppers for an architecture: ErrUnsupported if
// it has none, ErrBadParam without files. The group keeps what it learns about the
// libraries, so make one for each process.
func DefaultGroup(a *arch.Arch, files modules.Source) (*unwind.AddrRangeGroup, error) {
	if files == nil {
		return nil, fmt.Errorf("steppers need files: %w", unwind.ErrBadParam)
	}
	g := unwind.NewAddrRangeGroup()
	shared := &flows{files: files}
	if err := addDyninst(g, a, files); err != nil {
		return nil, err
	}
	if err := addExidx(g, a, files); err != nil {
		return nil, err
	}
	if err := addPEUnwind(g, a, files); err != nil {
		return nil, err
	}
	if err := addSymbolFiles(g, a, files, shared); err != nil {
		return nil, err
	}
	for _, newStepper := range []func() (unwind.FrameStepper, error){
		func() (unwind.FrameStepper, error) { return NewBottomOfStackStepper(a) },
		func() (unwind.FrameStepper, error) { return NewSigHandlerStepper(a) },
		func() (unwind.FrameStepper, error) { return NewDebugStepper(a, files) },
		func() (unwind.FrameStepper, error) { return NewWildPCStepper(a) },
		func() (unwind.FrameStepper, error) { return NewFrameFuncStepper(a, nil) },
		func() (unwind.FrameStepper, error) { return NewAnalysisStepper(a, nil) },
		func() (unwind.FrameStepper, error) { return NewStepperWanderer(a, nil) },
	} {
		s, err := newStepper()
		if err != nil {
			return nil, err
		}
		if f, ok := s.(follower); ok {
			f.setFlows(shared)
		}
		if err := g.RegisterStepper(s); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// addExidx adds the steppers that use the exception index, if the architecture has it.
func addExidx(g *unwind.AddrRangeGroup, a *arch.Arch, files modules.Source) error {
	if a != arch.ARM {
		return nil
	}
	for _, interrupted := range []bool{false, true} {
		s, err := NewExidxStepper(files, interrupted)
		if err == nil {
			err = g.RegisterStepper(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addDyninst adds the steppers for instrumented code that the architecture has.
func addDyninst(g *unwind.AddrRangeGroup, a *arch.Arch, files modules.Source) error {
	frame, err := NewDyninstInstFrameStepper(a, files)
	if errors.Is(err, unwind.ErrUnsupported) {
		return nil
	}
	if err == nil {
		err = g.RegisterStepper(frame)
	}
	if err != nil {
		return err
	}
	instr, err := NewDyninstInstrStepper(a, files)
	if err != nil {
		return err
	}
	return g.RegisterStepper(instr)
}

// A follower is a stepper that follows code and shares what it learns with the others
// of its group.
type follower interface{ setFlows(*flows) }

func (s *FrameFuncStepper) setFlows(fl *flows) { s.flows = fl }
func (s *AnalysisStepper) setFlows(fl *flows)  { s.flows = fl }
func (s *StepperWanderer) setFlows(fl *flows)  { s.flows = fl }

// addPEUnwind adds the stepper that uses the unwind tables of PE images, if the
// architecture has them.
func addPEUnwind(g *unwind.AddrRangeGroup, a *arch.Arch, files modules.Source) error {
	if a != arch.AMD64 && a != arch.ARM64 {
		return nil
	}
	s, err := NewPEUnwindStepper(a, files)
	if err != nil {
		return err
	}
	return g.RegisterStepper(s)
}

// addSymbolFiles adds the steppers that use Breakpad symbol files and PDBs.
func addSymbolFiles(g *unwind.AddrRangeGroup, a *arch.Arch, files modules.Source, shared *flows) error {
	if a == arch.X86 {
		s, err := NewWinFrameStepper(files)
		if err == nil {
			s.setFlows(shared)
			err = g.RegisterStepper(s)
		}
		if err != nil {
			return err
		}
	}
	s, err := NewSymCFIStepper(a, files)
	if err != nil {
		return err
	}
	return g.RegisterStepper(s)
}
