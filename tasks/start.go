package tasks

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// FirstFrame returns the youngest frame of a task's stack, for
// unwind.Walker.WalkStackFromFrame. The task must have a Start.
func FirstFrame(w *unwind.Walker, t *Task) (*unwind.Frame, error) {
	if t.Start == nil {
		return nil, fmt.Errorf("%s runs, or has no stack: %w", t.Key, unwind.ErrBadParam)
	}
	a := w.ProcessState().Arch()
	pc, ok := t.Start.Regs.Get(a.PC)
	sp, ok2 := t.Start.Regs.Get(a.SP)
	if !ok || !ok2 {
		return nil, fmt.Errorf("%s: where its stack begins is not known", t.Key)
	}
	fp, known := t.Start.Regs.Get(a.FP)
	f, err := unwind.NewFrame(pc, sp, fp, w)
	if err != nil {
		return nil, err
	}
	if !known {
		f.ForgetReg(a.FP)
	}
	for r := range arch.Reg(a.NumRegs()) {
		if v, ok := t.Start.Regs.Get(r); ok && r != a.PC && r != a.SP && r != a.FP {
			f.SetReg(r, v, unwind.Location{})
		}
	}
	f.SetNonCall(!t.Start.AfterCall)
	f.SetTrust(unwind.TrustContext)
	return f, nil
}
