package steppers

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An Instrumentation describes inserted code for DyninstDynamicStepper.
type Instrumentation struct {
	// OrigRA is the program's instruction where the code was inserted, if the inserted
	// code has no frame of its own; otherwise 0.
	OrigRA arch.Address
	// StackHeight is where the program's stack pointer is kept, in bytes above the
	// frame pointer; 0 if it follows the frame's return address.
	StackHeight uint64
	// Aligned says that the code aligned the stack. The stack pointer is then always
	// kept; without a StackHeight its place is not known.
	Aligned bool
	// EntryExit says that the code runs at the entry or the exit of a function, which
	// has no frame there: its return address is on top of the stack.
	EntryExit bool
}

// A DyninstDynamicHelper tells DyninstDynamicStepper about code that a tool inserted
// into a program, in anonymous memory for instance. It must allow concurrent use.
type DyninstDynamicHelper interface {
	// IsInstrumentation describes the inserted code at ra, the address of a frame;
	// false if there is none.
	IsInstrumentation(ra arch.Address) (Instrumentation, bool)
}

// DyninstDynamicStepper walks through code that a tool inserted and that the tool's
// helper describes. The frames hold all that a step must know of the step before: the
// stepper keeps no state, so threads and walks do not disturb each other.
//
// It accepts return addresses in executable memory only. On architectures where calls
// leave the return address in a register, it walks only through code without a frame.
type DyninstDynamicStepper struct {
	arch   *arch.Arch
	helper DyninstDynamicHelper
}

// NewDyninstDynamicStepper returns the stepper for an architecture; ErrBadParam
// without one, or without a helper.
func NewDyninstDynamicStepper(a *arch.Arch, helper DyninstDynamicHelper) (*DyninstDynamicStepper, error) {
	if a == nil || helper == nil {
		return nil, fmt.Errorf("dyninst dynamic stepper needs an architecture and a helper: %w", unwind.ErrBadParam)
	}
	return &DyninstDynamicStepper{a, helper}, nil
}

// Name implements unwind.FrameStepper.
func (s *DyninstDynamicStepper) Name() string { return "DyninstDynamic" }

// Priority implements unwind.FrameStepper.
func (s *DyninstDynamicStepper) Priority() uint32 { return unwind.PriorityDyninstr }

// CallerFrame implements unwind.FrameStepper.
func (s *DyninstDynamicStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	i, ok := s.helper.IsInstrumentation(in.RA())
	switch {
	case ok && i.OrigRA != 0:
		return s.frameless(i.OrigRA, in, out)
	case s.arch.RA != arch.NoReg:
		return unwind.StatusNotMe
	case s.atEntry(in):
		return s.fromEntry(in, out)
	case ok:
		return s.fromFrame(&i, in, out)
	}
	return unwind.StatusNotMe
}

// atEntry reports whether in is a function that the walk has reached from code inserted
// at the function's entry or exit.
func (s *DyninstDynamicStepper) atEntry(in *unwind.Frame) bool {
	if in.Stepper() != unwind.FrameStepper(s) {
		return false
	}
	i, ok := s.helper.IsInstrumentation(in.PrevFrame().RA())
	return ok && i.EntryExit
}

// frameless steps to the instrumented instruction. Nothing has moved.
func (s *DyninstDynamicStepper) frameless(orig arch.Address, in, out *unwind.Frame) unwind.Status {
	if !isCode(in.Walker().ProcessState(), orig) {
		out.Notef("the helper's address %#x is not code", orig)
		return unwind.StatusNotMe
	}
	out.SetReg(s.arch.PC, orig, unwind.Location{})
	out.SetSP(in.SP())
	instrumented(in.SP(), out)
	return unwind.StatusSuccess
}

// fromEntry steps from a function that has not set up its frame, or has already removed
// it.
func (s *DyninstDynamicStepper) fromEntry(in, out *unwind.Frame) unwind.Status {
	ra, ok := s.returnAddress(in.SP(), in, out)
	if !ok {
		return unwind.StatusNotMe
	}
	sp := in.SP() + uint64(s.arch.WordSize)
	out.SetReg(s.arch.PC, ra, unwind.AtAddress(in.SP()))
	out.SetSP(sp)
	out.SetCalleeCFA(sp)
	out.SetTrust(unwind.TrustInstrumentation)
	return unwind.StatusSuccess
}

// fromFrame steps through a frame with a frame pointer.
func (s *DyninstDynamicStepper) fromFrame(i *Instrumentation, in, out *unwind.Frame) unwind.Status {
	p, word := in.Walker().ProcessState(), uint64(s.arch.WordSize)
	fp, _, known := in.Reg(s.arch.FP)
	if !known || fp < in.SP() || fp%word != 0 || fp >= stackEnd(p, in.SP()) || i.Aligned && i.StackHeight == 0 {
		out.Notef("frame pointer %#x is not on the stack above SP %#x", fp, in.SP())
		return unwind.StatusNotMe
	}
	ra, ok := s.returnAddress(fp+word, in, out)
	older, err := p.ReadWord(fp)
	sp, at := fp+2*word, unwind.Location{}
	if i.StackHeight != 0 && err == nil {
		at = unwind.AtAddress(fp + i.StackHeight)
		sp, err = p.ReadWord(at.Addr)
	}
	if !ok || err != nil || sp <= fp || sp > stackEnd(p, in.SP()) {
		out.Notef("no frame of inserted code at %#x", fp)
		return unwind.StatusNotMe
	}
	out.ForgetRegs()
	out.SetReg(s.arch.PC, ra, unwind.AtAddress(fp+word))
	out.SetReg(s.arch.SP, sp, at)
	out.SetReg(s.arch.FP, older, unwind.AtAddress(fp))
	instrumented(sp, out)
	return unwind.StatusSuccess
}

// returnAddress reads the address where control continues; false if that is not code.
func (s *DyninstDynamicStepper) returnAddress(at arch.Address, in, out *unwind.Frame) (arch.Address, bool) {
	p := in.Walker().ProcessState()
	ra, err := p.ReadWord(at)
	if err != nil || !isCode(p, in.Walker().CodeAddress(ra)) {
		out.Notef("no return address at %#x", at)
		return 0, false
	}
	return in.Walker().CodeAddress(ra), true
}
