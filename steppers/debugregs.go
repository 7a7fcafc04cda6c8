package steppers

import (
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// restore sets out to the caller's registers according to the row.
func (s *DebugStepper) restore(x *cfiScratch, row *cfi.Row, cfa uint64, in, out *unwind.Frame) unwind.Status {
	pc := row.RetAddrReg
	ra, raLoc, ok, err := s.recover(x, row, pc, cfa, in)
	switch {
	case err != nil:
		if out.Tracing() {
			out.Notef("return address: %v", err)
		}
		return unwind.StatusNotMe
	case !ok:
		out.Notef("the return address is undefined: the outermost frame")
		return unwind.StatusStackBottom
	case in.Walker().CodeAddress(ra) == 0 && x.regs.doubt && !spDoubtful(in):
		note(out, "the return address is zero where a register leads that is doubtful")
		return unwind.StatusNotMe // the stack pointer may lead further
	case in.Walker().CodeAddress(ra) == 0:
		return zeroReturn(cfa, raLoc, in, out)
	}
	out.SetSP(cfa - s.arch.CFAOffset - s.arch.StackBias)
	for n := range row.Rules() {
		r, known := s.arch.FromDWARF(n)
		if !known || n == pc {
			continue
		}
		v, loc, ok, err := s.recover(x, row, n, cfa, in)
		if err != nil && out.Tracing() {
			out.Notef("%s: %v", s.arch.RegName(r), err)
		}
		switch {
		case err == nil && ok:
			out.SetReg(r, v, loc)
		case r != s.arch.SP:
			out.ForgetReg(r) // the frame is usable without it
		case err != nil:
			return unwind.StatusNotMe
		}
	}
	out.SetPC(ra+s.arch.ReturnOffset, raLoc)
	out.SetCalleeCFA(cfa)
	out.SetDoubtful(x.regs.doubt)
	out.SetTrust(unwind.TrustCFI)
	if row.Signal && !s.switchesStacks(row, cfa, raLoc, in) {
		out.SetNonCall(true)
		out.SetTrust(unwind.TrustSignal)
	}
	return unwind.StatusSuccess
}

// longestTrampoline is more than the code of a signal trampoline has, in bytes.
const longestTrampoline = 64

// switchesStacks reports whether a row that is marked as a signal frame's (S) is that of code which goes on with another stack: OCaml 5 marks it so that unwinders
// accept a lower stack pointer. It made a call in the function itself, while the kernel makes handlers return to the beginning. Of an interrupted frame
// the function is longer than a trampoline, and the return address is where a call puts it, right below the CFA: there a signal frame has none.
func (s *DebugStepper) switchesStacks(row *cfi.Row, cfa uint64, ra unwind.Location, in *unwind.Frame) bool {
	if interrupted(in) {
		return s.arch.RA == arch.NoReg && ra == unwind.AtAddress(cfa-uint64(s.arch.RegSize)) && row.FDE.End-row.FDE.Start > longestTrampoline
	}
	pc := in.RA() - row.Bias
	_, called := callBefore(in.Walker().ProcessState(), in.CodePointer())
	return called && pc >= row.FDE.Start+leastCall && pc <= row.FDE.End
}

// spDoubtful reports whether the stack pointer of a frame is doubtful.
func spDoubtful(f *unwind.Frame) bool {
	_, at, _ := f.Reg(f.Walker().ProcessState().Arch().SP)
	return at.Doubtful
}

// zeroReturn decides what a return address of zero means. Start-up code and coroutine
// libraries put one at the bottom of a stack; a walk that has left the stack may read
// one too.
func zeroReturn(cfa uint64, loc unwind.Location, in, out *unwind.Frame) unwind.Status {
	a := in.Walker().ProcessState().Arch()
	m, ok, known := mappingAt(in.Walker().ProcessState(), in.SP())
	if known && (!ok || cfa <= m.Start || cfa > m.End) {
		if out.Tracing() {
			out.Notef("the return address is zero (%s), but the CFA %#x is not on the stack", loc.Describe(a), cfa)
		}
		return unwind.StatusNotMe
	}
	if out.Tracing() {
		out.Notef("the return address is zero (%s): the bottom of the stack", loc.Describe(a))
	}
	return unwind.StatusStackBottom
}

// recover applies the row's rule for DWARF register n and reads the value. It returns
// false if the register cannot be recovered, and an error if what the rule needs is not
// available.
func (s *DebugStepper) recover(x *cfiScratch, row *cfi.Row, n, cfa uint64, in *unwind.Frame) (uint64, unwind.Location, bool, error) {
	mem := in.Walker().ProcessState()
	val, err := row.Recover(n, cfa, &x.machine, &x.regs, mem)
	if err != nil {
		return 0, unwind.Location{}, false, err
	}
	switch val.Kind {
	case cfi.ValueMemory:
		r, _ := s.arch.FromDWARF(n)
		v, err := s.arch.ReadSaved(mem, r, val.Addr)
		return v, unwind.AtAddress(val.Addr), err == nil, err
	case cfi.ValueKnown:
		return val.Bits, unwind.Location{}, true, nil
	case cfi.ValueRegister:
		return s.inRegister(row, n, val.Reg, in)
	case cfi.ValueSame:
		return s.inRegister(row, n, n, in)
	case cfi.ValueUnspecified:
		// Only the return address is looked up without a rule. It is in the link
		// register, where the call left it. Where calls push the return address, there
		// is no such register.
		if s.arch.RA != arch.NoReg {
			return s.inRegister(row, n, n, in)
		}
	}
	return 0, unwind.Location{}, false, nil
}

// inRegister returns register n of the caller, which is register from of the callee. A
// return address in a register whose value is not known is an error, not the end of the
// stack.
func (s *DebugStepper) inRegister(row *cfi.Row, n, from uint64, in *unwind.Frame) (uint64, unwind.Location, bool, error) {
	v, loc, ok := s.sameAs(from, in)
	if _, exists := s.arch.FromDWARF(from); !ok && exists && n == row.RetAddrReg {
		return 0, unwind.Location{}, false, errNoRegister
	}
	return v, loc, ok, nil
}

// sameAs returns the callee's register with DWARF number n.
func (s *DebugStepper) sameAs(n uint64, in *unwind.Frame) (uint64, unwind.Location, bool) {
	r, ok := s.arch.FromDWARF(n)
	if !ok {
		return 0, unwind.Location{}, false
	}
	return in.Reg(r)
}
