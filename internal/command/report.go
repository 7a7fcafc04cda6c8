package command

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/reportpage"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// usageLines list the subcommands.
const usageLines = `Usage:
  corewalk [flags] CORE [BINARY]   report on a core or minidump (- for standard input; also compressed)
  corewalk info [flags] CORE       what a core contains: notes, mappings, modules (corewalk info --help)
  corewalk memory [flags] CORE     what fills the memory, by type and owner (corewalk memory --help)
  corewalk triage [flags] DIR      many dumps, grouped by bug (corewalk triage --help)
  corewalk live [flags] PID        report on a running process, or start one (corewalk live --help)
  corewalk dap                     the core in an editor (corewalk dap --help)
  corewalk mcp DIR                 dumps for an agent (corewalk mcp --help)
  corewalk serve                   a crash service: uploads, groups, a page (corewalk serve --help)
  corewalk shell CORE              a prompt with gdb's commands (corewalk shell --help)
  corewalk print CORE 'EXPR'       one value: q->head->next[3].name (corewalk print --help)
  corewalk slim CORE -o SMALL      a small core with the same report (corewalk slim --help)
  corewalk convert CORE -o OUT     a core as a minidump, or the reverse (corewalk convert --help)
  corewalk pack CORE -o FILE       a core with the files of its modules (corewalk pack --help)
  corewalk handle --install        be the system's crash handler (corewalk handle --help)
  corewalk cache [--clear]         what is kept on disk between runs (corewalk cache --help)
  corewalk schema NAME             the JSON Schema of a report (corewalk schema --help)
  corewalk completion SHELL        completion for bash, zsh or fish (corewalk completion --help)
  corewalk man                     the manual page (corewalk man --help)
`

const usageText = `corewalk says why a process died, from its core: the reason, the faulting instruction,
and every thread's stack with functions, files, lines and inlined calls.

` + usageLines + `
You may omit BINARY if the file that the core names still exists and is the same build. Both files
may be compressed (zstd, lz4, xz, gzip, bzip2). CORE may be a tar archive with one dump in it, or
an apport report.

Examples:
  corewalk core.4242 ./server
  corewalk --search /builds/1234 core.zst
  corewalk --sysroot ./rootfs --format json core | jq .crash
  corewalk --format html core > report.html    # a page of one file, for a ticket
  corewalk report --brief core     # at most 8 KB, to paste; corewalk report is corewalk
  corewalk --format minidump-stackwalk-json crash.dmp | jq .crash_info
  corewalk --explain --thread 4242 core ./server
  coredumpctl dump server | corewalk -
  corewalk info --missing core     # build-ids to fetch, for instance with debuginfod-find

Exit status: 0 the report is complete; 1 nothing could be analysed; 2 wrong usage; 3 the report has gaps
(a stack that ended early, a file from a different build, a truncated core).
`

// reportFlags are the flags of the main command.
type reportFlags struct {
	fileFlags
	locals    localsFlags
	layout    layoutFlags
	threads   []string
	maxFrames int
	noInlines bool
	registers bool
	explain   bool
	verify    bool
	around    aroundFlags
	tasks     taskFlags
	limits    limitFlags
	brief     bool
	version   bool
}

func (f *reportFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk", pflag.ContinueOnError)
	f.register(fs, defaultDeadline)
	f.sandbox.register(fs, sandboxOff)
	fs.BoolVar(&f.version, "version", false, "print the version")
	return fs
}

