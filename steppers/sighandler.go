package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// SigHandlerStepper steps from the code that returns from a signal handler to the
// interrupted code, with every register that the kernel saved.
//
// It recognises that code by its bytes, whether it is the C library's, Go's, or a
// program's own sa_restorer. If the bytes cannot be read, the symbol __restore_rt is
// enough.
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
	frame, base := s.signalFrame(in)
	if frame == nil {
		return unwind.StatusNotMe
	}
	mem, from := in.Walker().ProcessState(), base
	if frame.via != 0 {
		addr, err := s.m.arch.ReadReg(mem, base+frame.via)
		if err != nil {
			return unwind.StatusNotMe
		}
		from = addr
	}
	out.ForgetRegs()
	keep(in, out, s.m.sigKept)
	keep(in, out, frame.kept)
	for i := range frame.saved {
		saved := &frame.saved[i]
		at := from + saved.addr
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
	if frame.more != nil {
		frame.more(in, out, base)
	}
	if a := s.m.arch; a.Mode != arch.NoReg {
		v, loc, _ := out.Reg(a.ModeFrom)
		out.SetReg(a.Mode, v>>a.ModeBit&1, loc)
	}
	out.SetCalleeCFA(out.SP())
	out.SetNonCall(true)
	out.SetTrust(unwind.TrustSignal)
	if out.Tracing() {
		out.Notef("signal frame at %#x", base)
	}
	return unwind.StatusSuccess
}

// keep copies registers to the caller unchanged.
func keep(in, out *unwind.Frame, regs []arch.Reg) {
	for _, r := range regs {
		if v, loc, ok := in.Reg(r); ok {
			out.SetReg(r, v, loc)
		}
	}
}

// signalFrame returns the layout and the address of the signal frame if the frame is in
// the code that returns from a signal handler; nil otherwise.
func (s *SigHandlerStepper) signalFrame(in *unwind.Frame) (*sigFrame, arch.Address) {
	p, pc := in.Walker().ProcessState(), in.RA()
	unreadable := false
	if g, ok := glanceAt(p, s.m.arch, pc); ok && !interrupted(in) && !s.mayReturnTo(&g) {
		return nil, 0
	}
	for i := range s.m.restorers {
		r := &s.m.restorers[i]
		for _, stop := range r.stops {
			if stop.at != 0 && !interrupted(in) {
				break // a handler returns to its start
			}
			ok, err := r.code.at(p, s.m.arch, pc-stop.at)
			if ok {
				return s.layoutOf(r), in.SP() - stop.popped
			}
			unreadable = unreadable || err != nil
		}
	}
	if unreadable && s.namedRestorer(in) {
		return s.m.sigFrame, in.SP()
	}
	return nil, 0
}

// layoutOf returns the layout of the signal frame for a restorer.
func (s *SigHandlerStepper) layoutOf(r *restorer) *sigFrame {
	if r.frame != nil {
		return r.frame
	}
	return s.m.sigFrame
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

// namedRestorer recognises a restorer by its symbol.
func (s *SigHandlerStepper) namedRestorer(in *unwind.Frame) bool {
	lib, syms := libraryAt(in.Walker().ProcessState(), in.RA()), in.Walker().SymbolReader()
	if lib == nil || syms == nil {
		return false
	}
	sym, ok := syms.SymbolAt(lib, in.RA())
	return ok && sym.Name == "__restore_rt" && (sym.Addr == in.RA() || interrupted(in))
}
