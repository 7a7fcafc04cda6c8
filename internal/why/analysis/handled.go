package analysis

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A handledFault is a fault for which a signal handler on the crashing thread's stack was called: the program then died in the handler or
// because of it.
type handledFault struct {
	physical  int // the frame that it interrupted
	signal    reason.Signal
	why       reason.Reason
	explained bool   // by the instruction; else why is not known
	text      string // the cause that says so
}

// handled is the fault that was handled; nil if there is none, or if the handler was Go's: the fault is the reason itself then.
func (c *crash) handled() *handledFault { return c.known.handled.of(c.findHandled) }

func (c *crash) findHandled() *handledFault {
	if c.goEnd() != nil {
		return nil
	}
	i, s := c.firstFault()
	if i == 0 {
		return nil
	}
	h := &handledFault{physical: i, signal: s, text: s.Name() + " caught earlier"}
	if h.why, h.explained = c.whyInterrupted(i, s); h.explained {
		h.text += ": " + h.why.Text
	}
	if where := frameOf(c.named.Frames, i); where != "" {
		h.text += ", in " + where
	}
	return h
}

// firstFault returns the frame of the thread that died which a caught fault interrupted, and the fault's signal; 0 if there is
// none. Of several faults it takes the oldest, which came first.
func (c *crash) firstFault() (physical int, s reason.Signal) {
	for i := len(c.stack) - 1; i > 0; i-- {
		if s, ok := c.faultHandled(i - 1); ok {
			return i, s
		}
	}
	return 0, reason.Signal{}
}

// A caughtFault is a handled fault that is the reason why the program died.
type caughtFault struct {
	*fault
	verdict verdict
	from    int // the first entry of the frame that it interrupted
	frame   int // the entry to look at
}

// abortedByHandler reports whether the handler of a fault aborted, or raised the same signal again, and nobody said why.
func (c *crash) abortedByHandler() bool {
	h := c.handled()
	if h == nil || c.message() != "" || c.Signal == nil {
		return false
	}
	return c.spoken().kind == report.CrashAbort && c.Signal.Number == sigABRT || c.raisedFault(h)
}

// raisedFault reports whether the handler of a fault raised the same signal again.
func (c *crash) raisedFault(h *handledFault) bool {
	return c.spoken().kind == report.CrashSignal && c.Signal.Number == h.signal.Number && c.Signal.PID != 0 && c.Signal.PID == c.Signal.OwnPID
}

// raisedAgain says where SIGABRT came from if a handler of a signal that was no fault did nothing but raise it, as Python's faulthandler does of a
// signal from outside; "" if that is not so. A program that aborts has its abort below the handler.
func (c *crash) raisedAgain() string {
	if c.Signal == nil || c.Signal.Number != sigABRT {
		return ""
	}
	at, raised := calls(c.named.Frames, raises)
	if !raised || at == len(c.named.Frames) || c.named.Frames[at].Signal == "" {
		return ""
	}
	if _, own := calls(c.named.Frames[at+1:], sends); own {
		return ""
	}
	physical := c.named.Frames[at].Physical
	if physical+1 >= len(c.stack) {
		return ""
	}
	if _, sure := c.delivered(c.stack, physical); sure != "" {
		return "" // firstAbort has said what is known
	}
	// A handler that does not ask for it is not told the sender, and one for which no signal is blocked leaves no trace of which one it got.
	return "raised by the handler of a signal that is not known"
}