// register adds the flags of every command that reports; deadline is the default of --deadline.
func (f *reportFlags) register(fs *pflag.FlagSet, deadline time.Duration) {
	f.fileFlags.register(fs, formatText, formatJSON, formatLines, formatHTML, formatStackwalk)
	fs.StringSliceVar(&f.threads, "thread", nil, "report only the threads with these `IDs` (repeatable, or with commas)")
	fs.IntVar(&f.maxFrames, "max-frames", -1, "walk at most `N` frames of a stack; 0 prints all of a very deep one (default: walk all, print its ends)")
	fs.Lookup("max-frames").DefValue = "0" // -1 only means that the flag was not given
	fs.BoolVar(&f.noInlines, "no-inlines", false, "leave out inlined and tail-called functions")
	fs.BoolVar(&f.registers, "registers", false, "print every thread's registers")
	fs.BoolVar(&f.explain, "explain", false, "print for each frame how it was found")
	fs.BoolVar(&f.verify, "verify", false, "ask a second stepper about each frame, and mark the frames that it disputes")
	fs.BoolVar(&f.brief, "brief", false, "print at most 8 KB, for a ticket or a message: why it died, the stack that matters, a line for each other one")
	f.tasks.register(fs)
	f.locals.register(fs)
	f.around.register(fs)
	f.limits.register(fs, deadline, "print the memory around the bad address, the registers' values and the stack pointer")
	f.layout.register(fs)
}

func runReport(args []string, e env) int {
	var f reportFlags
	fs := f.set()
	if status, ok := parse(fs, args, usageText, e); !ok {
		return status
	}
	if f.version {
		_, err := fmt.Fprintf(e.stdout, "corewalk %s (%s)\n", version(), runtime.Version())
		return e.written(err, exitComplete)
	}
	analyze, err := f.analyze(e)
	if err != nil {
		return e.wrong(err)
	}
	f.memoryLimit = f.limits.memory.limit
	e, status, done := f.sandboxed(e, []string{"report"}, args, fs.Args())
	if done {
		return status
	}
	e, stop := f.limits.watch(e)
	defer stop()
	o, t, status, err := f.target(e, fs.Args())
	if t == nil {
		return status
	}
	defer e.leave(t)
	if err != nil {
		return f.unwalkable(e, t, err)
	}
	write := f.writer(&analyze, e)
	r, err := t.AnalyzeWith(e.ctx, analyze.how, analyze.AnalyzeOptions)
	if err != nil {
		return e.fail(err)
	}
	return f.finish(e, o, analyze.Threads, r, write)
}

// writer tells the analysis what will be printed, and returns what prints it. Text is printed as far as it is known.
func (f *reportFlags) writer(o *wanted, e env) func(*report.Report) error {
	rounds := f.layout.noFold || f.explain || o.Locals == corewalk.LocalsAll
	switch f.format {
	case formatText:
	case formatLines:
		lines := report.NewLineWriter(e.stdout)
		lines.Rounds = rounds
		o.For = foundTasks{lines, &f.tasks}
		return lines.Finish
	default:
		if f.format == formatJSON || f.format == formatHTML {
			o.For = report.ForJSON{Rounds: rounds}
		}
		return func(r *report.Report) error { return f.write(e, r) }
	}
	opts := f.text(e)
	if f.brief {
		o.For = opts
		return func(r *report.Report) error { return report.WriteBrief(e.stdout, r, opts, report.BriefSize) }
	}
	text := report.NewTextWriter(e.stdout, opts)
	o.For = text
	return text.Finish
}

// foundTasks writes lines, and says which tasks were found.
type foundTasks struct {
	*report.LineWriter
	tasks *taskFlags
}

func (w foundTasks) Task(t *report.Task) {
	w.tasks.found(t)
	w.LineWriter.Task(t)
}

// finish prints a report with write, and returns the command's exit status.
func (f *reportFlags) finish(e env, o operands, threads []unwind.ThreadID, r *report.Report, write func(*report.Report) error) int {
	status := exitComplete
	if !r.Complete() && !f.cutOnly(r) {
		status = exitIncomplete
	}
	if e.unused(o, r.Modules) {
		status = exitIncomplete
	}
	if e.ctx.Err() == nil && !e.haveThreads(o, threads, r) {
		if len(r.Threads) == 0 {
			return exitNothing
		}
		status = exitIncomplete
	}
	for _, id := range f.tasks.missing(r) {
		e.say("%s has no task %d; --tasks all lists those it has", o.core, id)
		status = exitIncomplete
	}
	return e.written(write(r), status)
}

