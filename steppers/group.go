package steppers

import (
	"errors"

	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// DefaultGroup returns a group with the steppers for an architecture: ErrUnsupported if
// it has none, ErrBadParam without files. The group keeps what it learns about the
// libraries, so make one for each process.
func DefaultGroup(a *arch.Arch, files modules.Source) (*unwind.AddrRangeGroup, error) {
	m, err := mustKnow(a)
	if err != nil {
		return nil, err
	}
	b := builder{group: unwind.NewAddrRangeGroup(), flows: &flows{files: files}}
	if m.inst != nil {
		b.add(NewDyninstInstFrameStepper(a, files))
		b.add(NewDyninstInstrStepper(a, files))
	}
	if a == arch.ARM {
		b.add(NewExidxStepper(files, false))
		b.add(NewExidxStepper(files, true))
	}
	if a == arch.AMD64 || a == arch.ARM64 {
		b.add(NewPEUnwindStepper(a, files))
	}
	if a == arch.X86 {
		b.add(NewWinFrameStepper(files))
	}
	b.add(NewSymCFIStepper(a, files))
	if a == arch.AMD64 {
		b.add(NewFrameSizeStepper(files))
	}
	b.add(NewBottomOfStackStepper(a))
	b.add(NewSigHandlerStepper(a))
	b.add(NewDebugStepper(a, files))
	if a.Family == arch.FamilyX86 {
		b.add(NewUprobeStepper(a))
	}
	b.add(NewWildPCStepper(a))
	b.add(NewMadeCodeStepper(a))
	b.add(NewFrameFuncStepper(a, nil))
	b.add(NewAnalysisStepper(a, nil))
	b.add(NewStepperWanderer(a, nil))
	return b.group, b.err
}

// A builder adds steppers to a group, as long as all goes well.
type builder struct {
	group *unwind.AddrRangeGroup
	flows *flows
	err   error
}

func (b *builder) add(s unwind.FrameStepper, err error) {
	b.err = errors.Join(b.err, err)
	if b.err != nil {
		return
	}
	if f, ok := s.(follower); ok {
		f.setFlows(b.flows)
	}
	b.err = b.group.RegisterStepper(s)
}

// A follower is a stepper that follows code and shares what it learns with the others
// of its group.
type follower interface{ setFlows(*flows) }

func (s *WildPCStepper) setFlows(fl *flows)    { s.flows = fl }
func (s *MadeCodeStepper) setFlows(fl *flows)  { s.flows = fl }
func (s *FrameFuncStepper) setFlows(fl *flows) { s.flows = fl }
func (s *AnalysisStepper) setFlows(fl *flows)  { s.flows = fl }
func (s *StepperWanderer) setFlows(fl *flows)  { s.flows = fl }
func (s *SymCFIStepper) setFlows(fl *flows)    { s.flows = fl }
