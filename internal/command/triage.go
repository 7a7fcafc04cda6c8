package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/files/broker"
	"github.com/corewalk/corewalk/internal/sandbox"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/sqlite"
	"github.com/corewalk/corewalk/internal/triage/render"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

const triageUsage = `corewalk triage analyses many dumps and groups them by bug, the largest groups first.

Usage:
  corewalk triage [flags] DIR|FILE...       analyse dumps, cores and minidumps mixed, also compressed
  corewalk triage --watch [flags] DIR...    analyse dumps as they arrive, until Ctrl-C or SIGTERM
  corewalk triage --source coredumpctl      analyse the dumps of systemd-coredump
  corewalk triage list [flags]              groups in the ledger
  corewalk triage show [flags] GROUP        one group: its stack, with variables, and its dumps
  corewalk triage diff [flags] [OLD [NEW]]  compare two runs: new, gone and common groups (default: the last two)
  corewalk triage export [flags]            all groups and dumps, as lines of JSON

Results are kept in a ledger: a dump seen before is not analysed again, unless its stack had no names and
other files are looked for.

--format json prints a document on each line: first one for each dump ("type":"dump"), then one for each
group ("type":"group"). corewalk schema triage prints their JSON Schema.

Examples:
  corewalk triage -r /crashes --search /builds
  corewalk triage --format html -o crashes.html -r /crashes
  corewalk triage --fail-on new --format sarif -o crashes.sarif ./cores   # in continuous integration
  corewalk triage --watch --format json /var/crash
  corewalk triage --explain-signature core.4242 --no-db
  corewalk triage --no-db --format json crashes | jq -c 'select(.type == "group") | {count, kind, where}'
  corewalk triage list --since 2026-11-01
  corewalk triage show b41e7f

Exit status: 0 all dumps were analysed; 1 none could be; 2 wrong usage; 3 some dumps could not be read, or the
run was interrupted; 4 with --fail-on new, there are new groups.
`

// exitNew says that there are groups that --fail-on asks for.
const exitNew = 4

// sourceCoredumpctl is the value of --source.
const sourceCoredumpctl = "coredumpctl"

// onlyNew is the value of --fail-on and --only.
const onlyNew = "new"

// The values of --format that triage has besides text and json.
const (
	formatSARIF = "sarif"
	formatHTML  = "html"
)

// ledgerFlags say where the ledger is and how to print.
type ledgerFlags struct {
	db     string
	noDB   bool
	output string
}

func (f *ledgerFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.db, "db", "", "keep the ledger in `FILE` (default: corewalk/triage.db in the user's state directory)")
	fs.StringVarP(&f.output, "output", "o", "", "write to `FILE` instead of standard output")
}

// elsewhere says what to do if the default place cannot be used.
const elsewhere = "give another file with --db"

// open opens the ledger.
func (f *ledgerFlags) open(e env) (ledger.Store, error) {
	path := f.db
	if path == "" && !f.noDB {
		dir, err := stateDir()
		if err != nil {
			return nil, fmt.Errorf("where the ledger is: %w; %s", err, elsewhere)
		}
		path = filepath.Join(dir, "corewalk", "triage.db")
	}
	db, err := sqlite.Open(e.ctx, path, signature.Version)
	if err != nil && f.db == "" && e.ctx.Err() == nil {
		err = fmt.Errorf("%w; %s", err, elsewhere)
	}
	if err != nil {
		return nil, err
	}
	return db, nil
}

// stateDir returns the user's directory for program state (XDG Base Directory
// Specification).
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state"), nil
}

// triageFlags are the flags of corewalk triage.
type triageFlags struct {
	fileFlags
	ledgerFlags
	recursive bool
	jobs      int
	deadline  time.Duration
	memory    sizeFlag
	failOn    string
	only      string
	explain   bool
	watch     bool
	source    string
	worker    bool
}

