package analysis

import (
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/internal/why/message"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
	"slices"
)

// Signals with which programs end themselves: abort, and the instructions that compilers and handlers of fatal
// errors use. The numbers are the same in every signal numbering.
const (
	sigQUIT = 3
	sigILL  = 4
	sigTRAP = 5
	sigABRT = 6
)

// Windows exceptions with which programs end themselves: a breakpoint, __fastfail, an invalid instruction.
const (
	winBreakpoint  = 0x80000003
	winIllegal     = 0xc000001d
	winFastFail    = 0xc0000409
	winAssertion   = 0xc0000420
	winFatalExit   = 0x40000015
	winCppThrown   = 0xe06d7363
	winGNUThrown   = 0x20474343
	winDotNet      = 0xe0434352
	machEXCCrash   = 10
	machBreakpoint = 6
	machBadInst    = 2
)

// endedItself reports whether the program ended itself.
func (in *Engine) endedItself() bool {
	if s := in.Signal; s != nil {
		return s.Number == sigABRT || s.Number == sigTRAP || s.Number == sigILL
	}
	switch e := in.Exception; {
	case e == nil:
	case e.Of == reason.WindowsExceptions:
		switch e.Code {
		case winBreakpoint, winIllegal, winFastFail, winAssertion, winFatalExit, winCppThrown, winGNUThrown, winDotNet:
			return true
		}
	case e.Of == reason.MachExceptions:
		return e.Code == machEXCCrash || e.Code == machBreakpoint || e.Code == machBadInst
	}
	return false
}

// lastWords adds the message of a program that ended itself: it is the reason.
func (in *question) lastWords(r *report.Report) {
	if r.Crash == nil {
		return
	}
	if w := in.Assertion; w.Reason != "" {
		in.tell(r, w)
		return
	}
	if !in.endedItself() {
		in.raisedUntilFull(r)
		return
	}
	if w := in.Recorded; w.Message != "" {
		in.tell(r, w)
		return
	}
	p := in.process(r)
	if p == nil {
		return
	}
	in.tell(r, message.Read(p))
}

// raisedUntilFull tells which exception of Ada began it when GNAT's handler of SIGABRT used up its stack: it raises an exception, for which
// an action of the program aborts again.
func (in *question) raisedUntilFull(r *report.Report) {
	c, s := r.Crash, in.Signal
	if s == nil || s.Code != siKernel || c.Kind != report.CrashStackOverflow || c.Frame == nil {
		return
	}
	p := in.process(r)
	if p == nil {
		return
	}
	w := message.Read(p)
	if len(w.Thrown) == 0 || w.Thrown[0].Runtime != message.GNAT || w.OfSignal {
		return
	}
	addThrown(c, w.Thrown)
	c.Causes = append([]report.Cause{{Text: w.Reason, Confidence: "likely"}}, c.Causes...)
	const oldest = 256 // frames among which it was raised
	frames := r.Threads[0].Frames
	from := max(len(frames)-oldest, 0)
	if at := firstFrame(frames[from:], true, false); at != nil {
		*at += from
		c.Frame = at
	}
}

