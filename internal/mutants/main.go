// Command mutants tests the tests: it makes one small change at a time to the packages
// that decide, and reports the changes that no test notices.
//
// All mutants of a package are compiled into one test binary, behind a switch that the
// environment sets (package mut). So a mutant costs only one run of the tests that it
// affects. A run of each test without a mutant records which mutants those are.
//
// Conditions become true or false, < becomes <= and so on, constants become one more,
// and assignments, calls, break and continue are removed.
//
//	go run ./internal/mutants [flags] [package directory ...]
//
// packages.txt lists the packages, and the tests of other packages that count for them.
// equivalent.txt lists the mutants that may survive, each with the reason; an entry
// without a mutant is an error.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// A verdict is a mutant and its fate.
type verdict struct {
	mutant
	Nth     int // among the mutants with the same key
	Verdict string
	By      string `json:",omitempty"` // the first test that noticed it
	Reason  string `json:",omitempty"`
}

func (v *verdict) alive() bool { return v.Verdict == survived || v.Verdict == missed }

type options struct {
	sample  int
	seed    uint64
	jobs    int
	bound   time.Duration
	out     string
	again   string
	percent float64
	quiet   bool
	only    map[string]bool // key and number
	files   *regexp.Regexp  // nil for all
	stdout  io.Writer
	stderr  io.Writer
	reasons *reasons
}

func run() error {
	o := options{stdout: os.Stdout, stderr: os.Stderr}
	flag.IntVar(&o.sample, "sample", 0, "test only `n` mutants of each package; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "which sample")
	flag.IntVar(&o.jobs, "j", 1, "tests at a time")
	flag.DurationVar(&o.bound, "time", 0, "stop each package after this; 0 for never")
	flag.StringVar(&o.out, "o", "", "write all verdicts to a `file`, as JSON")
	flag.StringVar(&o.again, "again", "", "test only the mutants that survived in a `file` written by -o")
	flag.Float64Var(&o.percent, "fail", 100, "fail when more than `percent` of a package's mutants survive without a reason")
	files := flag.String("files", "", "test only the mutants of the source files whose names match a `pattern`")
	flag.BoolVar(&o.quiet, "q", false, "print figures only")
	flag.Parse()
	if *files != "" {
		var err error
		if o.files, err = regexp.Compile(*files); err != nil {
			return fmt.Errorf("-files: %w", err)
		}
	}

	root, err := moduleRoot()
	if err != nil {
		return err
	}
	own := filepath.Join(root, "internal", "mutants")
	targets, err := readTargets(filepath.Join(own, "packages.txt"))
	if err != nil {
		return err
	}
	if o.reasons, err = readReasons(filepath.Join(own, "equivalent.txt")); err != nil {
		return err
	}
	if o.again != "" {
		if err := o.readAgain(); err != nil {
			return err
		}
	}
	if dirs := flag.Args(); len(dirs) > 0 {
		for _, dir := range dirs {
			if !slices.ContainsFunc(targets, func(t target) bool { return t.dir == filepath.Clean(dir) }) {
				targets = append(targets, target{dir: filepath.Clean(dir)})
			}
		}
		targets = slices.DeleteFunc(targets, func(t target) bool {
			return !slices.ContainsFunc(dirs, func(dir string) bool { return filepath.Clean(dir) == t.dir })
		})
	}
	return o.all(root, targets)
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return "", fmt.Errorf("no go.mod here or above: run it in the source tree")
}

func (o *options) readAgain() error {
	text, err := os.ReadFile(o.again)
	if err != nil {
		return err
	}
	var list []verdict
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("%s: %w", o.again, err)
	}
	o.only = map[string]bool{}
	for i := range list {
		if v := &list[i]; v.alive() && v.Reason == "" {
			o.only[fmt.Sprint(v.key(), v.Nth)] = true
		}
	}
	return nil
}

// all tests the packages one after another.
func (o *options) all(root string, targets []target) error {
	var all []verdict
	failed := false
	for _, t := range targets {
		list, err := o.pkg(root, t)
		if err != nil {
			return err
		}
		all = append(all, list...)
		if o.out != "" { // after each: a long run may be interrupted
			text, err := json.MarshalIndent(all, "", " ")
			if err != nil {
				return err
			}
			if err := os.WriteFile(o.out, text, 0o600); err != nil {
				return err
			}
		}
		f := count(list)
		failed = failed || f.percent() > o.percent
	}
	if failed {
		return fmt.Errorf("more than %g %% of a package's mutants survive without a reason", o.percent)
	}
	return nil
}