// firstAbort is the verdict on a SIGABRT whose handler raised it again, or aborted, by how that came first: from another process, or by abort. It is empty if that
// is not known.
func (c *crash) firstAbort() verdict {
	frames := c.named.Frames
	at := slices.IndexFunc(frames, func(f report.Frame) bool { return f.Signal != "" })
	if c.Signal == nil || c.Signal.Number != sigABRT || at < 0 || frames[at].Physical+1 >= len(c.stack) {
		return verdict{}
	}
	if _, raised := calls(frames[:at], sends); !raised {
		return verdict{}
	}
	s, sure := c.delivered(c.stack, frames[at].Physical)
	if sure == "" || s.Number != sigABRT {
		return verdict{}
	}
	handler := "; its handler raised it again"
	if slices.ContainsFunc(frames[:at], isAbort) {
		handler = "; its handler called abort"
	}
	if n, own := calls(frames[at+1:], sends); own && slices.ContainsFunc(frames[at+1:][:n], isAbort) {
		return verdict{report.CrashAbort, "abort called by the program itself" + handler}
	}
	if why, ok := c.whyInterrupted(frames[at].Physical+1, s); ok && s.HasInfo && s.PID > 0 && s.PID != c.Signal.OwnPID {
		return verdict{report.CrashSignal, s.Name() + " caught: " + why.Text + handler}
	}
	return verdict{}
}

func isAbort(f report.Frame) bool { return strings.TrimPrefix(f.Function, "__GI_") == "abort" }

// calls returns how many of the youngest frames are of functions of a kind, with the C library's own, which may have no names; named says that one
// has a name.
func calls(frames []report.Frame, kind func(string) bool) (n int, named bool) {
	for i := range frames {
		f := &frames[i]
		switch {
		case f.Signal != "":
			return i, named
		case kind(f.Function):
			named = true
		case f.Function != "" || !systemModule(f.Module):
			return i, named
		}
	}
	return len(frames), named
}

// raisedBy returns the function by which code of the program raised a signal on its own thread, without abort; "" if another function of a library did so, or
// one that has no name may have.
func raisedBy(frames []report.Frame) string {
	by := ""
	for i := range frames {
		f := &frames[i]
		switch name := strings.TrimLeft(strings.TrimPrefix(f.Function, "__GI_"), "_"); {
		case f.Signal != "" || f.Function == "":
			return ""
		case !systemModule(f.Module):
			return by
		case name == "syscall":
			by = "tgkill"
		case strings.HasPrefix(name, "pthread_kill"):
			by = "pthread_kill"
		case name == "raise" || name == "gsignal":
			by = "raise"
		default:
			return ""
		}
	}
	return ""
}

// raisedElsewhere reports whether the thread that died of a SIGABRT from its own process certainly was at no call that raised it. Another thread chose it for the
// signal, or a handler raised the signal again, which came when that had returned.
func (c *crash) raisedElsewhere() bool {
	if c.Signal == nil || c.Signal.Number != sigABRT || len(c.stack) == 0 {
		return false
	}
	if _, calls := kernelCalls(c.arch); len(calls) == 0 {
		return c.atNamedCall()
	}
	for _, at := range []int{0, c.abortedIn()} {
		if at >= len(c.stack) {
			return false
		}
		regs := c.stack[at].Registers()
		if called, known := kernelCalled(c.arch, &regs, c.stack[at].RA(), c.mem.Some); called || !known {
			return false
		}
	}
	return true
}

// kernelCalled reports whether registers are those right behind a call of the kernel that succeeded, and whether that is known.
func kernelCalled(a *arch.Arch, regs *arch.RegSet, pc uint64, read func(at uint64, n int) []byte) (called, known bool) {
	result, calls := kernelCalls(a)
	returned, known := regs.Get(result)
	behind := false
	for _, call := range calls {
		before := read(pc-uint64(len(call)), len(call))
		if len(before) != len(call) {
			return false, false
		}
		// The svc of z/Architecture may have the number of the call in its second byte.
		behind = behind || string(before) == call || a.Family == arch.FamilyS390 && before[0] == call[0]
	}
	return behind && a.Truncate(returned) == 0, known
}

// abortedIn is the number of the frame that a SIGABRT interrupted of which the handler still runs: 0 if none does.
func (c *crash) abortedIn() int {
	for i := range c.named.Frames {
		if f := &c.named.Frames[i]; f.Signal == "SIGABRT" {
			return f.Physical + 1
		}
	}
	return 0
}

