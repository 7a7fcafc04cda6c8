package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// PriorityWildPC is the priority of WildPCStepper: before every stepper that assumes
// that the frame is in a function.
const PriorityWildPC = unwind.PriorityFrame - 8

// WildPCStepper steps from a pc that is not in executable memory: the program called
// through a null or wild pointer, or a call that the kernel carries out (arch.Vsyscall). No instruction ran there, so the return address is
// where the call left it, and every register is the caller's.
//
// It requires a call before the return address; where the code is not available, a symbol
// file that has the return address inside of a function. It accepts only a pc that the
// processor really reached: a thread's own, or one that a signal interrupted.
type WildPCStepper struct {
	arch  *arch.Arch
	flows *flows // nil outside of a group: no symbol file is asked
}

// NewWildPCStepper returns the stepper for an architecture, or ErrUnsupported.
func NewWildPCStepper(a *arch.Arch) (*WildPCStepper, error) {
	if _, err := mustKnow(a); err != nil {
		return nil, err
	}
	return &WildPCStepper{arch: a}, nil
}

// Name implements unwind.FrameStepper.
func (s *WildPCStepper) Name() string { return "WildPC" }

// Priority implements unwind.FrameStepper.
func (s *WildPCStepper) Priority() uint32 { return PriorityWildPC }

// CallerFrame implements unwind.FrameStepper.
func (s *WildPCStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	p := in.Walker().ProcessState()
	if !interrupted(in) {
		return unwind.StatusNotMe
	}
	if _, kernels := s.arch.Vsyscall(in.RA()); isCode(p, in.RA()) && !kernels {
		return unwind.StatusNotMe
	}
	ra, loc, err := leftByCall(s.arch, in)
	if err != nil {
		if out.Tracing() {
			out.Notef("return address: %v", err)
		}
		return unwind.StatusNotMe
	}
	caller := codePointer(in.Walker(), ra)
	_, called := callBefore(p, caller)
	if !called && !s.flows.insideFunction(p, caller) {
		if out.Tracing() {
			out.Notef("%#x is not code, and %#x (%s) does not follow a call", in.RA(), ra, loc.Describe(s.arch))
		}
		return unwind.StatusNotMe
	}
	sp := in.SP()
	if s.arch.RA == arch.NoReg {
		sp += uint64(s.arch.RegSize)
	}
	out.SetPC(ra, loc)
	out.SetSP(sp)
	out.SetCalleeCFA(sp)
	out.SetTrust(unwind.TrustWildPC)
	if out.Tracing() {
		out.Notef("%#x is not code: called through a bad pointer", in.RA())
		if !called {
			out.Notef("the call before %#x cannot be seen: the code is not available, but a symbol file has a function there", ra)
		}
	}
	return unwind.StatusSuccess
}

// leftByCall returns the return address that a call has just left: in the link register,
// or at the top of the stack.
func leftByCall(a *arch.Arch, in *unwind.Frame) (uint64, unwind.Location, error) {
	if a.RA != arch.NoReg {
		if v, loc, ok := in.Reg(a.RA); ok {
			return v, loc, nil
		}
		return 0, unwind.Location{}, errNoRegister
	}
	v, err := a.ReadReg(in.Walker().ProcessState(), in.SP())
	return v, unwind.AtAddress(in.SP()), err
}