// tell puts the message into the report.
func (in *question) tell(r *report.Report, w message.Words) {
	c := r.Crash
	addHandling(c, w.Handling, w.Sure)
	if w.Message == "" && w.Reason == "" {
		return
	}
	if w.OfSignal && in.caughtEarlier != "" {
		addThrown(c, w.Thrown)
		in.raisedFor = w.Reason // what the signal was for is the reason, see caught
		return
	}
	c.Message, c.MessageSource = w.Message, w.Source
	if c.Reason = w.Reason; c.Reason == "" {
		c.Reason = w.Message
	}
	c.Kind = crashKinds[w.Cause]
	if a := w.Assertion; a != nil {
		c.Assertion = &report.Assertion{Expression: a.Expression, Error: a.Error, File: a.File, Line: a.Line, Function: a.Function}
	}
	if w.Finding != "" {
		c.Causes = append(c.Causes, report.Cause{Text: w.Finding, Confidence: "certain"})
	}
	if w.Cause == message.UncaughtException && w.Panic == nil && len(r.Threads) > 0 && r.Threads[0].Crashed {
		c.Frame = thrownAt(r.Threads[0].Frames, c.Frame)
	}
	if w.Raised > 0 {
		if at := slices.IndexFunc(r.Threads[0].Frames, func(f report.Frame) bool { return f.Physical == w.Raised }); at >= 0 {
			c.Frame = &at
		}
	}
	if w.Cause == message.StackOverflow && c.Frame != nil && c.Overflow == nil {
		c.Overflow = overflow(r.Threads[0].Frames[*c.Frame:], overflowed(r, w.Stack))
	}
	addThrown(c, w.Thrown)
	if q := w.Panic; q != nil {
		c.Panic = &report.Panic{Runtime: q.Runtime, Type: q.Type, Value: q.Value, Fatal: q.Fatal,
			File: q.File, Line: q.Line, Column: q.Column, Goroutine: q.Goroutine}
	}
	switch {
	case w.Fault != nil:
		in.goFault(r, w.Fault)
	case w.Panic != nil && w.Panic.Value == nilMap && len(r.Threads) > 0:
		in.goNilMap(r)
	}
}

func addThrown(c *report.Crash, thrown []message.Thrown) {
	for i := range thrown {
		t := &thrown[i]
		out := report.Thrown{Type: t.Type, Template: t.Template, Runtime: t.Runtime, Address: report.Addr(t.Object)}
		if t.HasWhat {
			out.What = &t.What
		}
		c.Thrown = append(c.Thrown, out)
	}
}

// addHandling tells of the exceptions of Ada that code of the crashed thread handles, or raises again unless that is sure.
func addHandling(c *report.Crash, handling []message.Thrown, sure bool) {
	for i := range handling {
		out := report.Raised{Language: "ada", Type: handling[i].Type, Handled: sure}
		out.File, out.Line, out.Message = message.AdaPlace(handling[i].What)
		if i > 0 {
			out.Relation = "context"
		}
		c.Raised = append(c.Raised, out)
	}
}

// thrownAt returns the frame to look at of an uncaught exception: the one that threw, not the handler that ends the program,
// which is on top of it. Otherwise it returns the frame that was found.
func thrownAt(frames []report.Frame, found *int) *int {
	end := slices.IndexFunc(frames, func(f report.Frame) bool { return message.Terminates(f.Function) })
	if end < 0 || found == nil || *found > end {
		return found
	}
	i := firstFrame(frames[end+1:], true, false)
	if i == nil {
		return found
	}
	*i += end + 1
	return i
}

var crashKinds = [...]string{
	message.Abort:             report.CrashAbort,
	message.FailedAssertion:   report.CrashAssertion,
	message.UncaughtException: report.CrashException,
	message.StackOverrun:      report.CrashStackOverrun,
	message.HeapCorruption:    report.CrashHeapCorruption,
	message.OutOfMemory:       report.CrashOutOfMemory,
	message.InvalidArgument:   report.CrashInvalidArgument,
	message.SanitizerError:    report.CrashSanitizer,
	message.StackOverflow:     report.CrashStackOverflow,
}

