package beam

import (
	"bytes"
	"context"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/starts"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// own reports whether a frame is of the code that the virtual machine made: false if it is of a library.
func (r *runtime) own(f *unwind.Frame) bool {
	libs := r.p.State.LibraryTracker()
	if libs == nil || !r.jit {
		return false
	}
	_, ok := libs.LibraryAt(f.LookupAddr())
	return !ok
}

// callsNIF is part of the name of the function that calls functions of C.
const callsNIF = "beam_jit_call_nif"

// leads returns where the function of the virtual machine begins in which a frame is, if it is one of those that lead to Erlang's code or back; else 0.
func (r *runtime) leads(f *unwind.Frame) uint64 {
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return 0
	}
	if lib, ok := libs.LibraryAt(f.LookupAddr()); !ok || lib != r.lib {
		return 0
	}
	if s, ok := r.p.Symbols.SymbolAt(r.lib, f.LookupAddr()); ok && strings.Contains(s.Name, callsNIF) {
		return s.Addr
	}
	known := map[uint64]bool{}
	for _, at := range [...]uint64{r.machine, r.dirty, r.callDirty, r.schedule} {
		if at != 0 {
			known[at] = true
		}
	}
	if s := starts.Of(r.p.State, r.p.Files, r.p.Symbols, f.LookupAddr(), known); known[s] {
		return s
	}
	return 0
}

// Stretches puts the calls of the process that a scheduler runs in the place of the frames that run them.
func (r *runtime) Stretches(_ context.Context, id unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	s := r.schedulerOf(id)
	if s == nil {
		return nil, r.failed
	}
	machine := -1 // the frame that runs Erlang's code
	for i, f := range frames {
		at := r.leads(f)
		if r.own(f) || at != 0 && (at == r.dirty || at == r.machine) {
			machine = i
			break
		}
	}
	if machine < 0 {
		return nil, nil
	}
	p := r.runs(s)
	if p == nil {
		return nil, nil
	}
	at, err := r.position(s, p, frames[:machine+1])
	var list []call
	if err == nil {
		list, err = r.calls(p, at)
	}
	if len(list) == 0 {
		return nil, err
	}
	out := tasks.Stretch{From: machine, To: machine + 1, Calls: r.describe(list)}
	// What only leads to the calls and back is not shown.
	for out.From > 1 && (r.own(frames[out.From-1]) || r.leads(frames[out.From-1]) != 0) {
		out.From--
	}
	for out.To < len(frames) && (r.own(frames[out.To]) || r.machine != 0 && r.leads(frames[out.To]) == r.machine) {
		out.To++
	}
	if machine == 0 { // it was interrupted in code of its own: that frame stays
		youngest := tasks.Stretch{From: 0, To: 1, Named: true, Calls: out.Calls[:1]}
		out.From, out.Calls = 1, out.Calls[1:]
		return []tasks.Stretch{youngest, out}, err
	}
	out.Ended = strings.HasPrefix(out.Calls[0].Function, "erlang:halt/")
	return []tasks.Stretch{out}, err
}

// position finds where a process is that runs. frames are the native ones, the last of which runs Erlang's code.
func (r *runtime) position(s *scheduler, p *process, frames []*unwind.Frame) (position, error) {
	f := frames[len(frames)-1]
	at := position{pc: p.i, stack: p.stop}
	called := uint64(0) // what is known of what was called
	if len(frames) > 1 {
		called = r.leads(frames[len(frames)-2])
	}
	switch {
	case called != 0 && called == r.schedule, s.dirty && r.is(p, "state.dirtysystem"): // the scheduler works for the process (it collects garbage), which waits
		return r.suspended(p), nil
	case s.dirty, r.field(s.at, "scheduler.nif") != 0, !r.jit:
		at.pc = 0
		if g := r.function(p.current); g != nil {
			at.f, at.args = g, g.arity
			at.from = s.x
			if s.dirty {
				at.from = p.arguments
			}
		}
		return at, nil
	}
	if v, _, ok := f.Reg(processAt); ok && v != p.at {
		return at, errStack
	}
	if len(frames) == 1 && f.LookupAddr() == f.RA() { // it was interrupted
		at.pc, at.stack, at.interrupted = f.RA(), f.SP(), true
		if at.stack > p.end || at.stack < p.end-min(p.end, maxStack) { // in between the two stacks
			at.stack = p.stop
		}
	} else {
		at.pc, at.after = f.RA(), true
		if v, _, ok := f.Reg(savedStack); ok && r.restores(f.RA()) {
			at.stack = v
		}
	}
	if _, ok := r.moduleAt(at.pc - 1); !ok {
		r.leaveShared(&at, p)
	}
	return at, nil
}

// leaveShared goes from code that functions share, which calls functions of the virtual machine, to the one that called it: its address is on the stack,
// below a frame pointer if there are such. It need not be one that Erlang's own calls could return to.
func (r *runtime) leaveShared(at *position, p *process) {
	at.pc, at.after = 0, true
	words, _ := r.Words(at.stack, 2)
	for i, w := range words {
		if _, ok := r.moduleAt(w - 1); ok {
			at.pc, at.stack = w, at.stack+8*uint64(i+1)
			return
		}
		if !r.fp || w < at.stack || w > p.end {
			return
		}
	}
}

// Instructions with which Erlang's code goes back to its stack, whose beginning it has in a register.
var restoring = [...][]byte{{0x48, 0x89, 0xec}, {0x48, 0x8b, 0xe5}}

// restores reports whether code takes the beginning of its stack from a register again when a call of C returns, and not from the process.
func (r *runtime) restores(pc uint64) bool {
	const reach = 64
	b := r.Some(pc, reach)
	first := len(b)
	for _, code := range restoring {
		if i := bytes.Index(b, code); i >= 0 {
			first = min(first, i)
		}
	}
	own := append([]byte{0x49, 0x8b, 0x65}, byte(r.at("process.stop"))) // mov rsp, [r13+n]
	if i := bytes.Index(b, own); i >= 0 && i < first {
		return false
	}
	return first < len(b) && !r.fp
}

// describe makes the calls of a report.
func (r *runtime) describe(list []call) []tasks.Call {
	out := make([]tasks.Call, 0, len(list))
	for i := range list {
		c := &list[i]
		kind := tasks.CallInterpreted
		if r.jit {
			kind = tasks.CallJIT
		}
		out = append(out, tasks.Call{Language: language, Kind: kind, Function: c.name(), File: c.file, Line: c.line, Approximate: c.near && c.line != 0,
			Variables: func(locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
				return r.variables(c, locals, limits)
			}})
	}
	return out
}
