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

// restarted reports whether a thread is in restart_syscall.
func restarted(a *arch.Arch, regs *arch.RegSet) bool {
	c, ok := conventionOf(a)
	if !ok {
		return false
	}
	const x32 = 0x40000000
	number, ok := regs.Get(c.number)
	if number = a.Truncate(number); number != c.restart && (a != arch.X32 || number != x32+c.restart) {
		return false
	}
	return ok && (c.sameRegister || c.result32(a, regs) == -restartBlock)
}

// callOf is the call in which a thread sleeps, a futexCall or a *blocking; nil if it is in none, or if that is not known.
func (r *runtime) callOf(regs *arch.RegSet, frames []*unwind.Frame) any {
	if len(frames) > 0 && restarted(r.Arch, regs) {
		c, _ := conventionOf(r.Arch)
		number, ok := r.begunAs(frames)
		if !ok {
			return nil
		}
		begun := *regs
		begun.Set(c.number, number)
		if call, ok := sleeping(r.Arch, &begun); ok && call.timed {
			return call
		}
		if b := blockedIn(r.Arch, &begun); b != nil && slices.Contains(restarts, b.name) {
			return b
		}
		return nil
	}
	if call, ok := sleeping(r.Arch, regs); ok {
		return call
	}
	if b := blockedIn(r.Arch, regs); b != nil {
		return b
	}
	return nil
}

// begunAs is the number of the call that goes on as restart_syscall: as the code before it says, or the name of the function that made it.
func (r *runtime) begunAs(frames []*unwind.Frame) (uint64, bool) {
	if number, ok := r.numberInCode(frames); ok {
		return number, true
	}
	c, _ := conventionOf(r.Arch)
	if fn, _, _ := r.function(frames); fn != nil {
		return c.futex[0], true
	}
	for _, n := range r.namesAt(frames[0]) {
		for i := range blockings {
			if b := &blockings[i]; b.name == bare(n) && b.numbers[column(r.Arch)] != 0 {
				return uint64(b.numbers[column(r.Arch)]), true
			}
		}
	}
	return 0, false
}

// numberInCode is the number that the code at the call has put into its register; of the function syscall, what its caller passed.
func (r *runtime) numberInCode(frames []*unwind.Frame) (uint64, bool) {
	c, _ := conventionOf(r.Arch)
	number, size := c.result, uint64(2) // of syscall and int $0x80
	if r.Arch == arch.ARM64 {
		number, size = c.number, 4
	}
	set := &functionSet{r: r, known: map[uint64]*function{}}
	pc := frames[0].RA()
	code := set.at(pc, false)
	if code == nil {
		return 0, false
	}
	switch v := code.Before(pc-size, provenance.Reg(number)); {
	case v.Kind == provenance.Const:
		return uint64(v.K), true
	case v.Kind != provenance.Entry || len(frames) < 2 || v.Reg != firstArgument(r.Arch):
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
	v := caller.Argument(call, 0)
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
