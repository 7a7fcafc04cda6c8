package reason

import (
	"fmt"

	"github.com/corewalk/corewalk/report"
)

// sent says who sent the signal.
func sent(s Signal) Reason {
	_, words := CodeName(s.Number, s.Code)
	r := Reason{Kind: report.CrashSignal}
	own := s.own()
	switch {
	case own && s.Number == sigAbrt && s.linux().Code == siUser: // abort sends it to its own thread
		r.Text = "sent by the program to itself by kill, not by abort"
	case own && s.Number == sigAbrt:
		return Reason{Kind: report.CrashAbort, Text: "abort called by the program itself"}
	case own:
		r.Text = "sent by the program to itself"
	case s.PID == 0:
		r.Text = words
	default:
		r.Text = fmt.Sprintf("%s from process %d of user %d", words, s.PID, s.UID)
	}
	switch {
	case own: // nobody watched
	case s.Number == sigAbrt && s.PID == 1:
		r.Kind = report.CrashWatchdog
		r.Causes = append(r.Causes, report.Cause{Confidence: "likely",
			Text: "the service manager (process 1) sent it: the service did not report in time, or did not stop in time"})
	case watches(s.Number):
		r.Kind = report.CrashWatchdog
	}
	return r
}

// own reports whether the process sent the signal to itself.
func (s *Signal) own() bool { return s.PID == s.OwnPID && s.PID != 0 }

// sentAgain explains a signal that the process sent to itself while it was at an instruction that raises the
// same signal, or right behind one that does when it ends: a handler ran, raised the signal again and returned, and then
// nothing handled it.
func (in *Input) sentAgain() (Reason, bool) {
	s := in.Signal
	if !s.own() {
		return Reason{}, false
	}
	raw := *in
	raw.Signal = Signal{Number: s.Number}
	int3 := s.Number == sigTrap && in.afterInt3()
	if int3 {
		raw.Signal.Code = siKernel
	}
	left := (s.Number == sigSegv || s.Number == sigBus) && in.made(in.Left)
	if left {
		raw.Signal.Addr, raw.Signal.HasAddr = in.Left.Addr, true
	}
	r := raw.why()
	switch {
	case int3 || left && r.AtInst:
	case s.Number == sigSegv && in.noFetch():
	case !r.AtInst:
		return Reason{}, false
	case (s.Number == sigSegv || s.Number == sigBus) && !r.bad():
	case r.Kind == report.CrashTrap && (s.Number == sigIll || !in.isX86()):
	case r.Kind == report.CrashBreakpoint && !in.isX86():
	case s.Number == sigFPE && (r.Kind == report.CrashDivZero || r.Kind == report.CrashDivOverflow):
	case s.Number == sigFPE && in.floats():
		r.Kind, r.Text = report.CrashFloat, "floating-point exception"
	default:
		return Reason{}, false
	}
	r.Text += "; a signal handler raised the signal again"
	return r, true
}

// afterInt3 reports whether the instruction right before pc is an int3, which the processor ends before it raises the signal.
func (in *Input) afterInt3() bool {
	pc, ok := in.Regs.Get(in.Arch.PC)
	return ok && in.isX86() && in.codeBefore(pc, []byte{0xcc})
}

// noFetch reports whether the memory map does not let the processor go on at pc.
func (in *Input) noFetch() bool {
	pc, ok := in.Regs.Get(in.Arch.PC)
	return ok && in.Mapping != nil && in.cannotRun(pc)
}

// perhapsBus is the cause of a SIGBUS that the process sent to itself at an access to a mapped file: nothing in the map says whether the file had that page.
func (in *Input) perhapsBus() (report.Cause, bool) {
	acc := in.only()
	m, _ := in.mapping(acc.Addr)
	if in.Signal.Number != sigBus || !in.Signal.own() || !acc.Known || m.Path == "" {
		return report.Cause{}, false
	}
	return report.Cause{Confidence: report.Likely,
		Text: fmt.Sprintf("%s at %#x, of which the file mapped there had no page%s; a signal handler raised the signal again", verb(acc), acc.Addr, place(m))}, true
}

// watches reports whether a signal is sent when something takes too long.
func watches(signo int) bool {
	switch signo {
	case sigXCPU, sigAlrm, sigVTAlrm, sigProf, sigQuit:
		return true
	}
	return false
}

// kernelReason explains signals that the kernel sends for one reason only. For some of them the kernel reports
// the process itself as the sender.
func kernelReason(s Signal) (Reason, bool) {
	byKernel := s.Code == siKernel || s.Code == siUser && s.PID == s.OwnPID
	if s.HasInfo && !byKernel {
		return Reason{}, false
	}
	switch s.Number {
	case sigXCPU:
		return Reason{Kind: report.CrashWatchdog, Text: "CPU time limit reached"}, true
	case sigXFSZ:
		return Reason{Kind: report.CrashLimit, Text: "file size limit reached"}, true
	case sigPipe:
		return Reason{Kind: report.CrashSignal, Text: "write to a pipe or socket without a reader"}, true
	}
	if s.Code != siKernel {
		return Reason{}, false
	}
	switch s.Number {
	case sigQuit:
		return Reason{Kind: report.CrashWatchdog, Text: "quit from the terminal"}, true
	case sigAlrm, sigVTAlrm, sigProf:
		return Reason{Kind: report.CrashWatchdog, Text: "a timer of the program expired (alarm or setitimer)"}, true
	}
	return Reason{}, false
}

// plain returns the reason of a signal of which only the number is known.
func plain(signo int) Reason {
	r := Reason{Kind: kindOfSignal(signo)}
	switch signo {
	case sigAbrt:
		r.Text = "abort"
	case sigKill:
		r.Text = "killed"
	}
	return r
}

// byCode returns the reason for a signal of which only the number and the code are known.
func byCode(s Signal) Reason {
	r := plain(s.Number)
	if name, words := s.CodeName(); words != "" {
		r.Text = fmt.Sprintf("%s (%s)", words, name)
	} else if s.Code < 0 {
		r.Text = fmt.Sprintf("sent with code %d", s.Code)
	}
	return r
}

// kindOfSignal returns the kind of a signal without further information.
func kindOfSignal(signo int) string {
	switch {
	case signo == sigAbrt:
		return report.CrashAbort
	case signo == sigSys:
		return report.CrashSyscall
	case signo == sigXFSZ:
		return report.CrashLimit
	case watches(signo):
		return report.CrashWatchdog
	case LinuxSignals.Name(signo) != "":
		return report.CrashSignal
	}
	return report.CrashUnknown
}

// Faults reports whether processor faults raise this signal.
func Faults(n Numbering, signo int) bool {
	switch n.linux(signo) {
	case sigIll, sigTrap, sigBus, sigFPE, sigSegv:
		return true
	}
	return false
}
