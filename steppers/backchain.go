package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// byStackPointers steps if the caller's stack pointer is found on the stack, not
// through a frame pointer.
//
// A function that has called another has a frame of its own. An interrupted function
// may be a leaf without one: its frame is its caller's, and its return address is in
// the link register. Only its code could tell. Without it, the call before the return
// address decides: what that call calls directly.
func (s *FrameFuncStepper) byStackPointers(pc arch.Address, in, out *unwind.Frame) unwind.Status {
	at, ra, ok := s.callerByStack(in, in.SP())
	if s.m.chain.back && !interrupted(in) && s.endOfChain(in, &at, ra, ok) {
		note(out, "the back chain ends: the outermost frame")
		return unwind.StatusStackBottom
	}
	reach := OutsideFunc
	if ok {
		reach = s.reaches(in, ra, pc)
	}
	if !interrupted(in) {
		if !ok || reach == OutsideFunc && !unreadCode(in.Walker().ProcessState(), ra) {
			note(out, "no saved stack pointer from a call of this function is on the stack")
			return unwind.StatusNotMe
		}
		return s.accept(at, in, out)
	}
	return s.interruptedByStack(at, ra, reach, pc, in, out)
}

// endOfChain reports whether the back chain is zero at SP or, if the caller has no
// return address, at the stack pointer of the caller (at): start-up code begins like
// that.
func (s *FrameFuncStepper) endOfChain(in *unwind.Frame, at *frameAt, ra arch.Address, ok bool) bool {
	sp := in.SP()
	if ok && ra == 0 {
		sp = at.cfa
	}
	v, err := s.m.arch.ReadReg(in.Walker().ProcessState(), sp)
	return err == nil && v == 0
}

// interruptedByStack steps from a function that was interrupted. reach says whether the
// call before ra, to which at leads, leads to the function.
func (s *FrameFuncStepper) interruptedByStack(at frameAt, ra arch.Address, reach PCState, pc arch.Address, in, out *unwind.Frame) unwind.Status {
	lr, linked := arch.Address(0), OutsideFunc
	if v, _, ok := in.Reg(s.m.arch.RA); ok {
		lr = codePointer(in.Walker(), v)
		linked = s.reaches(in, lr, pc)
	}
	own := linked != OutsideFunc && s.sameFunction(in, lr, pc)
	switch {
	case reach != OutsideFunc && (ra == lr || linked == OutsideFunc || own && linked == PCUnknown):
		return s.accept(at, in, out)
	case linked != OutsideFunc && !own:
		if cfa, ok := s.leafFrame(at, ra, lr, in); ok {
			return s.accept(frameAt{linked: true, cfa: cfa}, in, out)
		}
	}
	note(out, "neither the link register nor the stack shows for certain which function called the interrupted one")
	return unwind.StatusNotMe
}

// sameFunction reports whether the address that a call returns to is in the function at
// pc. If so, the function has already called others: the link register holds the
// address after its last call.
func (s *FrameFuncStepper) sameFunction(in *unwind.Frame, ra, pc arch.Address) bool {
	w := in.Walker()
	if start, _, ok := functionAt(w, pc); ok {
		other, _, ok := functionAt(w, ra-1)
		return ok && start == other
	}
	return s.flows.leadsTo(w, ra, pc) || s.flows.leadsTo(w, pc, ra)
}

// leafFrame finds the stack pointer of the caller of a leaf, to which lr returns.
// at and ra are what SP leads to. A leaf without a frame has its caller's SP, and
// then ra is the caller's; one with a frame has that between.
func (s *FrameFuncStepper) leafFrame(at frameAt, ra, lr arch.Address, in *unwind.Frame) (arch.Address, bool) {
	site, _ := callBefore(in.Walker().ProcessState(), lr) // there is a call: it may lead to the leaf
	call := lr - uint64(site.Len)
	if s.reaches(in, ra, call) == InFunc {
		return in.SP(), true
	}
	if !s.m.chain.back || at.cfa == 0 {
		return 0, false
	}
	if _, ra2, ok := s.callerByStack(in, at.cfa); ok && s.reaches(in, ra2, call) == InFunc {
		return at.cfa, true
	}
	return 0, false
}

// reaches reports whether the call that returns to ra leads to the function at pc.
func (s *FrameFuncStepper) reaches(in *unwind.Frame, ra, pc arch.Address) PCState {
	site, ok := callBefore(in.Walker().ProcessState(), ra)
	if !ok {
		return OutsideFunc
	}
	return s.flows.pcInFunc(in.Walker(), site.Target, pc) // a target of zero is not known
}

// callerByStack finds the stack pointer of the caller of the frame at sp, and the
// return address that is saved relative to it.
func (s *FrameFuncStepper) callerByStack(in *unwind.Frame, sp arch.Address) (at frameAt, ra arch.Address, ok bool) {
	p, a, chain := in.Walker().ProcessState(), s.m.arch, s.m.chain
	word := uint64(a.RegSize)
	end := stackEnd(p, sp)
	var caller arch.Address
	if chain.back {
		v, err := a.ReadReg(p, sp)
		caller, ok = v, err == nil && v > sp && v%word == 0 && v <= end-2*word
	} else {
		from := (sp + 7) &^ 7
		if !interrupted(in) { // at SP is what its callee saved
			from += 8
		}
		caller, ok = s.savedSP(p, from, end)
	}
	if !ok {
		return at, 0, false
	}
	at = frameAt{ra: caller + uint64(chain.ra), cfa: caller}
	raw, err := a.ReadReg(p, at.ra)
	return at, codePointer(in.Walker(), raw), err == nil
}

// maxSaveArea bounds the stack that is searched for a saved stack pointer, in
// bytes.
const maxSaveArea = 64 << 10

// savedSP searches from the address from upwards for the stack pointer that a function
// saved at its entry. It is a word that points to the save area in which it lies
// itself, together with a code pointer.
func (s *FrameFuncStepper) savedSP(p unwind.ProcessState, from, end arch.Address) (arch.Address, bool) {
	a, chain := s.m.arch, s.m.chain
	word := uint64(a.RegSize)
	for at := from; at < end && at-from < maxSaveArea; at += 8 {
		v, err := a.ReadReg(p, at+uint64(chain.save))
		if err != nil {
			break
		}
		if v != at {
			continue
		}
		ra, err := a.ReadReg(p, at+uint64(chain.ra))
		if ra = a.CodeAddress(ra); err == nil && ra > word && isCode(p, ra-1) {
			return at, true
		}
	}
	return 0, false
}

// backChained reports whether the step used the back chain or a saved stack pointer.
// These do not say whether the function changed FP.
func (s *FrameFuncStepper) backChained(at *frameAt) bool {
	return s.m.chain != nil && (s.m.chain.back || s.m.chain.save != 0) && !at.linked
}
