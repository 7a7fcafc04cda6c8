package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// SigHandlerStepper walks from the code that returns from a signal handler to
// what the signal interrupted, with every register that the kernel saved.
//
// It knows that code by its bytes, whoever's it is (the C library's, Go's, a
// program's own sa_restorer). Where the bytes cannot be read, the symbol
// __restore_rt will do.
type SigHandlerStepper struct {
	m *machine
}

// NewSigHandlerStepper returns the stepper for an architecture, or ErrUnsupported.
func NewSigHandlerStepper(a *arch.Arch) (*SigHandlerStepper, error) {
	m, err := mustKnow(a)
	if err != nil {
		return nil, err
	}
	return &SigHandlerStepper{m}, nil
}

// Name implements unwind.FrameStepper.
func (s *SigHandlerStepper) Name() string { return "SigHandler" }

// Priority implements unwind.FrameStepper.
func (s *SigHandlerStepper) Priority() uint32 { return unwind.PrioritySigHandler }

// CallerFrame implements unwind.FrameStepper.
func (s *SigHandlerStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if !s.inRestorer(in) {
		return unwind.StatusNotMe
	}
	mem, base := in.Walker().ProcessState(), in.SP()
	out.ForgetRegs()
	for i := range s.m.sigContext {
		saved := &s.m.sigContext[i]
		at := base + saved.addr
		v, err := s.m.arch.ReadUint(mem, at, int(saved.size))
		if err != nil {
			if saved.reg != s.m.arch.PC && saved.reg != s.m.arch.SP {
				continue
			}
			if out.Tracing() {
				out.Notef("saved %s of the signal frame at %#x: %v", s.m.arch.RegName(saved.reg), base, err)
			}
			return unwind.StatusNotMe
		}
		if saved.reg == s.m.arch.PC {
			v = in.Walker().CodeAddress(v)
		}
		out.SetReg(saved.reg, v, unwind.AtAddress(at))
	}
	for _, r := range s.m.sigKept {
		if v, loc, ok := in.Reg(r); ok {
			out.SetReg(r, v, loc)
		}
	}
	if a := s.m.arch; a.Mode != arch.NoReg {
		v, loc, _ := out.Reg(a.ModeFrom)
		out.SetReg(a.Mode, v>>a.ModeBit&1, loc)
	}
	out.SetCalleeCFA(out.SP())
	out.SetNonCall(true)
	out.SetTrust(unwind.TrustSignal)
	if out.Tracing() {
		out.Notef("signal frame: struct ucontext at %#x", base)
	}
	return unwind.StatusSuccess
}

// inRestorer reports whether the frame is in the code that returns from a signal
// handler, with SP at what the kernel saved.
func (s *SigHandlerStepper) inRestorer(in *unwind.Frame) bool {
	p, pc := in.Walker().ProcessState(), in.RA()
	unreadable := false
	if g, ok := glanceAt(p, s.m.arch, pc); ok && !interrupted(in) && !s.mayReturnTo(&g) {
		return false
	}
	for i := range s.m.restorers {
		r := &s.m.restorers[i]
		for _, stop := range r.stops {
			if stop != 0 && !interrupted(in) {
				break // a handler returns to its start
			}
			ok, err := r.code.at(p, s.m.arch, pc-stop)
			if ok {
				return true
			}
			unreadable = unreadable || err != nil
		}
	}
	return unreadable && s.namedRestorer(in)
}

// mayReturnTo reports whether code can be a restorer's first instruction.
func (s *SigHandlerStepper) mayReturnTo(g *glance) bool {
	for i := range s.m.restorers {
		if g.mayBe(s.m.restorers[i].code, 0) {
			return true
		}
	}
	return false
}

// namedRestorer is inRestorer by symbol.
func (s *SigHandlerStepper) namedRestorer(in *unwind.Frame) bool {
	lib, syms := libraryAt(in.Walker().ProcessState(), in.RA()), in.Walker().SymbolReader()
	if lib == nil || syms == nil {
		return false
	}
	sym, ok := syms.SymbolAt(lib, in.RA())
	return ok && sym.Name == "__restore_rt" && (sym.Addr == in.RA() || interrupted(in))
}
