package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/corewalk/corewalk/internal/mutants/mut"
)

// A binary is the tests of one package, compiled with the mutants.
type binary struct {
	path string
	dir  string // of the package: where its tests run
}

// A test is a test function or, of tables of goldens, one subtest.
type test struct {
	bin  *binary
	name string // "TestX", or "TestX/sub"
	took time.Duration
	hit  []byte // the mutants that make a difference in it
}

// The fates of a mutant.
const (
	killed   = "killed"
	survived = "survived"
	timedOut = "timed out"
	missed   = "not reached" // survived: no test behaves differently
)

// maxMemory limits the address space of a test with a mutant, in KiB: a mutant that
// appends for ever must not take down the machine.
const maxMemory = 8 << 20

// longest is the time limit of a test without a mutant.
const longest = 2 * time.Minute

// run runs tests of the binary. mutant is 0 for none; if trace is set, the tests write
// it.
func (b *binary) run(pattern string, mutant int, trace string, limit time.Duration, more ...string) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit+5*time.Second)
	defer cancel()
	args := append([]string{"-c", "ulimit -v " + strconv.Itoa(maxMemory) + `; exec "$0" "$@"`, b.path,
		"-test.run=" + pattern, "-test.timeout=" + limit.String(), "-test.failfast", "-test.count=1"}, more...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOTRACEBACK=none")
	if trace != "" {
		cmd.Env = append(cmd.Env, mut.EnvTrace+"="+trace)
	} else if mutant != 0 {
		cmd.Env = append(cmd.Env, mut.EnvOn+"="+strconv.Itoa(mutant))
	}
	// Tests start programs of their own; end those together with the test.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err = cmd.CombinedOutput()
	if ctx.Err() != nil || bytes.Contains(out, []byte("panic: test timed out")) {
		return out, errTime
	}
	return out, err
}

