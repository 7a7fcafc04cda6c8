package corewalk

import (
	"context"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/modules"
)

// Attach attaches to a running process. The process keeps running: Analyze stops it for
// a moment, and a Walker stops the thread that it walks. Close detaches and leaves the
// process as it was. When ctx is done, no more files are fetched.
func Attach(ctx context.Context, pid int, opts ...Option) (*Target, error) {
	cfg := newConfig(opts)
	p, err := livestate.Attach(pid, cfg.live...)
	if err != nil {
		return nil, err
	}
	return openLive(ctx, p, cfg)
}

// Launch starts a program and stops it before its first instruction. Live().ResumeAll
// lets it run. argv[0] is the program's name; a nil argv is the same as exe alone. ctx is
// as in Attach.
func Launch(ctx context.Context, exe string, argv []string, opts ...Option) (*Target, error) {
	cfg := newConfig(opts)
	p, err := livestate.Launch(exe, argv, cfg.live...)
	if err != nil {
		return nil, err
	}
	return openLive(ctx, p, cfg)
}

// Adopt makes a Target of a process that the caller traces and has stopped. do must call
// a function on the tracing thread (see livestate.Adopt). ctx is as in Attach.
func Adopt(ctx context.Context, pid int, do func(func()), opts ...Option) (*Target, error) {
	cfg := newConfig(opts)
	p, err := livestate.Adopt(pid, do, cfg.live...)
	if err != nil {
		return nil, err
	}
	return openLive(ctx, p, cfg)
}

// An Attached is the result of attaching to one process of a group: a Target or an error.
type Attached struct {
	PID    int
	Target *Target
	Err    error
}

// AttachAll attaches to several processes and returns one Attached for each pid, in the
// same order. With WithExecutable, all of them run the same file. It returns an error
// only if it could attach to none of them.
func AttachAll(ctx context.Context, pids []int, opts ...Option) ([]Attached, error) {
	out := make([]Attached, len(pids))
	var errs []error
	for i, pid := range pids {
		t, err := Attach(ctx, pid, opts...)
		out[i] = Attached{PID: pid, Target: t, Err: err}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(pids) > 0 && len(errs) == len(pids) {
		return out, fmt.Errorf("could not attach to any process: %w", errors.Join(errs...))
	}
	return out, nil
}

func openLive(ctx context.Context, p *livestate.Process, cfg *config) (*Target, error) {
	// Paths are those of the process's own root directory.
	cfg.files = append(cfg.files, modules.WithProcessRoot(p.Root()), modules.WithHeldFiles(p.HeldFiles))
	return open(ctx, subject.OfProcess(p, cfg.hold), fmt.Sprintf("process %d", p.ProcessID()), cfg)
}