// kernelCalls returns the instructions that call the kernel, and the register in which that returns; nothing for processors of which it is not known here.
func kernelCalls(a *arch.Arch) (result arch.Reg, calls []string) {
	name := ""
	switch a.Family {
	case arch.FamilyX86:
		if a == arch.X86 {
			return arch.EAX, []string{"\xcd\x80", "\x0f\x05", "\x0f\x34"}
		}
		return arch.RAX, []string{"\x0f\x05"}
	case arch.FamilyARM64:
		name, calls = "x0", []string{"\x01\x00\x00\xd4"}
	case arch.FamilyARM:
		name, calls = "r0", []string{"\x00\x00\x00\xef", "\x00\xdf"}
	case arch.FamilyRISCV:
		name, calls = "a0", []string{"\x73\x00\x00\x00"}
	case arch.FamilyLoongArch:
		name, calls = "a0", []string{"\x00\x00\x2b\x00"}
	case arch.FamilyMIPS:
		name, calls = "v0", []string{"\x0c\x00\x00\x00"}
	case arch.FamilyPPC:
		name, calls = "r3", []string{"\x02\x00\x00\x44", "\x01\x00\x00\x44"}
	case arch.FamilyS390:
		name, calls = "r2", []string{"\x0a\x00"}
	default:
		return arch.NoReg, nil
	}
	if a.ByteOrder == binary.ByteOrder(binary.BigEndian) && (a.Family == arch.FamilyMIPS || a.Family == arch.FamilyPPC) {
		for i, call := range calls {
			calls[i] = string([]byte{call[3], call[2], call[1], call[0]})
		}
	}
	result, ok := a.RegByName(name)
	if !ok {
		return arch.NoReg, nil
	}
	return result, calls
}

// atNamedCall reports whether the thread that died was in the C library in functions that have names, of which none raises a signal.
func (c *crash) atNamedCall() bool {
	for i := range c.named.Frames {
		f := &c.named.Frames[i]
		switch {
		case i > 0 && !systemModule(f.Module):
			return true
		case f.Signal != "" || f.Function == "" || sends(f.Function) || strings.TrimLeft(f.Function, "_") == "syscall" || !systemModule(f.Module):
			return false
		}
	}
	return false
}

// raises reports whether a function is one by which a handler raises a signal, or faulthandler's own.
func raises(function string) bool {
	name := strings.TrimPrefix(function, "__GI_")
	return name == "raise" || name == "gsignal" || strings.HasPrefix(strings.TrimLeft(name, "_"), "pthread_kill") || strings.HasPrefix(name, "faulthandler_")
}

// sends reports whether a function is one by which a process sends itself a signal.
func sends(function string) bool {
	switch strings.TrimLeft(strings.TrimPrefix(function, "__GI_"), "_") {
	case "abort", "kill", "killpg", "tgkill", "tkill", "sigqueue":
		return true
	}
	return raises(function)
}

// caught is the fault that is the reason of a program whose handler of the fault then aborted: place, instruction, address and blame are the
// fault's. It is nil if that is not so.
func (c *crash) caught() *caughtFault { return c.known.caught.of(c.findCaught) }

