package steppers

import (
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxParams limits the bytes of parameters that a record may claim.
const maxParams = 1 << 16

// WinFrameStepper walks 32-bit x86 code of Windows by the frame descriptions of PDBs
// and symbol files: FrameData programs, or FPO data if there are none.
//
// The records give the end of a frame relative to EBP, or to ESP plus the parameters of
// the call in progress. A compiler may have counted those parameters as part of the
// frame; then the stepper searches for the return address, as the records ask for. The
// records say nothing about epilogues, so the stepper follows their code.
type WinFrameStepper struct {
	files    modules.Source
	flows    *flows
	analysis AnalysisStepper
	scratch  sync.Pool // *winStep
}

// NewWinFrameStepper returns the stepper; ErrBadParam without files.
func NewWinFrameStepper(files modules.Source) (*WinFrameStepper, error) {
	if files == nil {
		return nil, fmt.Errorf("stepper by frame data needs files: %w", unwind.ErrBadParam)
	}
	s := &WinFrameStepper{files: files, analysis: AnalysisStepper{m: machineOf(arch.X86)}}
	s.setFlows(&flows{})
	return s, nil
}

func (s *WinFrameStepper) setFlows(fl *flows) { s.flows, s.analysis.flows = fl, fl }

// Name implements unwind.FrameStepper.
func (s *WinFrameStepper) Name() string { return "WinFrame" }

// Priority implements unwind.FrameStepper: before the call frame information of symbol
// files, which for Windows is made from the same records.
func (s *WinFrameStepper) Priority() uint32 { return unwind.PriorityDebugStepper + 2 }

// CallerFrame implements unwind.FrameStepper.
func (s *WinFrameStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	frames, rva := s.framesOf(in)
	if frames == nil {
		return unwind.StatusNotMe
	}
	if f, counts := frames.(interface{ Work() int64 }); counts {
		before := f.Work()
		defer func() { _ = in.Spend(int(f.Work() - before)) }() // a walk that has nothing left ends with its next frame
	}
	w, err := frames.WinFrame(rva)
	if err != nil {
		note(out, err.Error())
		return unwind.StatusNotMe
	}
	if w == nil {
		return unwind.StatusNotMe
	}
	if out.Tracing() {
		out.Notef("frame data at %#x+%d: locals %d, saved registers %d, parameters %d, prologue %d, program %q", w.Start, w.Size, w.Locals, w.SavedRegs, w.Params, w.Prolog, w.Program)
	}
	x, _ := s.scratch.Get().(*winStep)
	if x == nil {
		x = &winStep{s: s}
		x.machine = unwindrules.Machine{WordSize: 4, Read: x.read}
	}
	x.w, x.rva, x.in, x.out, x.ruled = w, rva, in, out, false
	status := unwind.StatusSuccess
	if !x.epilogue() && !(x.inProlog() && x.prologue()) {
		status = x.step()
	}
	x.w, x.in, x.out = nil, nil, nil
	s.scratch.Put(x)
	return status
}

// framesOf returns the frame records of the module that the frame is in, and the
// address to look up in them.
func (s *WinFrameStepper) framesOf(f *unwind.Frame) (image.WinFrames, uint32) {
	lookup := f.LookupAddr()
	lib := libraryAt(f.Walker().ProcessState(), lookup)
	if lib == nil {
		return nil, 0
	}
	return fileOf(s.files, lib).WinFrames(), uint32(lookup - lib.Start)
}

// calleeParams returns how many bytes of parameters the call in progress has on the
// stack.
func (s *WinFrameStepper) calleeParams(in *unwind.Frame) uint32 {
	callee := in.PrevFrame()
	if callee == nil || interrupted(in) {
		return 0
	}
	frames, rva := s.framesOf(callee)
	if frames == nil {
		return 0
	}
	if w, _ := frames.WinFrame(rva); w != nil {
		return min(w.Params, maxParams)
	}
	if p, ok := frames.(interface{ ParamSize(uint32) uint64 }); ok {
		return uint32(min(p.ParamSize(rva), maxParams))
	}
	return 0
}

// A winStep is one step in progress, with buffers for the next to reuse.
type winStep struct {
	s       *WinFrameStepper
	w       *unwindrules.WinFrame
	rva     uint32
	in, out *unwind.Frame
	machine unwindrules.Machine
	ruled   bool // the return address that is graded is the rule's own, not one that was searched for
}

var winRegs = [...]struct {
	reg arch.Reg
	bit unwindrules.WinRegSet
}{{arch.EBP, unwindrules.HasEBP}, {arch.EBX, unwindrules.HasEBX}, {arch.ESI, unwindrules.HasESI}, {arch.EDI, unwindrules.HasEDI}}

func (x *winStep) read(addr uint64) (uint64, error) {
	return x.in.Walker().ProcessState().ReadWord(addr)
}

// call is what is known of the frame.
func (x *winStep) call() unwindrules.WinCall {
	c := unwindrules.WinCall{EIP: uint32(x.in.RA()), ESP: uint32(x.in.SP()), CalleeParams: x.s.calleeParams(x.in)}
	for i, to := range [...]*uint32{&c.EBP, &c.EBX, &c.ESI, &c.EDI} {
		if v, _, ok := x.in.Reg(winRegs[i].reg); ok {
			*to = uint32(v)
			c.Has |= winRegs[i].bit
		}
	}
	return c
}

func (x *winStep) step() unwind.Status {
	c, trust := x.call(), unwind.TrustSymCFI
	if x.w.Searches() {
		var status unwind.Status
		if c, trust, status = x.search(c); status != unwind.StatusSuccess {
			return status
		}
	}
	r, err := x.w.Caller(c, &x.machine)
	if err != nil {
		note(x.out, err.Error())
		return unwind.StatusNotMe
	}
	x.fill(&r)
	x.ruled = !x.w.Searches()
	why := offStack(x.in, x.out)
	switch {
	case why != "":
	case r.EIP.Bits == 0:
		note(x.out, "the return address is zero: the bottom of the stack")
		return unwind.StatusStackBottom
	case x.grade(x.out.RA()) == noReturn:
		why = fmt.Sprintf("%#x is not a return address", x.out.RA())
	}
	if why != "" {
		note(x.out, why)
		return unwind.StatusNotMe
	}
	x.out.SetTrust(trust)
	return unwind.StatusSuccess
}

// fill fills in the caller r.
func (x *winStep) fill(r *unwindrules.WinRegs) {
	x.out.SetPC(r.EIP.Bits, locate(arch.X86, x.in, r.EIP))
	x.out.SetSP(r.ESP.Bits)
	x.out.SetCalleeCFA(r.ESP.Bits)
	for i, v := range [...]*unwindrules.Value{&r.EBP, &r.EBX, &r.ESI, &r.EDI} {
		reg := winRegs[i]
		switch {
		case r.Has&reg.bit == 0:
			x.out.ForgetReg(reg.reg)
		case v.Reg != arch.X86.RegName(reg.reg): // not what it is already
			x.out.SetReg(reg.reg, v.Bits, locate(arch.X86, x.in, *v))
		}
	}
}
