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
  corewalk memory --format html core.4242 >heap.html         # a page: a map of what keeps what alive, tables, search
  corewalk memory --format pprof core.4242 >heap.pb.gz       # go tool pprof -top heap.pb.gz
  corewalk memory --format heapsnapshot core.4242 >a.heapsnapshot # for DevTools of Chrome; hprof is for VisualVM

Types are likely: objects begin with a table of virtual functions, or pointers of that type lead to them. What only looks
like a pointer counts as one, so that not all that is lost is found.

Exit status: 0 all was read; 1 the file is not a core; 2 wrong usage; 3 there are gaps: no allocator that is known, or memory
that the dump lacks.
`

// memoryLimit is how much memory the program takes at most, as far as it can be kept within: garbage is collected sooner.
const memoryLimit = 500e6

// memoryFlags are the flags of corewalk memory.
type memoryFlags struct {
	fileFlags
	diff bool
	pid  int
	hold bool
}

func (f *memoryFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk memory", pflag.ContinueOnError)
	f.register(fs, formatText, formatJSON, corewalk.MemoryHTML, corewalk.MemoryPprof, corewalk.MemoryHeapSnapshot, corewalk.MemoryHprof)
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
	defer e.guard()()
	if f.diff {
		return f.compare(e, fs.Args())
	}
	if f.binary() && isTerminal(e.stdout) {
		return e.usageError("memory --format %s: not for a terminal: redirect it to a file", f.format)
	}
	status, _ = f.read(e, fs.Args(), f.write)
	return status
}

// binary reports whether the output is for programs only.
func (f *memoryFlags) binary() bool {
	return f.format == corewalk.MemoryPprof || f.format == corewalk.MemoryHprof
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
	case f.diff && f.format != formatText && f.format != formatJSON:
		return fmt.Errorf("--diff: no format %s", f.format)
	case f.hold && f.pid == 0:
		return errors.New("--hold is for --pid")
	case f.diff && len(files) != 2:
		return errors.New("--diff: need two cores, the older first")
	}
	return nil
}

// read finds out what fills the memory of a dump, and has it used. ok is false if it was not.
func (f *memoryFlags) read(e env, files []string, use func(e env, m *corewalk.Memory) error) (status int, ok bool) {
	o, t, status, err := f.target(e, files)
	if t == nil {
		return status, false
	}
	defer t.Close()
	if err != nil {
		return e.fail(err), false
	}
	return f.ask(e, t, func(m *corewalk.Memory) bool { return e.unused(o, t.Info().Modules) }, use)
}

// ask asks what fills the memory of a process, and has it used.
func (f *memoryFlags) ask(e env, t *corewalk.Target, doubt func(*corewalk.Memory) bool, use func(e env, m *corewalk.Memory) error) (status int, ok bool) {
	// What is kept is few large pieces without pointers: to collect what is dropped costs little, and room is what is short.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	facts, err := t.Facts(corewalk.FactsOptions{Unlimited: true})
	if err != nil {
		return e.fail(err), false
	}
	defer facts.Close()
	defer facts.Ask(e.ctx)()
	m, err := facts.Memory(e.ctx, corewalk.MemoryOptions{Progress: e.shown()})
	if err != nil {
		return e.fail(err), false
	}
	status = exitComplete
	if doubt(m) || gaps(m) {
		status = exitIncomplete
	}
	if err := use(e, m); errors.Is(err, corewalk.ErrNoHeap) {
		return e.fail(err), false
	} else {
		return e.written(err, status), err == nil
	}
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
	status, _ := f.ask(e, t, func(*corewalk.Memory) bool { return false }, f.write)
	return status
}

// compare says what changed from one dump to another.
func (f *memoryFlags) compare(e env, files []string) int {
	var before *report.Memory
	first, ok := f.read(e, files[:1], func(_ env, m *corewalk.Memory) error {
		before = m.Memory
		return nil
	})
	if !ok {
		return first
	}
	status, _ := f.read(e, files[1:], func(e env, m *corewalk.Memory) error {
		d := report.DiffMemory(before, m.Memory)
		if f.format == formatJSON {
			return report.WriteMemoryDiffJSON(e.stdout, d)
		}
		return report.WriteMemoryDiffText(e.stdout, d, report.TextOptions{Color: f.colored(e.stdout)})
	})
	return max(first, status)
}

// write writes what fills the memory.
func (f *memoryFlags) write(e env, m *corewalk.Memory) error {
	switch f.format {
	case formatJSON:
		return report.WriteMemoryJSON(e.stdout, m.Memory)
	case formatText:
		return report.WriteMemoryText(e.stdout, m.Memory, report.TextOptions{Color: f.colored(e.stdout)})
	}
	return m.Export(e.ctx, e.stdout, f.format)
}

// shown tells a terminal what is done, when that has taken a while.
func (e env) shown() func(what string) {
	if !isTerminal(e.stderr) {
		return nil
	}
	p, start := &progress{out: e.stderr}, time.Now()
	return func(what string) {
		if what == "" {
			p.done()
		} else if time.Since(start) > patience {
			p.show(what, 0, 0)
		}
	}
}
