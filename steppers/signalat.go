package steppers

import (
	"github.com/corewalk/corewalk/unwind"
)

// SignalAt returns the number of the signal that a trampoline frame delivered (see
// unwind.Frame.IsTrampoline); false if it is not available.
func SignalAt(f *unwind.Frame) (signo int, ok bool) {
	if !f.IsTrampoline() {
		return 0, false
	}
	p := f.Walker().ProcessState()
	m := machineOf(p.Arch())
	if m == nil {
		return 0, false
	}
	s := SigHandlerStepper{m}
	frame, base := s.signalFrame(f)
	if frame == nil || frame.signo == noSigno {
		return 0, false
	}
	v, err := p.Arch().ReadUint(p, base+frame.signo, 4)
	return int(v), err == nil && v > 0 && v <= maxSignal
}

// maxSignal is the highest signal number: MIPS has 127.
const maxSignal = 127
