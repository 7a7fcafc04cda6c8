package steppers

import (
	"sync"

	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// AnalysisStepper analyses a function's machine code: it follows the code from the
// function's first instruction to the frame's pc, and so learns where the return
// address and the callee-saved registers are at any instruction, with a frame pointer
// or without.
//
// The function's start comes from its symbol, from the range of its call frame
// information, from the direct calls in the module, or from the padding before it. A
// return address counts only in executable memory after a call instruction. If the
// start or the path to the pc is in doubt, that call must also be able to lead to the
// function. The stepper restores the callee-saved registers that the code shows; all
// others are unknown.
type AnalysisStepper struct {
	m       *machine
	flows   *flows
	scratch sync.Pool // *flowScratch
}

// NewAnalysisStepper returns the stepper for an architecture, or ErrUnsupported. files
// has the files of libraries; without it the stepper reads code from the process's
// memory.
func NewAnalysisStepper(a *arch.Arch, files modules.Source) (*AnalysisStepper, error) {
	m, err := mustKnow(a)
	if err != nil {
		return nil, err
	}
	return &AnalysisStepper{m: m, flows: &flows{files: files}}, nil
}

// Name implements unwind.FrameStepper.
func (s *AnalysisStepper) Name() string { return "Analysis" }

// Priority implements unwind.FrameStepper.
func (s *AnalysisStepper) Priority() uint32 { return unwind.PriorityAnalysis }

// A flowScratch holds the buffers of one step, for the next to reuse.
type flowScratch struct {
	found [rowCache]foundFlow
	rows  []*stackflow.Row
}

// A foundFlow is the row for a lookup address where the row is certain.
type foundFlow struct {
	lib    *libstate.Library // nil for none
	lookup arch.Address
	start  arch.Address
	row    *stackflow.Row
}

// CallerFrame implements unwind.FrameStepper.
func (s *AnalysisStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if derailed(in) {
		if out.Tracing() {
			out.Notef("%#x is not code: the stack cannot be trusted", in.RA())
		}
		return unwind.StatusNotMe
	}
	x, _ := s.scratch.Get().(*flowScratch)
	if x == nil {
		x = &flowScratch{}
	}
	status := s.step(x, in, out)
	s.scratch.Put(x)
	return status
}

func (s *AnalysisStepper) step(x *flowScratch, in, out *unwind.Frame) unwind.Status {
	w, lookup := in.Walker(), in.LookupAddr()
	if row, start := s.certain(x, in); row != nil {
		c, ok := s.tryRow(row, in, out)
		if !ok {
			return unwind.StatusNotMe
		}
		if c.ra == 0 {
			if libraryAt(w.ProcessState(), lookup) == nil { // where the function begins is known by records that may lie
				note(out, "the return address is zero, but nothing proves where the function begins")
				return unwind.StatusNotMe
			}
			out.Notef("the return address is zero: the bottom of the stack")
			return unwind.StatusStackBottom
		}
		if !c.called && !mayReturnTo(s.m, w.ProcessState(), c.ra) {
			if out.Tracing() {
				out.Notef("%#x, %s, does not follow a call", c.ra, c.raLoc.Describe(s.m.arch))
			}
			return unwind.StatusNotMe
		}
		if out.Tracing() {
			out.Notef("from the code at %#x on: CFA %#x", start, c.cfa)
		}
		return s.fill(row, &c, in, out)
	}
	return s.choose(x, lookup, in, out)
}

// certain returns the row for a frame if the function is known by its symbol and every
// path to the pc has the same stack pointer; nil otherwise.
func (s *AnalysisStepper) certain(x *flowScratch, in *unwind.Frame) (*stackflow.Row, arch.Address) {
	w, lookup := in.Walker(), in.LookupAddr()
	lib := libraryAt(w.ProcessState(), lookup)
	f := &x.found[rowSlot(lookup)]
	if lib != nil && f.lib == lib && f.lookup == lookup {
		return f.row, f.start
	}
	row, start := s.flows.certain(x.rows, w, lookup, modeOf(in))
	if row != nil {
		*f = foundFlow{lib, lookup, start, row}
	}
	return row, start
}

// A candidate is a caller that a row leads to.
type candidate struct {
	cfa, ra arch.Address
	raw     uint64 // as read, before its mode bits are removed
	raLoc   unwind.Location
	called  bool // a call precedes ra
	doubt   bool // the register that leads to the CFA is doubtful, or the row is perhaps another function's
}

// tryRow applies row to the frame; false if that is not possible.
func (s *AnalysisStepper) tryRow(row *stackflow.Row, in, out *unwind.Frame) (candidate, bool) {
	p := in.Walker().ProcessState()
	cfa, ok := cfaOf(s.m.arch, &row.CFA, in)
	from := row.CFA.Reg
	if !ok || !s.onStack(cfa, in) { // a frame pointer may be another function's
		if bySP, known := cfaOf(s.m.arch, &row.BySP, in); known {
			cfa, ok, from = bySP, true, row.BySP.Reg
		}
	}
	if !ok {
		note(out, "the code does not show the CFA")
		return candidate{}, false
	}
	if !s.onStack(cfa, in) {
		if out.Tracing() {
			out.Notef("the CFA %#x is not on the stack from %#x on", cfa, in.SP()+s.m.arch.StackBias)
		}
		return candidate{}, false
	}
	raw, loc, ok := s.m.value(row.RA, cfa, in)
	if !ok {
		note(out, "the return address cannot be read")
		return candidate{}, false
	}
	raw += s.m.arch.ReturnOffset
	c := candidate{cfa: cfa, raw: raw, ra: codePointer(in.Walker(), raw), raLoc: loc}
	_, base, _ := in.Reg(from)
	c.doubt = base.Doubtful
	_, c.called = callBefore(p, c.ra)
	return c, true
}

// onStack reports whether a frame with stack pointer SP may end at cfa.
func (s *AnalysisStepper) onStack(cfa arch.Address, in *unwind.Frame) bool {
	return cfa >= in.SP()+s.m.arch.StackBias && cfa <= endOfStack(in)
}

func note(out *unwind.Frame, text string) {
	if out.Tracing() {
		out.Notef("%s", text)
	}
}

// cfaOf computes the frame's CFA.
func cfaOf(a *arch.Arch, rule *stackflow.CFARule, in *unwind.Frame) (arch.Address, bool) {
	v, _, ok := in.Reg(rule.Reg)
	if !ok {
		return 0, false
	}
	if rule.Reg == a.SP {
		v += a.StackBias
	}
	v = a.Truncate(v + uint64(rule.Off))
	if rule.Deref {
		w, err := a.ReadReg(in.Walker().ProcessState(), v)
		if err != nil {
			return 0, false
		}
		v = a.Truncate(w + uint64(rule.Add))
	}
	return v, true
}

// value is the caller's value of a register that is at l.
func (m *machine) value(l stackflow.Loc, cfa arch.Address, in *unwind.Frame) (uint64, unwind.Location, bool) {
	at := cfa + uint64(l.Off)
	switch l.Kind {
	case stackflow.InReg:
		v, loc, ok := in.Reg(l.Reg)
		if l.Off != 0 {
			loc = unwind.Location{}
		}
		return v + uint64(l.Off), loc, ok
	case stackflow.AtReg:
		v, _, ok := in.Reg(l.Reg)
		if !ok {
			return 0, unwind.Location{}, false
		}
		at = v + uint64(l.Off)
	case stackflow.AtCFA:
	default:
		return 0, unwind.Location{}, false
	}
	at = m.arch.Truncate(at)
	v, err := m.arch.ReadReg(in.Walker().ProcessState(), at)
	return v, unwind.AtAddress(at), err == nil
}

// fill fills in the caller.
func (s *AnalysisStepper) fill(row *stackflow.Row, c *candidate, in, out *unwind.Frame) unwind.Status {
	out.ForgetRegs()
	for _, saved := range row.Saved {
		if v, loc, ok := s.m.value(saved.Loc, c.cfa, in); ok {
			out.SetReg(saved.Reg, v, loc)
		}
	}
	out.SetPC(c.raw, c.raLoc)
	out.SetSP(c.cfa + uint64(row.CallerSP) - s.m.arch.StackBias)
	out.SetCalleeCFA(c.cfa)
	out.SetDoubtful(c.doubt)
	out.SetTrust(unwind.TrustAnalysis)
	return unwind.StatusSuccess
}
