package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// sigInfoAt is where the kernel's siginfo lies in a signal frame, in bytes from
// SP in the code that returns from the handler: behind struct ucontext, which on
// x86-64 takes 304.
var sigInfoAt = map[*arch.Arch]unwind.Address{
	arch.AMD64: 304,
}

// SignalAt returns the number of the signal that a trampoline frame delivered
// (see unwind.Frame.IsTrampoline); false when it is not to be had.
func SignalAt(f *unwind.Frame) (signo int, ok bool) {
	off, known := sigInfoAt[f.Walker().ProcessState().Arch()]
	if !known || !f.IsTrampoline() {
		return 0, false
	}
	var b [4]byte
	a := f.Walker().ProcessState().Arch()
	if n, err := f.Walker().ProcessState().ReadMem(f.SP()+off, b[:]); err != nil || n < len(b) {
		return 0, false
	}
	signo = int(a.ByteOrder.Uint32(b[:]))
	return signo, signo > 0 && signo <= 64
}
