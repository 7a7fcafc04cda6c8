package command

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

const memoryUsage = `corewalk memory says what fills the memory of a process: what mappings are for, the blocks of its allocators by state,
size and type, what leads to them, which keep most alive, and those to which nothing leads.

Usage:
  corewalk memory [flags] CORE [BINARY]
  corewalk memory --pid PID [flags]
  corewalk memory --diff [flags] OLD NEW

Examples:
  corewalk memory core.4242
  corewalk memory --format json core.4242 | jq '.types[:10]'
  corewalk memory --format json core.4242 | jq .areas
  corewalk info --at 0x5605626908a0 core.4242   # more of one of them
  corewalk memory --diff core.4242 core.5151    # what grew from one dump to the other
  corewalk memory --pid $(pidof server)         # of a running process

A type is certain where objects say it themselves, by a table of virtual functions, and likely where pointers of that type
lead to them. What only looks like a pointer counts as one: what is said to be lost is.

Exit status: 0 all was read; 1 the file is not a core; 2 wrong usage; 3 there are gaps: no allocator that is known, or memory
that the dump lacks.
`

// memoryFlags are the flags of corewalk memory.
type memoryFlags struct {
	fileFlags
	diff bool
	pid  int
	hold bool
}

func (f *memoryFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk memory", pflag.ContinueOnError)
	f.register(fs, formatText, formatJSON)
	f.sandbox.register(fs, sandboxOff)
	fs.BoolVar(&f.diff, "diff", false, "say what changed from one dump to another, the first being the older")
	fs.IntVar(&f.pid, "pid", 0, "of the running process `PID`")
	fs.BoolVar(&f.hold, "hold", false, "keep the process stopped until all is read: else what it does meanwhile may look like damage")
	return fs
}

func runMemory(args []string, e env) int {
	var f memoryFlags
	fs := f.set()
	if status, ok := parse(fs, args, memoryUsage, e); !ok {
		return status
	}
	if err := f.check(e); err != nil {
		return e.wrong(err)
	}
	if err := f.checkModes(fs.Args()); err != nil {
		return e.usageError("memory: %v", err)
	}
	if f.pid != 0 {
		return f.live(e, args)
	}
	e, status, done := f.sandboxed(e, []string{"memory"}, args, fs.Args())
	if done {
		return status
	}
	if f.diff {
		return f.compare(e, fs.Args())
	}
	m, status := f.read(e, fs.Args())
	if m == nil {
		return status
	}
	return f.write(e, m, status)
}

// checkModes checks that the flags ask for one thing only.
func (f *memoryFlags) checkModes(files []string) error {
	switch {
	case f.pid < 0:
		return fmt.Errorf("--pid %d: not a process number", f.pid)
	case f.pid > 0 && f.diff:
		return errors.New("--pid and --diff: give only one of them")
	case f.pid > 0 && len(files) > 0:
		return fmt.Errorf("--pid %d and %s: give one or the other", f.pid, files[0])
	case f.hold && f.pid == 0:
		return errors.New("--hold is for --pid")
	case f.diff && len(files) != 2:
		return errors.New("--diff: need two cores, the older first")
	}
	return nil
}

// read says what fills the memory of a dump; nil if that could not be found out, and the status.
func (f *memoryFlags) read(e env, files []string) (*corewalk.Memory, int) {
	o, t, status, err := f.target(e, files)
	if t == nil {
		return nil, status
	}
	defer t.Close()
	if err != nil {
		return nil, e.fail(err)
	}
	m, err := memoryOf(e, t)
	if err != nil {
		return nil, e.fail(err)
	}
	if e.unused(o, t.Info().Modules) || gaps(m) {
		status = exitIncomplete
	}
	return m, status
}

// gaps reports whether something is not known of a process's memory.
func gaps(m *corewalk.Memory) bool {
	return len(m.Allocators) == 0 || m.Missing > 0 || m.Dump.Truncated || len(m.Warnings) > 0
}

// live says what fills the memory of a running process.
func (f *memoryFlags) live(e env, args []string) int {
	if asksForSandbox(args) {
		return e.usageError("memory --pid: --sandbox: what stops and reads a process cannot be in a sandbox; write its core with live --core FILE")
	}
	opts := f.options(e, "")
	if f.hold {
		opts = append(opts, corewalk.WithHold())
	}
	t, err := corewalk.Attach(e.ctx, f.pid, opts...)
	if err != nil {
		return e.fail(err)
	}
	defer t.Close()
	m, err := memoryOf(e, t)
	if err != nil {
		return e.fail(err)
	}
	status := exitComplete
	if gaps(m) {
		status = exitIncomplete
	}
	return f.write(e, m, status)
}

// compare says what changed from one dump to another.
func (f *memoryFlags) compare(e env, files []string) int {
	before, first := f.read(e, files[:1])
	if before == nil {
		return first
	}
	after, status := f.read(e, files[1:])
	if after == nil {
		return status
	}
	d := report.DiffMemory(before.Memory, after.Memory)
	var err error
	if f.format == formatJSON {
		err = report.WriteMemoryDiffJSON(e.stdout, d)
	} else {
		err = report.WriteMemoryDiffText(e.stdout, d, report.TextOptions{Color: f.colored(e.stdout)})
	}
	return e.written(err, max(first, status))
}

// write writes what fills the memory.
func (f *memoryFlags) write(e env, m *corewalk.Memory, status int) int {
	var err error
	if f.format == formatJSON {
		err = report.WriteMemoryJSON(e.stdout, m.Memory)
	} else {
		err = report.WriteMemoryText(e.stdout, m.Memory, report.TextOptions{Color: f.colored(e.stdout)})
	}
	return e.written(err, status)
}

// memoryOf asks what fills a process's memory. Work that takes longer is shown.
func memoryOf(e env, t *corewalk.Target) (*corewalk.Memory, error) {
	// What is kept is few large pieces without pointers: to collect what is dropped costs little, and room is what is short.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	facts, err := t.Facts(corewalk.FactsOptions{Unlimited: true})
	if err != nil {
		return nil, err
	}
	defer facts.Close()
	defer facts.Ask(e.ctx)()
	o := corewalk.MemoryOptions{}
	if isTerminal(e.stderr) {
		p := &progress{out: e.stderr}
		defer p.done()
		start := time.Now()
		o.Progress = func(what string) {
			if time.Since(start) > patience {
				p.show(what, 0, 0)
			}
		}
	}
	return facts.Memory(e.ctx, o)
}
