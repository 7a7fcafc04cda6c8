package native

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A call with a time limit that a stop has interrupted once (SIGSTOP, a debugger) goes on as restart_syscall: the kernel keeps by itself what is
// left of the time, and the registers keep the arguments, but the number of the call is lost. The code before the call has it.

// restarts are the calls, besides futex, that go on as restart_syscall (set_restart_fn in the kernel's sources).
var restarts = []string{"poll", "nanosleep", "clock_nanosleep"}

// restarts reports whether a call, besides futex, goes on as restart_syscall.
func (b *blocking) restarts() bool { return slices.Contains(restarts, b.name) }

// isRestart reports whether a call is restart_syscall.
func (c *callingConvention) isRestart(a *arch.Arch, number uint64) bool {
	const x32 = 0x40000000
	return number == c.restart || a == arch.X32 && number == x32+c.restart
}

// restarted reports whether registers are in restart_syscall.
func (r *runtime) restarted(regs *arch.RegSet) bool {
	c, _ := conventionOf(r.Arch)
	in := callingOf(r.Arch, r.p.State, regs)
	return in.asRestart(r.Arch, &c, regs)
}

// asRestart reports whether a call goes on as restart_syscall.
func (in *calling) asRestart(a *arch.Arch, c *callingConvention, regs *arch.RegSet) bool {
	if !in.numbered || !c.isRestart(a, in.number) {
		return false
	}
	return in.position == again || in.position == within && c.result32(a, regs) == -restartBlock
}

// begunAs is the number of the call that goes on as restart_syscall: as the code before it says, or the name of the function that made it.
func (r *runtime) begunAs(frames []*unwind.Frame) (uint64, bool) {
	if len(frames) == 0 {
		return 0, false
	}
	if number, ok := r.numberInCode(frames); ok {
		return number, true
	}
	c, _ := conventionOf(r.Arch)
	if fn, _, _ := r.function(frames); fn != nil {
		return c.futex[0], true
	}
	for _, f := range frames[:min(len(frames), maxDepth)] {
		names := r.namesAt(f)
		for _, n := range names {
			for i := range blockings {
				if b := &blockings[i]; b.name == bare(n) && b.numbers[column(r.Arch)] != 0 {
					return uint64(b.numbers[column(r.Arch)]) % zeroth, true
				}
			}
		}
		if !r.inLibc(f) && !slices.ContainsFunc(names, ofLibrary) {
			break
		}
	}
	return 0, false
}

// numberInCode is the number that the code at the call has put into its register; of the function syscall, what its caller passed.
func (r *runtime) numberInCode(frames []*unwind.Frame) (uint64, bool) {
	c, _ := conventionOf(r.Arch)
	number := c.result
	if c.sameRegister {
		number = c.number
	}
	pc, ok := callAt(r.Arch, r.p.State, frames[0].RA())
	if !ok {
		return 0, false
	}
	set := &functionSet{r: r, known: map[uint64]*function{}}
	code := set.at(pc, false)
	if code == nil {
		return 0, false
	}
	if fast := r.Bytes(pc-2, 2); r.Arch == arch.X86 && (string(fast) == "\x0f\x05" || string(fast) == "\x0f\x34") {
		pc -= 2 // syscall and sysenter, which the kernel repeats by the int $0x80 behind them
	}
	v := code.Before(pc, provenance.Reg(number))
	switch {
	case v.Kind == provenance.Const:
		return uint64(v.K), true
	case v.Kind != provenance.Entry || len(frames) < 2 || v.Reg != number && v.Reg != firstArgument(r.Arch):
		return 0, false
	}
	caller := set.at(frames[1].LookupAddr(), false)
	if caller == nil {
		return 0, false
	}
	call, ok := caller.CallBefore(frames[1].RA())
	if !ok {
		return 0, false
	}
	if v.Reg == number { // the vdso makes the calls of i386
		v = caller.Before(call, provenance.Reg(number))
	} else {
		v = caller.Argument(call, 0)
	}
	return uint64(v.K), v.Kind == provenance.Const
}

// firstArgument is the register of a function's first argument.
func firstArgument(a *arch.Arch) arch.Reg {
	if args := provenance.ABIOf(a, false).Args; len(args) > 0 {
		return args[0]
	}
	return arch.NoReg
}

// someTime describes the wait of a thread in restart_syscall of which it is not known which call it was: all of them have a time limit.
func someTime() *tasks.Wait {
	return &tasks.Wait{Kind: tasks.WaitTimer, Reason: "restart_syscall", Timed: true}
}
