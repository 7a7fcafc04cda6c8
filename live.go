package corewalk

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/modules"
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

func openLive(p *livestate.Process, cfg *config) (*Target, error) {
	// Paths are those of the process's own root directory.
	cfg.files = append(cfg.files, modules.WithProcessRoot(p.Root()), modules.WithHeldFiles(p.HeldFiles))
	return open(subject.OfProcess(p, cfg.hold), fmt.Sprintf("process %d", p.ProcessID()), cfg)
}
