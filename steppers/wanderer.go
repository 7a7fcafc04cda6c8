package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A WandererHelper tells StepperWanderer about calls. It must allow concurrent
// use.
type WandererHelper interface {
	// IsPrevInstrACall reports whether the instruction before addr is a call, and
	// its target; 0 for an indirect one.
	IsPrevInstrACall(addr arch.Address) (target arch.Address, ok bool)
	// IsPCInFunc says whether pc is in the function that begins at entry.
	IsPCInFunc(entry, pc arch.Address) PCState
	// RequireExactMatch says that a return address counts only if IsPCInFunc returns
	// InFunc.
	RequireExactMatch() bool
}

const (
	// scanWords is how far the stack is scanned for one frame, in words.
	scanWords = 256
	// scanWordsTop is the limit for a frame of unknown size, because it was interrupted
	// anywhere in its function.
	scanWordsTop = 1024
	// guessWords and guessWordsTop are the limits if there is no code to show calls:
	// there, any word that is an address in a module counts.
	guessWords    = 40
	guessWordsTop = 160
	// wordCost is what looking at a word costs of the walk's budget, and codeCost what
	// reading the code before it costs.
	wordCost = 2
	codeCost = 24
)

// StepperWanderer is the last resort: it scans up the stack for the first word that is
// a return address. It prefers the return address of a call whose target is the frame's
// function. Without one, it takes the first call that may have led there.
//
// What it fills in is doubtful, except a return address and the stack pointer behind it if no other one that the scan could
// have reached follows a call of the function. The frame pointer stays doubtful then: nothing shows whether the function
// has saved it, or where.
//
// It stays in the stack's mapping. It does not scan for a frame whose own address is
// not code, unless the processor got there.
type StepperWanderer struct {
	m      *machine
	helper WandererHelper
	flows  *flows
}

// NewStepperWanderer returns the stepper for an architecture, or ErrUnsupported.
// Without a helper it uses a CallChecker.
func NewStepperWanderer(a *arch.Arch, helper WandererHelper) (*StepperWanderer, error) {
	m, err := mustKnow(a)
	if err != nil {
		return nil, err
	}
	return &StepperWanderer{m, helper, &flows{}}, nil
}

// Name implements unwind.FrameStepper.
func (s *StepperWanderer) Name() string { return "Wanderer" }

// Priority implements unwind.FrameStepper.
func (s *StepperWanderer) Priority() uint32 { return unwind.PriorityWanderer }

// CallChecker is the default WandererHelper: it reads code and symbols, and accepts
// indirect calls.
type CallChecker struct {
	w     *unwind.Walker
	flows *flows
}

// NewCallChecker returns the helper for a walker's process.
func NewCallChecker(w *unwind.Walker) CallChecker { return CallChecker{w, &flows{}} }

// IsPrevInstrACall implements WandererHelper; addr must be in executable memory.
func (c CallChecker) IsPrevInstrACall(addr arch.Address) (arch.Address, bool) {
	site, ok := callBefore(c.w.ProcessState(), addr)
	return site.Target, ok
}

// IsPCInFunc implements WandererHelper. A linkage stub or a tail call counts as the
// function that it leads to.
func (c CallChecker) IsPCInFunc(entry, pc arch.Address) PCState {
	return c.flows.pcInFunc(c.w, entry, pc)
}

// RequireExactMatch implements WandererHelper.
func (c CallChecker) RequireExactMatch() bool { return false }

