package analysis

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// Threads whose stacks are alike. The text shows such a stack once, with the values that all threads have in common,
// and of the first threads those in which they differ. Of the others it only matters whether they have the common
// values: they share the frames of the first.

// maxAlike is the deepest stack that is compared with others.
const maxAlike = 1 << 10

// An alike is a number of threads with the same stack.
type alike struct {
	frames  []report.Frame // of the first of them, with variables
	shared  []report.Frame // the same without, once a thread has joined
	threads int
	differ  map[place]bool           // which variables do not have the same value in all
	known   map[place]*knownVariable // of the first thread
	stack   []*unwind.Frame          // of the first thread
}

// A knownVariable is a variable, its value on entry, and what the two were computed from.
type knownVariable struct {
	value               report.Variable
	entry               entryValue
	hasEntry            bool
	inputs, entryInputs where.Inputs
}

// A place is a variable in a stack.
type place struct {
	entry, number int
	local         bool
}

// foldsThreads reports whether threads with the same stack are shown as one, without the addresses of frames.
func (in *question) foldsThreads() bool {
	return in.opts.FoldThreads && in.comparesThreads() && !in.Verify && !in.wantsAround(false)
}

// comparesThreads reports whether of threads with the same stack only the first evaluates what is the same in all.
// Where variables are (report.Variable.Location) is not.
func (in *question) comparesThreads() bool {
	return !in.opts.Types && !in.Explain && !in.opts.Trees
}

// alikeTo returns the threads before that have the stack of t, maybe none yet; nil if that does not matter.
func (in *question) alikeTo(t *report.Thread, stack *unwind.Stack) *alike {
	if len(t.Frames) > maxAlike {
		return nil
	}
	key := append(make([]byte, 0, 16+8*len(stack.Frames)), t.End...)
	for _, f := range stack.Frames {
		key = binary.LittleEndian.AppendUint64(key, f.RA())
	}
	a := in.alike[string(key)]
	if a == nil {
		a = &alike{differ: map[place]bool{}, known: map[place]*knownVariable{}, stack: stack.Frames}
		if in.alike == nil {
			in.alike = map[string]*alike{}
		}
		in.alike[string(key)] = a
		return a
	}
	if len(a.frames) != len(t.Frames) {
		return nil
	}
	for i := range t.Frames {
		if !sameEntry(&a.frames[i], &t.Frames[i]) {
			return nil
		}
	}
	return a
}

// sameEntry reports whether the text shows two entries at the same address alike, but for their variables.
func sameEntry(x, y *report.Frame) bool {
	return x.Function == y.Function && x.Source == y.Source && x.Module == y.Module && x.Signal == y.Signal && x.SignalNumber == y.SignalNumber && x.SignalConfidence == y.SignalConfidence &&
		x.Inlined == y.Inlined && x.Tail == y.Tail && x.Trust == y.Trust && x.Mismatched == y.Mismatched && x.Doubtful == y.Doubtful
}

// add adds a thread whose variables have been read.
func (a *alike) add(frames []report.Frame) {
	a.threads++
	if a.threads == 1 {
		a.frames = frames
		return
	}
	for i := range a.frames {
		a.compare(i, false, a.frames[i].Args, frames[i].Args)
		a.compare(i, true, a.frames[i].Locals, frames[i].Locals)
	}
}

func (a *alike) compare(entry int, local bool, first, other []report.Variable) {
	for v := range first {
		if v >= len(other) || !first[v].Same(&other[v]) {
			a.differ[place{entry, v, local}] = true
		}
	}
}

// sameCode reports whether a stack, at the same addresses, is at the same instructions.
func (a *alike) sameCode(stack []*unwind.Frame) bool {
	for i, f := range stack {
		g := a.stack[i]
		if f.LookupAddr() != g.LookupAddr() || f.NonCall() != g.NonCall() || f.Trust() != g.Trust() || f.IsTrampoline() != g.IsTrampoline() {
			return false
		}
	}
	return true
}

// variable returns the first thread's variable at a place; nil if it has none.
func (a *alike) variable(p place) *report.Variable {
	list := a.frames[p.entry].Args
	if p.local {
		list = a.frames[p.entry].Locals
	}
	if p.number >= len(list) {
		return nil
	}
	return &list[p.number]
}

// join makes t share the frames of those that it is alike to, if enough of them were read, and no variable of t
// differs that is the same in all of them.
func (in *naming) join(ctx context.Context, t *report.Thread, a *alike, frames []*unwind.Frame, ends []int) bool {
	if a.threads < report.MaxByThread {
		return false
	}
	if !in.computedAlike(a, frames) {
		in.like, in.unlike = a, false
		in.allVariables(ctx, t, frames, ends)
		unlike := in.unlike
		in.like, in.unlike = nil, false
		if unlike || in.stopReading(ctx) {
			return false
		}
	}
	if a.shared == nil {
		a.shared = slices.Clone(a.frames)
		for i := range a.shared {
			a.shared[i].Args, a.shared[i].Locals = nil, nil
		}
	}
	t.Frames, t.Alike = a.shared, true
	return true
}

// computedAlike reports whether all variables that are the same in the threads of a are computed, in another stack, from what
// they are computed from in the first of them. False also means that this is not known.
func (in *naming) computedAlike(a *alike, frames []*unwind.Frame) bool {
	if in.group == nil || in.Variables == nil || in.Budget.Spend(len(a.known)) != nil {
		return false
	}
	process := where.ProcessOf(in.Variables)
	for at, k := range a.known {
		if !a.differ[at] && !(process.SameInputs(&k.inputs, frames) && process.SameInputs(&k.entryInputs, frames)) {
			return false
		}
	}
	return true
}

// compareAll compares the variables of an entry with those of the threads that its thread may join.
func (in *naming) compareAll(a *dwarfvars.Activation, vars []*dwarfvars.LocalVar, at place) {
	for _, v := range vars {
		if hidden(v) {
			continue
		}
		if !in.like.differ[at] {
			first, read := in.like.variable(at), in.variableAt(a, v, at)
			if first == nil || !first.Same(&read) || in.Budget.Spend(costOf(&read)) != nil {
				in.unlike = true
				return
			}
		}
		at.number++
	}
}
