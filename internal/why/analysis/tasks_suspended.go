package analysis

import (
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// suspended makes the entries of a task without a stack.
func (in *question) suspended(t *tasks.Task) *taskStack {
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
		if in.opts.Locals != LocalsNone && !in.room.full {
			e.Args = in.suspendedVariables(f.Args)
			e.Locals = in.suspendedVariables(f.Locals)
			for _, list := range [][]report.Variable{e.Args, e.Locals} {
				for i := range list {
					in.room.variable(&list[i])
				}
			}
		}
		out.frames = append(out.frames, e)
		in.room.entries(out.frames[i:])
		if in.Budget.Spend(entryCost) != nil {
			break
		}
	}
	return out
}

func (in *question) suspendedVariables(vars []tasks.SuspendedVariable) []report.Variable {
	out := make([]report.Variable, 0, len(vars))
	for i := range vars {
		v := &vars[i]
		r := report.Variable{Name: v.Name, Type: v.Type, Value: v.Value, Status: report.StatusSuccess, Location: "memory at " + report.Addr(v.Address).String()}
		if r.Entry = v.Entry; v.Entry != "" && v.Err != nil {
			r.Location = "" // what it was is there
		}
		if v.Err != nil {
			r.Value, r.Status, r.Reason = "", report.StatusUnknown, v.Err.Error()
		} else if in.opts.Trees && v.Tree != nil {
			d := in.bounded(v.Tree(), 0)
			d.Type = "" // Variable.Type has it
			r.Data = &d
		}
		out = append(out, r)
	}
	return out
}

// ValueAt reads an object of a language again, with other limits. by is the runtime that found it (report.Frame.Stepper).
func (e *Engine) ValueAt(by string, at unwind.Address, limits tasks.Limits) (report.Data, bool) {
	for _, rt := range e.Found {
		if r, ok := rt.(tasks.Valuer); ok && rt.Name() == by {
			v, ok := r.ValueAt(at, limits)
			return e.bounded(v, 0), ok
		}
	}
	return report.Data{}, false
}

// maxTreeDepth limits trees, which may be of runtimes that the caller brought.
const maxTreeDepth = 32

// bounded returns as much of a runtime's value as may be reported. The runtime may keep the value: it stays as it is.
func (e *Engine) bounded(v report.Data, depth int) report.Data {
	parts := v.Children
	v.Children = nil
	for i := range parts {
		if depth >= maxTreeDepth || e.Budget.Spend(1) != nil {
			v.Truncated = true
			break
		}
		c := parts[i]
		if c.Data = e.bounded(c.Data, depth+1); c.Key != nil {
			key := e.bounded(*c.Key, depth+1)
			c.Key = &key
		}
		v.Children = append(v.Children, c)
	}
	return v
}
