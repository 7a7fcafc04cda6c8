// Package corecheck checks that a running process and its core give the same results: it stops the process,
// walks it, takes its core at that moment, walks the core like that of a dead process, and compares frames,
// registers and variables.
package corecheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// Options configure a check.
type Options struct {
	Threads   []unwind.ThreadID // nil for all
	MaxFrames int               // of each thread; 0 for all
	// MaxMemory limits the memory in the core, in bytes; 0 is a gigabyte.
	MaxMemory uint64
	// Open are the options that the target was attached with.
	Open []corewalk.Option
}

const defaultMemory = 1 << 30

// maxDifferences is how many differences are described.
const maxDifferences = 200

// A Result says what was compared, and what differs.
type Result struct {
	Threads, Frames, Registers, Variables int // numbers compared
	// Unread is how many variables lead to memory that Options.MaxMemory left out of the core. They are not
	// compared.
	Unread      int
	Core        *corewalk.CoreWritten
	Differences []string // one line each, at most maxDifferences
	More        int      // number of further differences
}

func (r *Result) differ(format string, args ...any) {
	if len(r.Differences) == maxDifferences {
		r.More++
		return
	}
	r.Differences = append(r.Differences, report.Clean(fmt.Sprintf(format, args...)))
}

// Check compares a running process with its core. The process is stopped meanwhile.
func Check(ctx context.Context, t *corewalk.Target, o Options) (res *Result, err error) {
	p := t.Live()
	if p == nil {
		return nil, errors.New("corecheck: not a running process")
	}
	if err := p.StopAll(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.ResumeAll()) }()
	res = &Result{}
	core, err := res.image(ctx, t, o)
	if err != nil {
		return nil, err
	}
	defer core.Close()
	if err := res.stacks(ctx, t, core, o); err != nil {
		return nil, err
	}
	return res, res.reports(ctx, t, core, o)
}

// image takes the core into a temporary file without a name, with holes for memory that the process never
// wrote.
func (r *Result) image(ctx context.Context, t *corewalk.Target, o Options) (*corewalk.Target, error) {
	f, err := os.CreateTemp("", "corewalk-parity-*")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	if o.MaxMemory == 0 {
		o.MaxMemory = defaultMemory
	}
	if r.Core, err = t.WriteCore(f, corewalk.CoreOptions{MaxMemory: o.MaxMemory}); err != nil {
		return nil, err
	}
	var opts []corewalk.Option
	exe := fmt.Sprintf("/proc/%d/exe", t.ProcessState().ProcessID())
	root := t.Live().Root()
	if path, err := os.Readlink(exe); err == nil && (strings.HasSuffix(path, " (deleted)") || root != "") {
		// Below another root the kernel's paths may lead nowhere. The options in o.Open, later, override it.
		opts = append(opts, corewalk.WithExecutable(exe))
	}
	if root != "" {
		opts = append(opts, corewalk.WithSysroot(root))
	}
	opts = append(opts, o.Open...)
	core, err := corewalk.Open(ctx, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), opts...)
	if err != nil && core != nil {
		err = errors.Join(err, core.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("core of process %d: %w", t.ProcessState().ProcessID(), err)
	}
	return core, nil
}

// threads returns the threads to compare, and reports those that only one side has.
func (r *Result) threads(live, core *unwind.Walker, o Options) ([]unwind.ThreadID, error) {
	a, err := live.AvailableThreads()
	if err != nil {
		return nil, err
	}
	b, err := core.AvailableThreads()
	if err != nil {
		return nil, err
	}
	has := func(list []unwind.ThreadID) map[unwind.ThreadID]bool {
		m := map[unwind.ThreadID]bool{}
		for _, id := range list {
			m[id] = true
		}
		return m
	}
	inA, inB, wanted := has(a), has(b), has(o.Threads)
	var both []unwind.ThreadID
	for _, id := range a {
		switch {
		case len(wanted) > 0 && !wanted[id]:
		case inB[id]:
			both = append(both, id)
		default:
			r.differ("thread %d: the core does not have it", id)
		}
	}
	for _, id := range b {
		if !inA[id] {
			r.differ("thread %d: only the core has it", id)
		}
	}
	return both, nil
}

// stacks compares the physical frames.
func (r *Result) stacks(ctx context.Context, live, core *corewalk.Target, o Options) error {
	var opts []unwind.Option
	if o.MaxFrames > 0 {
		opts = append(opts, unwind.WithMaxFrames(o.MaxFrames))
	}
	wl, err := live.NewWalker(opts...)
	if err != nil {
		return err
	}
	defer wl.Close()
	wc, err := core.NewWalker(opts...)
	if err != nil {
		return err
	}
	defer wc.Close()
	ids, err := r.threads(wl, wc, o)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a, _ := wl.WalkStackContext(ctx, id) // why a walk ended is compared too
		b, _ := wc.WalkStackContext(ctx, id)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("corecheck: %w", err)
		}
		r.Threads++
		r.Stack(a, b)
	}
	return nil
}

// reports compares what reports derive from the frames: functions, lines, inlined calls and variables.
func (r *Result) reports(ctx context.Context, live, core *corewalk.Target, o Options) error {
	opts := corewalk.AnalyzeOptions{Threads: o.Threads, MaxFrames: o.MaxFrames, Locals: corewalk.LocalsAll, For: report.Whole{Trees: true}}
	a, err := live.Analyze(ctx, opts)
	if err != nil {
		return err
	}
	b, err := core.Analyze(ctx, opts)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("corecheck: %w", err)
	}
	byID := map[int]*report.Thread{}
	for i := range b.Threads {
		byID[b.Threads[i].ID] = &b.Threads[i]
	}
	for i := range a.Threads {
		if t := byID[a.Threads[i].ID]; t != nil { // missing threads have been reported already
			r.Thread(&a.Threads[i], t)
		}
	}
	return nil
}