var errTime = errors.New("timed out")

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)`)

// list lists the tests of the binary whose names match, with subtests if sub is set.
func (b *binary) list(match *regexp.Regexp, sub bool) ([]*test, error) {
	out, err := exec.Command(b.path, "-test.list=.").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", b.dir, err)
	}
	var tests []*test
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if !testName.MatchString(name) || !match.MatchString(name) {
			continue
		}
		if !sub {
			tests = append(tests, &test{bin: b, name: name})
			continue
		}
		found, err := b.subtests(name)
		if err != nil {
			return nil, err
		}
		tests = append(tests, found...)
	}
	return tests, nil
}

// subtests runs a test to get the names of its subtests.
func (b *binary) subtests(name string) ([]*test, error) {
	out, err := b.run("^"+name+"$", 0, "", 10*longest, "-test.v")
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", name, b.dir, err)
	}
	var tests []*test
	for line := range strings.Lines(string(out)) {
		full, ok := strings.CutPrefix(strings.TrimSpace(line), "=== RUN   ")
		if ok && strings.Count(full, "/") == 1 {
			tests = append(tests, &test{bin: b, name: full})
		}
	}
	if len(tests) == 0 {
		tests = append(tests, &test{bin: b, name: name})
	}
	return tests, nil
}

// pattern returns the argument of -test.run for tests with the same parent.
func pattern(tests []*test) string {
	parent, sub := "", false
	var names []string
	for _, t := range tests {
		before, after, found := strings.Cut(t.name, "/")
		if found {
			parent, sub = before, true
			names = append(names, regexp.QuoteMeta(after))
		} else {
			names = append(names, before)
		}
	}
	all := "^(" + strings.Join(names, "|") + ")$"
	if sub {
		return "^" + parent + "$/" + all
	}
	return all
}

// trace runs a test without mutants and records which ones would make a difference in
// it.
func (t *test) trace(file string, mutants int) error {
	if err := os.WriteFile(file, make([]byte, mutants+1), 0o600); err != nil {
		return err
	}
	start := time.Now()
	out, err := t.bin.run(pattern([]*test{t}), 0, file, longest)
	if err != nil {
		return fmt.Errorf("%s in %s fails without a mutant: %w: %s", t.name, t.bin.dir, err, lastLines(out, 5))
	}
	t.took = time.Since(start)
	t.hit, err = os.ReadFile(file)
	return err
}

func lastLines(out []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// The tests that a mutant affects run in batches: the fast ones kill most mutants.
const (
	firstBatch  = 300 * time.Millisecond
	secondBatch = 4 * time.Second
)

// batches sorts the tests that the mutant affects into batches.
func batches(tests []*test, id int) [][]*test {
	var reach []*test
	for _, t := range tests {
		if t.hit[id] != 0 {
			reach = append(reach, t)
		}
	}
	slices.SortStableFunc(reach, func(a, b *test) int { return int(a.took - b.took) })
	var all [][]*test
	var sum time.Duration
	stage, level := []*test{}, firstBatch
	flush := func() {
		all = append(all, split(stage)...)
		stage, sum = nil, 0
	}
	for _, t := range reach {
		if len(stage) > 0 && sum+t.took > level {
			flush()
			level = secondBatch
		}
		stage = append(stage, t)
		sum += t.took
	}
	flush()
	return all
}

// split splits a batch into runs: one for each binary and parent.
func split(batch []*test) [][]*test {
	type place struct {
		bin    *binary
		parent string
	}
	var order []place
	by := map[place][]*test{}
	for _, t := range batch {
		p := place{bin: t.bin}
		if parent, _, sub := strings.Cut(t.name, "/"); sub {
			p.parent = parent
		}
		if by[p] == nil {
			order = append(order, p)
		}
		by[p] = append(by[p], t)
	}
	var out [][]*test
	for _, p := range order {
		out = append(out, by[p])
	}
	return out
}

// try runs the tests that a mutant affects against it.
func try(tests []*test, id int) (verdict, by string) {
	runs := batches(tests, id)
	if len(runs) == 0 {
		return missed, ""
	}
	for _, run := range runs {
		var normal time.Duration
		for _, t := range run {
			normal += t.took
		}
		_, err := run[0].bin.run(pattern(run), id, "", (5*normal + 3*time.Second).Round(time.Millisecond))
		var exit *exec.ExitError
		switch {
		case errors.Is(err, errTime):
			return timedOut, run[0].name
		case errors.As(err, &exit):
			return killed, run[0].name
		case err != nil:
			return killed, err.Error()
		}
	}
	return survived, ""
}

// tests compiles the packages of the further tests, and traces all tests.
func (s *subject) tests(own string, more []further, warn func(string)) ([]*test, error) {
	root := func(dir string) string { return filepath.Join(s.root, dir) }
	bins := map[string]*binary{s.dir: {own, root(s.dir)}}
	tests, err := bins[s.dir].list(regexp.MustCompile("."), false)
	if err != nil {
		return nil, err
	}
	for i, f := range more {
		if f.dir == s.dir { // another way to run some of the package's own tests
			tests = slices.DeleteFunc(tests, func(t *test) bool { return f.match.MatchString(t.name) })
		}
		if bins[f.dir] == nil {
			path, out, err := s.compile(f.dir, fmt.Sprintf("test%d", i+1))
			if err != nil {
				return nil, fmt.Errorf("%s does not compile: %s", f.dir, out)
			}
			bins[f.dir] = &binary{path, root(f.dir)}
		}
		found, err := bins[f.dir].list(f.match, f.sub)
		if err != nil {
			return nil, err
		}
		tests = append(tests, found...)
	}
	file := filepath.Join(s.work, "trace")
	return slices.DeleteFunc(tests, func(t *test) bool {
		err := t.trace(file, len(s.mutants))
		if err != nil {
			warn(err.Error())
		}
		return err != nil
	}), nil
}
