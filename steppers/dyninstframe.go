package steppers

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/code/relocated"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An instFrame is the layout of the frame of Dyninst's instrumentation. Its frame
// pointer is below everything that it saved.
type instFrame struct {
	// marker is a word above the saved frame pointer, or above the address of the
	// instrumented instruction, which may lie between them. The program's stack pointer
	// lies above it. 0 if regs and size are enough.
	marker uint64
	// regs are the program's registers above the stack pointer, including the link
	// register.
	regs []savedReg
	size uint64 // bytes from the stack pointer to the program's
	back bool   // the program's stack pointer is the word at the stack pointer
	// fpIsSP says that the frame pointer register holds the stack pointer.
	fpIsSP bool
}

// x86InstFrame is the layout on x86 of both word sizes.
var x86InstFrame = instFrame{marker: 0xBEEFDEAD}

// maxInstFrame limits the distance from the stack pointer to the frame pointer in
// instrumentation, in words. Floating-point registers and variables are saved between
// them.
const maxInstFrame = 500

// DyninstInstFrameStepper steps from the frame of instrumentation that Dyninst inserted
// to the instrumented function, at the very instruction. It recognises the frame by the
// marker in it.
//
// The instrumented instruction must be in the original code of a library, and the
// program's stack pointer on the same stack above the frame. If the frame does not hold
// the instruction's address, the stepper gets it from the place of the instrumentation
// in its relocated function.
type DyninstInstFrameStepper struct {
	m    *machine
	code *relocated.Map // nil without files
}

// NewDyninstInstFrameStepper returns the stepper for an architecture, or
// ErrUnsupported. files may be nil; then the stepper recognises only instrumentation in
// anonymous memory, which Dyninst inserts into a running program.
func NewDyninstInstFrameStepper(a *arch.Arch, files modules.Source) (*DyninstInstFrameStepper, error) {
	m, err := mustKnow(a)
	if err != nil {
		return nil, err
	}
	if m.inst == nil {
		return nil, fmt.Errorf("instrumentation frames of %s: %w", a.Name, unwind.ErrUnsupported)
	}
	s := &DyninstInstFrameStepper{m: m}
	if files != nil {
		s.code = relocated.New(files)
	}
	return s, nil
}

// Name implements unwind.FrameStepper.
func (s *DyninstInstFrameStepper) Name() string { return "DyninstInstFrame" }

// Priority implements unwind.FrameStepper.
func (s *DyninstInstFrameStepper) Priority() uint32 { return unwind.PriorityDyninstr }

// CallerFrame implements unwind.FrameStepper.
func (s *DyninstInstFrameStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	f := instFrameAt{m: s.m, in: in, out: out, fp: in.FP()}
	if s.m.inst.marker == 0 {
		f.fp = in.SP()
		if s.m.inst.fpIsSP && in.FP() != in.SP() {
			return unwind.StatusNotMe
		}
	} else if !f.marked() {
		return unwind.StatusNotMe // nearly always decides, and is cheap
	}
	r, mayBe := s.placeOf(in)
	if !mayBe {
		return unwind.StatusNotMe
	}
	f.r = &r
	if s.m.inst.marker == 0 {
		return f.byLayout()
	}
	return f.byMarker()
}

// placeOf returns the place of a frame in relocated code; false if there is no instrumentation there: the code was neither
// rewritten nor inserted, or is the program's own.
func (s *DyninstInstFrameStepper) placeOf(in *unwind.Frame) (relocatedPlace, bool) {
	p := in.Walker().ProcessState()
	r, ok := relocatedIn(s.code, libraryAt(p, in.LookupAddr()), in)
	if !ok && (r.lib != nil || !isCode(p, in.LookupAddr())) {
		return r, false
	}
	return r, !r.known || r.place.Tramp
}

// An instFrameAt is a frame of instrumentation under examination.
type instFrameAt struct {
	m       *machine
	r       *relocatedPlace
	fp      arch.Address // the base of the frame
	in, out *unwind.Frame
}

// word reads word i of the frame; 0 if it cannot be read.
func (f *instFrameAt) word(i uint64) uint64 {
	return procmem.Of(f.in.Walker().ProcessState()).Word(f.slot(i))
}

func (f *instFrameAt) slot(i uint64) arch.Address { return f.fp + i*uint64(f.m.arch.WordSize) }

