package corewalk

import (
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
)

// parts are what inspect needs of the target, as it is at one moment.
func (t *Target) parts(now state) analysis.Parts {
	p := analysis.Parts{
		Proc:     now,
		Dump:     t.subject.describe(),
		Signal:   t.signal(now),
		Resolve:  t.images.Resolve,
		Lacks:    t.images.Lacks,
		Complete: t.complete,

		Unreachable: t.images.Unreachable,
		Unusable:    t.images.Unusable,
		MappingAt:   now.MappingAt,
		Variables:   t.variables(now),
		SignalAt:    steppers.SignalAt,
		ThreadName:  now.ThreadName,
		Numbers:     t.numbering(),
		Exception:   t.exception(),
		PartialMaps: t.partialMaps(),
	}
	for _, w := range t.subject.Warnings() {
		p.Warnings = append(p.Warnings, report.Warning{Code: "core", Message: w})
	}
	for _, w := range t.libWarnings {
		p.Warnings = append(p.Warnings, report.Warning{Code: "libraries", Message: w})
	}
	return p
}

// complete fetches what walking and naming frames in lib needs.
func (t *Target) complete(lib *libstate.Library) {
	if im := (*image.Image)(t.images.Image(lib)); im.DWARF() == nil {
		im.PDB()
	}
}

// numbering is how the process's system numbers signals.
func (t *Target) numbering() reason.Numbering {
	return reason.NumberingOf(t.subject.system(), t.subject.Arch())
}

// signal is what killed the process; nil when nothing did.
func (t *Target) signal(now state) *reason.Signal {
	s := now.Signal()
	if (s.Source == corestate.NoSignal || s.Signo == 0) && !t.unknownCause() {
		return nil
	}
	tid, err := now.DefaultThread()
	if err != nil {
		tid = unwind.NullThread
	}
	return &reason.Signal{
		Number: s.Signo, Code: s.Code, HasInfo: s.Source == corestate.FullSigInfo,
		Addr: s.Addr, HasAddr: s.HasAddr, PID: s.PID, UID: s.UID, Syscall: s.Syscall,
		OwnPID: now.ProcessID(), TID: int(tid), Numbers: t.numbering(),
	}
}
