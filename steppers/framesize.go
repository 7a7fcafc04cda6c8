package steppers

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// FrameSizeStepper walks x64 code of Windows whose image, with the unwind tables, is not at
// hand: by the function's code if the dump has it, otherwise by the size of its frame in the
// PDB. The x64 ABI changes the stack pointer in prologues and epilogues only, so the size
// tells where the return address is everywhere else; functions that allocate stack later
// have a frame pointer.
//
// The PDB does not say which registers a function saved. The caller's are known only if it
// saved none.
type FrameSizeStepper struct {
	files    modules.Source
	flows    *flows
	analysis AnalysisStepper
}

// NewFrameSizeStepper returns the stepper; ErrBadParam without files.
func NewFrameSizeStepper(files modules.Source) (*FrameSizeStepper, error) {
	if files == nil {
		return nil, fmt.Errorf("stepper by frame sizes needs files: %w", unwind.ErrBadParam)
	}
	s := &FrameSizeStepper{files: files, analysis: AnalysisStepper{m: machineOf(arch.AMD64)}}
	s.setFlows(&flows{})
	return s, nil
}

func (s *FrameSizeStepper) setFlows(fl *flows) { s.flows, s.analysis.flows = fl, fl }

// Name implements unwind.FrameStepper.
func (s *FrameSizeStepper) Name() string { return "FrameSize" }

// Priority implements unwind.FrameStepper: after all unwind information.
func (s *FrameSizeStepper) Priority() uint32 { return unwind.PriorityDebugStepper + 6 }

// CallerFrame implements unwind.FrameStepper.
func (s *FrameSizeStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	lookup := in.LookupAddr()
	lib := libraryAt(in.Walker().ProcessState(), lookup)
	if lib == nil || lookup-lib.Start > 0xffffffff {
		return unwind.StatusNotMe
	}
	im := fileOf(s.files, lib)
	if im == nil || !im.ELF().DebugOnly() {
		return unwind.StatusNotMe // code and tables know more
	}
	sizes := im.FrameSizes()
	if sizes == nil {
		return unwind.StatusNotMe
	}
	rva := uint32(lookup - lib.Start)
	w, err := sizes.FrameSize(rva)
	if err != nil {
		note(out, err.Error())
		return unwind.StatusNotMe
	}
	if w == nil {
		return unwind.StatusNotMe
	}
	if out.Tracing() {
		out.Notef("function at %#x+%d: frame of %d bytes and %d of saved registers, prologue %d, epilogue %d, by rbp %v", w.Start, w.Size, w.Bytes, w.Saved, w.Body, w.Epilog, w.ByRBP)
	}
	x := sizeStep{s: s, w: w, off: rva - w.Start, in: in, out: out}
	if x.off == 0 { // no call has a single byte: it was interrupted there
		return x.accept(in.SP(), unwind.TrustFrameSize)
	}
	if x.byCode() {
		return unwind.StatusSuccess
	}
	return x.bySize()
}

// A sizeStep is one step in progress.
type sizeStep struct {
	s       *FrameSizeStepper
	w       *unwindrules.FrameSize
	off     uint32 // of the lookup address in the function
	in, out *unwind.Frame
}

// byCode finds the caller by the function's code in memory, which minidumps have around the
// crash. It returns false if the code up to there is not known, and then does not change out.
func (x *sizeStep) byCode() bool {
	lookup := x.in.LookupAddr()
	start := lookup - uint64(x.off)
	flow := x.s.flows.follow(x.in.Walker(), start, start+uint64(x.w.Size))
	if flow.Func == nil {
		return false
	}
	rows, sure := flow.Rows(nil, lookup-flow.bias)
	if !sure || len(rows) != 1 {
		return false
	}
	c, ok := x.s.analysis.tryRow(rows[0], x.in, x.out)
	if !ok || x.s.flows.grade(x.in, c.ra, false) == noReturn {
		return false
	}
	x.s.analysis.fill(rows[0], &c, x.in, x.out)
	return true
}

// bySize finds the caller by the size of the frame.
func (x *sizeStep) bySize() unwind.Status {
	sp := x.in.SP()
	inside := x.place()
	if inside == outside {
		return x.search(sp, min(x.w.FixedSize()+8, guessWordsTop*8))
	}
	if x.w.ByRBP {
		return x.byRBP(inside)
	}
	return x.accept(sp+x.w.FixedSize(), inside.trust())
}

// A bodyPlace says whether the frame is set up.
type bodyPlace uint8

const (
	within  bodyPlace = iota // as far as the PDB tells
	doubted                  // it may be in the prologue
	outside                  // in the prologue or an epilogue
)

