package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A FrameType says what a function does with the frame pointer register.
type FrameType uint8

const (
	UnknownT        FrameType = iota
	NoFrame                   // leaves it alone
	StandardFrame             // saves it below its return address and points it there
	SaveFPOnlyFrame           // saves it and uses it for something else
)

// String gives StackwalkerAPI's name.
func (t FrameType) String() string {
	return [...]string{"unknown_t", "no_frame", "standard_frame", "savefp_only_frame"}[t&3]
}

// A FrameState says how far a function has set up its frame.
type FrameState uint8

const (
	UnknownS     FrameState = iota
	UnsetFrame              // the frame pointer is the caller's, the return address is at SP
	HalfsetFrame            // the caller's frame pointer has just been pushed
	SetFrame                // the frame pointer is the function's own
)

// String gives StackwalkerAPI's name.
func (s FrameState) String() string {
	return [...]string{"unknown_s", "unset_frame", "halfset_frame", "set_frame"}[s&3]
}

// A FrameFuncHelper tells FrameFuncStepper about the function at an instruction that
// has not run yet or is a call in progress. It must allow concurrent use.
type FrameFuncHelper interface {
	AllocatesFrame(addr arch.Address) (FrameType, FrameState)
}

// FrameFuncStepper walks by frame pointers. The function's code shows whether it has a
// frame, and how far that is set up; if the function cannot be found, the stepper just
// tries the frame pointer.
//
// A return address counts only in executable memory, after a call instruction unless
// the code there is not available (a library whose file is missing), or unless the frame
// is in generated code and a chain of frame pointers confirms it. A frame pointer
// counts only if it is above SP on the same stack. Registers other than PC, SP and FP are
// unknown in the caller, unless the code of a function that is known by its symbol shows
// where they are.
type FrameFuncStepper struct {
	m      *machine
	helper FrameFuncHelper
	flows  *flows
}

// NewFrameFuncStepper returns the stepper for an architecture, or ErrUnsupported.
// Without a helper it reads the function's code.
func NewFrameFuncStepper(a *arch.Arch, helper FrameFuncHelper) (*FrameFuncStepper, error) {
	m, err := mustKnow(a)
	if err != nil {
		return nil, err
	}
	return &FrameFuncStepper{m, helper, &flows{}}, nil
}

// Name implements unwind.FrameStepper.
func (s *FrameFuncStepper) Name() string { return "FrameFunc" }

// Priority implements unwind.FrameStepper.
func (s *FrameFuncStepper) Priority() uint32 { return unwind.PriorityFrame }

// CallerFrame implements unwind.FrameStepper.
func (s *FrameFuncStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if derailed(in) {
		if out.Tracing() {
			out.Notef("%#x is not code: the stack cannot be trusted", in.RA())
		}
		return unwind.StatusNotMe
	}
	if s.m.windows {
		return s.byWindow(in, out)
	}
	pc := instruction(in)
	typ, state := s.classify(in, pc)
	if out.Tracing() {
		out.Notef("the function at %#x: %v, %v", pc, typ, state)
	}
	word := uint64(s.m.arch.RegSize)
	linked := s.m.arch.RA != arch.NoReg
	switch {
	case state == UnsetFrame && !interrupted(in) && (typ == NoFrame || linked):
		return unwind.StatusNotMe // it made a call, and what is below SP is unknown
	case state == UnsetFrame && linked:
		return s.accept(frameAt{linked: true, cfa: in.SP()}, in, out)
	case state == UnsetFrame:
		status := s.accept(frameAt{ra: in.SP(), cfa: in.SP() + word}, in, out)
		if status != unwind.StatusNotMe || typ != UnknownT {
			return status
		}
		// What looked like the end of a function was not one.
	case state == HalfsetFrame && !linked:
		return s.accept(frameAt{ra: in.SP() + word, fp: in.SP(), hasFP: true, cfa: in.SP() + 2*word}, in, out)
	case typ == NoFrame || typ == SaveFPOnlyFrame || state == HalfsetFrame || s.m.chain == nil:
		return unwind.StatusNotMe
	}
	if s.m.chain.back || s.m.chain.save != 0 {
		return s.byStackPointers(pc, in, out)
	}
	if s.unsaved(typ, pc, in) {
		note(out, "the link register points outside the function, whose code is not available")
		return s.accept(frameAt{linked: true, unseen: true, cfa: in.SP()}, in, out)
	}
	return s.byFP(typ, pc, in, out)
}

// farthest is how far a return address in a function can be from the function's code,
// in bytes, for unsaved to accept it.
const farthest = 32 << 10

