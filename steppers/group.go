package steppers

import (
	"errors"

	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A GroupOption adds to the default steppers.
type GroupOption func(*groupOptions)

type groupOptions struct {
	rewritten Rewritten
	pe        PEResolver
	symbols   SymbolResolver
	winFrames WinFramesResolver
}

// WithRewritten tells of libraries that Dyninst rewrote, so that their relocated
// code is walked through.
func WithRewritten(code Rewritten) GroupOption {
	return func(o *groupOptions) { o.rewritten = code }
}

// WithPEUnwind tells of libraries that are PE images, so that they are walked by
// their own unwind tables. Architectures without such tables ignore it.
func WithPEUnwind(resolve PEResolver) GroupOption {
	return func(o *groupOptions) { o.pe = resolve }
}

// A SymbolResolver returns the Breakpad symbol file of a library; nil where there is
// none. It must allow concurrent use.
type SymbolResolver func(lib *libstate.Library) *breakpad.File

// WithSymbolCFI tells of libraries that have a Breakpad symbol file, so that they are
// walked by its STACK CFI records. These are of every architecture.
func WithSymbolCFI(resolve SymbolResolver) GroupOption {
	return func(o *groupOptions) { o.symbols = resolve }
}

// WinFrames tells how 32-bit x86 code of Windows uses its frames: a *pdb.File does, and
// SymbolWinFrames of a Breakpad symbol file. rva is an offset from the module's base.
// Nothing known is nil without an error. It must allow concurrent use.
type WinFrames interface {
	WinFrame(rva uint32) (*unwindrules.WinFrame, error)
}

// A WinFramesResolver returns what tells of a library's frames; nil, and not an interface
// with a nil pointer in it, where nothing does. It must allow concurrent use.
type WinFramesResolver func(lib *libstate.Library) WinFrames

// WithWinFrames tells of libraries whose frames a PDB or a symbol file describes.
// Architectures other than x86 ignore it.
func WithWinFrames(resolve WinFramesResolver) GroupOption {
	return func(o *groupOptions) { o.winFrames = resolve }
}

// DefaultGroup returns a group with the steppers that walk an architecture's
// stacks; ErrUnsupported for one that has none. resolve finds the files of
// libraries. The group holds what was learned of the libraries it met, so make
// one for each process.
func DefaultGroup(a *arch.Arch, resolve Resolver, opts ...GroupOption) (*unwind.AddrRangeGroup, error) {
	var o groupOptions
	for _, opt := range opts {
		opt(&o)
	}
	g := unwind.NewAddrRangeGroup()
	shared := &flows{resolve: resolve, symbols: o.symbols, pe: o.pe}
	if err := addDyninst(g, a, resolve, o.rewritten); err != nil {
		return nil, err
	}
	if err := addExidx(g, a, resolve); err != nil {
		return nil, err
	}
	if err := addPEUnwind(g, a, o.pe); err != nil {
		return nil, err
	}
	if err := addSymbolFiles(g, a, &o, shared); err != nil {
		return nil, err
	}
	for _, make := range []func() (unwind.FrameStepper, error){
		func() (unwind.FrameStepper, error) { return NewBottomOfStackStepper(a) },
		func() (unwind.FrameStepper, error) { return NewSigHandlerStepper(a) },
		func() (unwind.FrameStepper, error) { return NewDebugStepper(a, resolve) },
		func() (unwind.FrameStepper, error) { return NewWildPCStepper(a) },
		func() (unwind.FrameStepper, error) { return NewFrameFuncStepper(a, nil) },
		func() (unwind.FrameStepper, error) { return NewAnalysisStepper(a, nil) },
		func() (unwind.FrameStepper, error) { return NewStepperWanderer(a, nil) },
	} {
		s, err := make()
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

// addExidx adds the steppers by the exception index, where the architecture has
// it.
func addExidx(g *unwind.AddrRangeGroup, a *arch.Arch, resolve Resolver) error {
	if a != arch.ARM {
		return nil
	}
	for _, interrupted := range []bool{false, true} {
		s, err := NewExidxStepper(resolve, interrupted)
		if err == nil {
			err = g.RegisterStepper(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addDyninst adds the steppers for instrumented code, as far as the architecture has
// them.
func addDyninst(g *unwind.AddrRangeGroup, a *arch.Arch, resolve Resolver, code Rewritten) error {
	frame, err := NewDyninstInstFrameStepper(a, code)
	if errors.Is(err, unwind.ErrUnsupported) {
		return nil
	}
	if err == nil {
		err = g.RegisterStepper(frame)
	}
	if err != nil || code == nil {
		return err
	}
	instr, err := NewDyninstInstrStepper(a, resolve, code)
	if err != nil {
		return err
	}
	return g.RegisterStepper(instr)
}

// A follower is a stepper that follows code, and shares what it learns with the
// others of its group.
type follower interface{ setFlows(*flows) }

func (s *FrameFuncStepper) setFlows(fl *flows) { s.flows = fl }
func (s *AnalysisStepper) setFlows(fl *flows)  { s.flows = fl }
func (s *StepperWanderer) setFlows(fl *flows)  { s.flows = fl }

// addPEUnwind adds the stepper by PE images' unwind tables, where there are any.
func addPEUnwind(g *unwind.AddrRangeGroup, a *arch.Arch, resolve PEResolver) error {
	if resolve == nil || a != arch.AMD64 && a != arch.ARM64 {
		return nil
	}
	s, err := NewPEUnwindStepper(a, resolve)
	if err != nil {
		return err
	}
	return g.RegisterStepper(s)
}

// addSymbolFiles adds the steppers by Breakpad's symbol files and by PDBs.
func addSymbolFiles(g *unwind.AddrRangeGroup, a *arch.Arch, o *groupOptions, shared *flows) error {
	if o.winFrames != nil && a == arch.X86 {
		s, err := NewWinFrameStepper(o.winFrames)
		if err == nil {
			s.setFlows(shared)
			err = g.RegisterStepper(s)
		}
		if err != nil {
			return err
		}
	}
	if o.symbols == nil {
		return nil
	}
	s, err := NewSymCFIStepper(a, o.symbols)
	if err != nil {
		return err
	}
	return g.RegisterStepper(s)
}
