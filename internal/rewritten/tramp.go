package rewritten

import (
	"github.com/corewalk/corewalk/internal/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// redZone is what instrumentation leaves below SP before it uses the stack.
const redZone = 128

// maxTramp bounds the instructions of one piece of instrumentation.
const maxTramp = 1024

// trampEnd returns the index after the last instruction of the instrumentation
// that begins at insts[i]; 0 when none begins there that uses the stack.
//
// It begins by leaving the red zone with a lea, which compilers do with sub or add,
// and ends by taking that back; where it has aligned the stack between, by loading
// the stack pointer that it kept.
func trampEnd(a *arch.Arch, insts []disasm.Inst, i int) int {
	first := &insts[i]
	if d, ok := first.StackDelta(); first.Kind != disasm.LeaSP || !ok || d > -redZone {
		return 0
	}
	aligned, framed := false, false // framed: aligned where the frame was set up
	for k := i + 1; k < len(insts) && k < i+maxTramp; k++ {
		in := &insts[k]
		switch {
		case in.Kind == disasm.AndSP:
			aligned = true
		case in.Kind == disasm.MovSPtoFP:
			framed = aligned
		case in.Kind == disasm.MovFPtoSP:
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

// An Effect is what instrumentation has done to the registers when it is at some
// instruction. It is known of code that runs straight through.
type Effect struct {
	// SP is what to add to the stack pointer to get what it was before; false in
	// HasSP where the instrumentation has aligned the stack.
	SP    int64
	HasSP bool
	// Saved are the registers that lie on the stack, with their distance in bytes
	// from the frame pointer where the instrumentation has set one (HasFP), else
	// from the stack pointer.
	Saved []SavedReg
	HasFP bool
	// Written are registers that were changed, saved or not.
	Written arch.RegMask
}

// A SavedReg is a register saved Off bytes above (below, when negative) a base.
type SavedReg struct {
	Reg arch.Reg
	Off int64
}

// Effect follows the instrumentation that begins at start up to addr, both of the
// file. It answers false where that has a branch, or does to the stack pointer
// what cannot be followed.
func (c *Code) Effect(start, addr uint64) (Effect, bool) {
	var e Effect
	if !c.Contains(start) || addr < start || addr-start > maxTramp*disasm.MaxLen {
		return e, false
	}
	code, a := c.code(start, min(addr+disasm.MaxLen, c.end)), c.src.Arch
	sp, base := int64(0), int64(0) // relative to SP at start, or where it was aligned
	lost := false                  // sp is, relative to base
	e.HasSP = true
	for pc := start; pc < addr; {
		in, err := disasm.Decode(a, code[pc-start:], pc)
		if err != nil {
			return e, false
		}
		pc = in.Next()
		switch {
		case in.Kind == disasm.AndSP:
			if e.HasSP, lost = false, e.HasFP; !lost {
				e.Saved, sp = nil, 0
			}
			continue
		case in.Kind == disasm.MovSPtoFP:
			e.HasFP, base = true, sp
		case in.Kind.IsCall():
			continue // comes back with SP as it was
		case in.Kind.EndsBlock():
			return e, false
		}
		d, ok := in.StackDelta()
		if !ok {
			return e, false
		}
		if sp += d; in.Kind == disasm.Push && in.Src != arch.NoReg && !lost {
			e.Saved = append(e.Saved, SavedReg{in.Src, sp})
		}
		e.Written |= in.Writes &^ (arch.Mask(a.SP) | arch.Mask(a.FP))
	}
	if !e.HasFP {
		base = sp
	}
	for i := range e.Saved {
		e.Saved[i].Off -= base
	}
	e.SP = -sp
	return e, true
}
