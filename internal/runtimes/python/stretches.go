package python

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

//go:embed glue.txt
var glueText string

// glue are the prefixes of glue.txt.
var glue = lazy.Value[[]string]{Make: func() []string {
	var list []string
	for line := range strings.Lines(glueText) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}}

// evalName is the function that runs Python's instructions.
const evalName = "_PyEval_EvalFrameDefault"

// What a native frame is to the interpreter.
const (
	foreign     = iota // not its own
	own                // does something by itself
	ends               // ends the process because Python asked for it
	leads              // leads from call to call
	nameless           // of the interpreter, without a symbol: taken for leads
	eval               // runs Python's instructions
	aborts             // not its own: abort
	trampolines        // leads to code that was made for one function of Python, which calls what runs it (python -X perf)
)

// Stretches pairs the Python calls of a thread with the native frames that run them.
func (r *runtime) Stretches(ctx context.Context, id unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	if len(frames) == 0 {
		return nil, nil
	}
	list, err := r.callsOf(id)
	list = onStack(list, frames[0].SP())
	if len(list) == 0 {
		return nil, err
	}
	kinds := make([]uint8, len(frames))
	for i, f := range frames {
		kinds[i] = r.kind(f)
		if kinds[i] == trampolines {
			kinds[i] = leads
			if i > 0 && r.isMade(frames[i-1]) {
				kinds[i-1] = leads
			}
		}
	}
	groups := r.groups(list, frames, kinds)
	if r.several && r.minor < 10 && err == nil && count(kinds, eval) > len(list)+1 {
		err = errOthers
	}
	return r.stretches(list, groups, kinds), err
}

const errOthers chainError = "it runs calls of another interpreter, which are not found in versions before 3.10"

func count(kinds []uint8, kind uint8) (n int) {
	for _, k := range kinds {
		if k == kind {
			n++
		}
	}
	return n
}

// callsOf lists the calls of a thread, youngest first: those of several interpreters by where they are on the stack.
func (r *runtime) callsOf(id unwind.ThreadID) (list []pyFrame, failed error) {
	states := r.statesOf(id)
	for _, s := range states {
		calls, err := r.chain(s)
		list, failed = append(list, calls...), cmp.Or(failed, err)
	}
	if len(states) > 1 && !slices.ContainsFunc(list, func(f pyFrame) bool { return f.stack == 0 }) {
		slices.SortStableFunc(list, func(a, b pyFrame) int { return cmp.Compare(a.stack, b.stack) })
	}
	return list, failed
}

// onStack leaves out calls younger than a stack: a handler of the exception, written in Python, ran on below it.
func onStack(list []pyFrame, sp uint64) []pyFrame {
	for i := range list {
		if at := list[i].stack; at == 0 || at >= sp {
			return list[i:]
		}
	}
	return nil
}

// kind tells what a frame is to the interpreter.
func (r *runtime) kind(f *unwind.Frame) uint8 {
	at := f.LookupAddr()
	lib, ok := r.p.State.LibraryTracker().LibraryAt(at)
	if !ok {
		return foreign
	}
	s, ok := r.p.Symbols.SymbolAt(lib, at)
	switch {
	case lib != r.lib && ok && s.Name == "abort":
		return aborts
	case lib != r.lib:
		return foreign
	case !ok:
		return nameless
	case strings.HasPrefix(s.Name, evalName):
		return eval
	case strings.HasPrefix(s.Name, "py_trampoline_evaluator"):
		return trampolines
	}
	for _, p := range [...]string{"os_abort", "os_kill", "signal_raise_signal", "signal_pthread_kill"} {
		if strings.HasPrefix(s.Name, p) {
			return ends
		}
	}
	for _, p := range glue.Get() {
		if strings.HasPrefix(s.Name, p) {
			return leads
		}
	}
	return own
}

// isMade reports whether a frame is in code of no library.
func (r *runtime) isMade(f *unwind.Frame) bool {
	_, ok := r.p.State.LibraryTracker().LibraryAt(f.LookupAddr())
	return !ok
}

