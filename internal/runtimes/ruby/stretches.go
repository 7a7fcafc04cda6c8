package ruby

import (
	"context"
	"slices"

	"github.com/corewalk/corewalk/internal/runtimes/starts"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A segment is calls that one native frame runs: a function of C, or what the virtual machine ran since it was entered. list[from:to], youngest first.
type segment struct {
	from, to int
	native   int // the frame; -1 if it is not known
}

// maxFibers limits how many fibers resumed one another.
const maxFibers = 256

// stack lists the calls of a thread: those of the fiber that runs, then those of who resumed it, and so on.
func (r *runtime) stack(ec uint64) ([]call, error) {
	var list []call
	seen := map[uint64]bool{}
	for range maxFibers {
		if ec == 0 || seen[ec] {
			break
		}
		seen[ec] = true
		one, err := r.calls(ec)
		list = append(list, one...)
		if err != nil {
			return list, err
		}
		ec = r.resumer(ec)
	}
	return list, nil
}

// resumer is what the fiber executed that resumed another one; 0 if none did.
func (r *runtime) resumer(ec uint64) uint64 {
	fiber := r.field(ec, "ec.fiber")
	if fiber == 0 || fiber+r.at("fiber.ec") != ec {
		return 0
	}
	previous := r.field(fiber, "fiber.prev")
	if previous == 0 || previous%8 != 0 {
		return 0
	}
	of := previous + r.at("fiber.ec")
	if r.field(of, "ec.thread") != r.field(ec, "ec.thread") {
		return 0
	}
	return of
}

// own reports whether a frame is of Ruby's own code.
func (r *runtime) own(f *unwind.Frame) bool {
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return false
	}
	lib, ok := libs.LibraryAt(f.LookupAddr())
	return ok && lib == r.lib
}

// Stretches pairs the calls of a thread with the native frames that run them.
func (r *runtime) Stretches(_ context.Context, id unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	if len(frames) == 0 {
		return nil, nil
	}
	ec := r.ecOf(id)
	if ec == 0 || !slices.ContainsFunc(frames, r.own) {
		return nil, r.failed
	}
	list, err := r.stack(ec)
	if len(list) == 0 {
		return nil, err
	}
	segments := divide(list)
	r.pair(list, segments, frames)
	return r.stretches(list, segments, frames), err
}

// divide makes the segments of a list of calls.
func divide(list []call) []segment {
	var out []segment
	for i := 0; i < len(list); {
		to := i + 1
		if list[i].f != nil {
			for !list[to-1].outer && to < len(list) && list[to].f != nil && list[to].ec == list[i].ec {
				to++
			}
		}
		out = append(out, segment{i, to, -1})
		i = to
	}
	return out
}

// pair finds the native frame of each segment: of a function of C the one whose function begins there, of the others the last that has a frame of theirs in the
// register in which the virtual machine has it.
func (r *runtime) pair(list []call, segments []segment, frames []*unwind.Frame) {
	functions := map[uint64]bool{}
	runs := map[uint64]int{}
	for g := range segments {
		for i := segments[g].from; i < segments[g].to; i++ {
			if list[i].f != nil {
				runs[list[i].at] = g
			} else if list[i].native != 0 {
				functions[list[i].native] = true
			}
		}
	}
	reg, known := frameRegister(r.Arch)
	begins := make([]uint64, len(frames)) // of functions of C
	runs1 := make([]int, len(frames))     // the segment that each frame has in its register
	for i, f := range frames {
		runs1[i] = -1
		if r.p.Spend(4) != nil {
			return
		}
		if s := starts.Of(r.p.State, r.p.Files, r.p.Symbols, f.LookupAddr(), functions); functions[s] {
			begins[i] = s
		}
		if !known || !r.own(f) {
			continue
		}
		if v, _, ok := f.Reg(reg); ok {
			if g, ok := runs[v]; ok {
				runs1[i] = g
			}
		}
	}
	next := 0
	for g := range segments {
		c := &list[segments[g].from]
		if c.f == nil {
			for i := next; c.native != 0 && i < len(frames); i++ {
				if runs1[i] > g { // it would be beyond its callers
					break
				}
				if begins[i] == c.native {
					segments[g].native, next = i, i+1
					break
				}
			}
			continue
		}
		last := -1
		for i := next; i < len(frames); i++ {
			if runs1[i] == g {
				last = i
			} else if runs1[i] > g {
				break
			}
		}
		if last >= 0 {
			segments[g].native, next = last, last+1
		}
	}
}

// stretches makes the stretches of the segments.
func (r *runtime) stretches(list []call, segments []segment, frames []*unwind.Frame) []tasks.Stretch {
	var out []tasks.Stretch
	at := 0 // the frames before this one are told
	for g, s := range segments {
		calls := r.describe(list[s.from:s.to])
		if s.native < at || s.native < 0 {
			out = append(out, tasks.Stretch{From: at, To: at, Calls: calls})
			continue
		}
		from, to := s.native, s.native+1
		end := len(frames)
		for k := g + 1; k < len(segments); k++ {
			if segments[k].native > s.native {
				end = segments[k].native
				break
			}
		}
		c := &list[s.from]
		if c.f == nil && !r.own(frames[s.native]) { // a function of an extension stays, and its method is who called it
			from = to
		} else {
			for len(out) > 0 && from > at && r.own(frames[from-1]) {
				from--
			}
		}
		for to < end && r.own(frames[to]) {
			to++
		}
		if from == 0 { // the youngest frame is where it is
			from = 1
			to = max(to, 1)
		}
		out = append(out, tasks.Stretch{From: from, To: to, Calls: calls, Ended: g == 0 && r.ends(c, frames[:s.native])})
		at = to
	}
	// Those that no frame was found for go to the next that has one.
	next := len(frames)
	if n := len(out); n > 0 {
		next = max(at, 1)
	}
	for i := len(out) - 1; i >= 0; i-- {
		if s := &out[i]; s.From == s.To && s.From < next && segments[i].native < 0 {
			s.From, s.To = next, next
		}
		if out[i].From != out[i].To {
			next = out[i].From
		}
	}
	return out
}

// ends reports whether the youngest call asks for the end of the process: native are the frames within it.
func (r *runtime) ends(c *call, native []*unwind.Frame) bool {
	if c.function != "Process.kill" && c.function != "Kernel#abort" {
		return false
	}
	return len(native) > 0 && !slices.ContainsFunc(native[:1], r.own)
}

// describe makes the calls of a report.
func (r *runtime) describe(list []call) []tasks.Call {
	var out []tasks.Call
	for i := range list {
		c := &list[i]
		if c.hidden {
			continue
		}
		one := tasks.Call{Language: language, Kind: tasks.CallInterpreted, Function: c.function}
		if c.f != nil {
			if !c.f.native {
				one.File = c.f.path
				one.Line, one.Approximate = r.line(c)
			}
			one.Variables = func(locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
				return r.variables(c, locals, limits)
			}
		}
		out = append(out, one)
	}
	return out
}

// internalFile is how the files of code begin that Ruby brings with it.
const internalFile = "<internal:"
