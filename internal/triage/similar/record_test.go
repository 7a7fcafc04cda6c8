package similar_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

var record = flag.String("record", "", "build these `programs` of testdata/src/triage (a, list; all), run them and rewrite testdata/stacks.jsonl.gz")

var recordReal = flag.String("record-real", "", "run the programs with published bugs in this `directory`, laid out as testdata/src/triage/README.md says, and rewrite testdata/real.jsonl.gz")

// The recorded dumps: of the programs in testdata/src/triage, and of programs that others wrote.
const (
	stacksFile = "testdata/stacks.jsonl.gz"
	realFile   = "testdata/real.jsonl.gz"
)

// A sample is one dump of the labelled set, with what signatures need from it.
type sample struct {
	Set     string `json:"set"` // "tune", "held-out", "blind", "unseen", "languages" or "tools"
	Program string `json:"program"`
	Bug     string `json:"bug"`
	Path    string `json:"path"`
	Config  string `json:"config"` // compiler and options

	Crash  report.Crash `json:"crash"`
	End    string       `json:"end"`
	Frames []int        `json:"frames"` // indexes into the table of frames
	// Physical are the numbers of the physical frames of the innermost frames.
	Physical []int `json:"physical,omitempty"`
	report   *report.Report
	sig      *signature.Signature
}

// label returns the answer: which bug it is.
func (s *sample) label() string { return s.Program + " " + s.Bug }

// readSamples reads the shipped sets.
func readSamples(t testing.TB) []*sample {
	t.Helper()
	all := append(readStacks(t, stacksFile), readStacks(t, realFile)...)
	if len(all) < 500 {
		t.Fatalf("only %d samples", len(all))
	}
	return all
}

// readStacks reads a file: a line with the table of frames, then one line per sample.
func readStacks(t testing.TB, name string) []*sample {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bufio.NewReader(z))
	var table []report.Frame
	if err := d.Decode(&table); err != nil {
		t.Fatal(err)
	}
	var all []*sample
	tells := false // blames say what functions were called with
	for d.More() {
		s := new(sample)
		if err := d.Decode(s); err != nil {
			t.Fatal(err)
		}
		th := report.Thread{Crashed: true, End: s.End}
		for i, n := range s.Frames {
			f := table[n]
			f.Index = i
			if i < len(s.Physical) {
				f.Physical = s.Physical[i]
			}
			th.Frames = append(th.Frames, f)
		}
		if b := s.Crash.Blame; b != nil && len(b.Steps) > 0 && b.Steps[0].Kind == "" && b.Steps[0].Name == "this" && len(th.Frames) > 0 && th.Frames[0].Function == b.Steps[0].Function { // recorded without
			b.Steps[0].Kind, b.Steps[0].Role = report.BlameVariable, "argument"
		}
		tells = tells || s.Crash.Blame != nil && slices.ContainsFunc(s.Crash.Blame.Steps, func(s report.BlameStep) bool { return s.Entry })
		s.report = &report.Report{Crash: &s.Crash, Threads: []report.Thread{th}}
		s.report.Dump.Command = s.Program
		s.report.Dump.PID = len(all) + 1
		all = append(all, s)
	}
	for _, s := range all {
		if !tells && s.Crash.Blame != nil {
			enter(s.Crash.Blame.Steps)
		}
	}
	return all
}

// enter says of arguments of a recording that does not tell that functions were called with them: those that were followed to the caller were, those
// that were followed no further may have been.
func enter(steps []report.BlameStep) {
	for i := range steps {
		followed := i+1 == len(steps) || steps[i+1].Kind == report.BlamePassed || steps[i+1].Kind == report.BlameArgument
		steps[i].Entry = steps[i].Role == "argument" && followed
	}
}

