package steppers

import (
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/code/dyninst"
	"github.com/corewalk/corewalk/internal/code/relocated"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// relocatedPlace is the place of a frame in the relocated code of a library.
type relocatedPlace struct {
	lib   *libstate.Library
	code  *dyninst.Code
	addr  uint64 // the frame's lookup address, in the file
	place dyninst.Place
	known bool // whether place is known
}

// relocatedIn finds the frame's place in the relocated code of its library; false if it
// is not in relocated code. lib may be nil.
func relocatedIn(code *relocated.Map, lib *libstate.Library, in *unwind.Frame) (relocatedPlace, bool) {
	r := relocatedPlace{lib: lib}
	if lib == nil || code == nil {
		return r, false
	}
	p := in.Walker().ProcessState()
	r.code = code.Code(lib, p.Arch(), p)
	r.addr = in.LookupAddr() - lib.LoadBias
	if !r.code.Contains(r.addr) {
		return r, false
	}
	r.place, r.known = r.code.Original(r.addr)
	return r, true
}

// DyninstInstrStepper walks through the relocated code of a binary that Dyninst
// rewrote. That code has no call frame information, but at each instruction the stack
// has the same layout as at the original instruction, so the stepper uses the
// original's. The caller is in relocated code again, or in code that was not
// instrumented.
//
// If a thread was interrupted in instrumentation without a frame of its own, the
// stepper undoes the pushes of the instructions before that point.
// DyninstInstFrameStepper handles instrumentation with a frame.
type DyninstInstrStepper struct {
	arch  *arch.Arch
	debug *DebugStepper
	code  *relocated.Map
	// plain is a library that is known not to be rewritten. Nearly all are not, and
	// consecutive frames are often in one library.
	plain atomic.Pointer[libstate.Library]
}

// NewDyninstInstrStepper returns the stepper for an architecture, or ErrBadParam
// without files.
func NewDyninstInstrStepper(a *arch.Arch, files modules.Source) (*DyninstInstrStepper, error) {
	debug, err := NewDebugStepper(a, files)
	if err != nil {
		return nil, err
	}
	return &DyninstInstrStepper{arch: a, debug: debug, code: relocated.New(files)}, nil
}

// Name implements unwind.FrameStepper.
func (s *DyninstInstrStepper) Name() string { return "DyninstInstr" }

// Priority implements unwind.FrameStepper.
func (s *DyninstInstrStepper) Priority() uint32 { return unwind.PriorityDyninstr }

// CallerFrame implements unwind.FrameStepper.
func (s *DyninstInstrStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	lib := libraryAt(in.Walker().ProcessState(), in.LookupAddr())
	if lib == nil || lib == s.plain.Load() {
		return unwind.StatusNotMe
	}
	r, ok := relocatedIn(s.code, lib, in)
	if r.code == nil {
		s.plain.Store(lib)
	}
	switch {
	case !ok:
		return unwind.StatusNotMe
	case !r.known:
		out.Notef("the relocated code at %#x has no known original", r.addr)
		return unwind.StatusNotMe
	case r.place.Tramp:
		return s.fromTramp(&r, in, out)
	}
	out.Notef("relocated from %#x in the original code", r.place.Addr)
	status := s.debug.stepAs(in, out, r.lib, r.place.Addr+r.lib.LoadBias)
	out.SetTrust(unwind.TrustInstrumentation)
	return status
}

// fromTramp steps from instrumentation without a frame to the instruction that it
// precedes.
func (s *DyninstInstrStepper) fromTramp(r *relocatedPlace, in, out *unwind.Frame) unwind.Status {
	if !interrupted(in) || r.place.Addr == 0 {
		return unwind.StatusNotMe
	}
	e, _ := r.code.Effect(r.place, r.addr)
	if !e.HasSP || e.HasFP {
		out.Notef("instrumentation at %#x: the stack pointer before it is not known", r.addr)
		return unwind.StatusNotMe
	}
	out.ForgetRegs()
	keepRegs(&e, in.SP(), in, out)
	out.SetReg(s.arch.PC, r.place.Addr+r.lib.LoadBias, unwind.Location{})
	out.SetSP(in.SP() + uint64(e.SP))
	instrumented(in.SP()+uint64(e.SP), out)
	return unwind.StatusSuccess
}

// keepRegs sets the registers that instrumentation has saved, relative to base, or has
// not changed. PC and SP are the caller's to set.
func keepRegs(e *dyninst.Effect, base arch.Address, in, out *unwind.Frame) {
	p := in.Walker().ProcessState()
	for r := range arch.Reg(p.Arch().NumRegs()) {
		if v, loc, ok := in.Reg(r); ok && !e.Written.Has(r) {
			out.SetReg(r, v, loc)
		}
	}
	for _, saved := range e.Saved {
		at := base + uint64(saved.Off)
		if v, err := p.ReadWord(at); err == nil {
			out.SetReg(saved.Reg, v, unwind.AtAddress(at))
		}
	}
}

// instrumented completes out, the instrumented frame. cfa is the stack pointer where
// the instrumentation began.
func instrumented(cfa arch.Address, out *unwind.Frame) {
	out.SetNonCall(true)
	out.SetCalleeCFA(cfa)
	out.SetTrust(unwind.TrustInstrumentation)
}
