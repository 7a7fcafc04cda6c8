package analysis

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A Language is a runtime that is looked for when a stack shows that it may be there. Without that, nothing of the runtime runs.
type Language struct {
	// Shows reports whether a function, or the path of its module, is likely to be the runtime's. An executable without symbols
	// may have no name for the function that runs the language's code. Without it stacks show nothing: the language is asked of the heap only.
	Shows func(function, module string) bool
	// Stepper is the name of what walks code that the runtime made; "" for none. Stacks with frames that it found show the runtime, too.
	Stepper string
	// Find finds the runtime in the module; nil if it is not there.
	Find func([]*libstate.Library, *budget.Budget) tasks.Runtime

	asked  map[string]bool // modules, by their paths
	walked bool            // all modules were asked, as Stepper walked a frame
}

// executes reports whether entries execute calls of a language.
func (in *Engine) executes(entries []report.Frame) bool {
	in.lookForLanguages(entries)
	return slices.ContainsFunc(in.Found, func(rt tasks.Runtime) bool { _, ok := rt.(tasks.Framer); return ok })
}

// A waiting runtime of a language knows the native functions in which its threads wait while none of its calls is on their stacks.
type waiting interface {
	WaitsIn(function string) bool
}

// lookForLanguages looks for the runtimes whose functions are among the entries of a stack, once for each.
func (in *Engine) lookForLanguages(entries []report.Frame) {
	if in.searchedBefore(entries) {
		return
	}
	for k := 0; k < len(in.languageSteppers); k++ {
		rt := in.languageSteppers[k]
		w, _ := rt.(waiting)
		if slices.ContainsFunc(entries, func(e report.Frame) bool { return e.Stepper == rt.Name() || w != nil && w.WaitsIn(e.Function) }) {
			in.Found = append(in.Found, rt)
			in.languageSteppers = slices.Delete(in.languageSteppers, k, k+1)
			k--
		}
	}
	for k := 0; k < len(in.Languages); k++ {
		rt := in.languageOf(&in.Languages[k], entries)
		if rt == nil {
			continue
		}
		in.Languages = slices.Delete(slices.Clone(in.Languages), k, k+1)
		k--
		in.Found = append(in.Found, rt)
	}
}

// maxSearched is the deepest stack that is compared with others, and maxSearchedStacks with how many.
const (
	maxSearched       = 1 << 8
	maxSearchedStacks = 1 << 8
)

// searchedBefore reports whether entries at the same addresses, found by the same steppers, were looked through: of a thousand threads
// nearly all wait in a few places.
func (in *Engine) searchedBefore(entries []report.Frame) bool {
	if len(entries) > maxSearched {
		return false
	}
	key := in.searchedKey[:0]
	for i := range entries {
		e := &entries[i]
		key = append(binary.LittleEndian.AppendUint64(key, uint64(e.Lookup)), e.Stepper...) // the names of functions follow from the addresses
		key = append(key, 0)
	}
	in.searchedKey = key
	if in.searchedStacks[string(key)] {
		return true
	}
	if in.searchedStacks == nil {
		in.searchedStacks = map[string]bool{}
	}
	if len(in.searchedStacks) < maxSearchedStacks {
		in.searchedStacks[string(key)] = true
	}
	return false
}

// languageOf looks for a language in the modules that entries show, once in each; nil if it is in none.
func (in *Engine) languageOf(l *Language, entries []report.Frame) tasks.Runtime {
	libs := in.Proc.LibraryTracker()
	if libs == nil {
		return nil
	}
	for i := range entries {
		e := &entries[i]
		if l.Stepper != "" && e.Stepper == l.Stepper && !l.walked {
			l.walked = true
			all, _ := libs.Libraries(false)
			if rt := l.Find(all, in.Budget); rt != nil {
				return rt
			}
		}
		if e.Module == "" || l.Shows == nil || l.asked[e.Module] || !l.Shows(e.Function, e.Module) {
			continue
		}
		if l.asked == nil {
			l.asked = map[string]bool{}
		}
		l.asked[e.Module] = true
		if lib, ok := libs.LibraryAt(unwind.Address(e.Lookup)); ok {
			if rt := l.Find([]*libstate.Library{lib}, in.Budget); rt != nil {
				return rt
			}
		}
	}
	return nil
}

