package native

import (
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A position is where a thread is in a system call.
type position uint8

const (
	outside position = iota
	// within: it sleeps in the call.
	within
	// again: it makes the call, once more if a handler has returned. A signal that comes at once finds it so, and the kernels of ARM and
	// RISC-V leave each thread so that they end.
	again
	// failed: the call was interrupted and has failed with EINTR: a handler has returned.
	failed
	// behind: the instruction behind the call, with what may be its first argument yet, as emulators leave it, or be its result.
	behind
)

const (
	eintr    = 4
	maxErrno = 4095
)

// callCode are the instructions that make a system call.
func callCode(a *arch.Arch) (code [2]string) {
	switch a {
	case arch.AMD64, arch.X32:
		return [2]string{"\x0f\x05"}
	case arch.X86:
		return [2]string{"\xcd\x80"} // behind sysenter, too
	case arch.ARM64:
		return [2]string{"\x01\x00\x00\xd4"}
	case arch.ARM:
		return [2]string{"\x00\x00\x00\xef", "\x00\xdf"}
	case arch.RISCV64:
		return [2]string{"\x73\x00\x00\x00"}
	}
	return code
}

// callAt is the address of the instruction that makes a system call and is at pc, or right before it; false if there is none.
func callAt(a *arch.Arch, mem arch.Memory, pc uint64) (at uint64, ok bool) {
	var b [4]byte
	is := func(addr uint64, code string) bool {
		if code == "" {
			return false
		}
		n, _ := mem.ReadMem(addr, b[:len(code)])
		return n == len(code) && string(b[:n]) == code
	}
	codes := callCode(a)
	for _, code := range codes {
		if is(pc, code) {
			return pc, true
		}
	}
	for _, code := range codes {
		if at = pc - uint64(len(code)); is(at, code) {
			return at, true
		}
	}
	return 0, false
}

// A calling is a thread's, or an interrupted one's, position, and the number of the call, if the registers have it.
type calling struct {
	position
	number   uint64
	numbered bool
}

// callingOf finds the system call in which registers are.
func callingOf(a *arch.Arch, mem arch.Memory, regs *arch.RegSet) calling {
	c, ok := conventionOf(a)
	pc, known := regs.Get(a.PC)
	if !ok {
		return calling{}
	}
	number, numbered := regs.Get(c.number)
	number = a.Truncate(number)
	result := -c.result32(a, regs)
	if c.sameRegister {
		at, ok := callAt(a, mem, a.Truncate(pc))
		v, has := regs.Get(c.result)
		switch {
		case !ok || !known || !numbered || !has:
			return calling{}
		case at == a.Truncate(pc):
			return calling{again, number, true}
		case repeats(result):
			return calling{within, number, true}
		case result == eintr:
			return calling{failed, number, true}
		case a.Truncate(v) >= a.Truncate(1<<64-maxErrno):
			return calling{}
		}
		return calling{behind, number, true}
	}
	if numbered = numbered && number != a.Truncate(1<<64-1); numbered && (repeats(result) || result == eintr) {
		return calling{within, number, true}
	}
	if !known {
		return calling{}
	}
	at, ok := callAt(a, mem, a.Truncate(pc))
	switch {
	case !ok:
	case at == a.Truncate(pc):
		v, has := regs.Get(c.result)
		return calling{again, a.Truncate(v), has}
	case numbered: // it has come back
	case repeats(result): // a minidump has no number
		return calling{position: within}
	case result == eintr:
		return calling{position: failed}
	}
	return calling{}
}

// repeats reports whether a result, without its sign, says that the call is to be repeated.
func repeats(result int32) bool {
	return result == restartSys || result == restartNoIntr || result == restartNoHand || result == restartBlock
}

// callIn is the call in which registers are, of a thread or saved by a signal, a futexCall or a *blocking; nil if they are in none, or if that is not
// known. frames are those from there on, without which not all calls are known.
func (r *runtime) callIn(regs *arch.RegSet, frames []*unwind.Frame) (any, position) {
	in := callingOf(r.Arch, r.p.State, regs)
	c, _ := conventionOf(r.Arch)
	limited := in.asRestart(r.Arch, &c, regs)
	if in.position != outside && (!in.numbered || limited) {
		if in.number, in.numbered = r.begunAs(frames); !in.numbered {
			return nil, in.position
		}
	}
	if c.sameRegister && (in.position == within || in.position == failed) {
		if first, ok := r.firstGiven(frames); ok {
			begun := *regs
			begun.Set(c.addr, first)
			regs = &begun
		}
	}
	if call, ok := sleepingIn(r.Arch, regs, in); ok {
		if limited && !call.timed {
			return nil, in.position
		}
		return call, in.position
	}
	if b := blockedIn(r.Arch, regs, in); b != nil && (!limited || b.restarts()) {
		return b, in.position
	}
	return nil, in.position
}

// firstGiven is the first argument of the system call in which frames are, by the code before it: the result has taken its place.
func (r *runtime) firstGiven(frames []*unwind.Frame) (uint64, bool) {
	if len(frames) == 0 {
		return 0, false
	}
	c, _ := conventionOf(r.Arch)
	at, ok := callAt(r.Arch, r.p.State, frames[0].RA())
	f := (&functionSet{r: r, known: map[uint64]*function{}}).at(at, false)
	if !ok || f == nil {
		return 0, false
	}
	var caller *unwind.Frame
	if len(frames) > 1 {
		caller = frames[1]
	}
	eval, _, ok := r.evaluator(f.Func, frames[0], caller)
	if !ok {
		return 0, false
	}
	v, exact, ok := eval.Value(f.Before(at, provenance.Reg(c.addr)), 0)
	return v, exact && ok
}
