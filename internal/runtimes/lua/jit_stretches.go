package lua

import (
	"slices"

	"github.com/corewalk/corewalk/internal/runtimes/starts"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	errNoState chainError = "functions of Lua: no state of LuaJIT is found whose layout is known"
	errNoTrace chainError = "it runs code that LuaJIT compiled, which is not where the table of layouts says: its youngest calls are missing"
)

// candidates are words of frames that may be states of Lua: what is in registers that calls preserve, and at the beginning of frames of the virtual machine.
func (r *runtime) candidates(frames []*unwind.Frame, try func(uint64) bool) bool {
	for i, f := range frames {
		if r.p.Spend(4) != nil || i >= maxFrames {
			return false
		}
		for reg := range arch.Reg(r.Arch.NumRegs()) {
			if i == 0 || r.Arch.CalleeSaved.Has(reg) {
				if v, _, ok := f.Reg(reg); ok && try(v) {
					return true
				}
			}
		}
		if !r.leads(f) {
			continue
		}
		words, _ := r.Words(f.SP(), 4)
		for _, v := range words {
			if try(v) || try(v&(1<<32-1)) { // where references have 4 bytes, two share a word
				return true
			}
		}
	}
	return false
}

// known reports whether the layout is known; it finds that by the first state on a stack.
func (r *runtime) known(frames []*unwind.Frame) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.layout != nil || r.candidates(frames, r.decide)
}

// jitStates lists the threads of LuaJIT whose calls are on a stack, youngest first. found are those that frames carry.
func (r *runtime) jitStates(frames []*unwind.Frame, found []uint64) []uint64 {
	var at []uint64
	for i, f := range frames {
		if i >= maxFrames {
			break
		}
		if r.leads(f) {
			at = append(at, f.SP())
			if lib, ok := r.p.State.LibraryTracker().LibraryAt(f.LookupAddr()); !ok || lib == nil { // of compiled code
				at = append(at, r.machineFrame(f.SP(), false))
			}
		}
	}
	list := r.jitChain(at)
	if len(list) > 0 {
		return list
	}
	for _, s := range found { // none is proved: the one that runs
		if g := r.field(s, "state.global"); r.field(g, "global.current") == s && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// compiledAt reports whether code is what LuaJIT made.
func (r *runtime) compiledAt(pc uint64) bool {
	return r.jit && r.globalState != 0 && r.compiled.Get(pc, func() uint64 { return r.traceAt(r.globalState, pc) }) != 0
}

// callsOn lists the calls of a thread of Lua, some of which compiled code may run that is on a stack.
func (r *runtime) callsOn(state uint64, frames []*unwind.Frame) ([]call, error) {
	if !r.jit {
		return r.calls(state)
	}
	native := uint64(0)
	if machine, ok := r.interpreted(state, frames); ok {
		return r.jitCallsAt(state, machine)
	}
	libs := r.p.State.LibraryTracker()
	for _, f := range frames {
		if libs == nil {
			break
		}
		if _, ok := libs.LibraryAt(f.LookupAddr()); !ok && r.compiledAt(f.LookupAddr()) {
			native = f.LookupAddr()
			break
		}
	}
	return r.jitCalls(state, native)
}

// compiledCalls finds the end of the calls from list[i] on that one piece of compiled code runs, and its frame; i if it is none, or has no frame.
func (r *runtime) compiledCalls(list []call, i int, frames []*unwind.Frame) (end, frame int) {
	if list[i].trace == 0 {
		return i, 0
	}
	frame = slices.IndexFunc(frames, func(f *unwind.Frame) bool {
		_, ok := r.p.State.LibraryTracker().LibraryAt(f.LookupAddr())
		return !ok && r.compiledAt(f.LookupAddr())
	})
	if frame < 0 {
		return i, 0
	}
	for end = i; end < len(list) && list[end].trace != 0 && list[end].state == list[i].state; {
		end++
	}
	return end, frame
}

// panics reports whether a frame is the function that LuaJIT calls when nobody catches an error; the state does not say so.
func (r *runtime) panics(state uint64, frames []*unwind.Frame) bool {
	at := r.Word(r.field(state, "state.global") + r.at("global.panic"))
	if at == 0 {
		return false
	}
	only := map[uint64]bool{at: true}
	return slices.ContainsFunc(frames, func(f *unwind.Frame) bool {
		return starts.Of(r.p.State, r.p.Files, r.p.Symbols, f.LookupAddr(), only) == at
	})
}

// interpreting is the state of the virtual machine while it runs instructions itself.
const interpreting = -1

// interpreted tells where the virtual machine is in a thread if it was interrupted in its own code: it has that in two registers, and on the stack of Lua
// what is older. It is proved by the function of the one, in which the other is.
func (r *runtime) interpreted(state uint64, frames []*unwind.Frame) (*compiledCall, bool) {
	g := r.field(state, "state.global")
	if int32(r.number(g, "global.running")) != interpreting || r.field(g, "global.current") != state || !r.leads(frames[0]) {
		return nil, false
	}
	base, _, ok := frames[0].Reg(arch.RDX)
	pc, _, okPC := frames[0].Reg(arch.RBX)
	if !ok || !okPC {
		return nil, false
	}
	if r.layout["values.narrow"] != 0 { // the upper halves are not used
		base &= 1<<32 - 1
	}
	stack, last := r.field(state, "state.stack"), r.field(state, "state.last")
	if base < r.bottom(state) || base > last || (base-stack)%8 != 0 {
		return nil, false
	}
	s := jitStack{r: r, state: state}
	_, function := s.link(base - 8)
	var c call
	if r.jitFunction(&c, function) != nil || c.f == nil || pc < c.f.code+4 || pc > c.f.code+4*uint64(c.f.codes) || pc%4 != 0 {
		return nil, false
	}
	return &compiledCall{frame: base - 8, pc: pc}, true
}
