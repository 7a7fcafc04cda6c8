package corecheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Stack compares two walks of a thread: a in the process, b in its core.
func (r *Result) Stack(a, b *unwind.Stack) {
	where := fmt.Sprintf("thread %d", a.Thread)
	if len(a.Frames) != len(b.Frames) {
		r.differ("%s: %d frames live, %d in the core", where, len(a.Frames), len(b.Frames))
	}
	if a.End != b.End {
		r.differ("%s: the walk ended with %v live, with %v in the core", where, a.End, b.End)
	}
	for i := range min(len(a.Frames), len(b.Frames)) {
		r.Frames++
		r.frame(fmt.Sprintf("%s frame %d", where, i), a.Frames[i], b.Frames[i])
	}
}

// frame compares everything that two frames say.
func (r *Result) frame(where string, a, b *unwind.Frame) {
	if name, err := a.Name(); err == nil {
		where += " (" + name + ")"
	}
	same := func(what string, x, y any) {
		if x != y {
			r.differ("%s: %s: live %v, core %v", where, what, x, y)
		}
	}
	cfa := func(f *unwind.Frame) string {
		if v, ok := f.CFA(); ok {
			return fmt.Sprintf("%#x", v)
		}
		return "not known"
	}
	stepper := func(s unwind.FrameStepper) string {
		if s == nil {
			return "none"
		}
		return s.Name()
	}
	name := func(f *unwind.Frame) string {
		n, err := f.Name()
		if err != nil {
			return "none"
		}
		return n
	}
	same("CFA", cfa(a), cfa(b))
	same("lookup address", fmt.Sprintf("%#x", a.LookupAddr()), fmt.Sprintf("%#x", b.LookupAddr()))
	same("stepper", stepper(a.Stepper()), stepper(b.Stepper()))
	same("next stepper", stepper(a.NextStepper()), stepper(b.NextStepper()))
	same("trust", a.Trust(), b.Trust())
	same("top, bottom, interrupted, trampoline", flags(a), flags(b))
	same("function", name(a), name(b))
	machine := a.Walker().ProcessState().Arch()
	for reg := range arch.Reg(machine.NumRegs()) {
		x, y := register(machine, a, reg), register(machine, b, reg)
		if x != "not known" {
			r.Registers++
		}
		same(machine.RegName(reg), x, y)
	}
}

func flags(f *unwind.Frame) [4]bool {
	return [4]bool{f.IsTopFrame(), f.IsBottomFrame(), f.NonCall(), f.IsTrampoline()}
}

// register returns a register's value and where it was found.
func register(a *arch.Arch, f *unwind.Frame, reg arch.Reg) string {
	v, loc, ok := f.Reg(reg)
	if !ok {
		return "not known"
	}
	return fmt.Sprintf("%#x, %s", v, loc.Describe(a))
}

// Thread compares two reports of a thread. It ignores names of threads, which cores do not have.
func (r *Result) Thread(a, b *report.Thread) {
	where := fmt.Sprintf("thread %d", a.ID)
	r.values(where+" registers", a.Registers, b.Registers)
	r.values(where+" end", a.End, b.End)
	if len(a.Frames) != len(b.Frames) {
		r.differ("%s: %d calls live, %d in the core", where, len(a.Frames), len(b.Frames))
	}
	for i := range min(len(a.Frames), len(b.Frames)) {
		f, g := a.Frames[i], b.Frames[i]
		call := fmt.Sprintf("%s call %d (%s)", where, i, f.Function)
		r.variables(call+" arguments", f.Args, g.Args)
		r.variables(call+" locals", f.Locals, g.Locals)
		f.Args, f.Locals, g.Args, g.Locals = nil, nil, nil, nil
		r.values(call, f, g)
	}
}

// variables compares the variables of a call. Variables that lead to memory left out of the core are counted,
// not compared.
func (r *Result) variables(where string, a, b []report.Variable) {
	if len(a) != len(b) {
		r.differ("%s: %d live, %d in the core", where, len(a), len(b))
		return
	}
	for i := range a {
		r.Variables++
		if r.Core != nil && r.Core.LeftOut > 0 && notInDump(b[i]) {
			r.Unread++
			continue
		}
		r.values(where+" "+a[i].Name, a[i], b[i])
	}
}

func notInDump(v report.Variable) bool {
	b, err := json.Marshal(v)
	return err == nil && bytes.Contains(b, []byte(arch.ErrNotInDump.Error()))
}

// values compares two values by their JSON, field by field.
func (r *Result) values(where string, a, b any) {
	x, errA := decoded(a)
	y, errB := decoded(b)
	if errA != nil || errB != nil {
		r.differ("%s: cannot be compared: %v, %v", where, errA, errB)
		return
	}
	r.tree(where, x, y)
}

func decoded(v any) (out any, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(b, &out)
}

func (r *Result) tree(where string, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			var keys []string
			for k := range x {
				keys = append(keys, k)
			}
			for k := range y {
				if _, both := x[k]; !both {
					keys = append(keys, k)
				}
			}
			slices.Sort(keys)
			for _, k := range keys {
				r.tree(where+" "+k, x[k], y[k])
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				r.tree(where+" "+element(i, x[i]), x[i], y[i])
			}
			return
		}
	default:
		if a == b {
			return
		}
	}
	r.differ("%s: live %s, core %s", where, text(a), text(b))
}

// element names an element of a list, by its name if it has one.
func element(i int, v any) string {
	if m, ok := v.(map[string]any); ok {
		if name, ok := m["name"].(string); ok && name != "" {
			return name
		}
	}
	return fmt.Sprint(i)
}

// text returns a value on one line, shortened.
func text(v any) string {
	if v == nil {
		return "nothing"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(b) > 200 {
		return string(b[:200]) + "..."
	}
	return string(b)
}
