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
	"strings"
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

// words are what the program itself reported, and what they are for.
type words struct {
	message.Words
	told told
}

// told says what the words of a program are for.
type told uint8

const (
	untold     told = iota
	asReason        // they are the reason of the crash
	asHandler       // the handler of a fault raised an exception: the fault is the reason, see findCaught
	asOverflow      // an exception began it, of which the handler used up the stack
)

// words are those of a program that ended itself.
func (c *crash) words() words { return c.known.words.of(c.findWords) }

func (c *crash) findWords() words {
	w := c.Assertion
	if w.Reason == "" {
		if !c.endedItself() {
			return c.raisedUntilFull()
		}
		if w = c.Recorded; w.Message == "" {
			w = c.read()
		}
	}
	switch {
	case w.Message == "" && w.Reason == "":
		return words{w, untold}
	case w.OfSignal && c.handled() != nil:
		return words{w, asHandler}
	}
	return words{w, asReason}
}

// read reads the words in the process's memory.
func (c *crash) read() message.Words {
	p := c.process()
	if p == nil {
		return message.Words{}
	}
	return message.Read(p)
}

// raisedUntilFull tells which exception of Ada began it when GNAT's handler of SIGABRT used up its stack: it raises an exception, for which
// an action of the program aborts again.
func (c *crash) raisedUntilFull() words {
	if s := c.Signal; s == nil || s.Code != siKernel || c.signalled().kind != report.CrashStackOverflow {
		return words{}
	}
	w := c.read()
	if len(w.Thrown) == 0 || w.Thrown[0].Runtime != message.GNAT || w.OfSignal {
		return words{}
	}
	w.Handling = nil // the frames that handle it are those of the handler
	return words{w, asOverflow}
}

// message is the text that the program wrote, if it is the reason.
func (c *crash) message() string {
	if w := c.words(); w.told == asReason {
		return w.Message
	}
	return ""
}

// thrown describes exceptions for the report.
func thrown(list []message.Thrown) (all []report.Thrown) {
	for i := range list {
		t := &list[i]
		out := report.Thrown{Type: t.Type, Template: t.Template, Runtime: t.Runtime, Address: report.Addr(t.Object)}
		if t.HasWhat {
			out.What = &t.What
		}
		all = append(all, out)
	}
	return all
}

// handling describes the exceptions of Ada that code of the crashed thread handles, or raises again unless that is sure.
func (c *crash) handling(list []message.Thrown, sure bool) (all []report.Raised) {
	for i := range list {
		out := report.Raised{Language: "ada", Type: list[i].Type, Handled: sure}
		if out.File, out.Line, out.Message = message.AdaPlace(list[i].What); out.File == "" {
			out.Function, out.File, out.Line = c.raisedAt(list[i].Trace)
		}
		if i > 0 {
			out.Relation = "context"
		}
		all = append(all, out)
	}
	return all
}

// raisedAt is where the youngest of the calls in which an exception was raised is. Of others nothing tells that they raised it.
func (c *crash) raisedAt(trace []unwind.Address) (function, file string, line int) {
	lookup, ok := c.Walker.SymbolLookup().(unwind.CallLookup)
	if !ok || len(trace) == 0 {
		return "", "", 0
	}
	calls, err := lookup.LookupCalls(trace[0], nil)
	if err != nil || len(calls) == 0 || calls[0].Line == 0 {
		return "", "", 0
	}
	return calls[0].Name, calls[0].File, calls[0].Line
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
func (c *crash) process() *message.Process {
	if c.stack == nil {
		return nil
	}
	in := c.question
	libs := in.Proc.LibraryTracker()
	p := &message.Process{
		Reader: in.mem, Program: in.Dump.Command, Windows: in.Dump.OS == "windows",
		Stack: c.stackOf(c.stack, c.named.Frames),
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
		Argument: c.passed,
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
func (c *crash) passed(frame, n int, direct bool) (uint64, bool) {
	for range maxPassed {
		v, own, ok := c.passes(frame, n, direct)
		if ok || own < 0 {
			return v, ok
		}
		frame, n, direct = frame+1, own, true
	}
	return 0, false
}

// passes is passed for one frame. own is the number of the argument of its own that it passes on; -1 if it is none.
func (c *crash) passes(frame, n int, direct bool) (val uint64, own int, ok bool) {
	if left := c.naming.left; frame <= 0 || left.end > left.from && frame >= left.from { // message counts without what was left out
		return 0, -1, false
	}
	w := c.witnessOf(c.stack, frame, nil)
	if w == nil {
		return 0, -1, false
	}
	defer w.close()
	if w.state.PC == w.frame.RA() {
		return 0, -1, false
	}
	if direct {
		callee := c.witnessOf(c.stack, frame-1, nil)
		defer callee.close()
		call, ok := w.code.Inst(w.state.PC)
		if callee == nil || !ok || !(&tracer{in: c.question, stack: c.stack}).calls(&call, callee) {
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
func (c *crash) stackOf(frames []*unwind.Frame, named []report.Frame) []message.Frame {
	left := c.naming.left
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
			if strings.HasPrefix(f.Symbol, "_ada_") { // a procedure of no package, which only this tells from one of C
				out[at].Names = append(out[at].Names, f.Symbol)
			}
		}
	}
	return out
}