// writeStacks is the reverse of readStacks.
func writeStacks(t *testing.T, name string, all []*sample) {
	t.Helper()
	numbers := make(map[string]int)
	var table []report.Frame
	for _, s := range all {
		s.Frames, s.Physical = nil, nil
		th := &s.report.Threads[0]
		s.End = th.End
		for i := range th.Frames {
			f := lean(&th.Frames[i])
			key := fmt.Sprintf("%+v %+v", f, f.Merged)
			n, ok := numbers[key]
			if !ok {
				n = len(table)
				numbers[key] = n
				table = append(table, f)
			}
			s.Frames = append(s.Frames, n)
			if s.report.Crash.Blame != nil && i < 24 {
				s.Physical = append(s.Physical, th.Frames[i].Physical)
			}
		}
		s.Frames = shorten(s.Frames)
		c := s.report.Crash
		s.Crash = report.Crash{Signal: c.Signal, Exception: c.Exception, Kind: c.Kind, Message: c.Message, Assertion: c.Assertion, Thrown: c.Thrown, Panic: c.Panic, Told: c.Told, Blame: leanBlame(c.Blame)}
		for i := range s.Crash.Thrown {
			s.Crash.Thrown[i].Address = 0
		}
		if c.Kind == "" {
			s.Crash.Reason = c.Reason
		}
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	e := json.NewEncoder(z)
	if err := e.Encode(table); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	z.Close()
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d samples, %d different frames, %d bytes", len(all), len(table), out.Len())
}

// shorten removes the middle of a deep recursion. The result is the stack of a less deep recursion, because the
// rest starts with a caller of the last frame kept above.
func shorten(frames []int) []int {
	const inner, outer = 300, 100
	if len(frames) <= inner+2*outer {
		return frames
	}
	for j := len(frames) - outer; j > inner; j-- {
		if frames[j-1] == frames[inner-1] {
			return append(frames[:inner:inner], frames[j:]...)
		}
	}
	return frames
}

// leanBlame returns the parts of a blame that signatures look at.
func leanBlame(b *report.Blame) *report.Blame {
	if b == nil {
		return nil
	}
	out := &report.Blame{Value: b.Value, Confidence: b.Confidence}
	for i := range b.Steps {
		s := &b.Steps[i]
		step := report.BlameStep{Kind: s.Kind, Name: s.Name, Role: s.Role, Entry: s.Entry, Function: s.Function, Physical: s.Physical, Within: s.Within, Outside: s.Outside, Sought: s.Sought}
		if s.Kind == report.BlameOffset {
			step.Value = s.Value
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

// lean returns the parts of a frame that signatures look at.
func lean(f *report.Frame) report.Frame {
	out := report.Frame{Function: f.Function, Inlined: f.Inlined, NoReturn: f.NoReturn, Tail: f.Tail, Symbol: copySuffix(f.Symbol), Signal: f.Signal, Trust: f.Trust, Mismatched: f.Mismatched, Merged: f.Merged}
	if f.Module != "" {
		out.Module = filepath.Base(f.Module)
	}
	if f.Source.Line > 0 {
		out.Source = report.Source{File: filepath.Base(f.Source.File), Line: f.Source.Line}
		for _, library := range []string{"/rustc/", "/include/c++/"} { // known by where it lies
			if strings.Contains(f.Source.File, library) {
				out.Source.File = f.Source.File
			}
		}
	}
	if f.Function == "" || f.Source.Line == 0 {
		out.Offset = f.Offset
	}
	return out
}

// copySuffix returns what a linkage name says of a copy for which the compiler changed the arguments.
func copySuffix(symbol string) string {
	for _, mark := range []string{".isra.", ".part."} {
		if strings.Contains(symbol, mark) {
			return mark
		}
	}
	return ""
}

// A plantedBug is a bug that a source declares, with the number of paths to it.
type plantedBug struct {
	name  string
	paths int
}

// plantedBugs reads the declarations of a source.
func plantedBugs(t *testing.T, source string) (set string, bugs []plantedBug) {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//"))
		if rest, ok := strings.CutPrefix(line, "set: "); ok {
			set = rest
		}
		if rest, ok := strings.CutPrefix(line, "bug: "); ok {
			words := strings.Fields(rest)
			n, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatalf("%s: %q", source, line)
			}
			bugs = append(bugs, plantedBug{words[0], n})
		}
	}
	if set == "" || len(bugs) == 0 {
		t.Fatalf("%s declares nothing", source)
	}
	return set, bugs
}

// compilers returns the commands that build a kind of source. "OUT" and "IN" stand for the files.
func compilers(source string) []string {
	c := []string{"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-inline", "-O2 -flto", "-O2 -static", "-O1 -no-pie"}
	clang := []string{"-O0", "-O1", "-O2", "-O3", "-O2 -fno-inline", "-O2 -flto -fuse-ld=lld"}
	var out []string
	each := func(command string, options []string) {
		for _, o := range options {
			out = append(out, command+" "+o+" -g -w -pthread -o OUT IN")
		}
	}
	switch filepath.Ext(source) {
	case ".c":
		each("gcc", c)
		each("clang-19", clang)
	case ".cpp":
		each("g++", c)
		each("clang++-19", clang)
	case ".rs":
		for _, o := range []string{"-C opt-level=0", "-C opt-level=1", "-C opt-level=2", "-C opt-level=3", "-C opt-level=s", "-C opt-level=3 -C lto=fat",
			"-C opt-level=2 -C symbol-mangling-version=v0"} {
			out = append(out, "rustc --edition 2021 -A warnings -g -C panic=abort "+o+" -o OUT IN")
		}
	case ".go":
		for _, o := range []string{"", "-gcflags=all=-N|-l", "-gcflags=-l", "-buildmode=pie"} {
			out = append(out, strings.ReplaceAll("go build "+o+" -o OUT IN", "  ", " "))
		}
	}
	return out
}

// TestRecord makes the set again, with -record. It analyses every dump as the command does.
func TestRecord(t *testing.T) {
	if *record == "" {
		t.Skip("only with -record")
	}
	if p, _ := os.ReadFile("/proc/sys/kernel/core_pattern"); strings.TrimSpace(string(p)) != "core" {
		t.Skip("needs kernel.core_pattern=core")
	}
	root := filepath.Join(fixture.Root(t), "testdata", "src", "triage")
	var sources []string
	for _, pattern := range []string{"*.c", "*.cpp", "*.rs", "*/main.go", "*/main.c"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		sources = append(sources, found...)
	}
	var mu sync.Mutex
	var all []*sample
	if *record != "all" {
		wanted := strings.Split(*record, ",")
		sources = slices.DeleteFunc(sources, func(s string) bool { return !slices.Contains(wanted, programOf(s)) })
		all = slices.DeleteFunc(readStacks(t, stacksFile), func(s *sample) bool { return slices.Contains(wanted, s.Program) })
	}
	tasks, wait := twoAtOnce()
	for _, source := range sources {
		for _, command := range compilers(source) {
			dir := t.TempDir()
			tasks <- func() {
				list := buildAndRun(t, source, command, dir)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, list...)
			}
		}
	}
	wait()
	writeStacks(t, stacksFile, inOrder(all))
}

// twoAtOnce runs the tasks it is sent, two at a time; wait returns when all are done.
func twoAtOnce() (tasks chan<- func(), wait func()) {
	var group sync.WaitGroup
	c := make(chan func())
	for range 2 {
		group.Go(func() {
			for f := range c {
				f()
			}
		})
	}
	return c, func() { close(c); group.Wait() }
}

func inOrder(all []*sample) []*sample {
	slices.SortFunc(all, func(a, b *sample) int {
		return strings.Compare(a.label()+a.Path+a.Config, b.label()+b.Path+b.Config)
	})
	return all
}

// programOf returns the name of the program that a source belongs to.
func programOf(source string) string {
	name := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))
	if name == "main" {
		name = filepath.Base(filepath.Dir(source))
	}
	return name
}