// CallerFrame implements unwind.FrameStepper.
func (s *StepperWanderer) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if in.Walker().ProcessState().Arch().StackGrowsUp {
		return unwind.StatusNotMe // nothing above SP is live
	}
	if derailed(in) {
		if out.Tracing() {
			out.Notef("%#x is not code: the stack cannot be trusted", in.RA())
		}
		return unwind.StatusNotMe
	}
	helper := s.helper
	if helper == nil {
		helper = CallChecker{in.Walker(), s.flows}
	}
	ra, exact := s.linked(helper, in)
	if exact {
		return s.fillLinked(ra, in, out)
	}
	slot, ra, exact, only := s.scan(helper, in)
	if ra == 0 && s.atBase(in) {
		note(out, "no return address up to the base of the thread's stack")
		return unwind.StatusStackBottom
	}
	if ra == 0 {
		if out.Tracing() {
			out.Notef("no return address on the stack from %#x on", in.SP())
		}
		return unwind.StatusNotMe
	}
	if out.Tracing() {
		out.Notef("return address %#x found at %#x; calls this function: %v", ra, slot, exact)
	}
	s.fill(slot, ra, exact, in, out)
	out.SetDoubtful(!only || spDoubtful(in))
	return unwind.StatusSuccess
}

// atBase reports whether a frame that made a call is so near the base of its thread's
// stack that a scan has seen the whole rest.
func (s *StepperWanderer) atBase(in *unwind.Frame) bool {
	base, ok := stackBase(in)
	return ok && !interrupted(in) && base-in.SP() <= guessWords*uint64(s.m.arch.RegSize)
}

// linked returns the return address in the link register of an interrupted frame, if
// the call before it calls the frame's function. In a function that has already called
// others, the register holds the address after its last call.
func (s *StepperWanderer) linked(helper WandererHelper, in *unwind.Frame) (ra arch.Address, exact bool) {
	if s.m.arch.RA == arch.NoReg || !interrupted(in) {
		return 0, false
	}
	v, _, ok := in.Reg(s.m.arch.RA)
	ra = codePointer(in.Walker(), v+s.m.arch.ReturnOffset)
	if !ok || !isCode(in.Walker().ProcessState(), ra-1) {
		return 0, false
	}
	target, ok := helper.IsPrevInstrACall(ra)
	return ra, ok && helper.IsPCInFunc(target, instruction(in)) == InFunc
}

// fillLinked fills in the frame to which ra, in the link register, returns. How much
// stack the function has taken is not known; none is a likely guess if nothing else is
// known.
func (s *StepperWanderer) fillLinked(ra arch.Address, in, out *unwind.Frame) unwind.Status {
	_, loc, _ := in.Reg(s.m.arch.RA)
	fp, fpLoc, hasFP := in.Reg(s.m.arch.FP)
	out.ForgetRegs()
	out.SetPC(ra, loc)
	out.SetReg(s.m.arch.SP, in.SP(), unwind.Location{Doubtful: true})
	if hasFP {
		fpLoc.Doubtful = true
		out.SetReg(s.m.arch.FP, fp, fpLoc)
	}
	out.SetDoubtful(loc.Doubtful)
	out.SetTrust(unwind.TrustScan)
	if out.Tracing() {
		out.Notef("return address %#x in %s calls this function", ra, s.m.arch.RegName(s.m.arch.RA))
	}
	return unwind.StatusSuccess
}

// scan looks for a return address; ra is 0 when there is none. If the call before it calls the frame's function (exact),
// only says that no other such return address is in reach: an old one may be left in what the frame has not used yet.
func (s *StepperWanderer) scan(helper WandererHelper, in *unwind.Frame) (slot, ra arch.Address, exact, only bool) {
	p, word := in.Walker().ProcessState(), uint64(s.m.arch.RegSize)
	sp := (in.SP() + word - 1) &^ (word - 1)
	if c := s.m.chain; c != nil && c.back && !interrupted(in) {
		sp += uint64(c.ra) + word // where the callee saved the return address
	}
	words, guesses := uint64(scanWords), sp+guessWords*word
	if in.Trust() != unwind.TrustScan && in.Trust() != unwind.TrustFramePointer {
		guesses = sp + guessWordsTop*word
	}
	if interrupted(in) {
		words = scanWordsTop
	}
	end := min(endOfStack(in), sp+words*word)
	pc := instruction(in)
	for at := sp; at+word <= end && at >= sp && in.Spend(wordCost) == nil; at += word {
		v, err := s.m.arch.ReadReg(p, at)
		if err != nil {
			break
		}
		if v = codePointer(in.Walker(), v); !isCode(p, v-1) {
			continue
		}
		if in.Spend(codeCost) != nil {
			break
		}
		target, ok := helper.IsPrevInstrACall(v)
		if !ok {
			if ra == 0 && at < guesses && !helper.RequireExactMatch() && s.flows.mayReturn(in.Walker(), v, false) {
				slot, ra = at, v
			}
			continue
		}
		switch leads := helper.IsPCInFunc(target, pc); {
		case leads == InFunc && exact:
			return slot, ra, true, false
		case leads == InFunc:
			slot, ra, exact, only = at, v, true, true
		case leads == PCUnknown && ra == 0 && !helper.RequireExactMatch():
			slot, ra = at, v
		}
	}
	return slot, ra, exact, only
}

