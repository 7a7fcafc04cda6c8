package analysis

import (
	"fmt"
	"path"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
)

// handled adds, as the first cause, the fault for which a signal handler on the crashing thread's stack was
// called: the program then died in the handler or because of it. Of several faults it takes the oldest, which
// came first.
func (in *inspection) handled(r *report.Report) {
	if len(r.Threads) == 0 || !r.Threads[0].Crashed {
		return
	}
	for i := len(in.diedStack) - 1; i > 0; i-- {
		signo, ok := in.faultHandled(in.diedStack[i-1])
		if !ok {
			continue
		}
		text := in.Numbers.Name(signo) + " caught earlier"
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

// faultHandled returns the signal that a trampoline delivered, and whether it is a fault's.
func (in *inspection) faultHandled(f *unwind.Frame) (int, bool) {
	if !f.IsTrampoline() {
		return 0, false
	}
	signo, ok := steppers.SignalAt(f)
	return signo, ok && reason.Faults(in.Numbers, signo)
}

// whyInterrupted explains what the instruction did at which a frame was interrupted; "" if nothing seems wrong
// with it: somebody may have sent the signal.
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
