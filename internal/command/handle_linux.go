package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/carry/handle"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/sandbox"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// handleCrash handles a crash if the kernel gave the arguments: [--policy FILE] and numbers first. The last ones are words of the
// process that died, which may look like flags.
func (e env) handleCrash(args []string) (status int, ok bool) {
	started := time.Now()
	path := handle.DefaultPolicy
	if len(args) > 2 && args[0] == "--policy" {
		path, args = args[1], args[2:]
	}
	var numbers [4]int
	if len(args) < len(numbers) {
		return 0, false
	}
	for i := range numbers {
		n, err := strconv.ParseUint(args[i], 10, 62)
		if err != nil {
			return 0, false
		}
		numbers[i] = int(n)
	}
	c := handle.Crash{PID: numbers[0], TID: numbers[1], Signal: numbers[2], Time: precise(time.Unix(int64(numbers[3]), 0))}
	if rest := args[4:]; len(rest) > 0 {
		c.Host, c.Command = report.UTF8(rest[0]), report.UTF8(strings.Join(rest[1:], " "))
	}
	policy, wrong := handle.Load(path)
	h := handle.Handler{Policy: policy, Analyse: e.analyseCrash, Enter: e.enterRows, Quit: func() { os.Exit(exitNothing) },
		Say: func(format string, args ...any) { logLine(&policy, format, args...) }}
	err := h.Handle(c, os.Stdin, started)
	for _, w := range wrong { // said last: the process waits
		h.Say("%s: %v: ignored", path, w)
	}
	if err != nil {
		h.Say("%v", err)
		return exitNothing, true
	}
	return exitComplete, true
}

// precise returns the present time if the kernel's, which is in whole seconds, is about that.
func precise(t time.Time) time.Time {
	if now := time.Now(); now.Sub(t).Abs() < 5*time.Second {
		return now
	}
	return t
}

func logLine(p *handle.Policy, format string, args ...any) {
	p.Log(time.Now().UTC().Format(time.RFC3339) + " " + report.Clean(fmt.Sprintf(format, args...)))
}

// itself is this program. The process without privileges need not be able to reach its directory.
const itself = "/proc/self/exe"

// reportGrace is how long after its deadline a report is ended.
const reportGrace = 10 * time.Second

// analyseCrash has another process make the report: without privileges, in the sandbox, with the files of packages and those that
// were kept.
func (e env) analyseCrash(j handle.Job) error {
	ctx, cancel := context.WithTimeout(e.ctx, j.Deadline+reportGrace)
	defer cancel()
	cmd := exec.CommandContext(ctx, itself, "handle", "--analyse", j.Name, "--debug-dir", j.Debug)
	cmd.Args[0] = "corewalk"
	cmd.Env = []string{"COREWALK_DEADLINE=" + j.Deadline.String(), "PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	var err error
	var said bounded
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = j.Core, &said, []*os.File{j.Text, j.JSON, j.Row}
	cmd.SysProcAttr = credentials(j.Account)
	err = sandbox.Start(cmd, sandbox.Policy{Read: slices.Concat(find.PackagePaths(), find.LoaderFiles(), []string{find.DefaultDebugDir, "/etc/localtime"}, j.Read)})
	if err == nil {
		group := sandbox.NewGroup(hardMemory(defaultMemory))
		group.Add(cmd.Process.Pid)
		err = cmd.Wait()
		group.Remove()
	}
	if err == nil {
		return nil
	}
	kind := ledger.FaultCrashed
	if ctx.Err() != nil {
		kind = ledger.FaultTimeout
	}
	err = fmt.Errorf("%w: %.500s", err, strings.TrimSpace(said.String()))
	d := triage.Died(j.Name, kind, err.Error())
	if terr := errors.Join(j.Row.Truncate(0), writeRow(j.Row, &d)); terr != nil {
		return errors.Join(err, terr)
	}
	if st, serr := j.Text.Stat(); serr == nil && st.Size() > 0 {
		return nil // there is a text at least
	}
	_, terr := fmt.Fprintf(j.Text, "no report: %s\n", report.Clean(err.Error()))
	return terr
}

func credentials(a *handle.Account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{} // no Pdeathsig: the thread that starts the sandbox ends before this program
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}
	}
	return attr
}

