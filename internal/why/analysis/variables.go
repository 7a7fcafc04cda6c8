package analysis

import (
	"context"
	"errors"
	"time"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// Locals selects the variables to read.
type Locals uint8

const (
	// LocalsTop reads the arguments of every frame, and all variables of the frames at the top of the crashing
	// thread.
	LocalsTop Locals = iota
	// LocalsNone reads no variables.
	LocalsNone
	// LocalsArgs reads the arguments of every frame.
	LocalsArgs
	// LocalsAll reads all variables of all frames.
	LocalsAll
)

// topFrames is how many frames with variables count as the top of a stack.
const topFrames = 3

// A stack of up to deepStack frames is read from the youngest frame on, because the choice of frames whose
// local variables are read depends on the younger frames. In a deeper stack the frames past the first
// shallowPart are read first; shallowPart is less than the nesting that an evaluation allows.
const (
	deepStack   = 64
	shallowPart = 16
)

// keptFrames is how many frames' results are kept for younger ones: more than an evaluation can go back.
const keptFrames = 32

// allVariables adds the variables to the entries of a stack, those that are shown; the entries of frame i end at
// ends[i]. It stops early when ctx is done.
func (in *naming) allVariables(ctx context.Context, t *report.Thread, frames []*unwind.Frame, ends []int) {
	if in.Variables == nil || in.opts.Locals == LocalsNone {
		return
	}
	if in.opts.Shown != nil {
		defer in.leaveOut(t)()
	}
	of := func(i int) []report.Frame {
		start := 0
		if i > 0 {
			start = ends[i-1]
		}
		return t.Frames[start:ends[i]]
	}
	in.frames = frames
	in.stackVariables(ctx, of, frames)
}

// forget drops what is kept of frames that nobody will ask about again.
func (in *Engine) forget(frames []*unwind.Frame) {
	where.ProcessOf(in.Variables).Forget(frames)
	for _, f := range frames {
		delete(in.targets, f)
	}
}

// leaveOut makes variables be left out that are not shown. When all others have been read, the function that it returns says so in the
// entries, if that is wanted.
func (in *naming) leaveOut(t *report.Thread) (mark func()) {
	shown := in.opts.Shown(t.Frames)
	if shown == nil {
		return func() {}
	}
	in.shown = make([]bool, t.Frames[len(t.Frames)-1].Index+1)
	for i, is := range shown {
		in.shown[t.Frames[i].Index] = is
	}
	return func() {
		for i, is := range shown {
			if e := &t.Frames[i]; !is && e.Args == nil && e.Locals == nil {
				e.VariablesLeftOut = in.opts.LeftOut
			}
		}
	}
}

// stackVariables reads the variables of the entries that are shown. A deep stack is read from the oldest frame on: a
// function often passes on what its caller passed to it, and that is known then.
func (in *naming) stackVariables(ctx context.Context, of func(int) []report.Frame, frames []*unwind.Frame) {
	all := in.opts.Locals == LocalsAll
	top := len(frames)
	if top > deepStack {
		first := deepStack
		if all || in.shown == nil {
			first = shallowPart
		}
		for i := len(frames) - 1; i >= first && !in.stopReading(ctx); i-- {
			if i == in.left.end-1 {
				i = in.left.from - 1
			}
			in.variables(of(i), frames, i, all)
			if far := i + keptFrames; i%keptFrames == 0 && i > deepStack && far < len(frames) {
				in.forget(frames[far:min(far+keptFrames, len(frames))])
			}
		}
		if top = deepStack; all {
			top = shallowPart // the deeper frames are done
		}
	}
	for i := 0; i < top && !in.stopReading(ctx); i++ {
		in.variables(of(i), frames, i, true)
	}
}

// stopReading reports whether no more variables may be read, because the analysis has ended or the time for them.
func (in *question) stopReading(ctx context.Context) bool {
	return ctx.Err() != nil || in.Budget.Err() != nil || in.room.full || in.late()
}

// late reports whether the time for variables is over.
func (in *question) late() bool {
	if until := in.opts.VariablesUntil; !in.tooLate && !until.IsZero() {
		in.tooLate = time.Now().After(until)
	}
	return in.tooLate
}

// warnLate says that the time for variables was over.
func (in *question) warnLate(r *report.Report) {
	if in.tooLate {
		r.Warnings = append(r.Warnings, report.Warning{Code: report.WarnVariables, Message: "not all variables were read: the time for them was over"})
	}
}

// leaves reports whether nothing is to be found out about a frame with these entries: none is shown, and it does not decide which
// frames' local variables are read.
func (in *naming) leaves(entries []report.Frame, mayLocals bool) bool {
	if in.shown == nil || mayLocals && in.countsTop() {
		return false
	}
	for i := range entries {
		if in.shown[entries[i].Index] {
			return false
		}
	}
	return true
}

// variables adds the arguments and local variables to the entries of one physical frame, the last of which is
// the frame itself. Without mayLocals it adds arguments only.
func (in *naming) variables(entries []report.Frame, frames []*unwind.Frame, physical int, mayLocals bool) {
	if len(entries) == 0 || frames[physical].IsTrampoline() || in.leaves(entries, mayLocals) {
		return
	}
	// Functions that left by tail calls come first.
	own := len(entries) - 1
	for own > 0 && !entries[own-1].Tail {
		own--
	}
	if own > 0 {
		in.leftArguments(entries[:own], frames, physical-1)
	}
	a, err := in.Variables.At(frames, physical)
	if err != nil {
		return // no debugging information
	}
	defer a.Close()
	entries = entries[own:]
	in.read(entries, a, mayLocals && in.wantLocals(a, &entries[len(entries)-1]))
}

// read adds the arguments, and local variables if wanted, to the entries of one activation: those of the calls
// inlined into it, then its own.
func (in *naming) read(entries []report.Frame, a *dwarfvars.Activation, locals bool) {
	scopes := a.Live()
	if in.NoInlines || in.moved[a.Frame()] || len(entries) != len(scopes) {
		entries, scopes = entries[len(entries)-1:], scopes[len(scopes)-1:]
	}
	for i, s := range scopes {
		e := &entries[i]
		switch {
		case in.unlike:
			return
		case in.shown != nil && !in.shown[e.Index]:
		case in.like != nil:
			in.compareAll(a, s.Params, place{entry: e.Index})
			if locals {
				in.compareAll(a, s.Locals, place{entry: e.Index, local: true})
			}
		default:
			e.Args = in.readAll(a, s.Params, place{entry: e.Index})
			if locals {
				e.Locals = in.readAll(a, s.Locals, place{entry: e.Index, local: true})
			}
		}
	}
}

// hidden reports whether a variable is not reported: the compiler declared it.
func hidden(v *dwarfvars.LocalVar) bool { return v.Artificial && v.Name != "this" }

// wantLocals decides whether to read a frame's local variables, and counts the frames at the top. It skips a
// language's runtime, which only noticed that something was wrong.
func (in *naming) wantLocals(a *dwarfvars.Activation, f *report.Frame) bool {
	switch in.opts.Locals {
	case LocalsAll:
		return true
	case LocalsTop:
		if !in.countsTop() || systemModule(f.Module) || runtimeFunction(f.Function) {
			return false
		}
		for _, s := range a.Live() {
			if len(s.Params)+len(s.Locals) > 0 {
				in.withLocals++
				break
			}
		}
		return true
	}
	return false
}

// countsTop reports whether the stack may have more frames at the top.
func (in *naming) countsTop() bool {
	return in.opts.Locals == LocalsTop && in.crashed && in.withLocals < topFrames
}

func (in *naming) readAll(a *dwarfvars.Activation, vars []*dwarfvars.LocalVar, at place) []report.Variable {
	out := make([]report.Variable, 0, len(vars))
	for _, v := range vars {
		if hidden(v) {
			continue
		}
		read := in.variableAt(a, v, at)
		at.number++
		out = append(out, read)
		in.room.variable(&read)
		if in.Budget.Spend(costOf(&read)) != nil || in.room.full || in.late() {
			break
		}
	}
	return out
}

// costOf is what a variable costs of the Budget.
func costOf(v *report.Variable) int {
	parts := 1
	if v.Data != nil {
		parts += partsOf(v.Data)
	}
	return parts*variableCost + (len(v.Name)+len(v.Type)+len(v.Value)+len(v.Reason)+len(v.Expression)+len(v.Entry))/textPerUnit
}

// partsOf counts a value's parts, and itself.
func partsOf(d *report.Data) int {
	n := 1
	for i := range d.Children {
		n += partsOf(&d.Children[i].Data)
	}
	return n
}

// variableAt reads the variable at a place of the stack. Of threads with the same stack, only the first evaluates what is
// computed from the same registers in all.
func (in *naming) variableAt(a *dwarfvars.Activation, v *dwarfvars.LocalVar, at place) report.Variable {
	if in.group == nil {
		return in.variable(a, v)
	}
	k := in.group.known[at]
	if in.group.threads == 0 {
		k = new(knownVariable)
		in.group.known[at] = k
		f := where.FrameOf(a)
		f.Record(&k.inputs)
		k.value = in.valueOf(a, v)
		f.Record(&k.entryInputs)
		k.entry, k.hasEntry = in.entryOf(a, v)
		f.Record(nil)
		return withEntry(k.value, k.entry, k.hasEntry)
	}
	same := func(inputs *where.Inputs) bool {
		return where.ProcessOf(in.Variables).SameInputs(inputs, in.frames)
	}
	var out report.Variable
	if k != nil && same(&k.inputs) {
		out = k.value
	} else {
		out = in.valueOf(a, v)
	}
	if k != nil && same(&k.entryInputs) {
		return withEntry(out, k.entry, k.hasEntry)
	}
	entry, ok := in.entryOf(a, v)
	return withEntry(out, entry, ok)
}

// variable reads a variable, and its value on entry.
func (in *question) variable(a *dwarfvars.Activation, v *dwarfvars.LocalVar) report.Variable {
	out := in.valueOf(a, v)
	entry, ok := in.entryOf(a, v)
	return withEntry(out, entry, ok)
}

// entryOf reads the value that a parameter had when its function was called; false if that is not known.
func (in *Engine) entryOf(a *dwarfvars.Activation, v *dwarfvars.LocalVar) (entryValue, bool) {
	entry, ok := a.ReadEntry(v, in.Values)
	if !ok {
		return entryValue{}, false
	}
	return entryValue{entry.String(), entry.Doubtful()}, true
}

// An entryValue is the value of a parameter when its function was called, and whether that is doubtful.
type entryValue struct {
	text     string
	doubtful bool
}

// withEntry adds the value on entry, if it is known and another one.
func withEntry(out report.Variable, entry entryValue, ok bool) report.Variable {
	if ok && (out.Status != report.StatusSuccess || entry.text != out.Value) {
		out.Entry = entry.text
		out.Doubtful = out.Doubtful || entry.doubtful
	}
	return out
}

// valueOf reads a variable.
func (in *question) valueOf(a *dwarfvars.Activation, v *dwarfvars.LocalVar) report.Variable {
	val := a.Read(v, in.Values)
	out := report.Variable{Name: v.Name}
	if in.opts.Types || in.Explain {
		out.Type, out.Location = cutName(val.Type(), maxTypeName), a.Where(v)
	}
	if in.Explain {
		out.Expression = a.Expression(v)
		var entry *unknown.Entry
		if errors.As(val.Err(), &entry) {
			out.Expression += "; " + entry.Why
		}
	}
	if val.Err() == nil {
		out.Status, out.Value, out.Doubtful = report.StatusSuccess, val.String(), val.Doubtful()
		if in.opts.Trees {
			d := Data(val)
			d.Type = "" // Variable.Type has it
			out.Data = &d
		}
		return out
	}
	out.Status, out.Reason = report.StatusUnknown, val.Err().Error()
	switch {
	case errors.Is(val.Err(), dwarfvars.ErrParam):
		out.Status = report.StatusParam
	case errors.Is(val.Err(), dwarfvars.ErrOutOfScope):
		out.Status = report.StatusOutOfScope
	}
	return out
}

// Data converts a value to the report's form. The reader has already limited the tree.
func Data(v dwarfvars.Value) report.Data {
	var named typeNames
	return named.data(v)
}

func (n *typeNames) data(v dwarfvars.Value) report.Data {
	d := report.Data{Kind: string(v.Kind()), Type: n.name(v.Type()), Text: v.Text(), Address: report.Addr(v.Addr()), Truncated: v.More()}
	if err := v.Err(); err != nil {
		d.Error = err.Error()
	}
	for p := range v.Parts() {
		c := report.Child{Name: p.Name, Data: n.data(p.Value)}
		if !p.Key.IsZero() {
			key := n.data(p.Key)
			c.Key = &key
		}
		if p.Repeat > 1 {
			c.Repeat = p.Repeat
		}
		d.Children = append(d.Children, c)
	}
	return d
}
