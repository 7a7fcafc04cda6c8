package lua

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/starts"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits of the search for states of Lua on a stack.
const (
	maxFrames = 1 << 12 // whose stack is looked through
	maxWords  = 64      // of each
	maxChain  = 256     // threads of Lua that resumed one another; Lua's limit is 200
)

// glue are functions of Lua that only lead from one call to another, besides those whose names begin with lua.
var glue = [...]string{"resume", "auxresume", "auxwrap", "unroll", "f_call", "ccall", "precallC", "prepcallclosemth", "callclosemethod", "callTMres", "callbinTM", "call_binTM", "callTM", "tryfuncTM",
	"call_orderTM", "dothecall", "GCTM", "singlestep", "atomic", "callallpendingfinalizers", "udata2finalize", "f_parser", "finishCcall", "finishpcallk", "get_compTM", "get_equalTM"}

// leads reports whether a frame only runs Lua's instructions, or leads from call to call.
func (r *runtime) leads(f *unwind.Frame) bool {
	at := f.LookupAddr()
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return false
	}
	lib, ok := libs.LibraryAt(at)
	if !ok && r.compiledAt(at) {
		return true
	}
	if !ok || lib != r.lib {
		return false
	}
	s, ok := r.p.Symbols.SymbolAt(lib, at)
	if !ok || strings.HasPrefix(s.Name, "lua") {
		return true
	}
	if r.jit && strings.HasPrefix(s.Name, "lj_") {
		return true
	}
	name, _, _ := strings.Cut(s.Name, ".") // of a part of it
	return slices.Contains(glue[:], name)
}

// unnamed reports whether a frame is of no library.
func (r *runtime) unnamed(f *unwind.Frame) bool {
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return false
	}
	_, ok := libs.LibraryAt(f.LookupAddr())
	return !ok
}

// statesOn finds the states of Lua that frames carry, youngest first: in registers that calls preserve, else among the words of the frames.
func (r *runtime) statesOn(frames []*unwind.Frame) []uint64 {
	var found []uint64
	tried := map[uint64]bool{}
	try := func(v uint64) {
		if v == 0 || v%8 != 0 || tried[v] {
			return
		}
		tried[v] = true
		if r.global(v) != 0 {
			found = append(found, v)
		}
	}
	saved := r.Arch.CalleeSaved
	for i, f := range frames {
		if r.p.Spend(4) != nil {
			return found
		}
		for reg := range arch.Reg(r.Arch.NumRegs()) {
			if i == 0 || saved.Has(reg) {
				if v, _, ok := f.Reg(reg); ok {
					try(v)
				}
			}
		}
	}
	for i, f := range frames {
		if len(found) > 0 || i >= maxFrames {
			break
		}
		if !r.leads(f) {
			continue
		}
		end, ok := f.CFA()
		if !ok || end <= f.SP() {
			continue
		}
		words, _ := r.Words(f.SP(), int(min((end-f.SP())/8, maxWords)))
		for _, v := range words {
			try(v)
		}
	}
	return found
}

// chain lists the threads of Lua whose calls are on a stack, youngest first.
func (r *runtime) chain(found []uint64) []uint64 {
	var out []uint64
	var done []uint64
	for _, state := range found {
		g := r.global(state)
		if slices.Contains(done, g) || len(done) >= maxChain {
			continue
		}
		done = append(done, g)
		main := r.field(g, "global.main")
		list := r.resumed(main, nil)
		// Threads that a program resumes itself: nothing of Lua leads to them.
		for i := len(found) - 1; i >= 0; i-- {
			if s := found[i]; r.global(s) == g && !slices.Contains(list, s) && r.busy(s) && r.status(s) != statusYield {
				list = r.resumed(s, list)
			}
		}
		slices.Reverse(list)
		out = append(out, list...)
	}
	return out
}

// resumed adds a thread to a list, and those that one after another was resumed by the one before: its youngest call, a function of C, has it.
func (r *runtime) resumed(state uint64, list []uint64) []uint64 {
	for state != 0 && len(list) < maxChain && !slices.Contains(list, state) {
		list = append(list, state)
		state = r.resumes(state)
	}
	return list
}

// maxArguments is how many arguments of a call are looked at.
const maxArguments = 16