func writeRow(f *os.File, d *ledger.Dump) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return err
}

// The files of the process that makes the report.
const textFD, jsonFD, rowFD = 3, 4, 5

// makeReport is that process.
func (f *handleFlags) makeReport(e env) int {
	e.catchInterrupts()
	if err := errors.Join(sandbox.LimitMemory(hardMemory(defaultMemory)), sandbox.Enter()); err != nil {
		return e.fail(err)
	}
	var r reportFlags
	if err := r.set().Parse(nil); err != nil {
		return e.fail(err)
	}
	r.format, r.keep.off, r.sandbox.when = formatJSON, true, sandboxInside
	for _, dir := range []string{f.debug, find.DefaultDebugDir} { // of a user nothing is kept yet, or the machine has no debug files
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			r.debugDirs = append(r.debugDirs, dir)
		}
	}
	if d, err := time.ParseDuration(os.Getenv("COREWALK_DEADLINE")); err == nil && d > 0 {
		r.limits.deadline = d
	}
	analyze, err := r.analyze(e)
	if err != nil {
		return e.fail(err)
	}
	e, stop := r.limits.watch(e)
	defer stop()
	t, err := corewalk.OpenReader(e.ctx, os.Stdin, f.analyse, r.options(e, "")...)
	if t == nil {
		return e.failOpen(err)
	}
	defer t.Close()
	if err != nil {
		return e.fail(err)
	}
	analyze.For = report.ForJSON{}
	made, err := t.AnalyzeWith(e.ctx, analyze.how, analyze.AnalyzeOptions)
	if err != nil {
		return e.fail(err)
	}
	options := report.TextOptions{MaxFrames: defaultRows}
	r.layout.apply(&options, io.Discard)
	if err := errors.Join(report.WriteText(os.NewFile(textFD, "report"), made, options), report.WriteJSON(os.NewFile(jsonFD, "report"), made)); err != nil {
		return e.fail(err)
	}
	row := triage.Row(e.ctx, t, os.Stdin, f.analyse)
	if err := writeRow(os.NewFile(rowFD, "row"), &row); err != nil {
		return e.fail(err)
	}
	return exitComplete
}

// enterTime limits how long it takes to enter rows into the ledger.
const enterTime = time.Minute

// enterRows has another process enter the rows, without privileges.
func (e env) enterRows(s handle.Store, a *handle.Account) error {
	ctx, cancel := context.WithTimeout(e.ctx, enterTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, itself, "handle", "--enter", filepath.Dir(s.Rows()))
	cmd.Args[0] = "corewalk"
	var said bounded
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.SysProcAttr = "/", []string{"PATH=/usr/bin:/bin"}, &said, credentials(a)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %.500s", err, strings.TrimSpace(said.String()))
	}
	return nil
}

// maxRow limits a row, in bytes.
const maxRow = 64 << 20

// enterAll enters the rows below a directory into the ledger there. Only one process does so at a time.
func (f *handleFlags) enterAll(e env) int {
	lock := waitFor(filepath.Join(f.enter, "rows"))
	if lock == nil {
		return e.fail(fmt.Errorf("%s: cannot be locked", f.enter))
	}
	defer lock.Close()
	rows, _ := filepath.Glob(filepath.Join(f.enter, "rows", "*.json"))
	if len(rows) == 0 {
		return exitComplete
	}
	var dumps []ledger.Dump
	for _, path := range rows {
		d, err := readRow(path)
		if err != nil {
			e.say("%s: %v", path, err)
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		d.Path = filepath.Join(filepath.Dir(f.enter), "crashes", name, "core")
		dumps = append(dumps, d)
	}
	lf := ledgerFlags{db: filepath.Join(f.enter, "triage.db")}
	store, err := lf.open(e)
	if err != nil {
		return e.fail(err)
	}
	defer store.Close()
	if err := triage.Enter(e.ctx, store, "corewalk handle", dumps); err != nil {
		return e.fail(err)
	}
	for _, path := range rows {
		if err := os.Remove(path); err != nil {
			return e.fail(err)
		}
	}
	return exitComplete
}

func readRow(path string) (d ledger.Dump, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return d, err
	}
	defer f.Close()
	return d, json.NewDecoder(io.LimitReader(f, maxRow)).Decode(&d)
}

