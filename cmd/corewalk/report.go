package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

const usageText = `corewalk says why a process died, from its core: the reason, the faulting instruction,
and every thread's stack with functions, files, lines and inlined calls.

Usage:
  corewalk [flags] CORE [BINARY]   report on a core (also .zst, .lz4, .xz, .gz; - for standard input)
  corewalk info [flags] CORE       what is in a core: notes, mappings, modules

BINARY may be left out when the file that the core names is still there and still the same build.

Examples:
  corewalk core.4242 ./server
  corewalk --search /builds/1234 core.zst
  corewalk --sysroot ./rootfs --format json core | jq .crash
  corewalk --explain --thread 4242 core ./server
  coredumpctl dump server | corewalk -
  corewalk info --missing core | cut -d' ' -f1 | xargs -n1 debuginfod-find debuginfo

Exit status: 0 the report is complete; 1 nothing could be analysed; 2 wrong usage; 3 the report has gaps
(a stack that ended early, a file of another build, a truncated core).
`

// reportFlags are those of the main command.
type reportFlags struct {
	fileFlags
	threads   []int
	maxFrames int
	noInlines bool
	registers bool
	explain   bool
	version   bool
}

func (f *reportFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk", pflag.ContinueOnError)
	f.register(fs)
	fs.IntSliceVar(&f.threads, "thread", nil, "report only the threads with these `IDs`")
	fs.IntVar(&f.maxFrames, "max-frames", -1, "walk at most `N` frames of a stack; 0 prints all of a very deep one (default: walk all, print its ends)")
	fs.BoolVar(&f.noInlines, "no-inlines", false, "leave out inlined and tail-called functions")
	fs.BoolVar(&f.registers, "registers", false, "print every thread's registers")
	fs.BoolVar(&f.explain, "explain", false, "tell for each frame how it was found")
	fs.BoolVar(&f.version, "version", false, "print the version")
	return fs
}

func runReport(args []string, e env) int {
	var f reportFlags
	fs := f.set()
	if status, ok := parse(fs, args, usageText, e); !ok {
		return status
	}
	if f.version {
		fmt.Fprintf(e.stdout, "corewalk %s (%s)\n", corewalk.Version, runtime.Version())
		return exitComplete
	}
	core, binary, err := operands(fs.Args())
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return e.usageError("%v", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t, err := openCore(core, e, f.options(binary))
	if err != nil {
		if t != nil {
			t.Close()
		}
		return e.fail(err)
	}
	defer t.Close()
	r, err := t.Analyze(ctx, f.analyze())
	if err != nil {
		return e.fail(err)
	}
	if len(f.threads) > 0 && len(r.Threads) == 0 {
		return e.fail(fmt.Errorf("%s has no thread %d; corewalk info lists them", core, f.threads[0]))
	}
	if f.format == "json" {
		err = report.WriteJSON(e.stdout, r)
	} else {
		err = report.WriteText(e.stdout, r, f.text(e))
	}
	if err != nil {
		return e.fail(err)
	}
	if !r.Complete() && !f.cutOnly(r) {
		return exitIncomplete
	}
	return exitComplete
}

func (f *reportFlags) analyze() corewalk.AnalyzeOptions {
	o := corewalk.AnalyzeOptions{MaxFrames: max(f.maxFrames, 0), NoInlines: f.noInlines, Explain: f.explain}
	for _, t := range f.threads {
		o.Threads = append(o.Threads, unwind.ThreadID(t))
	}
	return o
}

// defaultRows is how many lines of one stack the text shows before it leaves out
// the middle.
const defaultRows = 200

func (f *reportFlags) text(e env) report.TextOptions {
	o := report.TextOptions{Color: f.colored(e.stdout), ShowRegisters: f.registers, Explain: f.explain, MaxFrames: defaultRows}
	if f.maxFrames >= 0 {
		o.MaxFrames = 0
	}
	return o
}

// cutOnly reports whether the only gap is the limit that the user asked for.
func (f *reportFlags) cutOnly(r *report.Report) bool {
	if f.maxFrames <= 0 {
		return false
	}
	whole := *r
	whole.Threads = nil
	for _, t := range r.Threads {
		if t.End != unwind.EndMaxFrames.String() {
			whole.Threads = append(whole.Threads, t)
		}
	}
	return whole.Complete()
}
