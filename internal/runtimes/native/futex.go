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

	futexOpMask = 0x7f // without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME
)

// A callingConvention says where a system's architecture has the arguments of a system call.
type callingConvention struct {
	number, result         arch.Reg
	addr, op, val, timeout arch.Reg
	futex                  []uint64 // the numbers of futex
	// sameRegister says that the result takes the place of the first argument, unless the
	// registers are set up to repeat the call.
	sameRegister bool
	restart      uint64 // the number of restart_syscall
}

func conventionOf(a *arch.Arch) (callingConvention, bool) {
	reg := func(name string) arch.Reg { r, _ := a.RegByName(name); return r }
	switch a {
	case arch.AMD64, arch.X32:
		return callingConvention{arch.OrigRAX, arch.RAX, arch.RDI, arch.RSI, arch.RDX, arch.R10, []uint64{202, 0x40000000 + 202}, false, 219}, true
	case arch.X86:
		return callingConvention{reg("orig_eax"), reg("eax"), reg("ebx"), reg("ecx"), reg("edx"), reg("esi"), []uint64{240, 422}, false, 0}, true
	case arch.ARM64:
		return callingConvention{reg("x8"), reg("x0"), reg("x0"), reg("x1"), reg("x2"), reg("x3"), []uint64{98}, true, 128}, true
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

// sleeping decodes the futex call of a thread's registers; false if it is in none, or has come back from it.
func sleeping(a *arch.Arch, regs *arch.RegSet) (futexCall, bool) {
	c, ok := conventionOf(a)
	if !ok {
		return futexCall{}, false
	}
	number, ok := regs.Get(c.number)
	if !ok || !slices.Contains(c.futex, a.Truncate(number)) {
		return futexCall{}, false
	}
	if result := -c.result32(a, regs); !c.sameRegister && result != restartSys && result != restartNoIntr && result != restartNoHand && result != restartBlock {
		return futexCall{}, false
	}
	return c.arguments(a, regs)
}

// interrupted decodes the futex call that a signal interrupted, from the registers that the
// signal saved. The call is to be repeated (the pc is at the system call, and its number is back in its
// register), or it has failed with EINTR and the pc is after it.
func interrupted(a *arch.Arch, mem arch.Memory, regs *arch.RegSet) (futexCall, bool) {
	const eintr = 4
	c, ok := conventionOf(a)
	pc, known := regs.Get(a.PC)
	if !ok || !known {
		return futexCall{}, false
	}
	code := []byte{0x0f, 0x05} // syscall
	if a == arch.ARM64 {
		code = []byte{0x01, 0x00, 0x00, 0xd4} // svc 0
	} else if a == arch.X86 {
		code = []byte{0xcd, 0x80} // int 0x80
	}
	at := func(addr uint64) bool {
		var b [4]byte
		n, _ := mem.ReadMem(addr, b[:len(code)])
		return n == len(code) && string(b[:n]) == string(code)
	}
	number := c.number
	if a != arch.ARM64 {
		number = c.result
	}
	v, _ := regs.Get(number)
	switch {
	case at(pc) && slices.Contains(c.futex, a.Truncate(v)):
	case a != arch.ARM64 && at(pc-uint64(len(code))) && c.result32(a, regs) == -eintr:
	default:
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
	f := futexCall{addr: get(c.addr), op: uint32(get(c.op)) & futexOpMask, expected: uint32(get(c.val)), timed: get(c.timeout) != 0}
	switch f.op {
	case futexWait, futexWaitBitset, futexLockPI, futexLockPI2, futexWaitRequeuePI:
	default:
		return futexCall{}, false
	}
	if f.addr == 0 || f.addr%4 != 0 || c.sameRegister && f.addr > 1<<63 { // an error number: the address is lost
		return futexCall{}, false
	}
	return f, true
}