// pkg tests the mutants of one package.
func (o *options) pkg(root string, t target) ([]verdict, error) {
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	start := time.Now()
	s := &subject{root: root, dir: t.dir, work: work}
	bin, err := s.prepare()
	if err != nil {
		return nil, err
	}
	tests, err := s.tests(bin, t.more, func(text string) { fmt.Fprintln(o.stderr, "mutants: left out:", text) })
	if err != nil {
		return nil, err
	}
	list := o.choose(s.mutants)
	if stale := o.reasons.stale(t.dir, o.asked(s.mutants)); len(stale) > 0 {
		return nil, fmt.Errorf("equivalent.txt has reasons for mutants that do not exist: %q", stale)
	}
	prepared := time.Since(start)
	list = o.tryAll(tests, list)
	if !o.quiet {
		for i := range list {
			if v := &list[i]; v.alive() && v.Reason == "" {
				fmt.Fprintf(o.stdout, "%s:%d: %s: %s, %s\n%s\n\n", v.File, v.Line, v.Func, v.Kind, v.Verdict, v.diff())
			}
		}
	}
	for i := range list {
		if v := &list[i]; !v.alive() && v.Reason != "" {
			fmt.Fprintf(o.stdout, "%s:%d: has a reason to survive, but is %s by %s:\n%s\n\n", v.File, v.Line, v.Verdict, v.By, v.diff())
		}
	}
	f := count(list)
	fmt.Fprintf(o.stdout, "%s: %d of %d mutants: %d killed, %d timed out, %d survived with a reason, %d without (%.1f %%); %d do not compile; %d tests; %s, %s before\n",
		t.dir, len(list), len(s.mutants), f.killed, f.timed, f.excused, f.survived, f.percent(), len(s.drop), len(tests),
		time.Since(start).Round(time.Second), prepared.Round(time.Second))
	return list, nil
}

// choose selects the mutants to test, in the order of the sources.
func (o *options) choose(mutants []*mutant) []verdict {
	var list []verdict
	nth := map[string]int{}
	for _, m := range mutants {
		v := verdict{mutant: *m, Nth: nth[m.key()], Reason: o.reasons.of(m)}
		nth[m.key()]++
		if !o.chosen(m) {
			continue
		}
		if o.only == nil || o.only[fmt.Sprint(v.key(), v.Nth)] {
			list = append(list, v)
		}
	}
	if o.sample > 0 && o.sample < len(list) {
		rand.New(rand.NewPCG(o.seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:o.sample]
		slices.SortFunc(list, func(a, b verdict) int { return a.ID - b.ID })
	}
	return list
}

// chosen reports whether a mutant is of a source file to test.
func (o *options) chosen(m *mutant) bool {
	return o.files == nil || o.files.MatchString(filepath.Base(m.File))
}

// asked reports whether a function is in the source files to test: work on one file is not
// stopped by what another lacks.
func (o *options) asked(mutants []*mutant) func(fn string) bool {
	funcs := map[string]bool{}
	for _, m := range mutants {
		if o.chosen(m) {
			funcs[m.Func] = true
		}
	}
	return func(fn string) bool { return o.files == nil || funcs[fn] }
}

// tryAll tests the mutants as long as there is time. It returns those that were tested.
func (o *options) tryAll(tests []*test, list []verdict) []verdict {
	start := time.Now()
	order := rand.New(rand.NewPCG(o.seed, 1)).Perm(len(list)) // if the time is too short, the tested ones are a sample
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, o.jobs))
	for _, i := range order {
		slots <- struct{}{}
		if o.bound > 0 && time.Since(start) > o.bound {
			break
		}
		wg.Go(func() {
			list[i].Verdict, list[i].By = try(tests, list[i].ID)
			<-slots
		})
	}
	wg.Wait()
	return slices.DeleteFunc(list, func(v verdict) bool { return v.Verdict == "" })
}

type figures struct{ killed, timed, excused, survived int }

func count(list []verdict) (f figures) {
	for i := range list {
		switch v := &list[i]; {
		case v.Verdict == killed:
			f.killed++
		case v.Verdict == timedOut:
			f.timed++
		case v.Reason != "":
			f.excused++
		default:
			f.survived++
		}
	}
	return f
}

// percent is the share of the mutants that survive without a reason.
func (f figures) percent() float64 {
	n := f.killed + f.timed + f.excused + f.survived
	if n == 0 {
		return 0
	}
	return 100 * float64(f.survived) / float64(n)
}
