package analysis

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// explain says how f's caller was found: which steppers were asked, the rule of the one that succeeded, and
// where every register of the caller is. caller is nil if the stack ends at f.
func (in *Engine) explain(f, caller *unwind.Frame) *report.Explain {
	e := &report.Explain{}
	if caller != nil {
		e.Registers = in.recovered(f, caller)
	}
	for _, a := range f.Attempts() {
		asked := report.Asked{Stepper: a.Stepper.Name(), Status: strings.TrimPrefix(a.Status.String(), "gcf_")}
		switch {
		case a.Refused != "":
			asked.Detail = "refused: " + a.Refused
		case a.Status == unwind.StatusSuccess && len(a.Notes) > 0:
			e.Rule = a.Notes[0]
			e.Notes = append(e.Notes, a.Notes[1:]...)
		default:
			asked.Detail = strings.Join(a.Notes, "; ")
		}
		e.Asked = append(e.Asked, asked)
	}
	return e
}

// recovered lists the registers of a caller and where each was found. Registers that its callee f left
// unchanged are listed by name only, consecutive ones together.
func (in *Engine) recovered(f, caller *unwind.Frame) []report.RecoveredRegister {
	var out []report.RecoveredRegister
	var same []string
	flush := func() {
		if n := len(same); n > 0 {
			name := same[0]
			if n > 1 {
				name += ".." + same[n-1]
			}
			out = append(out, report.RecoveredRegister{Name: name, Location: "unchanged"})
		}
		same = same[:0]
	}
	for r := range arch.Reg(in.arch.NumRegs()) {
		v, loc, ok := caller.Reg(r)
		if was, at, had := f.Reg(r); ok && had && was == v && at == loc && r != in.arch.SP && r != in.arch.PC {
			same = append(same, in.arch.RegName(r))
			continue
		}
		flush()
		if ok {
			value := report.Addr(v)
			out = append(out, report.RecoveredRegister{Name: in.arch.RegName(r), Value: &value, Location: loc.Describe(in.arch)})
		}
	}
	flush()
	return out
}

// warnExtras says of how many frames the report does not tell how they were found, and what other steppers say.
func (in *question) warnExtras(r *report.Report) {
	warn := func(what string, n int) {
		if n > 0 {
			r.Warnings = append(r.Warnings, report.Warning{Code: report.WarnLimit,
				Message: fmt.Sprintf("of %d frames %s: that would be more work than the dump's size explains", n, what),
				Advice:  "--thread, --task and --max-frames ask for less"})
		}
	}
	warn("it is not said how their callers were found", in.unexplained)
	warn("no other steppers were asked", in.unverified)
}
