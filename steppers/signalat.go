package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A SavedSignal is what a signal frame says of the signal that the kernel delivered there.
type SavedSignal struct {
	// Number is the signal's number, 0 if the frame does not have it. Unless it is Sure, the kernel writes it only for
	// handlers that asked for a siginfo_t (SA_SIGINFO): without that, what the stack held before is there.
	Number int
	Sure   bool
	// Info is the address of the siginfo_t, with HasInfo. It is written if Number is Sure or the handler asked for it.
	Info    arch.Address
	HasInfo bool
	// Blocked are the signals that were blocked before, bit n-1 for signal n, with HasBlocked.
	Blocked    uint64
	HasBlocked bool
	// Trap is the processor's exception that the frame has.
	Trap Trap
	// SP is the stack pointer with which the code that the handler returns to begins.
	SP arch.Address
}

// A TrapKind is what the processor refused.
type TrapKind uint8

// The kinds of exceptions.
const (
	NoTrap          TrapKind = iota
	TrapAccess               // an access to memory: of code, too
	TrapProtection           // x86's general protection fault, which has no address
	TrapInstruction          // an illegal instruction
	TrapDivide               // an integer division
	TrapFloat                // floating-point arithmetic
	TrapBreakpoint           // a breakpoint instruction, with pc behind it
)

// A Trap is the exception that a signal frame has. It is that of the thread's last fault that raised a signal: of the
// delivered one only if that was a fault's.
type Trap struct {
	Kind TrapKind
	// Addr is the address of the access, with HasAddr.
	Addr    arch.Address
	HasAddr bool
	// Write says that the access was a write, Read that it was not; neither if that is not known.
	Write, Read bool
}

// SignalAt returns what the signal frame of a trampoline has (see unwind.Frame.IsTrampoline); false if its layout is not
// known.
func SignalAt(f *unwind.Frame) (SavedSignal, bool) {
	if !f.IsTrampoline() {
		return SavedSignal{}, false
	}
	p := f.Walker().ProcessState()
	m := machineOf(p.Arch())
	if m == nil {
		return SavedSignal{}, false
	}
	s := SigHandlerStepper{m}
	frame, base := s.signalFrame(f)
	if frame == nil {
		return savedByMono(f)
	}
	return frame.read(p, base), true
}

// read returns what a signal frame at an address has.
func (frame *sigFrame) read(p unwind.ProcessState, base arch.Address) SavedSignal {
	out := SavedSignal{Sure: !frame.asked, SP: base}
	if frame.signo != noSigno {
		if v, err := p.Arch().ReadUint(p, base+frame.signo, 4); err == nil && v > 0 && v <= maxSignal {
			out.Number = int(v)
		}
	}
	if frame.hasInfo {
		out.Info, out.HasInfo = base+frame.info, true
	}
	if frame.blocked != 0 {
		v, err := p.Arch().ReadUint(p, base+frame.blocked, 8)
		out.Blocked, out.HasBlocked = v, err == nil
	}
	if frame.trap != nil {
		out.Trap = frame.trap(p, base)
	}
	return out
}

// maxSignal is the highest signal number: MIPS has 127.
const maxSignal = 127
