// Command fuzzing runs every fuzz target for a while, and prints what that was worth: how many inputs each target tried, and how many
// of them reached code that none had reached before.
//
//	go run ./internal/fuzzing [-time 10s] [-turn K/N] [-target REGEXP] [package ...]
//
// A target that finds an error, that does not compile, or that tries no input fails the run; the others go on. What a target finds
// interesting is kept in the build cache, so that the next run goes on from there.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fuzzing:", err)
		os.Exit(1)
	}
}

type options struct {
	time   time.Duration
	part   int // of parts, from 0 on
	parts  int
	target *regexp.Regexp
	cache  string // where inputs are kept
	stdout io.Writer
	stderr io.Writer
}

// A target is a fuzz function of a package.
type target struct{ pkg, dir, name string }

// A result is what a target did.
type result struct {
	target
	tried, found, kept int // inputs: executions, new interesting ones, interesting ones in all
	err                error
}

func run() error {
	o := options{stdout: os.Stdout, stderr: os.Stderr}
	flag.DurationVar(&o.time, "time", 10*time.Second, "run each target for this `long`")
	turn := flag.String("turn", "", "run the targets of part `K/N` only, K from 0 on")
	name := flag.String("target", "", "run the targets whose names match a `pattern`")
	flag.Parse()
	var err error
	if *turn == "" {
		o.parts = 1
	} else if _, err := fmt.Sscanf(*turn, "%d/%d", &o.part, &o.parts); err != nil || o.part < 0 || o.part >= o.parts {
		return fmt.Errorf("-turn %s: must be K/N, K from 0 to N-1", *turn)
	}
	if o.target, err = regexp.Compile(*name); err != nil {
		return err
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return err
	}
	o.cache = filepath.Join(strings.TrimSpace(string(cache)), "fuzz")
	packages := flag.Args()
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	targets, err := list(packages)
	if err != nil {
		return err
	}
	return o.runAll(targets)
}

// list returns the fuzz targets of packages, by their sources: nothing is compiled for it.
func list(packages []string) ([]target, error) {
	cmd := exec.Command("go", append([]string{"list", "-f", "{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}}\t{{$p.Dir}}\t{{.}}\n{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}}\t{{$p.Dir}}\t{{.}}\n{{end}}"}, packages...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []target
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(f[1], f[2]))
		if err != nil {
			return nil, err
		}
		for _, m := range fuzzFunction.FindAllSubmatch(text, -1) {
			all = append(all, target{f[0], f[1], string(m[1])})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no fuzz targets")
	}
	return all, nil
}

var fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(\w+ \*testing\.F\)`)

// runAll runs the targets of the part and prints a table.
func (o *options) runAll(targets []target) error {
	dir, err := os.MkdirTemp("", "fuzzing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(o.stdout, "%10s %6s %6s  target\n", "tried", "new", "all")
	var failed []error
	ran, tried := 0, 0
	binary := map[string]string{} // by package; "" is one that cannot be built
	for i, t := range targets {
		if i%o.parts != o.part || !o.target.MatchString(t.name) {
			continue
		}
		bin, built := binary[t.pkg]
		if !built {
			bin = filepath.Join(dir, fmt.Sprint(len(binary)))
			if err := o.build(t, bin); err != nil {
				failed = append(failed, err)
				bin = ""
			}
			binary[t.pkg] = bin
		}
		if bin == "" {
			continue
		}
		r := o.fuzz(t, bin)
		ran++
		tried += r.tried
		if r.err != nil {
			failed = append(failed, r.err)
		}
		fmt.Fprintf(o.stdout, "%10d %6d %6d  %s %s\n", r.tried, r.found, r.kept, strings.TrimPrefix(t.pkg, "github.com/corewalk/corewalk/"), t.name)
	}
	if ran == 0 && len(failed) == 0 {
		return errors.New("no target was run")
	}
	fmt.Fprintf(o.stdout, "%d targets tried %d inputs\n", ran, tried)
	return errors.Join(failed...)
}

// build compiles the tests of a package with counters of what an input reaches.
func (o *options) build(t target, bin string) error {
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-fuzz=.", "-o", bin, t.pkg).CombinedOutput()
	if err == nil {
		_, err = os.Stat(bin)
	}
	if err != nil {
		return fmt.Errorf("%s does not compile: %w\n%s", t.pkg, err, out)
	}
	return nil
}

// Limits of a target.
const (
	maxSeeds = 5 * time.Minute // for what is known before: after that it is an error
	// minimize is how often an interesting input is tried to be made smaller. Without it that takes up to a minute for each, in which nothing else is
	// tried.
	minimize = "20x"
)

// fuzz runs a target: the inputs that are known, and then new ones for the time that was asked for.
func (o *options) fuzz(t target, bin string) result {
	cmd := exec.Command(bin, "-test.run=^$", "-test.fuzz=^"+t.name+"$", "-test.fuzztime="+(maxSeeds+o.time).String(), "-test.fuzzminimizetime="+minimize,
		"-test.fuzzcachedir="+filepath.Join(o.cache, t.pkg), "-test.parallel="+strconv.Itoa(runtime.GOMAXPROCS(0)))
	cmd.Dir = t.dir
	out := &watched{seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Start()
	if err == nil {
		done := make(chan struct{})
		go func() {
			select {
			case <-out.seen:
			case <-done:
				return
			}
			select {
			case <-time.After(o.time):
				_ = cmd.Process.Signal(os.Interrupt) // it ends in good order, with its figures
			case <-done:
			}
		}()
		err = cmd.Wait()
		close(done)
	}
	r := result{target: t}
	text := out.all.String()
	r.tried, r.found, r.kept = figures(text)
	switch {
	case err != nil:
		r.err = fmt.Errorf("%s %s: %w\n%s", t.pkg, t.name, err, text)
	case r.tried == 0:
		r.err = fmt.Errorf("%s %s tried no input of its own\n%s", t.pkg, t.name, text)
	}
	return r
}

// begun is in the lines that a target prints once it has tried inputs of its own. Before, it tries those that are known.
var begun = regexp.MustCompile(` execs: [1-9]`)

// A watched buffer closes seen once the target has begun. Only one goroutine writes it.
type watched struct {
	all  bytes.Buffer
	once sync.Once
	seen chan struct{}
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.all.Write(b)
	if begun.Match(w.all.Bytes()) {
		w.once.Do(func() { close(w.seen) })
	}
	return n, err
}

// figures reads the last line in which a target says how far it is.
func figures(out string) (tried, found, kept int) {
	all := progress.FindAllStringSubmatch(out, -1)
	if len(all) == 0 {
		return 0, 0, 0
	}
	last := all[len(all)-1]
	tried, _ = strconv.Atoi(last[1])
	found, _ = strconv.Atoi(last[2])
	kept, _ = strconv.Atoi(last[3])
	return tried, found, kept
}

var progress = regexp.MustCompile(`execs: (\d+) \([^)]*\), new interesting: (\d+) \(total: (\d+)\)`)
