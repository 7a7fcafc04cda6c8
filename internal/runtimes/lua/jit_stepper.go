package lua

import (
	"sync"

	"github.com/corewalk/corewalk/internal/runtimes/jitcode"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Compiled walks the code that LuaJIT made, which has no unwind tables. That code runs in the frame of the virtual machine that jumped to it, below which it
// has some words of its own. The frame is found by what proves it: it has a thread of Lua, which has the address of the frame. LuaJIT is looked for when
// it is first asked about code of no library.
type Compiled struct {
	jitcode.Stepper[runtime]
	mu sync.Mutex
}

// NewCompiled returns the stepper of a process; process is called once, if at all.
func NewCompiled(process func() *tasks.Process) *Compiled {
	return &Compiled{Stepper: jitcode.Stepper[runtime]{Process: process, Find: func(p *tasks.Process) *runtime {
		found, _ := Find(p)
		if r, ok := found.(*runtime); ok && r.jit {
			return r
		}
		return nil
	}}}
}

// Name implements unwind.FrameStepper and tasks.Runtime.
func (c *Compiled) Name() string { return "LuaJIT" }

// Priority implements unwind.FrameStepper: after unwind tables, before what guesses.
func (c *Compiled) Priority() uint32 { return unwind.PriorityDebugStepper + 8 }

// maxOwn is how many words compiled code may have below the frame of the virtual machine.
const maxOwn = 512

// saved are the registers that the virtual machine and compiled code save, by their distance from the frame of the virtual machine.
var saved = [...]struct {
	reg arch.Reg
	at  int64
}{{arch.R13, -8}, {arch.R12, 0}, {arch.R14, 40}, {arch.R15, 48}, {arch.RBX, 56}, {arch.RBP, 64}}

// CallerFrame implements unwind.FrameStepper.
func (c *Compiled) CallerFrame(in, out *unwind.Frame) unwind.Status {
	r, libs := c.Of(in)
	if r == nil {
		return unwind.StatusNotMe
	}
	return c.caller(r, libs, in, out)
}

// PastBottom implements unwind.BottomStepper. Where compiled code is left, the virtual machine keeps its registers below the frame that they share, and
// calls functions of C. Its unwind tables do not say so, and lead to one of these registers in place of a return address.
func (c *Compiled) PastBottom(in, out *unwind.Frame) unwind.Status {
	state := in.Walker().ProcessState()
	libs, syms := state.LibraryTracker(), in.Walker().SymbolReader()
	if libs == nil || syms == nil || state.Arch() != arch.AMD64 {
		return unwind.StatusNotMe
	}
	lib, ok := libs.LibraryAt(in.LookupAddr())
	if !ok || in.LookupAddr() == in.RA() { // no function was called
		return unwind.StatusNotMe
	}
	if _, jit := syms.SymbolByName(lib, setMode); !jit {
		return unwind.StatusNotMe
	}
	r := c.Runtime()
	if r == nil || r.lib != lib {
		return unwind.StatusNotMe
	}
	return c.caller(r, libs, in, out)
}

// caller fills in the caller of the virtual machine whose frame compiled code shares that runs in in, or has just been left.
func (c *Compiled) caller(r *runtime, libs libstate.LibraryState, in, out *unwind.Frame) unwind.Status {
	_, left := libs.LibraryAt(in.LookupAddr())
	c.mu.Lock()
	frame := r.machineFrame(in.SP(), left)
	c.mu.Unlock()
	if frame == 0 {
		return unwind.StatusNotMe
	}
	size := r.at("frame.size")
	ra, ok := r.LookupWord(frame + size - 8)
	if _, found := libs.LibraryAt(ra - 1); !ok || !found {
		return unwind.StatusNotMe
	}
	for _, s := range saved {
		where := frame + uint64(s.at)
		v, ok := r.LookupWord(where)
		switch {
		case !ok:
			out.ForgetReg(s.reg)
		case s.reg == arch.RBP:
			out.SetFP(v)
			out.SetFPLocation(unwind.AtAddress(where))
		default:
			out.SetReg(s.reg, v, unwind.AtAddress(where))
		}
	}
	out.SetRA(ra)
	out.SetRALocation(unwind.AtAddress(frame + size - 8))
	out.SetSP(frame + size)
	out.SetTrust(unwind.TrustCFI)
	return unwind.StatusSuccess
}

// machineFrame finds the frame of the virtual machine above a stack pointer, in which compiled code runs, or ran until it was left; 0 if there is none.
func (r *runtime) machineFrame(sp uint64, left bool) uint64 {
	words, _ := r.Words(sp, maxOwn)
	for i, v := range words {
		at := sp + 8*uint64(i)
		for _, state := range [...]uint64{v, v & (1<<32 - 1)} { // where references have 4 bytes, two share a word
			if state == 0 || state%8 != 0 || r.layout == nil && !r.decide(state) || r.global(state) == 0 {
				continue
			}
			g := r.field(state, "state.global")
			frame := r.nativeFrames(state).at
			if where := frame + r.at("frame.state"); where&^7 == at && r.field(frame, "frame.state") == state && (left && frame > sp || !left && r.field(g, "global.compiled") != 0) {
				return frame
			}
		}
	}
	return 0
}