func (f *triageFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk triage", pflag.ContinueOnError)
	f.fileFlags.register(fs, formatText, formatJSON, formatSARIF, formatHTML)
	f.ledgerFlags.register(fs)
	f.sandbox.register(fs, sandboxAuto)
	fs.BoolVar(&f.sandbox.off, "no-sandbox", false, "the same as --sandbox=off")
	fs.BoolVar(&f.noDB, "no-db", false, "keep no ledger: all dumps are analysed, and all groups are new")
	fs.BoolVarP(&f.recursive, "recursive", "r", false, "include subdirectories")
	fs.IntVar(&f.jobs, "jobs", 0, "analyse `N` dumps at a time (default: twice the number of processors)")
	fs.DurationVar(&f.deadline, "deadline", triage.DefaultDeadline, "give up on a dump after this `TIME`")
	f.memory = triage.DefaultMemory
	fs.Var(&f.memory, "memory", "give up on a dump whose analysis takes more than `SIZE` of memory")
	fs.StringVar(&f.failOn, "fail-on", "", "exit with status 4 if there are new groups, and list them first: `WHAT` must be new")
	fs.StringVar(&f.only, "only", "", "list only new groups: `WHAT` must be new")
	fs.BoolVar(&f.explain, "explain-signature", false, "print for each frame why it is in the signature of its dump, or not")
	fs.BoolVar(&f.watch, "watch", false, "analyse also the dumps that arrive in the directories later, print a line for each, and end with Ctrl-C or SIGTERM (Linux)")
	fs.StringVar(&f.source, "source", "", "take dumps from `WHERE`: coredumpctl is the journal and the directory of systemd-coredump")
	fs.BoolVar(&f.worker, "worker", false, "analyse what a supervisor asks for")
	fs.MarkHidden("worker")
	choose(fs, "source", sourceCoredumpctl)
	choose(fs, "fail-on", onlyNew)
	choose(fs, "only", onlyNew)
	return fs
}

func runTriage(args []string, e env) int {
	if len(args) > 0 {
		if sub, ok := findCommand("triage " + args[0]); ok {
			return sub.run(args[1:], e)
		}
	}
	var f triageFlags
	fs := f.set()
	if status, ok := parse(fs, args, triageUsage, e); !ok {
		return status
	}
	err := f.check(e)
	switch {
	case err != nil:
	case f.jobs < 0 || f.deadline <= 0 || f.memory < minMemory:
		err = errors.New("--jobs and --deadline are positive, and --memory is at least 32MiB")
	case f.failOn != "" && f.failOn != onlyNew:
		err = fmt.Errorf("--fail-on %s: must be 'new'", f.failOn)
	case f.only != "" && f.only != onlyNew:
		err = fmt.Errorf("--only %s: must be 'new'", f.only)
	case f.noDB && f.db != "":
		err = errors.New("--no-db and --db contradict each other")
	case f.source != "" && f.source != sourceCoredumpctl:
		err = fmt.Errorf("--source %s: must be coredumpctl", f.source)
	case f.source != "" && (f.watch || f.explain || fs.NArg() > 0):
		err = errors.New("--source names the dumps: no --watch, --explain-signature or files with it")
	case f.watch && f.explain:
		err = errors.New("--watch and --explain-signature exclude each other")
	case f.worker:
		return f.serve(e, fs)
	case fs.NArg() == 0 && f.source == "":
		err = errors.New("need dumps: give files or directories")
	case f.explain:
		return f.explainSignatures(e, args, fs.Args())
	}
	if err != nil {
		return e.wrong(err)
	}
	return f.run(e, args, fs)
}

// A flagValue is a flag that was given, for the analysis process.
type flagValue struct {
	Name   string
	Values []triage.Exact // several if the flag is repeatable
}

// given lists the flags that the user gave.
func given(fs *pflag.FlagSet) []flagValue {
	var list []flagValue
	fs.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if several, ok := flag.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		v := flagValue{Name: flag.Name}
		for _, s := range values {
			v.Values = append(v.Values, triage.Exact(s))
		}
		list = append(list, v)
	})
	return list
}

