package steppers

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/code/relocated"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An instFrame is how the instrumentation that Dyninst inserts lays out its frame.
// Its frame pointer is below all that it saved.
type instFrame struct {
	// marker is a word above the saved frame pointer, or above the address of the
	// instrumented instruction, which may lie between. The program's stack pointer
	// lies above it. 0 where regs and size tell all.
	marker uint64
	// regs are the program's registers above the stack pointer, the link register
	// among them.
	regs []savedReg
	size uint64 // bytes from the stack pointer to the program's
	back bool   // the program's stack pointer is the word at the stack pointer
	// fpIsSP says that the frame pointer register holds the stack pointer.
	fpIsSP bool
}

// x86InstFrame is x86's, of either word size.
var x86InstFrame = instFrame{marker: 0xBEEFDEAD}

// maxInstFrame bounds the distance from the stack pointer to the frame pointer in
// instrumentation, in words: floating point registers and variables are saved
// between.
const maxInstFrame = 500

// DyninstInstFrameStepper walks through the frame of instrumentation that Dyninst
// inserted, to the instrumented function at the very instruction. It knows the
// frame by the marker in it.
//
// The instrumented instruction must be in the original code of a library, and the
// program's stack pointer on the same stack above the frame. Where the frame does
// not tell the instruction, the place of the instrumentation in its relocated
// function does.
type DyninstInstFrameStepper struct {
	m    *machine
	code *relocated.Map // nil without files
}

// NewDyninstInstFrameStepper returns the stepper for an architecture, or
// ErrUnsupported. files may be nil; then, only instrumentation in anonymous memory is
// recognised, as of a program that was instrumented while it ran.
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
		return unwind.StatusNotMe // this decides nearly always, at little cost
	}
	p := in.Walker().ProcessState()
	r, ok := relocatedIn(s.code, libraryAt(p, in.LookupAddr()), in)
	if !ok && (r.lib != nil || !isCode(p, in.LookupAddr())) {
		return unwind.StatusNotMe // neither rewritten nor inserted
	}
	if r.known && !r.place.Tramp {
		return unwind.StatusNotMe // the program's own code
	}
	f.r = &r
	if s.m.inst.marker == 0 {
		return f.byLayout()
	}
	return f.byMarker()
}

// An instFrameAt is a frame of instrumentation at hand.
type instFrameAt struct {
	m       *machine
	r       *relocatedPlace
	fp      arch.Address // the base of the frame
	in, out *unwind.Frame
}

// word reads word i of the frame; 0 when it cannot be read.
func (f *instFrameAt) word(i uint64) uint64 {
	v, err := f.in.Walker().ProcessState().ReadWord(f.slot(i))
	if err != nil {
		return 0
	}
	return v
}

func (f *instFrameAt) slot(i uint64) arch.Address { return f.fp + i*uint64(f.m.arch.WordSize) }

// marked reports whether there is a marker at the frame pointer.
func (f *instFrameAt) marked() bool {
	word := uint64(f.m.arch.WordSize)
	if f.fp < f.in.SP() || f.fp-f.in.SP() >= maxInstFrame*word || f.fp%word != 0 {
		return false
	}
	return f.word(2) == f.m.inst.marker || f.word(1) == f.m.inst.marker
}

// byMarker steps by the marker: with the address of the instruction below it, or
// without.
func (f *instFrameAt) byMarker() unwind.Status {
	var point arch.Address
	var at unwind.Location
	above := uint64(2)
	switch f.m.inst.marker {
	case f.word(2):
		point, at, above = f.point(f.word(1)), unwind.AtAddress(f.slot(1)), 3
	case f.word(1):
		point = f.ownPoint()
	default:
		return unwind.StatusNotMe
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
	f.out.SetReg(f.m.arch.FP, f.word(0), unwind.AtAddress(f.fp))
	instrumented(sp, f.out)
	return unwind.StatusSuccess
}

// point is the instruction whose link-time address a frame holds; 0 when that is
// none of the original code. Inserted code in no library holds the address as it is.
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

// ownPoint is the instruction that the instrumentation precedes, by its place in
// the relocated function; 0 when that is not known.
func (f *instFrameAt) ownPoint() arch.Address {
	if f.r.place.Addr == 0 {
		return 0
	}
	return f.r.place.Addr + f.r.lib.LoadBias
}

func (f *instFrameAt) onStack(sp arch.Address) bool {
	return sp > f.fp && sp%uint64(f.m.arch.WordSize) == 0 && sp < stackEnd(f.in.Walker().ProcessState(), f.fp)
}

// keepRegs gives out the registers of which it is known what the instrumentation
// has done to them.
func (f *instFrameAt) keepRegs() {
	if f.r.code == nil || !f.r.place.Tramp {
		return
	}
	if e, ok := f.r.code.Effect(f.r.place, f.r.addr); ok && e.HasFP {
		keepRegs(&e, f.fp, f.in, f.out)
	}
}

// byLayout steps where nothing marks the frame: its words must make sense. Where the
// instruction is not known, the link register leads to the function's caller.
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
	if fp, _, ok := f.out.Reg(a.FP); !f.onStack(sp) || !isCode(p, link) || ok && fp != 0 && !f.onStack(fp) {
		return unwind.StatusNotMe
	}
	pc := f.ownPoint()
	f.out.SetSP(sp)
	if pc == 0 {
		f.out.SetReg(a.PC, link, linkAt)
		f.out.SetCalleeCFA(sp)
		f.out.SetTrust(unwind.TrustInstrumentation)
		return unwind.StatusSuccess
	}
	f.out.SetReg(a.PC, pc, unwind.Location{})
	instrumented(sp, f.out)
	return unwind.StatusSuccess
}
