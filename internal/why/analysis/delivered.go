package analysis

import (
	"strings"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// siginfoSize is the size of a siginfo_t of Linux, in bytes, and siginfoUsed what of it has fields at most.
const siginfoSize, siginfoUsed = 128, 48

// delivered returns the signal that the trampoline at a place of a stack delivered, and how sure that is; "" if it is not
// known.
func (in *question) delivered(frames []*unwind.Frame, physical int) (reason.Signal, string) {
	f := frames[physical]
	saved, ok := steppers.SignalAt(f)
	if !ok {
		return reason.Signal{}, ""
	}
	d := reason.Delivery{Saved: saved}
	if saved.HasInfo {
		in.readInfo(&d)
	}
	if saved.HasBlocked {
		d.Blocked, d.HasBlocked = in.blockedIn(frames[:physical], f.Thread())
	}
	if physical > 0 {
		d.Argument = in.handlerArgument(frames[physical-1], &saved)
		d.Asked = in.asksForInfo(frames[physical-1])
	}
	ci := in.interruptedInput(frames, physical+1)
	return reason.Delivered(ci, d)
}

// interruptedInput describes what a signal interrupted: a frame, which may be missing.
func (in *question) interruptedInput(frames []*unwind.Frame, physical int) reason.Input {
	ci := in.crashInput()
	ci.Signal = reason.Signal{Numbers: in.Numbers, OwnPID: in.Proc.ProcessID()}
	if physical >= len(frames) {
		return ci
	}
	f := frames[physical]
	ci.Signal.TID = int(f.Thread())
	ci.Regs = f.Registers()
	var inst disasm.Inst
	if err := in.decode(&inst, f); err == nil {
		ci.Inst = &inst
	}
	return ci
}

// readInfo reads what lies where the siginfo_t of a signal frame is.
func (in *Engine) readInfo(d *reason.Delivery) {
	buf := in.mem.Some(d.Saved.Info, siginfoSize)
	s := corestate.DecodeSigInfo(in.arch, buf)
	if s.Source == corestate.NoSignal {
		return
	}
	d.Info = reason.Signal{
		Number: s.Signo, Code: s.Code, HasInfo: true, Addr: s.Addr, HasAddr: s.HasAddr,
		PID: s.PID, UID: s.UID, Syscall: s.Syscall, NoSyscall: !s.HasSyscall,
	}
	d.Errno = s.Errno
	d.Zeroed = len(buf) == siginfoSize && [siginfoSize - siginfoUsed]byte(buf[siginfoUsed:]) == [siginfoSize - siginfoUsed]byte{}
}

// blockedIn returns the signals that are blocked while a handler runs whose frames, and those of all younger ones, are
// given: the next signal frame has them, or the dump for the thread.
func (in *Engine) blockedIn(younger []*unwind.Frame, tid unwind.ThreadID) (uint64, bool) {
	for i := len(younger) - 1; i > 0; i-- {
		if younger[i].IsTrampoline() {
			saved, ok := steppers.SignalAt(younger[i])
			return saved.Blocked, ok && saved.HasBlocked
		}
	}
	if in.Blocked == nil {
		return 0, false
	}
	return in.Blocked(tid)
}

// handlerArgument returns the first argument of a signal handler that is interrupted at its first instruction: the
// signal's number, in the register in which the kernel passed it. It returns 0 for other frames.
func (in *question) handlerArgument(f *unwind.Frame, saved *steppers.SavedSignal) int {
	args := provenance.ABIOf(in.arch, false).Args
	if len(args) == 0 || f.LookupAddr() != f.RA() || !f.IsTopFrame() && !f.NonCall() {
		return 0
	}
	below := uint64(0)
	if in.arch.Family == arch.FamilyX86 {
		below = uint64(in.arch.RegSize) // the return address is on the stack
	}
	code := codeReader{in: in}
	call, ok := code.function(f.RA())
	if f.SP() != saved.SP-below || !ok || call.Entry != f.RA() {
		return 0
	}
	v, _, ok := f.Reg(args[0])
	if !ok || v > 1<<16 {
		return 0
	}
	return int(v)
}

// asksForInfo reports whether a frame is of a handler that is installed with SA_SIGINFO always: Go's.
func (in *question) asksForInfo(f *unwind.Frame) bool {
	code := codeReader{in: in}
	call, _ := code.function(f.LookupAddr())
	return strings.HasPrefix(call.Name, "runtime.sigtramp") || call.Name == "runtime.cgoSigtramp"
}