func (c *crash) findCaught() *caughtFault {
	if !c.abortedByHandler() {
		return nil
	}
	h := c.handled()
	from := slices.IndexFunc(c.named.Frames, func(f report.Frame) bool { return f.Physical >= h.physical })
	if !h.explained || from < 0 {
		return nil
	}
	why := h.why
	var inst disasm.Inst
	if c.decode(&inst, c.stack[h.physical]) != nil {
		why.AtInst = false
	}
	regs := c.stack[h.physical].Registers()
	f := c.faultOf(h.physical, &inst, &regs, &why)
	frames := c.named.Frames[from:]
	v := titled(verdict{why.Kind, why.Text}, f, seenFrom(frames, h.physical))
	handler := "called abort"
	if c.raisedFault(h) {
		handler = "raised it again"
	}
	if w := c.words(); w.told == asHandler {
		handler = cmp.Or(w.Reason, handler)
	}
	v.reason = h.signal.Name() + " caught: " + v.reason + "; its handler " + handler
	out := &caughtFault{fault: f.countedFrom(h.physical), verdict: v, from: from, frame: from}
	if at := firstFrame(frames, false, c.calledNoCode(v.kind, frames)); at != nil {
		out.frame += *at
	}
	return out
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

// handledAny reports whether the thread that died handled a fault: the program ended because of that.
func (c *crash) handledAny() bool {
	for i := range c.stack {
		if _, ok := c.faultHandled(i); ok {
			return true
		}
	}
	return false
}

// faultHandled returns the signal that a trampoline of the thread that died delivered, and whether it is a fault's.
func (c *crash) faultHandled(physical int) (reason.Signal, bool) {
	if !c.stack[physical].IsTrampoline() {
		return reason.Signal{}, false
	}
	s, sure := c.delivered(c.stack, physical)
	return s, sure != "" && reason.Faults(c.Numbers, s.Number)
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

// A goEnd is the signal for which Go's runtime ended the program.
type goEnd struct {
	verdict
	frame      int  // the entry that it interrupted, if it is no fault; 0 otherwise
	toldToQuit bool // the program itself sent the SIGQUIT; see receivedFirst
}

// goEnd is the signal for which Go's runtime ended the program. The runtime then aborts, which says nothing. It is nil if the program did
// not end so.
func (c *crash) goEnd() *goEnd { return c.known.goEnd.of(c.findGoEnd) }

func (c *crash) findGoEnd() *goEnd {
	frames := c.named.Frames
	at := goHandled(frames)
	if at < 0 || c.stop().why.Kind != report.CrashAbort || frames[at].Physical+1 >= len(c.stack) {
		return nil
	}
	trampoline := frames[at].Physical
	s, sure := c.delivered(c.stack, trampoline)
	const siTKill = -6 // for one thread, as abort does
	if sure == "" || s.Number == sigABRT && (!s.HasInfo || s.Code == siTKill) {
		return nil // C code called abort, as far as is known
	}
	if !reason.Faults(c.Numbers, s.Number) {
		return &goEnd{
			verdict:    verdict{report.CrashSignal, s.Name() + receivedByGo},
			frame:      at + 1, // what the thread did says more than how it ended
			toldToQuit: s.Number == sigQUIT && s.HasInfo && s.PID == c.Proc.ProcessID(),
		}
	}
	why, ok := c.whyInterrupted(trampoline+1, s)
	if !ok {
		return nil
	}
	name := s.Name()
	if frames[0].Function == caughtForeign || slices.ContainsFunc(frames[at:], func(f report.Frame) bool { return f.Function == "runtime.asmcgocall" }) {
		name += " in C code"
	}
	return &goEnd{verdict: verdict{why.Kind, name + ": " + why.Text}}
}

// receivedByGo is what Go does when it receives a signal that it does not handle otherwise.
const receivedByGo = " received, for which Go prints the goroutines and aborts"

// receivedFirst corrects, by the other threads, the verdict on a Go program in which the thread that died got SIGQUIT from the program itself:
// until Go 1.20 the thread that received a signal sends that to all others, one after the other, and the last one ends the program.
func (c *crash) receivedFirst(ctx context.Context, threads []report.Thread) verdict {
	if c == nil {
		return verdict{}
	}
	v := c.verdict()
	if g := c.goEnd(); g == nil || !g.toldToQuit {
		return v
	}
	told := false
	for i := range threads {
		t := &threads[i]
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
			v.reason = fmt.Sprintf("%s%s; thread %d had it", got, receivedByGo, t.ID)
			if got == "SIGABRT" {
				v.kind = report.CrashAbort
			}
			return v
		}
		told = true
	}
	if !told && (len(c.opts.Threads) > 0 || c.stopReading(ctx)) { // the thread that received the first signal may not be in the report
		v.reason = "a signal" + receivedByGo
	}
	return v
}

// whyInterrupted explains a signal by the instruction at which it interrupted a frame of the thread that died; false if
// nothing seems wrong with it: somebody may have sent the signal.
func (c *crash) whyInterrupted(physical int, s reason.Signal) (reason.Reason, bool) {
	ci := c.interruptedInput(c.stack, physical)
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
