package coro

import (
	"context"
	"fmt"
	"iter"

	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// maxChain limits how many coroutines await each other.
const maxChain = 256

// Tasks yields the coroutines that await no other, each with those that await it, in the order in which they were found.
func (r *runtime) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		s := r.newReach(ctx)
		s.run()
		s.link()
		s.freed()
		for _, cycle := range []bool{false, true} { // what is left after the first pass awaits itself
			for _, c := range s.order {
				if c.emitted || c.awaited && !cycle {
					continue
				}
				if t := s.task(c); t != nil && !yield(t, nil) {
					return
				}
			}
		}
		if s.err != nil {
			yield(nil, fmt.Errorf("not all coroutines are listed: %w", s.err))
		} else if s.left <= 0 || len(s.order) >= maxFrames {
			yield(nil, fmt.Errorf("not all coroutines may be listed: threads reach more memory than is searched"))
		}
	}
}

// task makes a task of a coroutine and those that await it.
func (s *reach) task(c *coroutine) *tasks.Task {
	t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindCoroutine, ID: c.at}, Name: c.fn.name, Runtime: s.Name(), Thread: unwind.NullThread,
		State: tasks.StateWaiting, Status: "suspended", Certainty: c.certainty}
	switch {
	case c.done:
		t.State, t.Status = tasks.StateDead, "done"
	case s.active[c.fn]:
		t.Status = "suspended, or running in a thread"
	}
	var before *coroutine
	seen := map[*coroutine]bool{}
	for ; c != nil && !seen[c] && len(t.Suspended) < maxChain; c = c.awaiter {
		seen[c], c.emitted = true, true
		f := s.frame(c)
		if before != nil {
			if f.Awaits = tasks.Possible; before.mutual {
				f.Awaits = tasks.Certain
			}
		}
		t.Suspended = append(t.Suspended, f)
		before = c
	}
	return t
}

// limits are those of the variables of coroutines.
func (s *reach) limits() values.Options {
	most := s.p.Limits.Or(tasks.Limits{Elements: 20, Depth: 4})
	return values.Options{MaxDepth: most.Depth, MaxElements: most.Elements, MaxString: most.String, MaxParts: s.p.Limits.Parts(100)}
}

// frame describes one frame.
func (s *reach) frame(c *coroutine) tasks.SuspendedFrame {
	f := c.fn
	out := tasks.SuspendedFrame{Function: f.name, Symbol: f.symbol, Entry: f.resume, PC: f.resume, Object: c.at, File: f.file, Line: f.line, Approximate: true}
	if out.PC == 0 {
		out.PC, _ = s.ReadWord(c.at + s.word)
	}
	if c.place.pc != 0 {
		out.PC = c.place.pc
		if c.place.line != 0 {
			out.File, out.Line, out.Approximate = c.place.file, c.place.line, false
		}
	}
	if f.layout != nil && !c.done {
		out.Args, out.Locals = s.variablesOf(c.at, f.args), s.variablesOf(c.at, f.locals)
	}
	return out
}

// maxVariables limits the variables of one frame.
const maxVariables = 64

func (s *reach) variablesOf(at unwind.Address, vars []variable) []tasks.SuspendedVariable {
	var out []tasks.SuspendedVariable
	for i := range vars[:min(len(vars), maxVariables)] {
		v := &vars[i]
		if s.p.Spend(variableCost) != nil {
			break
		}
		in := noFrame{spend: s.p.Spend}
		size, err := v.typ.SizeIn(in)
		if err != nil {
			continue
		}
		o := values.Object{Type: v.typ, Size: size, Mem: true, Addr: at + v.off}
		val := values.Read(s.values, in, &o, v.typ, s.limits())
		out = append(out, tasks.SuspendedVariable{Name: v.name, Type: v.typ.Name(), Value: val.String(), Err: val.Err, Address: o.Addr})
	}
	return out
}

// variableCost is what a variable costs of the budget.
const variableCost = 16
