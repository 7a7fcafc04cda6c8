package analysis

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
)

// handled adds, as the first cause, the fault for which a signal handler on the crashing thread's stack was
// called: the program then died in the handler or because of it. Of several faults it takes the oldest, which
// came first. If the handler was Go's, the fault is the reason itself.
func (in *inspection) handled(r *report.Report) {
	if len(r.Threads) == 0 || !r.Threads[0].Crashed || in.endedByGo(r) {
		return
	}
	for i := len(in.diedStack) - 1; i > 0; i-- {
		signo, ok := in.faultHandled(in.diedStack[i-1])
		if !ok {
			continue
		}
		text := in.Numbers.Name(signo) + " caught earlier"
		if why, ok := in.whyInterrupted(in.diedStack[i], signo); ok {
			text += ": " + why.Text
		}
		if where := frameOf(r.Threads[0].Frames, i); where != "" {
			text += ", in " + where
		}
		r.Crash.Causes = append([]report.Cause{{Text: text, Confidence: "likely"}}, r.Crash.Causes...)
		return
	}
}

// caughtFault reports whether the thread that died handled a fault: the program ended because of that.
func (in *inspection) caughtFault() bool {
	return slices.ContainsFunc(in.diedStack, func(f *unwind.Frame) bool { _, ok := in.faultHandled(f); return ok })
}

// faultHandled returns the signal that a trampoline delivered, and whether it is a fault's.
func (in *inspection) faultHandled(f *unwind.Frame) (int, bool) {
	if !f.IsTrampoline() {
		return 0, false
	}
	signo, ok := steppers.SignalAt(f)
	return signo, ok && reason.Faults(in.Numbers, signo)
}

// goEnds are the functions with which Go's handler of signals ends the program, after it printed the goroutines, and with which it
// begins to print: programs that keep their own crashes are held there.
var goEnds = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{"runtime.crash": true, "runtime.dieFromSignal": true, "runtime.fatalsignal": true}
}}

// caughtForeign is crashself's handler of signals on threads that Go does not know, where a program that keeps its own crashes is
// held.
const caughtForeign = "github.com/corewalk/corewalk/crashself.caught"

// goHandled returns the frame at which the signal was delivered for which Go's runtime ended the program, by its
// handler, from the frames of the thread that died; -1 if the program ended otherwise.
func goHandled(frames []report.Frame) int {
	if len(frames) > 2 && frames[0].Function == caughtForeign && frames[1].Signal != "" {
		return 1
	}
	at := slices.IndexFunc(frames, func(f report.Frame) bool { return f.Function == "runtime.sighandler" })
	if at < 1 || !goEnds.Get()[frames[at-1].Function] {
		return -1
	}
	for at++; at+1 < len(frames) && strings.HasPrefix(frames[at].Function, "runtime.") && frames[at].Signal == ""; at++ {
	}
	if at+1 >= len(frames) || frames[at].Signal == "" {
		return -1
	}
	return at
}

// endedByGo sets the reason of a Go program to the signal for which Go's runtime ended it. The runtime then aborts,
// which says nothing. It returns false if the program did not end so.
func (in *inspection) endedByGo(r *report.Report) bool {
	frames := r.Threads[0].Frames
	at := goHandled(frames)
	if at < 0 || r.Crash.Kind != report.CrashAbort || frames[at].Physical+1 >= len(in.diedStack) {
		return false
	}
	c, trampoline := r.Crash, frames[at].Physical
	signo, ok := steppers.SignalAt(in.diedStack[trampoline])
	if !ok || signo == sigABRT {
		return false
	}
	if !reason.Faults(in.Numbers, signo) {
		c.Kind, c.Reason = report.CrashSignal, in.Numbers.Name(signo)+" received, for which Go prints the goroutines and aborts"
		if c.Frame == nil {
			next := at + 1 // what the thread did says more than how it ended
			c.Frame = &next
		}
		return true
	}
	why, ok := in.whyInterrupted(in.diedStack[trampoline+1], signo)
	if !ok {
		return false
	}
	c.Kind, c.Reason = why.Kind, in.Numbers.Name(signo)
	if frames[0].Function == caughtForeign || slices.ContainsFunc(frames[at:], func(f report.Frame) bool { return f.Function == "runtime.asmcgocall" }) {
		c.Reason += " in C code"
	}
	c.Reason += ": " + why.Text
	return true
}

// whyInterrupted explains what the instruction did at which a frame was interrupted; false if nothing seems
// wrong with it: somebody may have sent the signal.
func (in *inspection) whyInterrupted(f *unwind.Frame, signo int) (reason.Reason, bool) {
	ci := in.crashInput()
	ci.Regs = f.Registers()
	var inst disasm.Inst
	if err := in.decode(&inst, f); err == nil {
		ci.Inst = &inst
	}
	ci.Signal = reason.Signal{Number: signo, Numbers: in.Numbers}
	switch why := reason.Why(ci); why.Kind {
	case report.CrashBadRead, report.CrashBadWrite, report.CrashBadAccess, report.CrashBadCall:
		return reason.Reason{}, false
	default:
		return why, true
	}
}

// crashInput is what package reason needs to know about the process.
func (in *inspection) crashInput() reason.Input {
	ci := reason.Input{Arch: in.arch, Mapping: in.Proc.MappingAt, Word: in.word, Bytes: in.bytes}
	if in.PartialMaps {
		ci.Mapping = nil
	}
	return ci
}

// frameOf returns the function and line of a physical frame: of the innermost call in it.
func frameOf(frames []report.Frame, physical int) string {
	for i := range frames {
		f := &frames[i]
		if f.Physical != physical {
			continue
		}
		name := frameName(f)
		if f.Source.File != "" {
			name += fmt.Sprintf(" at %s:%d", path.Base(strings.ReplaceAll(f.Source.File, `\`, "/")), f.Source.Line)
		}
		return name
	}
	return ""
}