// walkedByLanguage reports whether a runtime of a language walked a frame.
func (in *Engine) walkedByLanguage(frames []*unwind.Frame) bool {
	for _, rt := range slices.Concat(in.languageSteppers, in.Found) {
		if by, ok := rt.(unwind.FrameStepper); ok && slices.ContainsFunc(frames, func(f *unwind.Frame) bool { return f.Stepper() == by }) {
			return true
		}
	}
	return false
}

// addLanguageCalls adds the calls of languages to a thread of the report. Its entries are numbered anew: it returns where the one to look at
// is then, which is nil for a thread that did not crash.
func (in *naming) addLanguageCalls(ctx context.Context, t *report.Thread, s *unwind.Stack, look *int) (*int, []report.Warning) {
	var warnings []report.Warning
	in.lookForLanguages(t.Frames)
	for _, rt := range in.Found {
		if s, ok := rt.(tasks.Shown); ok && !slices.ContainsFunc(t.Frames, func(f report.Frame) bool { return s.ShownBy(f.Function, f.Module) }) {
			continue
		}
		if n, ok := rt.(tasks.ThreadNamer); ok {
			t.Name = cmp.Or(n.ThreadName(s.Thread), t.Name)
		}
		if n, ok := rt.(tasks.ThreadNoter); ok {
			t.Notes = append(t.Notes, n.ThreadNotes(s.Thread)...)
		}
		f, ok := rt.(tasks.Framer)
		if !ok {
			continue
		}
		list, err := f.Stretches(ctx, s.Thread, s.Frames)
		if n, ok := rt.(tasks.Server); ok { // what a thread serves may follow from its calls
			if q, ok := n.Request(s.Thread); ok {
				t.Notes = append(t.Notes, requestNote(q))
			}
		}
		if err != nil {
			warnings = append(warnings, report.Warning{Code: report.WarnTasks, Message: rt.Name() + ": thread " + strconv.Itoa(int(s.Thread)) + ": " + err.Error()})
		}
		if len(list) > 0 {
			look = in.addCalls(t, s.Frames, list, rt.Name(), look)
		}
	}
	return look, warnings
}

// A shown is the thread that the process died in, with the calls of languages.
type shown struct {
	thread   report.Thread
	calls    []*tasks.Call // by entry of the thread; nil for entries that are none
	frame    *int          // the entry to look at
	warnings []report.Warning
}

func (c *crash) shown(ctx context.Context) shown {
	return c.known.shown.of(func() shown {
		out := shown{thread: c.named}
		if c.naming != nil {
			n := c.naming
			kept, calls := n.keepsCalls, n.languageCalls
			n.keepsCalls, n.languageCalls, n.outside = true, nil, c.fromOutside()
			out.frame, out.warnings = n.addLanguageCalls(ctx, &out.thread, c.walked, c.frame())
			out.calls, n.keepsCalls, n.languageCalls = n.languageCalls, kept, calls
		}
		return out
	})
}

// raised are the exceptions that the thread deals with. Runtimes of languages know of some when they have seen its stack.
func (c *crash) raised(ctx context.Context) []report.Raised {
	return c.known.raised.of(func() []report.Raised {
		w := c.words()
		list := c.handling(w.Handling, w.Sure)
		if c.naming == nil {
			return list
		}
		c.shown(ctx)
		for _, rt := range c.Found {
			raiser, ok := rt.(tasks.Raiser)
			if !ok {
				continue
			}
			for _, e := range raiser.Raised(c.died()) {
				list = append(list, report.Raised{Language: e.Language, Type: e.Type, Message: e.Message, Details: e.Details, Function: e.Function,
					File: e.File, Line: e.Line, Handled: e.Handled, Relation: e.Relation})
			}
		}
		return list
	})
}