// unsaved reports whether an interrupted function whose code is not available still has
// its return address in the link register. The register holds either the return address
// or the address where a callee returned into the function itself. If it leads
// elsewhere, it is the return address.
func (s *FrameFuncStepper) unsaved(typ FrameType, pc arch.Address, in *unwind.Frame) bool {
	p := in.Walker().ProcessState()
	if typ != UnknownT || !interrupted(in) || !unreadCode(p, pc) {
		return false
	}
	lr, _, ok := in.Reg(s.m.arch.RA)
	if !ok {
		return false
	}
	ra := codePointer(in.Walker(), lr+s.m.arch.ReturnOffset)
	if !unreadCode(p, ra) {
		if _, ok := callBefore(p, ra); !ok {
			return false
		}
	}
	lib := libraryAt(p, pc)
	return lib != nil && (!lib.Contains(ra) || ra-pc > farthest && pc-ra > farthest)
}

func (s *FrameFuncStepper) classify(in *unwind.Frame, pc arch.Address) (FrameType, FrameState) {
	if s.helper != nil {
		return s.helper.AllocatesFrame(pc)
	}
	return lookupFuncStart{in.Walker(), s.flows}.at(pc, in.LookupAddr(), modeOf(in))
}

// byFP steps if FP is, or may be, the function's own.
func (s *FrameFuncStepper) byFP(typ FrameType, pc arch.Address, in, out *unwind.Frame) unwind.Status {
	p, a, chain := in.Walker().ProcessState(), s.m.arch, s.m.chain
	fp, fpLoc, ok := in.Reg(a.FP)
	word := uint64(a.RegSize)
	if ok && fp == 0 && chain.ends && in.Trust() == unwind.TrustFramePointer && typ == UnknownT {
		note(out, "the frame pointer is zero: the end of the chain")
		return unwind.StatusStackBottom
	}
	if !ok || fp < in.SP() || fp%word != 0 || fp > endOfStack(in)-2*word {
		if out.Tracing() {
			out.Notef("frame pointer %#x is not on the stack above SP %#x", fp, in.SP())
		}
		return unwind.StatusNotMe
	}
	at := frameAt{ra: fp + uint64(chain.ra), fp: fp + uint64(chain.fp), hasFP: true, cfa: fp + uint64(chain.cfa), byFP: true, doubt: fpLoc.Doubtful}
	lib := libraryAt(p, in.LookupAddr())
	windows := lib != nil && isPE(lib)
	if typ == UnknownT {
		raw, err := a.ReadReg(p, at.ra)
		ra := codePointer(in.Walker(), raw)
		caller, err2 := a.ReadReg(p, at.fp)
		at.chained = s.generatedChain(fp, pc, in)
		switch {
		case err != nil:
			note(out, "return address: "+err.Error())
			return unwind.StatusNotMe
		case windows && err2 == nil && raw == 0 && caller == 0:
			note(out, "the frame pointer and the return address are zero: the end of the chain")
			return unwind.StatusStackBottom
		case !at.chained && !s.flows.mayHaveCalled(in.Walker(), ra, pc) && !unreadCode(p, ra):
			if out.Tracing() {
				out.Notef("the call before %#x, at %#x, is to another function", ra, at.ra)
			}
			return unwind.StatusNotMe
		case windows && a == arch.AMD64 && !s.recordAt(caller, fp, in):
			note(out, "the frame pointer does not lead to a second one: compilers for Windows use the register for other things")
			return unwind.StatusNotMe
		}
		at.guessed = !s.flows.hasCalled(in.Walker(), ra, pc)
		if at.guessed && !at.chained && s.calledElsewhere(at.ra, in) {
			note(out, "a call of this code returns to where the stack pointer leads, not the frame pointer")
			return unwind.StatusNotMe
		}
		at.doubt = at.doubt || at.guessed && !at.chained
	}
	if chain.low {
		s.raise(&at, in)
	}
	return s.accept(at, in, out)
}

// recordAt reports whether fp, read from a frame's record at from, is a record further
// up the stack with a code address in it, or ends the chain.
func (s *FrameFuncStepper) recordAt(fp, from arch.Address, in *unwind.Frame) bool {
	p, a, word := in.Walker().ProcessState(), s.m.arch, uint64(s.m.arch.RegSize)
	if fp == 0 {
		return true
	}
	if fp <= from || fp%word != 0 || fp > endOfStack(in)-2*word {
		return false
	}
	ra, err := a.ReadReg(p, fp+uint64(s.m.chain.ra))
	return err == nil && (ra == 0 || isCode(p, codePointer(in.Walker(), ra)-1))
}

// raise corrects the CFA of a frame that may end above its record, if the function's
// code shows where.
func (s *FrameFuncStepper) raise(at *frameAt, in *unwind.Frame) {
	row, _ := s.flows.certain(nil, in.Walker(), in.LookupAddr(), modeOf(in))
	if row == nil {
		return
	}
	if cfa, ok := cfaOf(s.m.arch, &row.CFA, in); ok && cfa >= at.cfa && cfa <= endOfStack(in) {
		at.cfa, at.whole = cfa+uint64(row.CallerSP), true
	}
}