// trust is the trust in a frame found by its whole size.
func (p bodyPlace) trust() unwind.Trust {
	if p == within {
		return unwind.TrustFrameSize
	}
	return unwind.TrustScan
}

// place says whether the frame is set up. A frame that made a call is, unless the call probes
// the stack, which only a PDB that knows the prologue can tell.
func (x *sizeStep) place() bodyPlace {
	before := x.off < x.w.Body
	switch {
	case before && !x.w.ByLines, interrupted(x.in) && x.w.Epilog != 0 && x.off >= x.w.Epilog:
		if x.w.FixedSize() == 0 {
			return within
		}
		return outside
	case before && interrupted(x.in) && x.w.FixedSize() != 0:
		return doubted
	}
	return within
}

// byRBP finds the caller of a frame of variable size by its frame pointer or, if that is not
// known, by a search above the part of the frame that is fixed.
func (x *sizeStep) byRBP(inside bodyPlace) unwind.Status {
	least := x.in.SP() + x.w.FixedSize()
	rbp, _, ok := x.in.Reg(arch.RBP)
	if ok && rbp%8 == 0 {
		var at uint64
		n := 0
		for _, d := range x.w.Pointed() {
			if slot := rbp + d; slot >= least && x.grade(slot) != noReturn {
				at, n = slot, n+1
			}
		}
		if n == 1 {
			return x.accept(at, inside.trust())
		}
		if x.out.Tracing() {
			x.out.Notef("%d places near rbp %#x hold what may be the return address", n, rbp)
		}
	}
	return x.search(least, guessWordsTop*8)
}

// grade grades the word at an address as the frame's return address.
func (x *sizeStep) grade(at arch.Address) winGrade {
	ra, err := x.read(at)
	if err != nil {
		return noReturn
	}
	return x.s.flows.grade(x.in, codePointer(x.in.Walker(), ra), false)
}

// read reads a word of the stack.
func (x *sizeStep) read(at arch.Address) (uint64, error) {
	if end := endOfStack(x.in); at < x.in.SP() || at >= end || end-at < 8 {
		return 0, arch.ErrNotInDump
	}
	return x.in.Walker().ProcessState().ReadWord(at)
}

// search finds the caller by the first word, from an address on and within size bytes, that
// can be the return address.
func (x *sizeStep) search(from, size uint64) unwind.Status {
	for at := from; at-from < size; at += 8 {
		if x.grade(at) != noReturn {
			if x.out.Tracing() {
				x.out.Notef("the place in the frame does not tell its size; a return address is at %#x", at)
			}
			return x.accept(at, unwind.TrustScan)
		}
	}
	note(x.out, "no return address where the frame may end")
	return unwind.StatusNotMe
}

// accept fills in the caller whose return address is at an address, if it is one.
func (x *sizeStep) accept(at arch.Address, trust unwind.Trust) unwind.Status {
	ra, err := x.read(at)
	switch {
	case err != nil:
		note(x.out, fmt.Sprintf("return address at %#x: %v", at, err))
		return unwind.StatusNotMe
	case ra == 0 && !interrupted(x.in): // a search has found another word
		note(x.out, "the return address is zero: the bottom of the stack")
		return unwind.StatusStackBottom
	case x.grade(at) == noReturn:
		if x.out.Tracing() {
			x.out.Notef("%#x at %#x is not a return address", ra, at)
		}
		return unwind.StatusNotMe
	}
	keeps := x.w.KeepsRegisters() && trust == unwind.TrustFrameSize
	rbp, rbpLoc, hasRBP := x.in.Reg(arch.RBP)
	switch {
	case x.off == 0: // nothing has been saved yet
		keeps = true
	case x.w.LLVM && x.w.PushesRBP && trust == unwind.TrustFrameSize:
		rbp, err = x.read(at - 8)
		rbpLoc, hasRBP = unwind.AtAddress(at-8), err == nil
	case !keeps:
		hasRBP = false
	}
	if !keeps {
		x.out.ForgetRegs()
	}
	for m := winunwind.Nonvolatile(arch.AMD64) &^ arch.AMD64.CalleeSaved; keeps && m != 0; m &= m - 1 {
		if v, loc, ok := x.in.Reg(m.First()); ok { // registers that calls preserve only on Windows
			x.out.SetReg(m.First(), v, loc)
		}
	}
	x.out.SetPC(ra, unwind.AtAddress(at))
	x.out.SetSP(at + 8)
	x.out.SetCalleeCFA(at + 8)
	if hasRBP {
		x.out.SetReg(arch.RBP, rbp, rbpLoc)
	} else {
		x.out.ForgetReg(arch.RBP)
	}
	x.out.SetTrust(trust)
	return unwind.StatusSuccess
}
