package steppers

import (
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// calledElsewhere reports whether the code of a function shows that it returns to a call that leads to it, and that its return address is not at an address, where
// the frame pointer has it: functions without symbols and unwind tables, as musl's own are, mostly keep none, and the register is that of a caller further up.
func (s *FrameFuncStepper) calledElsewhere(at arch.Address, in *unwind.Frame) bool {
	w, lookup := in.Walker(), in.LookupAddr()
	p, a := w.ProcessState(), s.m.arch
	if lib := libraryAt(p, lookup); lib == nil || a.RA != arch.NoReg || isPE(lib) {
		return false
	}
	var starts [maxStarts]functionStart
	var rows []*stackflow.Row
	for _, st := range s.flows.starts(starts[:0], lookup, in) {
		flow := s.flows.follow(w, st.addr|modeOf(in), st.end)
		if flow.Func == nil {
			continue
		}
		rows, _ = flow.Rows(rows[:0], lookup-flow.bias)
		for _, row := range rows {
			cfa, ok := cfaOf(a, &row.CFA, in)
			if !ok || row.RA.Kind != stackflow.AtCFA || cfa < in.SP() || cfa > endOfStack(in) {
				continue
			}
			from := cfa + uint64(row.RA.Off)
			raw, err := a.ReadReg(p, from)
			if err != nil || from == at {
				continue
			}
			ra := codePointer(w, raw)
			if _, ok := callBefore(p, ra); ok && s.flows.calls(w, ra, st.addr, lookup) == InFunc {
				return true
			}
		}
	}
	return false
}
