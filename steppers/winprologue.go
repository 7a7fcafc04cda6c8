package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// inProlog reports whether the frame is in its prologue. Its record is for the whole
// function and does not apply yet. Prologues can call functions, too: to probe the
// stack.
func (x *winStep) inProlog() bool {
	return (x.w.FunctionHead || x.w.Program == "") && x.rva-x.w.Start < x.w.Prolog
}

// prologue finds the caller of a frame that is not set up yet: by the function's code
// or, if that is not available and the function uses EBP, by what its first two
// instructions leave. It returns false if neither works, and then does not change out.
func (x *winStep) prologue() bool {
	lookup := x.in.LookupAddr()
	start := lookup - uint64(x.rva-x.w.Start)
	flow := x.s.flows.follow(x.in.Walker(), start, start+uint64(x.w.Size))
	if flow.Func != nil {
		rows, sure := flow.Rows(nil, lookup-flow.bias)
		if sure && len(rows) == 1 {
			c, ok := x.s.analysis.tryRow(rows[0], x.in, x.out)
			if ok && x.grade(c.ra) != noReturn {
				note(x.out, "the function's code shows how much of its prologue has run")
				x.s.analysis.fill(rows[0], &c, x.in, x.out)
				return true
			}
		}
	}
	return interrupted(x.in) && !x.w.Searches() && x.halfSet()
}

// halfSet is prologue for a function that begins with a push of EBP, maybe after two
// bytes for patches (mov %edi,%edi), and has not set EBP to its frame yet.
func (x *winStep) halfSet() bool {
	const patch, push, point = 2, 1, 2 // bytes of the instructions
	off, sp := x.rva-x.w.Start, x.in.SP()
	fp, _, ok := x.in.Reg(arch.EBP)
	if !ok || fp == sp || off >= patch+push+point {
		return false
	}
	at := sp
	if pushed, err := x.read(sp); off != 0 && err == nil && pushed == fp && x.gradeAt(uint32(sp)+4) != noReturn {
		x.out.SetReg(arch.EBP, fp, unwind.AtAddress(sp))
		at += 4
	} else if off != 0 && off != patch || x.gradeAt(uint32(sp)) == noReturn {
		return false
	}
	ra, _ := x.read(at) // it has just been graded
	x.out.SetPC(ra, unwind.AtAddress(at))
	x.out.SetSP(at + 4)
	x.out.SetCalleeCFA(at + 4)
	x.out.SetTrust(unwind.TrustSymCFI)
	note(x.out, "the prologue has not pointed EBP at the frame")
	return true
}
