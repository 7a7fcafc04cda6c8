package analysis

import (
	"fmt"
	"path"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// handled adds, as the first cause, the fault that a signal handler on the crashing
// thread's stack was called for: the program then died in the handler, or of what that
// did. Of several the oldest is the one that began it.
func (in *inspection) handled(r *report.Report) {
	if len(r.Threads) == 0 || !r.Threads[0].Crashed {
		return
	}
	for i := len(in.diedStack) - 1; i > 0; i-- {
		signo, ok := in.faultHandled(in.diedStack[i-1])
		if !ok {
			continue
		}
		text := in.Numbers.Name(signo) + " was handled"
		if why := in.whyInterrupted(in.diedStack[i], signo); why != "" {
			text += ": " + why
		}
		if where := frameOf(r.Threads[0].Frames, i); where != "" {
			text += ", in " + where
		}
		r.Crash.Causes = append([]report.Cause{{Text: text, Confidence: "likely"}}, r.Crash.Causes...)
		return
	}
}

// faultHandled tells which signal a trampoline delivered, when it is one of a fault.
func (in *inspection) faultHandled(f *unwind.Frame) (int, bool) {
	if in.SignalAt == nil || !f.IsTrampoline() {
		return 0, false
	}
	signo, ok := in.SignalAt(f)
	return signo, ok && reason.Faults(in.Numbers, signo)
}

// whyInterrupted words what the instruction did at which a frame was interrupted; ""
// when it looks as if nothing were wrong with it: somebody may have sent the signal.
func (in *inspection) whyInterrupted(f *unwind.Frame, signo int) string {
	ci := in.crashInput()
	ci.Regs = f.Registers()
	var inst disasm.Inst
	if err := in.decode(&inst, f); err == nil {
		ci.Inst = &inst
	}
	ci.Signal = reason.Signal{Number: signo, Numbers: in.Numbers}
	switch why := reason.Why(ci); why.Kind {
	case report.CrashBadRead, report.CrashBadWrite, report.CrashBadAccess, report.CrashBadCall:
		return ""
	default:
		return why.Text
	}
}

// crashInput is what crash asks about the process.
func (in *inspection) crashInput() reason.Input {
	ci := reason.Input{Arch: in.arch, Mapping: in.MappingAt, Word: in.word, Bytes: in.bytes}
	if in.PartialMaps {
		ci.Mapping = nil
	}
	return ci
}

// frameOf names a physical frame and its line: the innermost of the calls in it.
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