// marked reports whether a marker is at the frame pointer.
func (f *instFrameAt) marked() bool {
	word := uint64(f.m.arch.WordSize)
	if f.fp-f.in.SP() >= maxInstFrame*word || f.fp%word != 0 {
		return false
	}
	return f.word(2) == f.m.inst.marker || f.word(1) == f.m.inst.marker
}

// byMarker steps by the marker. The address of the instruction may be below it.
func (f *instFrameAt) byMarker() unwind.Status {
	var point arch.Address
	var at unwind.Location
	above := uint64(2)
	switch f.m.inst.marker {
	case f.word(2):
		point, at, above = f.point(f.word(1)), unwind.AtAddress(f.slot(1)), 3
	case f.word(1):
		point = f.ownPoint()
	}
	sp := f.word(above)
	if point == 0 || !f.onStack(sp) {
		f.out.Notef("marker frame at %#x: instruction %#x, stack pointer %#x", f.fp, f.word(1), sp)
		return unwind.StatusNotMe
	}
	f.out.Notef("marker frame of instrumentation at %#x", f.fp)
	f.out.ForgetRegs()
	f.keepRegs()
	f.out.SetReg(f.m.arch.PC, point, at)
	f.out.SetReg(f.m.arch.SP, sp, unwind.AtAddress(f.slot(above)))
	if fp, err := f.in.Walker().ProcessState().ReadWord(f.fp); err == nil {
		f.out.SetReg(f.m.arch.FP, fp, unwind.AtAddress(f.fp))
	} else {
		f.out.ForgetReg(f.m.arch.FP)
	}
	instrumented(sp, f.out)
	return unwind.StatusSuccess
}

// point returns the instruction whose link-time address a frame holds; 0 if that is not
// in original code. Inserted code outside of libraries holds the process's address.
func (f *instFrameAt) point(v uint64) arch.Address {
	p := f.in.Walker().ProcessState()
	if f.r.lib != nil {
		v = f.m.arch.Truncate(v + f.r.lib.LoadBias)
		if f.r.code.Contains(v - f.r.lib.LoadBias) {
			return 0
		}
	}
	if lib := libraryAt(p, v); lib == nil || f.r.lib != nil && lib != f.r.lib || !isCode(p, v) {
		return 0
	}
	return v
}

// ownPoint returns the instruction that the instrumentation precedes, by its place in
// the relocated function; 0 if not known.
func (f *instFrameAt) ownPoint() arch.Address {
	if f.r.place.Addr == 0 {
		return 0
	}
	return f.r.place.Addr + f.r.lib.LoadBias
}

func (f *instFrameAt) onStack(sp arch.Address) bool {
	return sp > f.fp && sp%uint64(f.m.arch.WordSize) == 0 && sp < stackEnd(f.in.Walker().ProcessState(), f.fp)
}

// keepRegs sets the registers whose treatment by the instrumentation is known.
func (f *instFrameAt) keepRegs() {
	if e, _ := f.r.code.Effect(f.r.place, f.r.addr); e.HasFP {
		keepRegs(&e, f.fp, f.in, f.out)
	}
}

// byLayout steps from a frame without a marker, so its words must be plausible. The
// instrumented instruction is not known (package dyninst maps only code of x86), so the
// step goes to the function's caller, by the link register.
func (f *instFrameAt) byLayout() unwind.Status {
	p, a, l := f.in.Walker().ProcessState(), f.m.arch, f.m.inst
	sp := f.fp + l.size
	if l.back {
		sp = f.word(0)
	}
	f.out.ForgetRegs()
	var link uint64
	var linkAt unwind.Location
	for i := range l.regs {
		saved := &l.regs[i]
		at := f.fp + saved.addr
		v, err := p.ReadWord(at)
		if err != nil {
			return unwind.StatusNotMe
		}
		f.out.SetReg(saved.reg, v, unwind.AtAddress(at))
		if saved.reg == a.RA {
			link, linkAt = f.in.Walker().CodeAddress(v), unwind.AtAddress(at)
		}
	}
	if fp, _, _ := f.out.Reg(a.FP); !f.onStack(sp) || !isCode(p, link) || fp != 0 && !f.onStack(fp) {
		return unwind.StatusNotMe
	}
	f.out.SetReg(a.PC, link, linkAt)
	f.out.SetSP(sp)
	f.out.SetCalleeCFA(sp)
	f.out.SetTrust(unwind.TrustInstrumentation)
	return unwind.StatusSuccess
}
