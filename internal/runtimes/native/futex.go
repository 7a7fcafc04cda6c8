package native

import (
	"slices"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A futexCall is the system call in which a thread sleeps.
type futexCall struct {
	addr     uint64
	op       uint32 // without the flags
	expected uint32
	timed    bool
}

// Operations of futex(2) that sleep.
const (
	futexWait          = 0
	futexLockPI        = 6
	futexWaitBitset    = 9
	futexWaitRequeuePI = 11
	futexLockPI2       = 13

	futexFlags = 0x180 // FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME
)

// A callingConvention says where a system's architecture has the arguments of a system call.
type callingConvention struct {
	number, result         arch.Reg
	addr, op, val, timeout arch.Reg
	futex                  [2]uint64 // the numbers of futex
	// sameRegister says that the result takes the place of the first argument, unless the
	// registers are set up to repeat the call.
	sameRegister bool
	restart      uint64 // the number of restart_syscall
}

func conventionOf(a *arch.Arch) (callingConvention, bool) {
	reg := func(name string) arch.Reg { r, _ := a.RegByName(name); return r }
	switch a {
	case arch.AMD64, arch.X32:
		return callingConvention{arch.OrigRAX, arch.RAX, arch.RDI, arch.RSI, arch.RDX, arch.R10, [2]uint64{202, 0x40000000 + 202}, false, 219}, true
	case arch.X86:
		return callingConvention{reg("orig_eax"), reg("eax"), reg("ebx"), reg("ecx"), reg("edx"), reg("esi"), [2]uint64{240, 422}, false, 0}, true
	case arch.ARM64:
		return callingConvention{reg("x8"), reg("x0"), reg("x0"), reg("x1"), reg("x2"), reg("x3"), [2]uint64{98, 98}, true, 128}, true
	case arch.ARM:
		return callingConvention{reg("r7"), reg("r0"), reg("r0"), reg("r1"), reg("r2"), reg("r3"), [2]uint64{240, 422}, true, 0}, true
	case arch.RISCV64:
		return callingConvention{reg("a7"), reg("a0"), reg("a0"), reg("a1"), reg("a2"), reg("a3"), [2]uint64{98, 98}, true, 128}, true
	}
	return callingConvention{}, false
}

// What a system call leaves as its result when a signal or a stop interrupts it, and it is to
// be repeated (include/linux/errno.h); negative.
const (
	restartSys    = 512
	restartNoIntr = 513
	restartNoHand = 514
	restartBlock  = 516
)

// sleepingIn decodes the futex call in which registers are; false if they are in another, or it has come back.
func sleepingIn(a *arch.Arch, regs *arch.RegSet, in calling) (futexCall, bool) {
	c, ok := conventionOf(a)
	if !ok || in.position == outside || !slices.Contains(c.futex[:], in.number) {
		return futexCall{}, false
	}
	if in.position == within && !c.sameRegister && c.result32(a, regs) == -eintr {
		return futexCall{}, false
	}
	return c.arguments(a, regs)
}

// result32 is the result of the call as the kernel's int.
func (c *callingConvention) result32(a *arch.Arch, regs *arch.RegSet) int32 {
	v, _ := regs.Get(c.result)
	return int32(v)
}

// arguments reads the arguments of a futex call; false if it is not one that sleeps.
func (c *callingConvention) arguments(a *arch.Arch, regs *arch.RegSet) (futexCall, bool) {
	get := func(r arch.Reg) uint64 { v, _ := regs.Get(r); return a.Truncate(v) }
	f := futexCall{addr: get(c.addr), op: uint32(get(c.op)) &^ futexFlags, expected: uint32(get(c.val)), timed: get(c.timeout) != 0}
	switch f.op {
	case futexWait, futexWaitBitset, futexLockPI, futexLockPI2, futexWaitRequeuePI:
	default:
		return futexCall{}, false
	}
	if f.addr == 0 || f.addr%4 != 0 || c.sameRegister && f.addr > a.Truncate(1<<64-1-maxErrno) { // an error number: the address is lost
		return futexCall{}, false
	}
	return f, true
}