func (f *reportFlags) write(e env, r *report.Report) error {
	switch f.format {
	case formatJSON:
		return report.WriteJSON(e.stdout, r)
	case formatLines:
		return report.NewLineWriter(e.stdout).Finish(r)
	case formatStackwalk:
		return report.WriteStackwalk(e.stdout, r)
	case formatHTML:
		return reportpage.Write(e.stdout, r)
	}
	if f.brief {
		return report.WriteBrief(e.stdout, r, f.text(e), report.BriefSize)
	}
	return report.WriteText(e.stdout, r, f.text(e))
}

// unwalkable says why a core cannot be walked that has no threads or whose architecture is not supported: in text in one
// line, as its contents may be long. The other formats have its modules and what it says of itself.
func (f *reportFlags) unwalkable(e env, t *corewalk.Target, why error) int {
	if f.format == formatText {
		e.say("%v; corewalk info shows what the file has", why)
		return exitNothing
	}
	in := t.Info()
	err := f.write(e, &report.Report{Schema: report.Schema, Dump: in.Dump, Modules: in.Modules, Details: in.Details,
		Warnings: append(in.Warnings, report.Warning{Code: "not-walkable", Message: why.Error()})})
	e.say("%v", why)
	return e.written(err, exitNothing)
}

// haveThreads says which of the requested threads are not in the core.
func (e env) haveThreads(o operands, want []unwind.ThreadID, r *report.Report) bool {
	all := true
	for _, id := range want {
		if !slices.ContainsFunc(r.Threads, func(t report.Thread) bool { return t.ID == int(id) }) {
			e.say("%s has no thread %d; corewalk info lists those it has", o.core, id)
			all = false
		}
	}
	return all
}

// wanted is what a command asks for: how facts are found, and which of them.
type wanted struct {
	corewalk.AnalyzeOptions
	how corewalk.FactsOptions
}

// analyze checks the flags and turns them into what is asked for.
func (f *reportFlags) analyze(e env) (wanted, error) {
	o := wanted{how: corewalk.FactsOptions{NoInlines: f.noInlines, Explain: f.explain, Verify: f.verify, Unlimited: f.limits.unlimited()}}
	o.AnalyzeOptions = corewalk.AnalyzeOptions{MaxFrames: max(f.maxFrames, 0), Include: corewalk.Include{Details: f.format != formatText}}
	if err := f.check(e); err != nil {
		return o, err
	}
	if err := f.locals.apply(&o); err != nil {
		return o, err
	}
	if f.format == formatStackwalk { // it has no place for variables, nor for where a bad value came from
		o.Locals, o.NoBlame = corewalk.LocalsNone, true
	}
	if err := f.around.apply(&o); err != nil {
		return o, err
	}
	if f.format == formatHTML { // a page has room, and folds it
		o.Include.Code, f.limits.memory.show = true, true
		if o.Include.Source == 0 {
			o.Include.Source = pageSource
		}
	}
	if err := f.limits.check(); err != nil {
		return o, err
	}
	o.Include.Memory = f.limits.memory.show
	if err := f.layout.check(); err != nil {
		return o, err
	}
	if f.brief && f.format != formatText {
		return o, fmt.Errorf("--brief is a text: leave out --format %s", f.format)
	}
	if f.maxFrames < -1 {
		return o, fmt.Errorf("--max-frames %d: must be 0 or more", f.maxFrames)
	}
	if err := f.tasks.apply(&o); err != nil {
		return o, err
	}
	var err error
	if o.Threads, err = threadIDs(f.threads); err == nil && o.Threads == nil && len(o.Tasks) > 0 {
		o.Threads = []unwind.ThreadID{} // none
	}
	return o, err
}

// pageSource is how many lines of source a page shows before and after that of each frame.
const pageSource = 6

// defaultRows is how many lines of one stack the text shows before it omits the middle.
const defaultRows = 200

func (f *reportFlags) text(e env) report.TextOptions {
	o := report.TextOptions{Color: f.colored(e.stdout), AllTasks: f.tasks.show == tasksAll || len(f.tasks.ids) > 0, ShowRegisters: f.registers, Explain: f.explain, AllLocals: f.locals.which == "all", MaxFrames: defaultRows}
	f.layout.apply(&o, e.stdout)
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