// A group is the calls that one native frame runs: list[from:to].
type group struct {
	from, to int
	native   int // the frame; -1 if it is not known
}

// groups finds the native frame of each call: by an address on the stack, or in order in versions in which each has
// its own.
func (r *runtime) groups(list []pyFrame, frames []*unwind.Frame, kinds []uint8) []group {
	var out []group
	if r.minor < 10 {
		var evals []int
		for i, k := range kinds {
			if k == eval {
				evals = append(evals, i)
			}
		}
		skip := max(0, len(evals)-len(list)) // the youngest has not begun, or has ended
		for i := range list {
			g := group{i, i + 1, -1}
			if i+skip < len(evals) {
				g.native = evals[i+skip]
			}
			out = append(out, g)
		}
		return out
	}
	n := 0
	for i := 0; i < len(list); {
		g := group{from: i, to: i + 1, native: -1}
		for g.to < len(list) && list[g.to].stack == list[i].stack {
			g.to++
		}
		if at := list[i].stack; at != 0 {
			for k := n; k < len(frames); k++ {
				end, known := frames[k].CFA()
				if !known && k+1 < len(frames) {
					end = frames[k+1].SP()
				}
				if at < frames[k].SP() {
					break
				}
				if at < end {
					if kinds[k] != foreign && kinds[k] != aborts {
						g.native, n = k, k
					}
					break
				}
			}
		}
		out = append(out, g)
		i = g.to
	}
	return out
}

// stretches makes the stretches of the groups: each with the frames beside it that only lead to it.
func (r *runtime) stretches(list []pyFrame, groups []group, kinds []uint8) []tasks.Stretch {
	var out []tasks.Stretch
	at := 0 // the frames before this one are told
	for i, g := range groups {
		st := tasks.Stretch{From: at, To: at}
		if g.native >= at {
			kinds[g.native] = eval
			st.From, st.To = g.native, g.native+1
			for st.From > at && leadsOn(kinds[st.From-1]) {
				st.From--
			}
			last := len(kinds)
			if i+1 < len(groups) && groups[i+1].native > g.native {
				last = groups[i+1].native
			}
			for st.To < last && leadsOn(kinds[st.To]) {
				st.To++
			}
			if st.From == 0 && g.native > 0 {
				st.From = g.native // the youngest frame is where it is
			}
			st.Ended = i == 0 && endsAt(kinds[:g.native])
		}
		for k := g.from; k < g.to; k++ {
			st.Calls = append(st.Calls, r.call(&list[k]))
		}
		out = append(out, st)
		at = max(at, st.To)
	}
	return out
}

// endsAt reports whether a Python call asked for the end of the process: kinds are those of the native frames younger than
// the one that runs the call. Where os.abort has no name, abort is called by code without one; what finds the
// interpreter at fault has a name (_Py_FatalErrorFunc), and the C library calls abort for others from another function (free).
func endsAt(kinds []uint8) bool {
	for i := len(kinds) - 1; i >= 0; i-- {
		switch {
		case kinds[i] == aborts:
			return i+1 < len(kinds) && kinds[i+1] == nameless
		case !leadsOn(kinds[i]):
			return kinds[i] == ends
		}
	}
	return false
}

func leadsOn(kind uint8) bool { return kind == leads || kind == nameless }

// call describes a Python call.
func (r *runtime) call(f *pyFrame) tasks.Call {
	c := r.codeAt(f.code)
	if c == nil {
		return tasks.Call{Language: language, Kind: tasks.CallInterpreted}
	}
	r.mu.Lock()
	function := r.functionOf(c, f.at)
	r.mu.Unlock()
	out := tasks.Call{Language: language, Kind: tasks.CallInterpreted, Function: function, File: c.file}
	out.Line, out.Column = r.place(c, f.offset)
	out.Variables = func(locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
		return r.variables(f, c, locals, limits)
	}
	return out
}

const language = "python"
