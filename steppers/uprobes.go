package steppers

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// PriorityUprobe is the priority of UprobeStepper: after the steppers for code of modules, in which its frames are not, and before those that assume
// that a frame is in a function.
const PriorityUprobe = PriorityWildPC + 1

// UprobeStepper steps from a return address that the kernel put in place of a call's, because somebody traces the end of the called function (Linux,
// kernel/events/uprobes.c). The real one is in the kernel alone, and in no dump: the stepper finds it in the function that made the call. That function
// is known by the next return address on the stack, which follows a call of it. If it calls the traced function at one place only, it
// returns there. Otherwise the frame of that function is left out.
type UprobeStepper struct {
	arch  *arch.Arch
	flows *flows
}

// NewUprobeStepper returns the stepper for an architecture whose calls leave the return address on the stack; ErrUnsupported for others.
func NewUprobeStepper(a *arch.Arch) (*UprobeStepper, error) {
	if _, err := mustKnow(a); err != nil {
		return nil, err
	}
	if a.Family != arch.FamilyX86 {
		return nil, unwind.ErrUnsupported
	}
	return &UprobeStepper{a, &flows{}}, nil
}

// Name implements unwind.FrameStepper.
func (s *UprobeStepper) Name() string { return "Uprobe" }

// Priority implements unwind.FrameStepper.
func (s *UprobeStepper) Priority() uint32 { return PriorityUprobe }

func (s *UprobeStepper) setFlows(fl *flows) { s.flows = fl }

const (
	// uprobePage is the size of the page of trampolines.
	uprobePage = 0x1000
	// uprobeWords is how far the stack is searched for the next return address, in words.
	uprobeWords = 512
)

// IsUprobe reports whether an address is the code to which functions return whose end is traced: the start of a page that can be run and not
// read, and is no file's. The kernel makes no other such page for programs but that of vsyscalls.
func IsUprobe(p unwind.ProcessState, addr arch.Address) bool {
	m, ok, _ := mappingAt(p, addr)
	if !ok || m.Start != addr || m.End-m.Start != uprobePage || m.Perm != libstate.Exec || libraryAt(p, addr) != nil {
		return false
	}
	_, kernels := p.Arch().Vsyscall(addr)
	return !kernels
}

// CallerFrame implements unwind.FrameStepper.
func (s *UprobeStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	w := in.Walker()
	p, callee := w.ProcessState(), in.PrevFrame()
	if interrupted(in) || callee == nil || !IsUprobe(p, in.RA()) {
		return unwind.StatusNotMe
	}
	traced, _, ok := functionAt(w, callee.LookupAddr())
	word := uint64(s.arch.RegSize)
	end := min(endOfStack(in), in.SP()+uprobeWords*word)
	for at := in.SP(); ok && at+word <= end && in.Spend(wordCost) == nil; at += word {
		v, err := s.arch.ReadReg(p, at)
		if err != nil {
			break
		}
		if !isCode(p, v-1) || in.Spend(codeCost) != nil {
			continue
		}
		site, called := callBefore(p, v)
		if !called || !site.Direct {
			continue
		}
		caller, bound := throughStub(p, site.Target)
		if !bound {
			continue
		}
		ra, calls := s.returns(in, caller, traced)
		switch {
		case calls == 1:
			note(out, "the end of the called function is traced: the return address is that of its one call in the function that is called next")
			out.SetPC(ra, unwind.Location{})
			out.SetSP(in.SP())
			out.SetCalleeCFA(in.SP())
			out.SetTrust(unwind.TrustAnalysis)
			return unwind.StatusSuccess
		case calls > 1:
			note(out, "the end of the called function is traced, and its caller, which calls it at several places, is left out")
			out.ForgetRegs()
			out.SetPC(v, unwind.AtAddress(at))
			out.SetSP(at + word)
			out.SetTrust(unwind.TrustScan)
			return unwind.StatusSuccess
		}
	}
	return unwind.StatusNotMe
}

// returns counts the calls of a function in another, and returns the address behind the last of them.
func (s *UprobeStepper) returns(in *unwind.Frame, function, called arch.Address) (ra arch.Address, n int) {
	w := in.Walker()
	p := w.ProcessState()
	start, size, ok := functionAt(w, function)
	if !ok || start != function || size == 0 {
		return 0, 0
	}
	code := readFunc(p, start, start+size)
	if in.Spend(1+len(code)/4) != nil {
		return 0, 0
	}
	for off := 0; off < len(code); {
		i, err := disasm.Decode(s.arch, code[off:], start+uint64(off))
		if err != nil || i.Len == 0 {
			off++
			continue
		}
		off += int(i.Len)
		if i.Kind != disasm.Call {
			continue
		}
		if to, bound := throughStub(p, i.Target); bound && to == called {
			ra, n = start+uint64(off), n+1
		}
	}
	return ra, n
}
