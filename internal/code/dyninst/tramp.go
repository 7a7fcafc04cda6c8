package dyninst

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// redZone is the number of bytes below SP that instrumentation skips before it uses the
// stack.
const redZone = 128

// maxTramp limits the instructions of one piece of instrumentation.
const maxTramp = 1024

// trampEnd returns the index after the last instruction of the instrumentation that begins
// at insts[i], or 0 if no instrumentation that uses the stack begins there.
//
// It begins by skipping the red zone with a lea (compilers use sub or add) and ends by
// undoing that. If it has aligned the stack in between, it ends by loading the saved stack
// pointer.
func trampEnd(a *arch.Arch, insts []disasm.Inst, i int) int {
	first := &insts[i]
	if d, ok := first.StackDelta(); first.Kind != disasm.LeaSP || !ok || d > -redZone {
		return 0
	}
	aligned, framed := false, false // framed: the stack was already aligned when FP was set
	for k := i + 1; k < len(insts) && k < i+maxTramp; k++ {
		in := &insts[k]
		switch {
		case in.Kind == disasm.AndSP:
			aligned = true
		case in.Kind == disasm.MovSPtoFP:
			framed = aligned
		case in.Kind == disasm.MovFPtoSP || in.Kind == disasm.Leave:
			aligned = framed
		case aligned && in.Dst == a.SP && (in.Kind == disasm.Load || in.Kind == disasm.Pop || in.Kind == disasm.Mov):
			return k + 1
		case !aligned && in.Kind == disasm.LeaSP:
			if d, ok := in.StackDelta(); ok && d >= redZone {
				return k + 1
			}
		}
	}
	return 0
}

// An Effect is what instrumentation has done to the registers before a certain instruction.
type Effect struct {
	// SP is what to add to the stack pointer to get the original one. HasSP is false if
	// that is unknown because the stack has been aligned.
	SP    int64
	HasSP bool
	// Saved are the registers saved on the stack. Their offsets are in bytes from the frame
	// pointer if the instrumentation has set one (HasFP), otherwise from the stack pointer.
	Saved []SavedReg
	HasFP bool
	// Written are the registers that were changed, whether saved or not.
	Written arch.RegMask
}

// A SavedReg is a register saved at a base plus Off bytes.
type SavedReg struct {
	Reg arch.Reg
	Off int64
}

// Effect follows the instrumentation p up to addr, an address in the file. If there are
// branches on the way, Saved covers the code up to the first branch, and Written all
// registers changed anywhere. It returns false if it cannot follow the stack pointer.
func (c *Code) Effect(p Place, addr uint64) (Effect, bool) {
	if !c.Contains(p.Start) || addr < p.Start || addr >= p.End || p.End-p.Start > maxTramp*disasm.MaxLen {
		return Effect{}, false
	}
	f := follower{arch: c.src.Arch, Effect: Effect{HasSP: true}}
	code := c.code(p.Start, p.End)
	stop := addr
	for pc := p.Start; pc < stop; {
		in, err := disasm.Decode(f.arch, code[pc-p.Start:], pc)
		if err != nil {
			return Effect{}, false
		}
		if in.Kind.EndsBlock() {
			if !f.HasFP {
				return Effect{}, false
			}
			f.branched, stop = true, p.End
		}
		if !f.step(&in) {
			return Effect{}, false
		}
		pc = in.Next()
	}
	return f.finish(), true
}

// A follower computes an Effect. Stack addresses are relative to SP at the start, or where
// it was last aligned.
type follower struct {
	Effect
	arch     *arch.Arch
	sp, fp   int64
	aligned  bool // aligned after the frame was set up: sp is unknown
	branched bool // only changed registers are still of interest
}

// step follows one instruction.
func (f *follower) step(in *disasm.Inst) bool {
	kept := arch.Mask(f.arch.SP) | arch.Mask(f.arch.FP)
	if f.branched {
		f.Written |= in.Writes &^ kept
		return true
	}
	switch in.Kind {
	case disasm.AndSP:
		if f.HasFP {
			f.aligned = true
		} else {
			f.HasSP, f.Saved, f.sp = false, nil, 0
		}
		return true
	case disasm.MovSPtoFP:
		f.HasFP, f.fp = true, f.sp
	case disasm.MovFPtoSP, disasm.Leave:
		if !f.HasFP {
			return false
		}
		f.sp, f.aligned = f.fp, false
		if in.Kind == disasm.Leave {
			f.pop(f.arch.FP)
		}
		return true
	case disasm.Pop:
		f.pop(in.Dst)
		return true
	case disasm.Call, disasm.CallIndirect:
		return true // returns with the same SP
	}
	d, ok := in.StackDelta()
	if !ok {
		return false
	}
	f.sp += d
	if in.Kind == disasm.Push && in.Src != arch.NoReg && !f.aligned && !f.Written.Has(in.Src) {
		f.Saved = append(f.Saved, SavedReg{in.Src, f.sp})
	}
	f.Written |= in.Writes &^ kept
	return true
}

// pop pops a word into r: either the register that was saved there, or another.
func (f *follower) pop(r arch.Reg) {
	i := slices.Index(f.Saved, SavedReg{r, f.sp})
	f.sp += int64(f.arch.WordSize)
	switch {
	case r == arch.NoReg:
	case i >= 0:
		f.Saved = slices.Delete(f.Saved, i, i+1)
		f.Written &^= arch.Mask(r)
	case r != f.arch.FP && r != f.arch.SP:
		f.Written |= arch.Mask(r)
	}
	if r == f.arch.FP {
		f.HasFP = false
	}
}

func (f *follower) finish() Effect {
	base := f.sp
	if f.HasFP {
		base = f.fp
	}
	for i := range f.Saved {
		f.Saved[i].Off -= base
	}
	f.HasSP = f.HasSP && !f.aligned && !f.branched
	f.SP = -f.sp
	return f.Effect
}