// addCalls puts the calls of stretches into a thread's entries, and returns where the entry to look at is then; nil if it has none.
func (in *naming) addCalls(t *report.Thread, frames []*unwind.Frame, list []tasks.Stretch, runtime string, look *int) *int {
	out := make([]report.Frame, 0, len(t.Frames)+len(list))
	var calls []*tasks.Call // of the entries in out
	crash, moved := -1, -1
	if look != nil {
		crash, moved = *look, *look
	}
	ended := slices.ContainsFunc(list, func(st tasks.Stretch) bool { return st.Ended && len(st.Calls) > 0 })
	at := 0
	copyTo := func(physical int, st *tasks.Stretch) { // of st, if it is one's
		for ; at < len(t.Frames) && t.Frames[at].Physical < physical; at++ {
			if at == crash {
				moved = len(out)
			}
			e := t.Frames[at]
			e.Folded = st != nil && (e.Physical > 0 || !t.Crashed || compiledFor(&e, st)) && at != crash
			out = append(out, e)
			if in.keepsCalls {
				calls = append(calls, callAt(in.languageCalls, at))
			}
		}
	}
	for i := range list {
		st := &list[i]
		if st.From < 0 || st.To < st.From || st.To > len(frames) {
			continue
		}
		copyTo(st.From, nil)
		base := report.Frame{Physical: st.From, Trust: report.TrustRuntime, Stepper: runtime}
		if k := min(st.From, len(frames)-1); k >= 0 {
			f := frames[k]
			base.PC, base.SP, base.Lookup = report.Addr(f.RA()), report.Addr(f.SP()), report.Addr(f.LookupAddr())
		}
		first := len(out)
		ofCrash := crash >= 0 && crash < len(t.Frames) && t.Frames[crash].Physical == st.From
		for k := range st.Calls {
			if in.Budget.Spend(entryCost) != nil {
				break
			}
			c := &st.Calls[k]
			e := base
			if st.Named && at < len(t.Frames) {
				e = t.Frames[at]
				e.Inlined = k < len(st.Calls)-1
			}
			e.Language, e.Kind, e.Function = c.Language, string(c.Kind), c.Function
			e.Symbol, e.Entry, e.Source, e.Approximate = c.Symbol, 0, report.Source{}, c.Approximate
			e.Folded = st.Folded && !ofCrash
			if c.File != "" {
				e.Source = report.Source{File: c.File, Line: c.Line, Column: c.Column}
			}
			in.callVariables(t, &e, c)
			out = append(out, e)
			in.room.entries(out[len(out)-1:])
			if in.keepsCalls {
				calls = append(calls, c)
			}
		}
		if st.Ended && crash >= 0 && len(out) > first {
			moved = first
			crash = -1 // also where the native frames between have no names, and one that called all this was taken for the place
		}
		if crash >= 0 && crash < len(t.Frames) && len(out) > first && !ended && (inStretch(&t.Frames[crash], st) || in.outside && interpreting(t.Frames[crash:], st)) {
			moved = first
			crash = -1
		}
		if st.Named {
			for ; at < len(t.Frames) && t.Frames[at].Physical < st.To; at++ {
				if at == crash {
					moved = first
				}
			}
		}
		copyTo(st.To, st)
	}
	copyTo(len(frames), nil)
	for i := range out {
		out[i].Index = i
	}
	t.Frames, in.languageCalls = out, calls
	if look == nil {
		return nil
	}
	return &moved
}

// callAt returns the call of a language that entry number i of a stack is; nil if it is none.
func callAt(calls []*tasks.Call, i int) *tasks.Call {
	if i >= len(calls) {
		return nil
	}
	return calls[i]
}