// record reports whether a frame pointer leads to a record that holds a code address.
func (s *StepperWanderer) record(fp arch.Address, in *unwind.Frame) bool {
	p, a, c := in.Walker().ProcessState(), s.m.arch, s.m.chain
	word := uint64(a.RegSize)
	if c == nil || c.back || c.save != 0 || fp%word != 0 || fp > endOfStack(in)-2*word {
		return false
	}
	ra, err := a.ReadReg(p, fp+uint64(c.ra))
	return err == nil && isCode(p, codePointer(in.Walker(), ra)-1)
}

// lastRecord reports whether a frame pointer leads to a record that ends a chain: both of its words are zero.
func (s *StepperWanderer) lastRecord(fp arch.Address, in *unwind.Frame) bool {
	p, a, c := in.Walker().ProcessState(), s.m.arch, s.m.chain
	if c == nil || c.back || c.save != 0 || fp > endOfStack(in)-2*uint64(a.RegSize) {
		return false
	}
	ra, err := a.ReadReg(p, fp+uint64(c.ra))
	next, err2 := a.ReadReg(p, fp+uint64(c.fp))
	return err == nil && err2 == nil && ra == 0 && next == 0
}

// fill fills in the frame that the return address at slot belongs to. Only if the call
// before it leads to the frame's function (exact), the frame is known to end there.
func (s *StepperWanderer) fill(slot, ra arch.Address, exact bool, in, out *unwind.Frame) {
	a, word := s.m.arch, uint64(s.m.arch.RegSize)
	p := in.Walker().ProcessState()
	fp, fpLoc, hasFP := in.Reg(a.FP)
	typ, _ := lookupFuncStart{in.Walker(), s.flows}.at(instruction(in), in.LookupAddr(), modeOf(in))
	if typ != NoFrame {
		// A function that saves FP first has it right below its return address. If it
		// has not saved FP yet, or does not use it, the register is still its caller's.
		hasFP = hasFP && fp > slot && s.record(fp, in)
		if slot-word >= in.SP() {
			// Unless it is certain that the function saves FP there, the word must lead to another such record.
			v, err := a.ReadReg(p, slot-word)
			saves := exact && typ == StandardFrame
			if err == nil && v > slot && v%word == 0 && v < endOfStack(in) && (saves || s.record(v, in) || s.lastRecord(v, in)) {
				fp, fpLoc, hasFP = v, unwind.AtAddress(slot-word), true
			}
		}
	}
	end := slot + word
	if c := s.m.chain; c != nil && (c.back || c.save != 0) && slot >= in.SP()+uint64(c.ra) {
		end = slot - uint64(c.ra) // the return address is kept in the caller's frame
	}
	out.ForgetRegs()
	out.SetPC(ra, unwind.AtAddress(slot))
	out.SetSP(end)
	if hasFP {
		fpLoc.Doubtful = true
		out.SetReg(a.FP, fp, fpLoc)
	}
	if exact {
		out.SetCalleeCFA(end + a.CFAOffset)
	}
	out.SetTrust(unwind.TrustScan)
}
