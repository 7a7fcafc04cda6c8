package analysis

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
)

// handled adds, as the first cause, the fault for which a signal handler on the crashing thread's stack was
// called: the program then died in the handler or because of it. If the handler was Go's, the fault is the reason itself.
func (in *question) handled(r *report.Report) {
	if len(r.Threads) == 0 || !r.Threads[0].Crashed || in.endedByGo(r) {
		return
	}
	i, s := in.firstFault()
	if i == 0 {
		return
	}
	text := s.Name() + " caught earlier"
	if why, ok := in.whyInterrupted(i, s); ok {
		text += ": " + why.Text
	}
	if where := frameOf(r.Threads[0].Frames, i); where != "" {
		text += ", in " + where
	}
	in.caughtEarlier = text
	r.Crash.Causes = append([]report.Cause{{Text: text, Confidence: "likely"}}, r.Crash.Causes...)
}

// firstFault returns the frame of the thread that died which a caught fault interrupted, and the fault's signal; 0 if there is
// none. Of several faults it takes the oldest, which came first.
func (in *question) firstFault() (physical int, s reason.Signal) {
	for i := len(in.diedStack) - 1; i > 0; i-- {
		if s, ok := in.faultHandled(i - 1); ok {
			return i, s
		}
	}
	return 0, reason.Signal{}
}

// caught makes a fault the reason of a program whose handler of the fault then aborted: place, instruction, address and
// blame are the fault's. It returns false if that is not so.
func (in *question) caught(r *report.Report) bool {
	c := r.Crash
	if c == nil || in.caughtEarlier == "" || c.Kind != report.CrashAbort || c.Message != "" || in.Signal == nil || in.Signal.Number != sigABRT {
		return false
	}
	physical, s := in.firstFault()
	why, ok := in.whyInterrupted(physical, s)
	frames := r.Threads[0].Frames
	from := slices.IndexFunc(frames, func(f report.Frame) bool { return f.Physical >= physical })
	if !ok || from < 0 {
		if in.raisedFor != "" {
			c.Kind, c.Reason = report.CrashException, in.raisedFor
		}
		return false
	}
	fault := report.Crash{Kind: why.Kind, Reason: why.Text}
	in.atFault(&fault, physical, &why)
	in.titled(&fault, seenFrom(frames[from:], physical))
	c.Kind, c.Reason = fault.Kind, s.Name()+" caught: "+fault.Reason+"; its handler "+cmp.Or(in.raisedFor, "called abort")
	c.Address, c.Instruction, c.Blame = fault.Address, fault.Instruction, fault.Blame
	c.AdjustedAddress, c.Accesses, c.BitFlips, c.Inconsistencies = why.Adjusted, why.Accesses, why.BitFlips, why.Inconsistencies
	c.Causes = slices.DeleteFunc(c.Causes, func(x report.Cause) bool { return x.Text == in.caughtEarlier })
	c.Causes = slices.Concat(fault.Causes, why.Causes, c.Causes)
	countFrom(c.Blame, physical)
	if why.Kind == report.CrashStackOverflow {
		c.Overflow = overflow(frames[from:], overflowed(r, [2]uint64{}))
	}
	if at := firstFrame(frames[from:], false, in.calledNoCode(c, frames[from:])); at != nil {
		*at += from
		c.Frame = at
	} else {
		c.Frame = &from
	}
	return true
}

// countFrom makes the steps of a blame, whose frames are counted from the physical one, count all frames.
func countFrom(b *report.Blame, physical int) {
	if b == nil {
		return
	}
	for i := range b.Steps {
		b.Steps[i].Physical += physical
	}
}

// seenFrom returns the youngest of the frames that a signal interrupted as a stack of their own, whose first frame is the
// physical one.
func seenFrom(frames []report.Frame, physical int) []report.Frame {
	const most = 64 // frames inside of a library's function
	out := slices.Clone(frames[:min(len(frames), most)])
	for i := range out {
		out[i].Physical -= physical
	}
	return out
}

// caughtFault reports whether the thread that died handled a fault: the program ended because of that.
func (in *question) caughtFault() bool {
	for i := range in.diedStack {
		if _, ok := in.faultHandled(i); ok {
			return true
		}
	}
	return false
}

