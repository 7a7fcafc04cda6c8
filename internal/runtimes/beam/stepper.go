package beam

import (
	"github.com/corewalk/corewalk/internal/runtimes/jitcode"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Compiled walks the code that the virtual machine made, which has no unwind tables. Such code runs on a stack of Erlang's own, in the heap of its process. The
// functions of C that it calls, and the one that called it, have their frames on the thread's stack. There the array of Erlang's registers is between them: the
// called ones are right below it, and the caller is right above. A register of the processor has its address. The virtual machine is looked for when it is
// first asked about code that may be its own.
type Compiled struct {
	jitcode.Stepper[runtime]
}

// NewCompiled returns the stepper of a process; process is called once, if at all.
func NewCompiled(process func() *tasks.Process) *Compiled {
	return &Compiled{jitcode.Stepper[runtime]{Process: process, Find: func(p *tasks.Process) *runtime {
		found, _ := Find(p)
		if r, ok := found.(*runtime); ok && r.jit {
			return r
		}
		return nil
	}}}
}

// Name implements unwind.FrameStepper and tasks.Runtime.
func (c *Compiled) Name() string { return "BEAM" }

// Priority implements unwind.FrameStepper: after unwind tables, before what guesses.
func (c *Compiled) Priority() uint32 { return unwind.PriorityDebugStepper + 10 }

// Registers of the code that the virtual machine makes: what it has in them stays when it calls C.
const (
	registersAt = arch.RBX // the address of Erlang's registers
	processAt   = arch.R13
	savedStack  = arch.RBP // where the stack of the process begins, in calls that do not need it
)

// CallerFrame implements unwind.FrameStepper.
func (c *Compiled) CallerFrame(in, out *unwind.Frame) unwind.Status {
	r, libs := c.Of(in)
	if r == nil {
		return unwind.StatusNotMe
	}
	x, _, _ := in.Reg(registersAt) // 0 if it is not known
	if !r.hasRegisters(x) {
		return unwind.StatusNotMe
	}
	// The caller's frame begins above the array. Room of a cache line was left there, and then the array's beginning was rounded down to a multiple of a line.
	line := r.at("registers.line")
	end := x - r.at("registers.x") + r.at("registers.size") + line
	words, _ := r.Words(end, int(line/8))
	for i, ra := range words {
		at := end + 8*uint64(i)
		if at%16 != 8 { // where calls put return addresses
			continue
		}
		if lib, _ := libs.LibraryAt(ra - 1); lib != r.lib || !r.behindCall(ra) {
			continue
		}
		out.ForgetRegs()
		out.SetRA(ra)
		out.SetRALocation(unwind.AtAddress(at))
		out.SetSP(at + 8)
		out.SetTrust(unwind.TrustCFI)
		return unwind.StatusSuccess
	}
	return unwind.StatusNotMe
}

// hasRegisters reports whether the registers are at an address of a scheduler that runs compiled code: those for long work in C do not.
func (r *runtime) hasRegisters(x uint64) bool {
	for _, s := range r.schedulers() {
		if s.x == x && !s.dirty {
			return true
		}
	}
	return false
}

// behindCall reports whether a call is right before an address: by its distance, or by what a register or memory has.
func (r *runtime) behindCall(ra uint64) bool {
	const longest = 7
	b := r.Bytes(ra-longest, longest)
	if b == nil {
		return false
	}
	if b[longest-5] == 0xe8 {
		return true
	}
	for _, n := range [...]int{2, 3, 6, 7} {
		if b[longest-n] == 0xff && b[longest-n+1]>>3&7 == 2 {
			return true
		}
	}
	return false
}
