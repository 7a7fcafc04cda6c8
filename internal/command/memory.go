package command

import (
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

Examples:
  corewalk memory core.4242
  corewalk memory --format json core.4242 | jq '.types[:10]'
  corewalk memory --format json core.4242 | jq -r '.unreached.blocks[].address'
  corewalk info --at 0x5605626908a0 core.4242   # more of one of them

A type is certain where objects say it themselves, by a table of virtual functions, and likely where pointers of that type
lead to them. What only looks like a pointer counts as one: what is said to be lost is.

Exit status: 0 all was read; 1 the file is not a core; 2 wrong usage; 3 there are gaps: no allocator that is known, or memory
that the dump lacks.
`

// memoryFlags are the flags of corewalk memory.
type memoryFlags struct {
	fileFlags
}

func (f *memoryFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk memory", pflag.ContinueOnError)
	f.register(fs, formatText, formatJSON)
	f.sandbox.register(fs, sandboxOff)
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
	e, status, done := f.sandboxed(e, []string{"memory"}, args, fs.Args())
	if done {
		return status
	}
	_, t, status, err := f.target(e, fs.Args())
	if t == nil {
		return status
	}
	defer t.Close()
	if err != nil {
		return e.fail(err)
	}
	m, err := memoryOf(e, t)
	if err != nil {
		return e.fail(err)
	}
	if len(m.Allocators) == 0 || m.Missing > 0 {
		status = exitIncomplete
	}
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