// resumes returns the thread that the youngest call of another has resumed; 0 if there is none.
func (r *runtime) resumes(state uint64) uint64 {
	if !r.busy(state) {
		return 0
	}
	c, err := r.callAt(state, r.field(state, "state.call"), true)
	if err != nil || c.f != nil {
		return 0
	}
	running := func(v value, ok bool) bool {
		return ok && v.kind == kindThread && v.bits != state && r.global(v.bits) == r.field(state, "state.global") && r.busy(v.bits) && r.status(v.bits) == 0
	}
	for i := range uint64(maxArguments) {
		at := c.base + i*r.valueSize()
		if at >= r.field(state, "state.top") {
			break
		}
		if v, ok := r.valueAt(at); running(v, ok) {
			return v.bits
		}
	}
	if c.function.kind == kindNative { // of coroutine.wrap
		if v, ok := r.valueAt(c.function.bits + r.at("closure.values")); running(v, ok) {
			return v.bits
		}
	}
	return 0
}

// Stretches pairs the calls of a thread with the native frames that run them.
func (r *runtime) Stretches(_ context.Context, id unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	if len(frames) == 0 {
		return nil, nil
	}
	leads := slices.ContainsFunc(frames, r.leads)
	if !leads && r.jit && slices.ContainsFunc(frames, r.unnamed) && r.known(frames) { // it takes the layout to know compiled code
		leads = slices.ContainsFunc(frames, r.leads)
	}
	if !leads {
		return nil, nil
	}
	if r.jit && !r.known(frames) {
		if slices.ContainsFunc(frames, r.executes) {
			return nil, errNoState
		}
		return nil, nil
	}
	states := r.statesOn(frames)
	if r.jit {
		states = r.jitStates(frames, states)
	} else {
		states = r.chain(states)
	}
	r.mu.Lock()
	r.threads[id] = states
	r.panicked[id] = r.jit && len(states) > 0 && r.panics(states[0], frames)
	for _, s := range states {
		if g := r.field(s, "state.global"); !r.states[g] {
			r.states[g] = true
			r.order = append(r.order, g)
		}
	}
	r.mu.Unlock()
	var list []call
	var failed error
	for _, s := range states {
		calls, err := r.callsOn(s, frames)
		list = append(list, calls...)
		if err != nil && failed == nil {
			failed = err
		}
	}
	if len(list) == 0 {
		if failed == nil && slices.ContainsFunc(states, r.forgot) && slices.ContainsFunc(frames, r.executes) {
			failed = errForgot
			r.mu.Lock()
			r.panicked[id] = true
			r.mu.Unlock()
		}
		return nil, failed
	}
	return r.stretches(list, r.anchors(list, frames), frames), failed
}

// forgot reports whether a main thread has no calls, and one value on its stack: so it is when nobody catches an error in 5.4, which then forgets its
// calls before the panic function is called.
func (r *runtime) forgot(state uint64) bool {
	return r.minor == 4 && !r.busy(state) && r.field(state, "state.top") == r.field(state, "state.stack")+2*r.valueSize()
}

// executes reports whether a frame is a function that raises errors or calls functions of Lua, which therefore has calls.
func (r *runtime) executes(f *unwind.Frame) bool {
	if !r.leads(f) {
		return false
	}
	s, _ := r.p.Symbols.SymbolAt(r.lib, f.LookupAddr())
	if r.jit {
		return s.Name == "lua_error" || s.Name == "lua_call" || s.Name == "lua_pcall" || s.Name == "lua_resume"
	}
	return s.Name == "lua_error" || s.Name == "lua_callk" || s.Name == "luaD_throw"
}

// anchors finds the frame of each call of a function of C; -1 of others, and if it has none.
func (r *runtime) anchors(list []call, frames []*unwind.Frame) []int {
	natives := map[uint64]bool{}
	for i := range list {
		if list[i].native != 0 {
			natives[list[i].native] = true
		}
	}
	found := map[uint64][]int{} // the frames of each function
	for i, f := range frames {
		if s := starts.Of(r.p.State, r.p.Files, r.p.Symbols, f.LookupAddr(), natives); natives[s] {
			found[s] = append(found[s], i)
		}
	}
	out := make([]int, len(list))
	next := 0
	for i := range list {
		out[i] = -1
		all := found[list[i].native]
		for len(all) > 0 && all[0] < next {
			all = all[1:]
		}
		if list[i].native != 0 && len(all) > 0 {
			out[i], next = all[0], all[0]+1
			all = all[1:]
		}
		if list[i].native != 0 {
			found[list[i].native] = all
		}
	}
	return out
}