// process describes the process for package message; nil if the stack of the thread that died is not in the
// report.
func (in *question) process(r *report.Report) *message.Process {
	if len(r.Threads) == 0 || !r.Threads[0].Crashed || in.diedStack == nil {
		return nil
	}
	libs := in.Proc.LibraryTracker()
	p := &message.Process{
		Reader: in.mem, Program: r.Dump.Command, Windows: r.Dump.OS == "windows",
		Stack: in.stackOf(in.diedStack, r.Threads[0].Frames),
		LibraryAt: func(addr arch.Address) *libstate.Library {
			if libs == nil {
				return nil
			}
			lib, _ := libs.LibraryAt(addr)
			return lib
		},
		ThreadLocal: func(module, offset uint64) (arch.Address, bool) {
			if in.Variables == nil {
				return 0, false
			}
			addr, err := where.ProcessOf(in.Variables).ThreadLocal(in.died(), module, offset)
			return addr, err == nil
		},
		GoMinor: func(lib *libstate.Library) int {
			if in.Files == nil || lib == nil {
				return 0
			}
			return image.GoMinor((*image.Image)(in.Files.Resolve(lib).Image).GoVersion())
		},
		Constants: func(lib *libstate.Library) [][]byte {
			if in.Files == nil {
				return nil
			}
			found := in.Files.Resolve(lib)
			if found.Forced {
				return nil // of another build
			}
			return (*image.Image)(found.Image).Constants()
		},
		Mapping:  in.Proc.MappingAt,
		Argument: in.passed,
	}
	if e := in.Exception; e != nil && e.Of == reason.WindowsExceptions {
		p.Exception = message.Exception{Code: e.Code, Params: e.Params}
	}
	p.NamedMapping = func(name string) (libstate.Mapping, bool) {
		for _, m := range in.Proc.Mappings() {
			if m.Path == name {
				return m, true
			}
		}
		return libstate.Mapping{}, false
	}
	lookup := in.Walker.SymbolLookup()
	if s, ok := lookup.(unwind.SymbolReader); ok {
		p.Symbol = func(lib *libstate.Library, name string) (arch.Address, bool) {
			sym, ok := s.SymbolByName(lib, name)
			return sym.Addr, ok
		}
	}
	if s, ok := lookup.(unwind.CallLookup); ok {
		p.Function = func(addr arch.Address) string {
			calls, err := s.LookupCalls(addr, nil)
			if err != nil || len(calls) == 0 {
				return ""
			}
			return calls[len(calls)-1].Name
		}
	}
	return p
}

// maxPassed is the most callers through which an argument is followed that is passed on.
const maxPassed = 4

// passed returns what the function of a frame of the thread that died passes as an argument in the call that it is in. An argument of its
// own that it passes on is looked for in its caller, if that called this function and no other that jumped here.
func (in *question) passed(frame, n int, direct bool) (uint64, bool) {
	for range maxPassed {
		v, own, ok := in.passes(frame, n, direct)
		if ok || own < 0 {
			return v, ok
		}
		frame, n, direct = frame+1, own, true
	}
	return 0, false
}

// passes is passed for one frame. own is the number of the argument of its own that it passes on; -1 if it is none.
func (in *question) passes(frame, n int, direct bool) (val uint64, own int, ok bool) {
	if frame <= 0 || in.diedLeft.end > in.diedLeft.from && frame >= in.diedLeft.from { // message counts without what was left out
		return 0, -1, false
	}
	w := in.witness(frame, nil)
	if w == nil {
		return 0, -1, false
	}
	defer w.close()
	if w.state.PC == w.frame.RA() {
		return 0, -1, false
	}
	if direct {
		callee := in.witness(frame-1, nil)
		defer callee.close()
		call, ok := w.code.Inst(w.state.PC)
		if callee == nil || !ok || !(&tracer{in: in}).calls(&call, callee) {
			return 0, -1, false
		}
	}
	v := w.code.Argument(w.state.PC, n)
	if val, exact, ok := w.eval.Value(v, 0); ok && exact {
		return val, -1, true
	}
	if v.Kind != provenance.Entry {
		return 0, -1, false
	}
	return 0, slices.Index(w.abi.Args, v.Reg), false
}

// stackOf returns the walked frames with the names that the report gives them, without the rounds of a recursion that the
// report leaves out: those that stay are the same.
func (in *question) stackOf(frames []*unwind.Frame, named []report.Frame) []message.Frame {
	left := in.diedLeft
	missing := left.end - left.from
	out := make([]message.Frame, 0, len(frames)-missing)
	for i, f := range frames {
		if i < left.from || i >= left.end {
			out = append(out, message.Frame{Frame: f})
		}
	}
	for i := range named {
		f := &named[i]
		at := f.Physical
		if at >= left.end {
			at -= missing
		}
		if f.Function != "" && !f.Tail && at < len(out) {
			out[at].Names = append(out[at].Names, f.Function)
		}
	}
	return out
}