// waitFor locks a directory when nobody else has it locked; nil if it cannot be.
func waitFor(dir string) *os.File {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0) // a pipe in its place would be waited for
	if err != nil {
		return nil
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil
	}
	return f
}

// run carries out what is not a crash.
func (f *handleFlags) run(e env) int {
	switch {
	case f.analyse != "":
		return f.makeReport(e)
	case f.enter != "":
		return f.enterAll(e)
	}
	path := f.policy
	if path == "" && (f.uninstall || f.status) {
		path = handle.InstalledPolicy()
	}
	if path == "" {
		path = handle.DefaultPolicy
	}
	policy, wrong := handle.Load(path)
	if f.policy != "" {
		if _, err := os.Stat(f.policy); err != nil {
			wrong = append(wrong, err)
		}
	}
	switch {
	case len(wrong) > 0 && !f.uninstall && !f.status:
		return e.fail(fmt.Errorf("%s: %w", path, wrong[0]))
	case f.install:
		return f.doInstall(e, &policy)
	case f.uninstall:
		was, err := policy.Uninstall()
		if err != nil {
			return e.fail(fmt.Errorf("handle: %w", err))
		}
		_, err = fmt.Fprintf(e.stdout, "core_pattern is %q again, and core_pipe_limit %s\n", was.Pattern, was.Limit)
		return e.written(err, exitComplete)
	case f.listen != "":
		return f.serveSocket(e, &policy)
	}
	return f.printStatus(e, &policy, path, wrong)
}

func (f *handleFlags) doInstall(e env, p *handle.Policy) int {
	exe, err := os.Executable()
	if err != nil {
		return e.fail(err)
	}
	policy, socket := f.policy, f.socket
	for _, path := range []*string{&policy, &socket} {
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return e.fail(err)
			}
		}
	}
	if err := p.Install(exe, policy, socket); err != nil {
		return e.fail(fmt.Errorf("handle: not installed: %w", err))
	}
	if lacks := sandbox.Missing(); len(lacks) > 0 {
		e.say("reports are made without %s", strings.Join(lacks, "; "))
	}
	_, err = fmt.Fprintf(e.stdout, "installed; crashes are kept in %s\n", p.Directory)
	return e.written(err, exitComplete)
}

func (f *handleFlags) printStatus(e env, p *handle.Policy, path string, wrong []error) int {
	now, err := p.Look()
	if err != nil {
		return e.fail(err)
	}
	var b strings.Builder
	state := "not installed"
	switch {
	case now.Installed():
		state = "installed"
	case now.Before != nil:
		state = "installed once, but something else took its place"
	}
	fmt.Fprintf(&b, "%s: core_pattern is %q, core_pipe_limit %s\n", state, now.Pattern, now.Limit)
	if now.Before != nil {
		fmt.Fprintf(&b, "before: core_pattern was %q, core_pipe_limit %s\n", now.Before.Pattern, now.Before.Limit)
	}
	for _, w := range wrong {
		fmt.Fprintf(&b, "%s: %s: ignored\n", path, report.Clean(w.Error()))
	}
	s := p.Summary()
	fmt.Fprintf(&b, "%s: %d crashes, %s (at most %d, %s, %v); files of programs %s\n", p.Directory, s.Crashes, report.Size(s.Size), p.Count, report.Size(p.Disk), p.Age, report.Size(s.FilesSize))
	if s.Newest != "" {
		fmt.Fprintf(&b, "newest: %s\n", s.Newest)
	}
	if s.Rows > 0 {
		fmt.Fprintf(&b, "%d crashes are not in the ledger yet\n", s.Rows)
	}
	_, err = io.WriteString(e.stdout, b.String())
	return e.written(err, exitComplete)
}
