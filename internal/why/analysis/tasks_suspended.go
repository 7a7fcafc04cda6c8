package analysis

import (
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// suspended makes the entries of a task without a stack.
func (in *inspection) suspended(t *tasks.Task) *taskStack {
	out := &taskStack{end: report.EndBottom}
	libs := in.Proc.LibraryTracker()
	for i := range t.Suspended {
		f := &t.Suspended[i]
		e := report.Frame{Index: i, Physical: i, PC: report.Addr(f.PC), Lookup: report.Addr(f.PC), Entry: report.Addr(f.Entry), Object: report.Addr(f.Object),
			Function: f.Function, Awaits: string(f.Awaits), Trust: report.TrustSuspended, Stepper: t.Runtime}
		if f.Language != "" {
			e.Language, e.Kind = f.Language, report.KindInterpreted
		}
		if f.Symbol != f.Function {
			e.Symbol = f.Symbol
		}
		if libs != nil {
			if lib, ok := libs.LibraryAt(f.PC); ok {
				e.Module, e.Offset = lib.Path, report.Addr(f.PC-lib.LoadBias)
			}
		}
		if f.File != "" {
			e.Source = report.Source{File: f.File, Line: f.Line}
			e.Approximate = f.Approximate
		}
		if in.opts.Locals != LocalsNone {
			e.Args = suspendedVariables(f.Args)
			e.Locals = suspendedVariables(f.Locals)
		}
		out.frames = append(out.frames, e)
		if in.Budget.Spend(entryCost) != nil {
			break
		}
	}
	return out
}

func suspendedVariables(vars []tasks.SuspendedVariable) []report.Variable {
	out := make([]report.Variable, 0, len(vars))
	for i := range vars {
		v := &vars[i]
		r := report.Variable{Name: v.Name, Type: v.Type, Value: v.Value, Status: report.StatusSuccess, Location: "memory at " + report.Addr(v.Address).String()}
		if v.Err != nil {
			r.Value, r.Status, r.Reason = "", report.StatusUnknown, v.Err.Error()
		}
		out = append(out, r)
	}
	return out
}
