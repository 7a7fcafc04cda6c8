package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/livestate"
)

const liveUsage = `corewalk live reports on a running process without ending it: every thread's stack with functions,
files, lines and variables. Or it starts a program, and reports when the program crashes or is stopped.

Usage:
  corewalk live [flags] PID
  corewalk live [flags] -- PROGRAM [ARGUMENTS...]
  corewalk live --every 100ms [--for 10s] [--folded FILE] [--pprof FILE] PID
  corewalk live --core FILE PID
  corewalk live --parity PID

The process is stopped only while its registers and stacks are copied, for a few milliseconds. What
variables point to elsewhere is read while the process runs, unless --hold is given. If a program
crashes, the report is made before it dies; it then dies as it would without corewalk.

--every samples the stacks and merges them: which functions the threads are in, and who called them.
Of a Go program it samples goroutines, and shows what they wait for; --tasks=none samples threads.
--core writes the core that the kernel would write if the process died now. --parity compares the
process with such a core: frames, registers and variables.

Examples:
  corewalk live 4242
  corewalk live --hold --locals=all 4242
  corewalk live --format json $(pidof server) | jq '.threads[].frames[0].function'
  corewalk live -- ./server --port 8080
  corewalk live --every 50ms --for 1m --pprof prof.pb.gz 4242 && go tool pprof -top prof.pb.gz

Exit status: 0 the report is complete; 1 nothing could be analysed, or the program ended without a
crash, or --parity found differences; 2 wrong usage; 3 the report has gaps.
`

// liveFlags are the flags of corewalk live.
type liveFlags struct {
	reportFlags
	sampleFlags
	hold   bool
	core   string
	parity bool
}

func (f *liveFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk live", pflag.ContinueOnError)
	f.reportFlags.register(fs, 0)
	f.sampleFlags.register(fs)
	fs.StringVar(&f.core, "core", "", "write the core of the process to `FILE` instead of a report")
	fs.BoolVar(&f.parity, "parity", false, "walk the process and its core, and print the differences instead of a report")
	fs.BoolVar(&f.hold, "hold", false, "keep the process stopped for the whole report, not only while its stacks are copied")
	return fs
}

func runLive(args []string, e env) int {
	var f liveFlags
	fs := f.set()
	if asksForSandbox(args) {
		return e.usageError("live: --sandbox: what stops and reads a process cannot be in a sandbox; write its core with live --core FILE, and report on that with --sandbox")
	}
	if status, ok := parse(fs, args, liveUsage, e); !ok {
		return status
	}
	analyze, err := f.analyze(e)
	if err != nil {
		return e.wrong(err)
	}
	if err := f.checkModes(fs); err != nil {
		return e.usageError("live: %v", err)
	}
	e, stop := f.limits.watch(e)
	defer stop()
	opts := f.options(e, "")
	if f.hold {
		opts = append(opts, corewalk.WithHold())
	}
	operands := fs.Args()
	switch dash := fs.ArgsLenAtDash(); {
	case dash == 0 && len(operands) > 0:
		return f.launch(e, operands, analyze, opts)
	case dash < 0 && len(operands) == 1:
		return f.attach(e, operands[0], analyze, opts)
	case len(operands) == 0:
		return e.usageError("live: need a process number, or -- and a program")
	}
	return e.usageError("live: need one process; to start a program, put -- before it and its arguments")
}

// attach reports on a running process.
func (f *liveFlags) attach(e env, operand string, o wanted, opts []corewalk.Option) int {
	pid, err := strconv.Atoi(operand)
	if err != nil || pid <= 0 {
		return e.usageError("live %s: not a process number; to start a program, put -- before it", operand)
	}
	t, err := corewalk.Attach(e.ctx, pid, opts...)
	if err != nil {
		return e.fail(err)
	}
	defer t.Close()
	switch {
	case f.every > 0:
		return f.sample(e, t, o)
	case f.core != "":
		return f.writeCore(e, t)
	case f.parity:
		return f.checkParity(e, t, o, opts)
	}
	return f.report(e, t, operands{core: fmt.Sprintf("process %d", pid)}, o)
}

// checkModes checks that the flags ask for one thing only.
func (f *liveFlags) checkModes(fs *pflag.FlagSet) error {
	if err := f.sampleFlags.check(fs, f.format); err != nil {
		return err
	}
	var modes []string
	for _, name := range []string{"every", "core", "parity"} {
		if fs.Changed(name) {
			modes = append(modes, "--"+name)
		}
	}
	switch {
	case len(modes) > 1:
		return fmt.Errorf("%s and %s: give only one of them", modes[0], modes[1])
	case len(modes) == 1 && fs.ArgsLenAtDash() >= 0:
		return fmt.Errorf("%s: need the number of a running process", modes[0])
	}
	return nil
}

// report prints the result of Analyze, after it has detached from the process.
func (f *liveFlags) report(e env, t *corewalk.Target, name operands, o wanted) int {
	write := f.writer(&o, e)
	r, err := t.AnalyzeWith(e.ctx, o.how, o.AnalyzeOptions)
	if err != nil {
		return e.fail(err)
	}
	return f.finish(e, name, o.Threads, r, write)
}

// launch starts a program and reports when it crashes or is stopped.
func (f *liveFlags) launch(e env, argv []string, o wanted, opts []corewalk.Option) int {
	path, err := exec.LookPath(argv[0])
	if errors.Is(err, exec.ErrDot) {
		err = nil // as a shell would with "." in PATH
	}
	if err != nil {
		return e.fail(fmt.Errorf("%s: %w", argv[0], plainError(err)))
	}
	// Its output must not mix with the report.
	opts = append(opts, corewalk.WithLiveOptions(livestate.HoldFatal(), livestate.NoLibraryEvents(), livestate.Files(os.Stdin, os.Stderr, os.Stderr)))
	t, err := corewalk.Launch(e.ctx, path, argv, opts...)
	if err != nil {
		return e.fail(err)
	}
	defer t.Close()
	p := t.Live()
	if err := errors.Join(p.WatchEvents(), p.ResumeAll()); err != nil {
		return e.fail(err)
	}
	for {
		events, err := f.next(e, p)
		if err != nil {
			return e.fail(err)
		}
		for _, ev := range events {
			switch ev.Kind {
			case livestate.EventSignal:
				if ev.Fatal {
					return f.report(e, t, operands{core: argv[0]}, o)
				}
			case livestate.EventStop:
				return f.report(e, t, operands{core: argv[0]}, o)
			case livestate.EventExit:
				return e.ended(argv[0], ev)
			}
		}
	}
}

// next waits for events or for Ctrl-C.
func (f *liveFlags) next(e env, p *livestate.Process) ([]livestate.Event, error) {
	for {
		events, err := p.HandleDebugEvent(false)
		if len(events) > 0 || err != nil {
			return events, err
		}
		select {
		case <-e.ctx.Done():
			return nil, errors.New("interrupted before the program crashed or was stopped")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ended says how a program ended that did not get a report.
func (e env) ended(name string, ev livestate.Event) int {
	if ev.Signal != 0 {
		return e.fail(fmt.Errorf("%s was killed by signal %d: there is nothing left to report on", name, ev.Signal))
	}
	return e.fail(fmt.Errorf("%s ended with status %d: there is nothing to report on", name, ev.Status))
}
