package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A toy is the runtime of the language that testdata/src/toy.c interprets and compiles.
type toy struct {
	p     *tasks.Process
	state uint64 // of the variable toy_state: mark, version, innermost call, fibers, error, compiled code, its size
}

// findToy is a tasks.Finder: nil says that the process has no toys, an error that it has some which are not known.
func findToy(p *tasks.Process) (tasks.Runtime, error) {
	for _, lib := range p.Modules {
		if s, ok := p.Symbols.SymbolByName(lib, "toy_state"); !ok {
			continue
		} else if t := (&toy{p, s.Addr}); t.text(s.Addr) == "toylang" && t.word(s.Addr+8) == 1 {
			return t, nil
		}
		return nil, errors.New("toy: its version is not known")
	}
	return nil, nil
}

func (t *toy) Name() string          { return "toy" }
func (t *toy) word(at uint64) uint64 { v, _ := t.p.State.ReadWord(at); return v } // 0 if it cannot be read
// text reads at most 64 bytes, up to a zero: the process may be damaged, and nothing is read without a bound.
func (t *toy) text(at uint64) string {
	var b [64]byte
	n, _ := t.p.State.ReadMem(at, b[:])
	return strings.SplitN(string(b[:n])+"\x00", "\x00", 2)[0]
}

// call reads a call: its caller, its function, its line and its argument.
func (t *toy) call(at uint64) tasks.Call {
	n, f := tasks.SuspendedVariable{Name: "n", Type: "int", Value: fmt.Sprint(t.word(at + 24))}, t.word(at+8)
	return tasks.Call{Language: "toy", Kind: tasks.CallInterpreted, Function: t.text(t.word(f)), File: t.text(t.word(f + 8)), Line: int(t.word(at + 16)),
		Variables: func(bool, tasks.Limits) (a, _ []tasks.SuspendedVariable) { return append(a, n), nil }}
}

// Stretches implements tasks.Framer: each native frame of toy_execute stands for one call; one of compiled code is a frame of toy's own.
func (t *toy) Stretches(_ context.Context, _ unwind.ThreadID, frames []*unwind.Frame) (list []tasks.Stretch, err error) {
	at := t.word(t.state + 16)
	for i, f := range frames {
		if name, _ := f.Name(); name == "toy_execute" && at != 0 {
			list = append(list, tasks.Stretch{From: i, To: i + 1, Calls: []tasks.Call{t.call(at)}})
			at = t.word(at)
		} else if t.compiled(f) {
			list = append(list, tasks.Stretch{From: i, To: i + 1, Named: true, Calls: []tasks.Call{{Language: "toy", Kind: tasks.CallJIT, Function: "<compiled>"}}})
		}
	}
	return list, nil
}

// Tasks implements tasks.Runtime: fibers have no stack, but a call at which they wait.
func (t *toy) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		for at, n := t.word(t.state+24), 0; at != 0 && n < 1000; at, n = t.word(at), n+1 {
			c := t.call(t.word(at + 8))
			if !yield(&tasks.Task{Key: tasks.Key{Kind: tasks.KindFiber, ID: at}, Runtime: "toy", Thread: unwind.NullThread, State: tasks.StateWaiting,
				Wait:      &tasks.Wait{Kind: tasks.WaitIO, Reason: "await", Object: tasks.Object{Name: t.text(t.word(at + 16))}},
				Suspended: []tasks.SuspendedFrame{{Function: c.Function, File: c.File, Line: c.Line, Language: "toy"}}}, nil) {
				return
			}
		}
	}
}

// Raised implements tasks.Raiser.
func (t *toy) Raised(unwind.ThreadID) []tasks.Exception {
	e, c := t.word(t.state+32), t.call(t.word(t.state+16))
	if e == 0 {
		return nil
	}
	return []tasks.Exception{{Language: "toy", Type: t.text(t.word(e)), Message: t.text(t.word(e + 8)), Function: c.Function, File: c.File, Line: c.Line}}
}

// Steppers implements tasks.Stepping: compiled code has no unwind tables.
func (t *toy) Steppers() []unwind.FrameStepper { return []unwind.FrameStepper{t} }
func (t *toy) Priority() uint32                { return unwind.PriorityDebugStepper + 1 } // after unwind tables, before what guesses
func (t *toy) compiled(f *unwind.Frame) bool   { return f.RA()-t.word(t.state+40) < t.word(t.state+48) }

// CallerFrame implements unwind.FrameStepper: compiled code has a frame pointer.
func (t *toy) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if !t.compiled(in) {
		return unwind.StatusNotMe
	}
	out.SetRA(t.word(in.FP() + 8))
	out.SetFP(t.word(in.FP()))
	out.SetSP(in.FP() + 16)
	return unwind.StatusSuccess
}
