package corewalk

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// WithLiveOptions passes options to livestate.
func WithLiveOptions(opts ...livestate.Option) Option {
	return func(c *config) { c.live = append(c.live, opts...) }
}

// WithHold keeps a running process stopped for as long as Analyze works, so that
// everything in the report is of one moment. Without, it is stopped only while the
// registers and the stacks are copied.
func WithHold() Option { return func(c *config) { c.hold = true } }

// Attach attaches to a running process, which runs on: Analyze stops it for a
// moment, a Walker stops the thread that it walks. Close detaches and leaves the
// process as it was.
func Attach(pid int, opts ...Option) (*Target, error) {
	cfg := newConfig(opts)
	p, err := livestate.Attach(pid, cfg.live...)
	if err != nil {
		return nil, err
	}
	return openLive(p, cfg)
}

// Launch starts a program, stopped before its first instruction: Live().ResumeAll
// lets it run. argv[0] is what the program is called; of a nil argv it is exe.
func Launch(exe string, argv []string, opts ...Option) (*Target, error) {
	cfg := newConfig(opts)
	p, err := livestate.Launch(exe, argv, cfg.live...)
	if err != nil {
		return nil, err
	}
	return openLive(p, cfg)
}

// Adopt makes a Target of a process that the caller traces himself and has stopped;
// do calls a function on the tracing thread (see livestate.Adopt).
func Adopt(pid int, do func(func()), opts ...Option) (*Target, error) {
	cfg := newConfig(opts)
	p, err := livestate.Adopt(pid, do, cfg.live...)
	if err != nil {
		return nil, err
	}
	return openLive(p, cfg)
}

// An Attached is what became of one process of a group: a Target or an error.
type Attached struct {
	PID    int
	Target *Target
	Err    error
}

// AttachAll attaches to a group of processes: one answer for each pid, in their
// order. With WithExecutable the file is that of all of them. The error is nil
// unless every one failed.
func AttachAll(pids []int, opts ...Option) ([]Attached, error) {
	out := make([]Attached, len(pids))
	var errs []error
	for i, pid := range pids {
		t, err := Attach(pid, opts...)
		out[i] = Attached{PID: pid, Target: t, Err: err}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(pids) > 0 && len(errs) == len(pids) {
		return out, fmt.Errorf("no process could be attached to: %w", errors.Join(errs...))
	}
	return out, nil
}

// Live is the traced process, for what a ProcessState does not tell; nil for a dump.
func (t *Target) Live() *livestate.Process {
	if l, ok := t.subject.(liveSubject); ok {
		return l.Process
	}
	return nil
}

func openLive(p *livestate.Process, cfg *config) (*Target, error) {
	// Paths are those of the process's own root directory.
	if root := p.Root(); root != "" && len(cfg.find.Sysroots) == 0 {
		cfg.find.Sysroots = []string{root}
	}
	cfg.find.Held = func(m find.Module) []string { return p.HeldFiles(m.Path, m.Main) }
	return open(liveSubject{p, cfg.hold}, fmt.Sprintf("process %d", p.ProcessID()), cfg)
}

// A liveSubject is a running process.
type liveSubject struct {
	*livestate.Process
	hold bool
}

func (l liveSubject) DumpMemory() arch.Memory                    { return l.Process }
func (l liveSubject) Warnings() []string                         { return nil }
func (l liveSubject) back(func(*libstate.Library) *elffile.File) {}
func (l liveSubject) system() string                             { return "Linux" }
func (l liveSubject) notes() []report.Note                       { return nil }

// held: what can be read is there.
func (l liveSubject) held() func(libstate.Mapping) uint64 {
	return func(m libstate.Mapping) uint64 {
		if m.Perm&libstate.Read == 0 {
			return 0
		}
		return m.End - m.Start
	}
}

// moment is a snapshot, from which the report is made while the process runs on; or
// the process itself, stopped.
func (l liveSubject) moment() (state, func() []report.Warning, error) {
	if l.hold {
		if err := l.StopAll(); err != nil {
			return nil, nil, err
		}
		return l, func() []report.Warning { _ = l.ResumeAll(); return nil }, nil
	}
	s, err := l.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	return s, func() []report.Warning { return late(s) }, nil
}

// late tells what of a report is not of the moment of its snapshot.
func late(s *livestate.Snapshot) []report.Warning {
	var out []report.Warning
	for _, id := range s.Unstopped() {
		out = append(out, report.Warning{Code: "not-stopped",
			Message: fmt.Sprintf("thread %d is in uninterruptible sleep and could not be stopped: of its registers only the program counter and the stack pointer are known", id)})
	}
	if n := s.Late(); n > 0 {
		out = append(out, report.Warning{Code: report.WarnLate,
			Message: fmt.Sprintf("%d pages of memory outside the stacks were read after the process had gone on: values there may be newer than the stacks", n),
			Advice:  "Stop the process for the whole report (--hold) to have everything of one moment"})
	}
	return out
}

func (l liveSubject) describe() report.Dump {
	d := report.Dump{Format: report.FormatLive, OS: "linux", Arch: l.Arch().Name, PID: l.ProcessID(), CommandLine: l.CommandLine(), Time: time.Now()}
	d.Command = filepath.Base(l.ExecutablePath())
	return d
}