// build runs a compiler command, in which "OUT" and "IN" stand for the files; false if it is not installed or
// fails.
func build(t *testing.T, command []string, out, in string) bool {
	words := slices.Clone(command)
	for i, w := range words {
		switch w {
		case "OUT":
			words[i] = out
		case "IN":
			words[i] = in
		default:
			words[i] = strings.ReplaceAll(w, "|", " ")
		}
	}
	fixture.Tools(t)
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Logf("%s is not installed", words[0])
		return false
	}
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(words, " "), err, out)
		return false
	}
	return true
}

// buildAndRun makes the samples of one build.
func buildAndRun(t *testing.T, source, command, dir string) (list []*sample) {
	set, bugs := plantedBugs(t, source)
	program := programOf(source)
	exe := filepath.Join(dir, program)
	words := strings.Fields(command)
	plugin := filepath.Join(filepath.Dir(source), "plugin.c")
	if _, err := os.Stat(plugin); err == nil && strings.HasSuffix(source, ".c") {
		if slices.Contains(words, "-static") {
			return nil // it could load nothing
		}
		build(t, append(slices.Clone(words), "-shared", "-fPIC"), filepath.Join(dir, "plugin.so"), plugin)
	}
	config := strings.Join(slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return slices.Contains([]string{"-g", "-w", "-pthread", "-o", "OUT", "IN", "--edition", "2021", "-A", "warnings", "-C", "panic=abort"}, w)
	}), " ")
	if !build(t, words, exe, source) {
		return nil
	}
	for _, b := range bugs {
		for p := range b.paths {
			s := &sample{Set: set, Program: program, Bug: b.name, Path: string(rune('a' + p)), Config: config}
			if s.report = crashOf(t, exe, s.Bug, s.Path); s.report == nil {
				t.Logf("%s %s %s, %s: no crash", program, b.name, s.Path, config)
				continue
			}
			list = append(list, s)
		}
	}
	return list
}

// crashOf runs a program until it dies and analyses the core; nil if the program does not die.
func crashOf(t *testing.T, exe string, args ...string) *report.Report {
	// A small stack keeps the dumps of stack overflows small.
	run := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited; ulimit -s 256; exec timeout 20 "$0" "$@"`, exe}, args...)...)
	run.Dir = filepath.Dir(exe)
	return dumpOf(t, run, corewalk.WithExecutable(exe))
}

// dumpOf runs a command until it dies and analyses the core; nil if it does not die.
func dumpOf(t *testing.T, run *exec.Cmd, options ...corewalk.Option) *report.Report {
	core := filepath.Join(run.Dir, "core")
	os.Remove(core)
	run.Env = append(os.Environ(), append(run.Env, "GOTRACEBACK=crash", "LC_ALL=C")...)
	run.Run()
	if _, err := os.Stat(core); err != nil {
		return nil
	}
	defer os.Remove(core)
	target, err := corewalk.Open(context.Background(), core, append(options, corewalk.WithDebugDir(run.Dir))...)
	if err != nil {
		t.Errorf("%v: %v", run.Args, err)
		return nil
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	if err != nil || r.Crash == nil || len(r.Threads) == 0 {
		t.Errorf("%v: %v", run.Args, err)
		return nil
	}
	r.Threads = r.Threads[:1]
	return r
}