// filesOf says which files settings name, and whether a sandbox keeps others away: in words that equal those of the same settings.
func filesOf(settings []flagValue) string {
	var b strings.Builder
	for _, v := range settings {
		switch v.Name {
		case "search", "sysroot", "debug-dir", "debuginfod", "symbol-path", "force-mismatched", "sandbox":
			fmt.Fprintf(&b, "%s %q ", v.Name, v.Values)
		}
	}
	return strings.TrimSpace(b.String())
}

// serve is the analysis process. Its flags are those of the supervisor.
func (f *triageFlags) serve(e env, fs *pflag.FlagSet) int {
	configure := func(settings json.RawMessage, fetch *broker.Client) (o triage.WorkerOptions, err error) {
		var flags []flagValue
		if err := json.Unmarshal(settings, &flags); err != nil {
			return o, fmt.Errorf("triage --worker: settings: %w", err)
		}
		for _, flag := range flags {
			for _, v := range flag.Values {
				if err := fs.Set(flag.Name, string(v)); err != nil {
					return o, fmt.Errorf("triage --worker: --%s: %w", flag.Name, err)
				}
			}
		}
		if err := f.check(e); err != nil {
			return o, err
		}
		if err := sandbox.LimitMemory(hardMemory(uint64(f.memory))); err != nil {
			return o, err
		}
		if f.sandbox.when == sandboxInside {
			f.fetch.via = fetch
			if err := sandbox.Enter(); err != nil {
				return o, err
			}
		}
		return triage.WorkerOptions{Files: f.options(e, ""), Deadline: f.deadline, Memory: int64(f.memory), NoReports: f.noDB && f.format == formatText}, nil
	}
	if err := triage.Serve(e.ctx, e.stdin, e.stdout, configure); err != nil {
		return e.fail(err)
	}
	return exitComplete
}

// operands lists the files and directories that patterns on the command line mean, as
// triage.Files understands them.
func (f *triageFlags) operands(args []string) []string {
	var list []string
	for _, arg := range args {
		if _, err := os.Stat(arg); err != nil {
			found, _ := filepath.Glob(arg)
			list = append(list, found...)
			continue
		}
		list = append(list, arg)
	}
	return list
}

// run analyses the dumps.
func (f *triageFlags) run(e env, args []string, fs *pflag.FlagSet) int {
	store, err := f.ledgerFlags.open(e)
	if err != nil {
		return e.fail(err)
	}
	defer store.Close()
	exe, err := os.Executable()
	if err != nil {
		return e.fail(err)
	}
	before, err := store.Runs(e.ctx, 1)
	if err != nil {
		return e.fail(err)
	}
	out, err := f.create(e)
	if err != nil {
		return e.fail(err)
	}
	sink := &triageSink{env: e, bar: newCounter(e), soon: f.watch}
	switch {
	case f.format == formatJSON:
		sink.lines = out
	case f.format == formatText && f.watch:
		sink.each = out
	}
	if f.watch {
		ctx, stop := signal.NotifyContext(e.ctx, syscall.SIGTERM)
		defer stop()
		e.ctx = ctx
	}
	start := time.Now()
	o := triage.Options{Command: []string{exe, "triage", "--worker"}, Settings: given(fs), Deadline: f.deadline, Jobs: f.jobs,
		Args: strings.Join(args, " "), Fresh: f.noDB, Endless: f.watch}
	c, err := f.confineWorker(e, &o, fs)
	if err != nil {
		return e.fail(err)
	}
	defer c.close()
	o.Files = filesOf(o.Settings.([]flagValue))
	run, err := triage.Run(e.ctx, o, f.dumps(fs.Args()), store, sink)
	sink.bar.done()
	c.sayDenied(e)
	if err != nil {
		return e.fail(errors.Join(err, out.close()))
	}
	s := &render.Summary{Run: run.Run, Groups: run.Groups, Elapsed: time.Since(start), Notes: sink.notes, Broken: e.ctx.Err() != nil && !f.watch, Kept: !f.noDB}
	if len(before) > 0 {
		s.Since = before[0].Started
	}
	// Results are shown after Ctrl-C too.
	ctx := context.WithoutCancel(e.ctx)
	if err = f.gather(ctx, store, s); err == nil {
		err = f.write(out, s)
	}
	if err = errors.Join(err, sink.err, out.close()); err != nil {
		return e.written(err, exitComplete)
	}
	f.keep.also(ctx, run.Unkept)
	return f.status(s)
}

