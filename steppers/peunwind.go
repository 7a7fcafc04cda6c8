package steppers

import (
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// PEUnwindStepper walks x64 and arm64 code of Windows by the unwind tables of the
// images (.pdata, .xdata), which are exact at every instruction, and by those that were
// registered for code made at run time (FunctionTabler). A return address of zero is the
// bottom of the stack.
type PEUnwindStepper struct {
	arch    *arch.Arch
	files   modules.Source
	scratch sync.Pool // *winunwind.Frame
}

// NewPEUnwindStepper returns the stepper for an architecture: ErrBadParam without
// files, or for an architecture that has no such tables.
func NewPEUnwindStepper(a *arch.Arch, files modules.Source) (*PEUnwindStepper, error) {
	if files == nil || a != arch.AMD64 && a != arch.ARM64 {
		return nil, fmt.Errorf("PE unwind stepper needs files, and x86-64 or aarch64: %w", unwind.ErrBadParam)
	}
	return &PEUnwindStepper{arch: a, files: files}, nil
}

// Name implements unwind.FrameStepper.
func (s *PEUnwindStepper) Name() string { return "PEUnwind" }

// Priority implements unwind.FrameStepper: right after DebugStepper, because images of
// MinGW may have both.
func (s *PEUnwindStepper) Priority() uint32 { return unwind.PriorityDebugStepper + 2 }

// CallerFrame implements unwind.FrameStepper.
func (s *PEUnwindStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if lib := libraryAt(in.Walker().ProcessState(), in.LookupAddr()); lib != nil {
		if table := fileOf(s.files, lib).PEUnwind(); table != nil {
			return s.byImage(table, lib, in, out)
		}
	}
	return s.byRegistered(in, out)
}

// byImage finds the caller by the table of a library's image.
func (s *PEUnwindStepper) byImage(table *winunwind.Table, lib *libstate.Library, in, out *unwind.Frame) unwind.Status {
	f, stopped := s.frame(in)
	defer s.scratch.Put(f)
	if err := table.Step(f, in.Walker().ProcessState(), lib.Start, stopped); err != nil {
		if out.Tracing() {
			out.Notef("%s: %v", lib.Path, err)
		}
		return unwind.StatusNotMe
	}
	if _, described := table.Find(uint32(in.LookupAddr() - lib.Start)); !described && !s.leaf(f, in, out) {
		return unwind.StatusNotMe
	}
	return s.restore(f, in, out)
}

// frame copies the registers of in. stopped says that its pc is where it was interrupted,
// not a return address.
func (s *PEUnwindStepper) frame(in *unwind.Frame) (f *winunwind.Frame, stopped bool) {
	f, _ = s.scratch.Get().(*winunwind.Frame)
	if f == nil {
		f = &winunwind.Frame{}
	}
	f.Regs.Valid = 0
	for r := range arch.Reg(s.arch.NumRegs()) {
		if v, _, ok := in.Reg(r); ok {
			f.Regs.Set(r, v)
		}
	}
	at, stopped := in.RA(), in.LookupAddr() == in.RA()
	if in.IsTopFrame() { // the frame is behind a breakpoint, which changed nothing
		at, stopped = in.LookupAddr(), true
	}
	f.Regs.Set(s.arch.PC, at)
	return f, stopped
}

// leaf reports whether a function that no table describes, and whose caller is f, is a
// leaf. By convention such a function does not change the stack pointer, but assembly
// sometimes does: libgcc's ___chkstk_ms, in which programs of MinGW exhaust their
// stacks, pushes two registers.
func (s *PEUnwindStepper) leaf(f *winunwind.Frame, in, out *unwind.Frame) bool {
	p := in.Walker().ProcessState()
	pc, _ := f.Regs.Get(s.arch.PC)
	ra := codePointer(in.Walker(), pc)
	if _, ok := callBefore(p, ra); ok || unreadCode(p, ra) {
		return true
	}
	if out.Tracing() {
		out.Notef("no table describes %#x, and %#x does not follow a call", in.RA(), pc)
	}
	return false
}

// restore copies the caller f to out.
func (s *PEUnwindStepper) restore(f *winunwind.Frame, in, out *unwind.Frame) unwind.Status {
	pc, _ := f.Regs.Get(s.arch.PC)
	if pc == 0 {
		return unwind.StatusStackBottom
	}
	own := arch.Mask(s.arch.PC, s.arch.SP)
	for m := f.Saved &^ own; m != 0; m &= m - 1 {
		r := m.First()
		if v, ok := f.Regs.Get(r); ok {
			out.SetReg(r, v, unwind.AtAddress(f.At[r]))
		}
	}
	// Registers that calls preserve only on Windows.
	for m := f.Regs.Valid &^ f.Saved &^ s.arch.CalleeSaved &^ own; m != 0; m &= m - 1 {
		if v, l, ok := in.Reg(m.First()); ok {
			out.SetReg(m.First(), v, l)
		}
	}
	var at unwind.Location
	if f.Saved.Has(s.arch.PC) {
		at = unwind.AtAddress(f.At[s.arch.PC])
	} else {
		_, at, _ = in.Reg(s.arch.RA)
	}
	out.SetPC(pc, at)
	out.SetSP(f.CFA)
	out.SetCalleeCFA(f.CFA)
	out.SetNonCall(f.Interrupted)
	out.SetTrust(unwind.TrustPEUnwind)
	return unwind.StatusSuccess
}