// stretches makes those of calls: one for the functions of Lua between two of C, and one for each of C.
func (r *runtime) stretches(list []call, anchors []int, frames []*unwind.Frame) []tasks.Stretch {
	var out []tasks.Stretch
	at := 0 // the frames before this one are told
	for i := 0; i < len(list); {
		if k, j := r.compiledCalls(list, i, frames[at:]); k > i {
			out = append(out, tasks.Stretch{From: at + j, To: at + j + 1, Named: true, Calls: r.describe(list, i, k)})
			at, i = at+j+1, k
			continue
		}
		if j := anchors[i]; j >= 0 {
			to := j + 1
			end := j + 1 // of the frames that lead to this one: another tells those between functions of Lua
			switch {
			case i+1 == len(list):
				end = len(frames)
			case anchors[i+1] >= 0: // of C, called by one of C
				end = anchors[i+1]
			}
			for to < end && r.leads(frames[to]) {
				to++
			}
			s := tasks.Stretch{From: j, To: to, Calls: r.describe(list, i, i+1)}
			if j == 0 { // the youngest frame is where it is
				s.From, s.To = 1, max(to, 1)
			}
			if !r.leads(frames[j]) && r.foreign(frames[j]) {
				if s.From, s.To = j, j; r.functionName(&list[i], callerOf(list, i)) == unnamed {
					s.Calls = nil
				}
			}
			if len(s.Calls) > 0 {
				out = append(out, s)
			}
			at = max(to, s.To)
			i++
			continue
		}
		k, end := i, len(frames)
		for k < len(list) && anchors[k] < 0 {
			k++
		}
		if k < len(list) {
			end = anchors[k]
		}
		from := max(at, 1)
		for from < end && !r.leads(frames[from]) {
			from++
		}
		to := from
		for to < end && r.leads(frames[to]) {
			to++
		}
		if to <= from { // no frame of Lua
			from = min(at, len(frames))
			to = from
		}
		out = append(out, tasks.Stretch{From: from, To: to, Calls: r.describe(list, i, k)})
		at, i = to, k
	}
	return out
}

// foreign reports whether a frame is of another module, and has a name.
func (r *runtime) foreign(f *unwind.Frame) bool {
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return false
	}
	lib, ok := libs.LibraryAt(f.LookupAddr())
	if !ok || lib == r.lib {
		return false
	}
	_, named := r.p.Symbols.SymbolAt(lib, f.LookupAddr())
	return named
}

// callerOf is the next call outward on the same stack of Lua; nil if there is none.
func callerOf(list []call, i int) *call {
	if i+1 < len(list) && list[i+1].state == list[i].state {
		return &list[i+1]
	}
	return nil
}

// lostCalls stands for callers that ended with the call of what is before it.
const lostCalls = "(...tail calls...)"

// describe makes the calls of a report of list[from:to].
func (r *runtime) describe(list []call, from, to int) []tasks.Call {
	var out []tasks.Call
	for i := from; i < to; i++ {
		c := &list[i]
		one := tasks.Call{Language: language, Kind: tasks.CallInterpreted, Function: r.functionName(c, callerOf(list, i))}
		if c.f != nil {
			one.File = c.f.source
			one.Line, one.Approximate = r.line(c)
		}
		if c.trace != 0 {
			one.Kind, one.Approximate, one.Symbol = tasks.CallJIT, one.Line > 0, "trace "+strconv.Itoa(c.trace)
		}
		caller := callerOf(list, i)
		one.Variables = func(locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
			return r.variables(c, caller, locals, limits)
		}
		out = append(out, one)
		if r.tail(c) {
			out = append(out, tasks.Call{Language: language, Kind: tasks.CallVirtual, Function: lostCalls})
		}
	}
	return out
}

// place is where a function is written.
func place(f *function) string {
	source := f.source
	if source == "" {
		source = "?"
	}
	return source + ":" + strconv.Itoa(int(f.first))
}