// dumps returns what lists the dumps.
func (f *triageFlags) dumps(args []string) triage.Source {
	switch {
	case f.source != "":
		return triage.Journal{}
	case f.watch:
		return triage.Watch{Paths: args, Recursive: f.recursive}
	}
	return triage.Files{Paths: args, Recursive: f.recursive}
}

// confineWorker makes the sandbox of the analysis process, if it is to have one.
func (f *triageFlags) confineWorker(e env, o *triage.Options, fs *pflag.FlagSet) (*confinement, error) {
	wanted, err := f.sandbox.wanted(e)
	if err != nil {
		return nil, err
	}
	if !wanted {
		temp, err := makeTemp()
		if err != nil { // a machine without a /tmp: what is to be unpacked there fails
			return new(confinement), nil
		}
		o.Env = append(o.Env, "TMPDIR="+temp.Path)
		return &confinement{temp: temp}, nil
	}
	places := f.operands(fs.Args())
	if f.source != "" {
		places = []string{triage.CoredumpDir}
	}
	c, err := f.confinement(places)
	if err != nil {
		return nil, err
	}
	f.fetch.begin(e)
	o.Settings = append(given(fs), flagValue{"sandbox", []triage.Exact{sandboxInside}})
	o.Confinement, o.Fetch, o.Denied = c, c.server, c.denied
	return c, nil
}

// gather collects the results of the run.
func (f *triageFlags) gather(ctx context.Context, store ledger.Store, s *render.Summary) (err error) {
	if s.Groups == nil {
		if s.Groups, err = store.RunGroups(ctx, s.Run.ID); err != nil {
			return err
		}
	}
	all := s.Groups
	if slices.ContainsFunc(all, func(g ledger.Group) bool { return !g.New }) { // a new group has dumps of this run only
		if all, err = store.Groups(ctx, ledger.Query{Run: s.Run.ID}); err != nil {
			return err
		}
	}
	whole := make(map[string]*ledger.Group, len(all))
	for i := range all {
		whole[all[i].ID] = &all[i]
	}
	s.Total = map[string]int{}
	for i := range s.Groups {
		g := &s.Groups[i]
		if w := whole[g.ID]; w != nil {
			s.Total[g.ID] = w.Count
			g.FirstSeen, g.LastSeen, g.Builds, g.FirstBuild, g.Programs = w.FirstSeen, w.LastSeen, w.Builds, w.FirstBuild, w.Programs
		}
	}
	if f.only == onlyNew {
		s.OnlyNew()
	}
	if f.failOn == onlyNew && f.format != formatHTML { // the page has orders of its own
		s.NewFirst()
	}
	if s.Failed, err = store.RunDumps(ctx, s.Run.ID, true); err != nil {
		return err
	}
	if f.format == formatHTML {
		s.Dumps, err = store.RunDumps(ctx, s.Run.ID, false)
	}
	return err
}

func (f *triageFlags) write(out *outFile, s *render.Summary) error {
	switch f.format {
	case formatJSON:
		return render.WriteGroups(out, s, false)
	case formatSARIF:
		return render.WriteSARIF(out, s, version())
	case formatHTML:
		return render.WriteHTML(out, s)
	}
	return render.WriteText(out, s)
}

func (f *triageFlags) status(s *render.Summary) int {
	switch {
	case s.Run.Analysed+s.Run.Known == 0 && !f.watch:
		return exitNothing
	case f.failOn == onlyNew && s.New() > 0:
		return exitNew
	case s.Run.Failed > 0 || s.Broken || len(s.Notes) > 0:
		return exitIncomplete
	}
	return exitComplete
}
