package corewalk

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/crash"
	"github.com/corewalk/corewalk/internal/inspect"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
)

// parts are what inspect needs of the target.
func (t *Target) parts() inspect.Parts {
	p := inspect.Parts{
		Proc:     t.core,
		Dump:     t.dump(),
		Signal:   t.signal(),
		Resolve:  t.images.Resolve,
		Lacks:    t.images.Lacks,
		Complete: t.complete,

		Unreachable: t.images.Unreachable,
		MappingAt:   t.core.MappingAt,
		Variables:   t.Variables(),
		SignalAt:    steppers.SignalAt,
		ThreadName:  t.threadName,
		Numbers:     t.numbering(),
	}
	for _, w := range t.core.Warnings() {
		p.Warnings = append(p.Warnings, report.Warning{Code: "core", Message: w})
	}
	for _, w := range t.libWarnings {
		p.Warnings = append(p.Warnings, report.Warning{Code: "libraries", Message: w})
	}
	return p
}

// complete fetches what walking and naming frames in lib needs.
func (t *Target) complete(lib *libstate.Library) { t.images.Image(lib).DWARF() }

func (t *Target) dump() report.Dump {
	c := t.core
	d := report.Dump{Path: t.path, Format: report.FormatELFCore, OS: strings.ToLower(c.OS()), PID: c.ProcessID(), Arch: c.ArchName(), CommandLine: c.Command()}
	if a := c.Arch(); a != nil {
		d.Arch = a.Name
	}
	d.Command = c.Name()
	// The core keeps fifteen characters of the name; the file's may be longer.
	if exe := filepath.Base(c.ExecutablePath()); exe != "." && (d.Command == "" || len(d.Command) >= 15 && strings.HasPrefix(exe, d.Command)) {
		d.Command = exe
	}
	cut, have, want := c.Truncated()
	d.Truncated, d.Size = cut, uint64(max(have, 0))
	if cut {
		d.FullSize = uint64(max(want, 0))
	}
	// A core does not say when it was written; its file does unless it was copied.
	if st, err := os.Stat(t.path); err == nil && st.Mode().IsRegular() {
		d.Time, d.TimeOfFile = st.ModTime(), true
	}
	return d
}

// numbering is how the process's system numbers signals.
func (t *Target) numbering() crash.Numbering { return crash.NumberingOf(t.core.OS(), t.core.Arch()) }

// threadName names a thread; "" where the core does not.
func (t *Target) threadName(id unwind.ThreadID) string {
	th, _ := t.core.Thread(id)
	return th.Name
}

// signal is what killed the process; nil when nothing did.
func (t *Target) signal() *crash.Signal {
	s := t.core.Signal()
	if s.Source == corestate.NoSignal || s.Signo == 0 {
		return nil
	}
	tid, err := t.core.DefaultThread()
	if err != nil {
		tid = unwind.NullThread
	}
	return &crash.Signal{
		Number: s.Signo, Code: s.Code, HasInfo: s.Source == corestate.FullSigInfo,
		Addr: s.Addr, HasAddr: s.HasAddr, PID: s.PID, UID: s.UID, Syscall: s.Syscall,
		OwnPID: t.core.ProcessID(), TID: int(tid), Numbers: t.numbering(),
	}
}