// inStretch reports whether a frame is the interpreter's, which executes the calls of a stretch and called what failed: then the call is the
// place. If the frame is the innermost one, the interpreter itself failed, unless it is code that was compiled for the call.
func inStretch(f *report.Frame, st *tasks.Stretch) bool {
	return (f.Physical > 0 || compiledFor(f, st)) && f.Physical >= st.From && f.Physical < st.To
}

// fromOutside reports whether what ended the program is nothing that the innermost function did: a signal that was sent, or the end of the stack, which
// others filled.
func (c *crash) fromOutside() bool {
	k := c.verdict().kind
	return k == report.CrashSignal || k == report.CrashStackOverflow
}

// maxBetween is how many frames may be between an interpreter's innermost and that which executes a call: more are a recursion of its own.
const maxBetween = 64

// interpreting reports whether frames begin with those of an interpreter alone that executes the innermost call of a stretch: it did not fail where the end
// of the stack or a signal from outside happened to meet it, and the call says more.
func interpreting(frames []report.Frame, st *tasks.Stretch) bool {
	i := slices.IndexFunc(frames[:min(len(frames), maxBetween)], func(f report.Frame) bool { return f.Physical >= st.From })
	if i < 0 || frames[i].Module == "" {
		return false
	}
	module := frames[i].Module
	return !slices.ContainsFunc(frames[:i], func(f report.Frame) bool { return f.Module != module || f.Language != "" })
}

// languageCycle is the cycle of functions that covers most of a stack as it is shown, if calls of a language are among them, and how often it repeats.
func languageCycle(frames []report.Frame) (cycle []string, times int) {
	if !slices.ContainsFunc(frames, func(f report.Frame) bool { return f.Language != "" }) {
		return nil, 0
	}
	seen := make([]report.Frame, 0, len(frames)/2)
	for i := range frames {
		if !frames[i].Folded {
			seen = append(seen, frames[i])
		}
	}
	from, length, times := report.Recursion(seen)
	round := seen[from : from+length]
	if 2*length*times <= len(seen) || !slices.ContainsFunc(round, func(f report.Frame) bool { return f.Language != "" }) {
		return nil, 0
	}
	for i := range round {
		cycle = addName(cycle, &round[i])
	}
	return cycle, times
}

// compiledFor reports whether a frame is code of no module that a runtime's compiler made of the innermost call of a stretch.
func compiledFor(f *report.Frame, st *tasks.Stretch) bool {
	return len(st.Calls) > 0 && st.Calls[0].Kind == tasks.CallJIT && f.Module == "" && f.Physical == st.From
}

// callVariables reads the variables of a call, if they are wanted.
func (in *naming) callVariables(t *report.Thread, e *report.Frame, c *tasks.Call) {
	if in.opts.Locals == LocalsNone || c.Variables == nil || in.room.full {
		return
	}
	all := in.opts.Locals == LocalsAll || in.opts.Locals == LocalsTop && t.Crashed && in.languageLocals < topFrames
	if all {
		in.languageLocals++
	}
	args, own := c.Variables(all, LimitsOf(in.Values))
	if args != nil { // else it is no function
		e.Args = in.suspendedVariables(args)
	}
	if all {
		e.Locals = in.suspendedVariables(own)
	}
	for _, list := range [][]report.Variable{e.Args, e.Locals} {
		for i := range list {
			_ = in.Budget.Spend(costOf(&list[i]))
			in.room.variable(&list[i])
		}
	}
}

// resolveLanguages lets the runtimes of languages say more of what threads wait for: an interpreter's lock.
func (in *question) resolveLanguages(ctx context.Context) {
	for _, rt := range in.Found {
		if rs, ok := rt.(tasks.Resolver); ok {
			rs.Resolve(ctx, in.tasks.all, func(ctx context.Context, id unwind.ThreadID) []*unwind.Frame {
				return in.walk(ctx, id).Frames
			})
			for _, t := range in.tasks.all {
				t.Wait = in.wait(t.Wait)
			}
		}
	}
}