// mayReturnTo reports whether a frame that is known by other means may return to ra
// although no call is seen before it: the code is not available, or ra is the restorer
// to which signal handlers return.
func mayReturnTo(m *machine, p unwind.ProcessState, ra arch.Address) bool {
	if unreadCode(p, ra) {
		return true
	}
	for i := range m.restorers {
		if ok, _ := m.restorers[i].code.at(p, m.arch, ra); ok && isCode(p, ra) {
			return true
		}
	}
	return false
}

// frameAt says where a frame keeps what its caller needs.
type frameAt struct {
	ra, fp, cfa arch.Address
	linked      bool // the return address is still in the link register
	hasFP       bool // otherwise FP is still the caller's
	byFP        bool // the frame pointer leads to the record
	doubt       bool // nothing proves that the record is the frame's, or the frame pointer that leads there is doubtful
	unseen      bool // the function's code is not available
	whole       bool // cfa is the frame's end, even for architectures whose frames may end above it
	// guessed says that the record may be that of another frame further up: the function's
	// code does not show that it keeps one.
	guessed bool
	chained bool // a chain of records confirms it; see generatedChain
}

// returnAddress reads the return address of the frame.
func (s *FrameFuncStepper) returnAddress(at *frameAt, in *unwind.Frame) (uint64, unwind.Location, error) {
	if at.linked {
		v, loc, ok := in.Reg(s.m.arch.RA)
		if !ok {
			return 0, loc, errNoRegister
		}
		return v + s.m.arch.ReturnOffset, loc, nil
	}
	v, err := s.m.arch.ReadReg(in.Walker().ProcessState(), at.ra)
	return v + s.m.arch.ReturnOffset, unwind.AtAddress(at.ra), err
}

// restore fills in the registers of which the function's code shows where it has left or
// saved them. The code must agree on where the frame ends.
func (s *FrameFuncStepper) restore(at *frameAt, in, out *unwind.Frame) {
	row, _ := s.flows.certain(nil, in.Walker(), in.LookupAddr(), modeOf(in))
	if row == nil || s.isGo(in) {
		return
	}
	cfa, ok := cfaOf(s.m.arch, &row.CFA, in)
	if !ok || cfa != at.cfa+s.m.arch.CFAOffset || row.CallerSP != 0 {
		return
	}
	for _, saved := range row.Saved {
		if v, loc, ok := s.m.value(saved.Loc, cfa, in); ok {
			out.SetReg(saved.Reg, v, loc)
		}
	}
}

// isGo reports whether the frame is of a function of Go, whose callees preserve no registers.
func (s *FrameFuncStepper) isGo(in *unwind.Frame) bool {
	im, lib := s.flows.image(in.Walker().ProcessState(), in.LookupAddr())
	if lib == nil { // the process runs another program meanwhile
		return false
	}
	_, ok := im.GoFuncAt(in.LookupAddr() - im.Bias(lib.LoadBias))
	return ok
}

// accept fills in the caller if what at says is plausible.
func (s *FrameFuncStepper) accept(at frameAt, in, out *unwind.Frame) unwind.Status {
	p, a := in.Walker().ProcessState(), s.m.arch
	raw, raLoc, err := s.returnAddress(&at, in)
	if err != nil {
		if out.Tracing() {
			out.Notef("return address: %v", err)
		}
		return unwind.StatusNotMe
	}
	ra := codePointer(in.Walker(), raw)
	if _, ok := callBefore(p, ra); !ok && !at.chained && !s.flows.mayReturn(in.Walker(), ra, false) && !((at.hasFP || at.unseen || s.backChained(&at)) && mayReturnTo(s.m, p, ra)) {
		if out.Tracing() {
			out.Notef("%#x, %s, does not follow a call", ra, raLoc.Describe(a))
		}
		return unwind.StatusNotMe
	}
	fp, fpLoc, hasFP := in.Reg(a.FP)
	if at.hasFP {
		if fp, err = a.ReadReg(p, at.fp); err != nil {
			if out.Tracing() {
				out.Notef("saved frame pointer: %v", err)
			}
			return unwind.StatusNotMe
		}
		fpLoc, hasFP = unwind.AtAddress(at.fp), true
	}
	out.ForgetRegs()
	s.restore(&at, in, out)
	out.SetPC(raw, raLoc)
	out.SetSP(at.cfa)
	if hasFP && !s.backChained(&at) {
		out.SetReg(a.FP, fp, fpLoc)
	}
	if !at.guessed && (s.m.chain == nil || !s.m.chain.low || at.linked || at.whole) {
		out.SetCalleeCFA(at.cfa + a.CFAOffset)
	}
	if at.byFP {
		out.SetDoubtful(at.doubt)
	}
	out.SetTrust(unwind.TrustFramePointer)
	return unwind.StatusSuccess
}