// faultHandled returns the signal that a trampoline of the thread that died delivered, and whether it is a fault's.
func (in *question) faultHandled(physical int) (reason.Signal, bool) {
	if !in.diedStack[physical].IsTrampoline() {
		return reason.Signal{}, false
	}
	s, sure := in.delivered(in.diedStack, physical)
	return s, sure != "" && reason.Faults(in.Numbers, s.Number)
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
func (in *question) endedByGo(r *report.Report) bool {
	frames := r.Threads[0].Frames
	at := goHandled(frames)
	if at < 0 || r.Crash.Kind != report.CrashAbort || frames[at].Physical+1 >= len(in.diedStack) {
		return false
	}
	c, trampoline := r.Crash, frames[at].Physical
	s, sure := in.delivered(in.diedStack, trampoline)
	const siTKill = -6 // for one thread, as abort does
	if sure == "" || s.Number == sigABRT && (!s.HasInfo || s.Code == siTKill) {
		return false // C code called abort, as far as is known
	}
	if !reason.Faults(in.Numbers, s.Number) {
		c.Kind, c.Reason = report.CrashSignal, s.Name()+receivedByGo
		in.toldToQuit = s.Number == sigQUIT && s.HasInfo && s.PID == in.Proc.ProcessID()
		if c.Frame == nil {
			next := at + 1 // what the thread did says more than how it ended
			c.Frame = &next
		}
		return true
	}
	why, ok := in.whyInterrupted(trampoline+1, s)
	if !ok {
		return false
	}
	c.Kind, c.Reason = why.Kind, s.Name()
	if frames[0].Function == caughtForeign || slices.ContainsFunc(frames[at:], func(f report.Frame) bool { return f.Function == "runtime.asmcgocall" }) {
		c.Reason += " in C code"
	}
	c.Reason += ": " + why.Text
	return true
}

// receivedByGo is what Go does when it receives a signal that it does not handle otherwise.
const receivedByGo = " received, for which Go prints the goroutines and aborts"

// receivedFirst corrects the reason of a Go program in which the thread that died got SIGQUIT from the program itself: until Go 1.20 the
// thread that received a signal sends that to all others, one after the other, and the last one ends the program.
func (in *question) receivedFirst(ctx context.Context, r *report.Report) {
	if !in.toldToQuit || r.Crash == nil {
		return
	}
	told := false
	for i := range r.Threads {
		t := &r.Threads[i]
		at := slices.IndexFunc(t.Frames, func(f report.Frame) bool { return f.Function == "runtime.sighandler" })
		if t.Crashed || at < 0 {
			continue
		}
		rest := t.Frames[at:]
		from := slices.IndexFunc(rest, func(f report.Frame) bool { return f.Signal != "" })
		if from < 0 {
			continue
		}
		if got := rest[from].Signal; got != "SIGQUIT" {
			r.Crash.Reason = fmt.Sprintf("%s%s; thread %d had it", got, receivedByGo, t.ID)
			if got == "SIGABRT" {
				r.Crash.Kind = report.CrashAbort
			}
			return
		}
		told = true
	}
	if !told && (len(in.opts.Threads) > 0 || in.stopReading(ctx)) { // the thread that received the first signal may not be in the report
		r.Crash.Reason = "a signal" + receivedByGo
	}
}

// whyInterrupted explains a signal by the instruction at which it interrupted a frame of the thread that died; false if
// nothing seems wrong with it: somebody may have sent the signal.
func (in *question) whyInterrupted(physical int, s reason.Signal) (reason.Reason, bool) {
	ci := in.interruptedInput(in.diedStack, physical)
	ci.Signal = s
	switch why := reason.Why(ci); why.Kind {
	case report.CrashBadRead, report.CrashBadWrite, report.CrashBadAccess, report.CrashBadCall:
		return reason.Reason{}, false
	default:
		return why, true
	}
}

// crashInput is what package reason needs to know about the process.
func (in *question) crashInput() reason.Input {
	ci := reason.Input{Arch: in.arch, Mapping: in.Proc.MappingAt, Word: in.mem.LookupWord, Bytes: in.mem.Fill, Has: in.hasAllocator}
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
