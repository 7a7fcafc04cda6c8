package v8_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	v8 "github.com/corewalk/corewalk/internal/runtimes/v8"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// nodes are the Nodes of this machine: that of the path, and those that COREWALK_NODES lists.
func nodes(t *testing.T) []string {
	t.Helper()
	fixture.Tools(t)
	var out []string
	for _, n := range filepath.SplitList(os.Getenv("COREWALK_NODES")) {
		if _, err := os.Stat(n); err == nil {
			out = append(out, n)
		}
	}
	if n, err := exec.LookPath("node"); err == nil && len(out) == 0 {
		out = append(out, n)
	}
	if len(out) == 0 {
		t.Skip("no Node is installed: Debian's nodejs, or npm's package node in COREWALK_NODES")
	}
	return out
}

// version is a Node's own word for its version, "v20.20.2".
func version(t *testing.T, node string) string {
	out, err := exec.Command(node, "--version").Output()
	if err != nil {
		t.Skipf("%s: %v", node, err)
	}
	return strings.TrimSpace(string(out))
}

// kinds are what the program does, and the options of its compilers.
var kinds = [][]string{
	{"all"}, {"hot"}, {"deep"}, {"esm"}, {"wasm"},
	{"timer"}, {"fs"}, {"tick"}, {"then"}, {"async"}, {"immediate"}, {"worker"},
	{"all", "--always-sparkplug"}, {"hot", "--always-sparkplug"},
	{"all", "--always-turbofan"}, {"hot", "--always-turbofan"},
	{"all", "--maglev"}, {"hot", "--maglev"},
}

// TestAgainstNode compares the calls of the thread that aborted with those that V8 printed itself just before.
func TestAgainstNode(t *testing.T) {
	t.Parallel()
	for _, node := range nodes(t) {
		name := version(t, node)
		for i, k := range kinds {
			if i > 1 && !fixture.IsLong(t) {
				break
			}
			t.Run(name+" "+strings.Join(k, ""), func(t *testing.T) {
				core, printed := die(t, node, k)
				compare(t, core, printed)
			})
		}
	}
}

// TestRaised: what was thrown is said as Node says it.
func TestRaised(t *testing.T) {
	const source = "testdata/src/node/frames.js"
	text, err := os.ReadFile(filepath.Join(fixture.Root(t), source))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes(t) {
		name := version(t, node)
		for kind, want := range map[string]struct{ what, where string }{
			"uncaught":         {"TypeError: no price for éclair", "function total("},
			"uncaughtProperty": {"TypeError: Cannot read properties of undefined (reading 'field')", "function reads("},
			"uncaughtValue":    {"string: a string", "throw 'a string'"},
			"rejection":        {"RangeError: out of stock", "throw new RangeError"},
			"named":            {"NotFound: no user 7", "function seeks("},
			"getterNamed":      {"HttpError: bad gateway", "case 'getterNamed'"},
			"ownNamed":         {"TypeFoo: x", "case 'ownNamed'"},
			"standardNamed":    {"Late: x", "case 'standardNamed'"},
			"many":             {"AggregateError: many", "case 'many'"},
			"coded":            {"TypeError: no port", "case 'coded'"},
			"codedTwice":       {"Error: ENOENT: no file", "case 'codedTwice'"},
			"codedOddly":       {"Error: odd", "case 'codedOddly'"},
			"object":           {"Object: { code: 7, msg: 'plain' }", "case 'object'"},
			"number":           {"number: 42", "case 'number'"},
			"nothing":          {"undefined: ", "case 'nothing'"},
			"instance":         {"Late: Late { by: 3 }", "case 'instance'"},
			"collection":       {"Late: Late(1) { 1 => 2 }", "case 'collection'"},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				// At every change one of each sort: an error, a rejection, a name, a code, an object that is no error.
				if !slices.Contains([]string{"uncaught", "rejection", "getterNamed", "codedOddly", "object", "collection"}, kind) {
					fixture.Long(t)
				}
				t.Parallel() // it waits for the kernel to write a core
				core, _ := die(t, node, []string{kind, "--abort-on-uncaught-exception"})
				_, r := analyze(t, core)
				if len(r.Crash.Raised) != 1 {
					t.Fatalf("%d exceptions", len(r.Crash.Raised))
				}
				x := r.Crash.Raised[0]
				line := 0
				if want.where != "" {
					before, _, _ := strings.Cut(string(text), want.where)
					line = 1 + strings.Count(before, "\n")
				}
				if f := r.Threads[0].Frames[*r.Crash.Frame]; kind != "rejection" && f.Source.Line != line {
					t.Errorf("the report points to %s:%d, not to line %d", f.Function, f.Source.Line, line)
				}
				if got := x.Type + ": " + x.Message; got != want.what || x.Line != line || x.Language != "javascript" {
					t.Errorf("%s, line %d, want %s, line %d", got, x.Line, want.what, line)
				}
			})
		}
	}
}

// TestRaisedDetails: an error has what Node prints below its stack, and the place is a call of the program that had to do with it, or Node's own, which is said.
func TestRaisedDetails(t *testing.T) {
	t.Parallel()
	const rejected = "UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise " +
		"which was not handled with .catch(). The promise rejected with the reason \"#<Object>\"."
	missing := "Error: ENOENT: no such file or directory, open '/no/such/file' { errno: -2, code: 'ENOENT', syscall: 'open', path: '/no/such/file' } at frames.js:210"
	for _, node := range nodes(t) {
		name := version(t, node)
		for kind, want := range map[string]struct {
			raised []string
			place  string
		}{
			"missing":       {[]string{missing}, "opens at frames.js:210"},
			"later":         {[]string{"RangeError: bad chunk  at frames.js:211"}, "fails at frames.js:211 (no longer on the stack)"},
			"address":       {[]string{"Error: listen EADDRNOTAVAIL: address not available 203.0.113.7:1 { code: 'EADDRNOTAVAIL', errno: -99, syscall: 'listen', address: '203.0.113.7', port: 1 } at node:events"}, "(Node's own: no call of the program is known)"},
			"rejectsObject": {[]string{rejected + " { code: 'ERR_UNHANDLED_REJECTION' } at ", "Object: { code: 7, order: { id: 3 } }  at "}, "(Node's own: no call of the program is known)"},
			"failsInWorker": {[]string{"JobError: no job { job: { id: 9 } } at frames.js:217"}, "works at frames.js:217 (no longer on the stack)"},
			"detailed":      {[]string{"AggregateError: all { [errors]: [ [Error: one], [TypeError: two] ], code: 'EX', 'odd key': null, self: [Circular], run: [Function: f], errno: -5 } at frames.js:224"}, "gives at frames.js:224"},
			"invalid":       {[]string{"TypeError [ERR_INVALID_ARG_TYPE]: The \"size\" argument must be of type number. Received type string ('three') { code: 'ERR_INVALID_ARG_TYPE' } at frames.js:226"}, "asks at frames.js:226"},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel() // it waits for the kernel to write a core
				core, _ := die(t, node, []string{kind, "--abort-on-uncaught-exception"})
				target, r := analyze(t, core)
				var got []string
				for _, x := range r.Crash.Raised {
					at := filepath.Base(x.File)
					if at == "frames.js" {
						at += fmt.Sprint(":", x.Line)
					} else if strings.HasPrefix(x.File, "node:") {
						at, _, _ = strings.Cut(x.File, ".")
					} else {
						at = ""
					}
					if strings.HasPrefix(name, "v18") { // which has the properties in another order
						x.Details = strings.Replace(x.Details, "syscall: 'open', code: 'ENOENT'", "code: 'ENOENT', syscall: 'open'", 1)
					}
					got = append(got, x.Type+": "+x.Message+" "+x.Details+" at "+at)
				}
				if !slices.Equal(got, want.raised) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want.raised, "\n"))
				}
				var text strings.Builder
				report.WriteText(&text, r, report.TextOptions{Width: 200})
				if !strings.Contains(text.String(), want.place+", thread ") {
					head, _, _ := strings.Cut(text.String(), "\nThread")
					t.Errorf("the report points elsewhere than to %q:\n%s", want.place, head)
				}
				recordRaised(t, target)
			})
		}
	}
}

// recordRaised records the exception of the thread that crashed, with -record.
func recordRaised(t *testing.T, target *corewalk.Target) {
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, _ := w.WalkStack(unwind.NullThread)
	for range target.Tasks(context.Background(), func(p *tasks.Process) (tasks.Runtime, error) { v8.RecordRaised(t, p, s); return nil, nil }) {
		break
	}
}

// TestAssertion: an error of Node's own has the code that Node writes.
func TestAssertion(t *testing.T) {
	for _, node := range nodes(t) {
		core, _ := die(t, node, []string{"assertion", "--abort-on-uncaught-exception"})
		_, r := analyze(t, core)
		if len(r.Crash.Raised) != 1 || r.Crash.Raised[0].Type != "AssertionError [ERR_ASSERTION]" || !strings.HasPrefix(r.Crash.Raised[0].Message, "one is two") {
			t.Errorf("%s: %+v", version(t, node), r.Crash.Raised)
		}
	}
}

// TestOutOfHeap: V8 that has no room any more in its heap is the cause, and the function of the program the place.
func TestOutOfHeap(t *testing.T) {
	t.Parallel()
	for _, node := range nodes(t) {
		core, _ := die(t, node, []string{"heap", "--max-old-space-size=20"})
		_, r := analyze(t, core)
		if r.Crash.Kind != report.CrashOutOfMemory || r.Crash.Reason != "JavaScript heap out of memory" {
			t.Errorf("%s: %s (%s)", version(t, node), r.Crash.Reason, r.Crash.Kind)
		}
		if f := r.Threads[0].Frames[*r.Crash.Frame]; f.Function != "hoards" {
			t.Errorf("%s: the report points to %s", version(t, node), f.Function)
		}
	}
}

// TestCauses: the errors that an error came of are told, and a circle of them ends.
func TestCauses(t *testing.T) {
	t.Parallel()
	for _, node := range nodes(t) {
		for _, circle := range []bool{false, true} {
			core, _ := die(t, node, []string{"cause", "--abort-on-uncaught-exception"}, map[bool][]string{true: {"circle"}}[circle]...)
			_, r := analyze(t, core)
			var got []string
			for _, x := range r.Crash.Raised {
				got = append(got, x.Relation+" "+x.Type+": "+x.Message+x.Details) // a cause is told by itself
			}
			want := []string{" Error: no offer", "cause RangeError: too low"}
			if circle {
				want = slices.Repeat([]string{"cause Error: no offer", "cause RangeError: too low"}, 4)
				want[0] = " Error: no offer"
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", version(t, node), got, want)
			}
		}
	}
}

// die runs the program until it dies.
func die(t *testing.T, node string, kind []string, args ...string) (core string, printed []byte) {
	t.Helper()
	dir := t.TempDir()
	source, err := os.ReadFile(filepath.Join(fixture.Root(t), "testdata/src/node/frames.js"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "frames.js")
	if err := os.WriteFile(program, source, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := fixture.Dies(dir, node, append(append(slices.Clone(kind[1:]), program, kind[0]), args...)...)
	cmd.Env = append(os.Environ(), "FRAMES_DIR="+dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	printed, _ = cmd.Output()
	if strings.Contains(errs.String(), "bad option") {
		t.Skipf("this Node has no %s", kind[1:])
	}
	return fixture.CoreIn(t, dir), printed
}

// files shares what is open of Node's own file, of 100 MB, and what was read of it.
var files = sync.OnceValue(func() corewalk.Option { return corewalk.WithCache(corewalk.NewCache(context.Background(), 0)) })

func analyze(t *testing.T, core string) (*corewalk.Target, *report.Report) {
	t.Helper()
	ctx := context.Background()
	target, err := corewalk.Open(ctx, core, files())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return target, r
}

// calls are the calls from die on, as the program prints them.
func calls(r *report.Report) (out []string) {
	for _, th := range r.Threads {
		for _, f := range th.Frames {
			if f.Language == "" || len(out) == 0 && f.Function != "die" {
				continue
			}
			name, file := f.Function, f.Source.File
			if name == "<anonymous>" {
				name = ""
			}
			if f.Language == "wasm" { // V8 numbers the lines of a module, too
				file, _, _ = strings.Cut(file, ":wasm-function[")
				f.Source.Line = 1
			}
			out = append(out, fmt.Sprintf("%s %s:%d", name, file, f.Source.Line))
		}
	}
	return out
}

func compare(t *testing.T, core string, printed []byte) {
	target, r := analyze(t, core)
	got := calls(r)
	var want []string
	for s := bufio.NewScanner(bytes.NewReader(printed)); s.Scan(); {
		var site [3]any
		if err := json.Unmarshal(s.Bytes(), &site); err != nil || site[0] == "show" {
			continue
		}
		file := strings.TrimPrefix(site[1].(string), "file://")
		want = append(want, fmt.Sprintf("%s %s:%v", site[0], file, site[2]))
	}
	if len(want) < 10 {
		t.Fatalf("the program printed %q", printed)
	}
	if f := r.Threads[0].Frames[*r.Crash.Frame]; f.Function != "die" && slices.ContainsFunc(r.Threads[0].Frames, func(f report.Frame) bool { return f.Function == "die" }) {
		t.Errorf("the report points to %s", f.Function)
	}
	bad, inlined := 0, 0
	for i := 0; i < len(want) && i < len(got); i++ {
		// TurboFan may inline a function of V8's own: only what undoes that knows of it, which is not read.
		if strings.HasSuffix(want[i], " :0") && got[i] != want[i] && inlined == 0 {
			want = slices.Delete(want, i, i+1)
			inlined++
		}
	}
	for i := range max(len(want), len(got)) {
		w, g := "nothing", "nothing"
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			if bad++; bad < 5 {
				t.Errorf("call %d is %s, want %s", i, g, w)
			}
		}
	}
	t.Logf("%d calls, %d wrong, %d of V8's own inlined", len(want), bad, inlined)
	record(t, target)
}

// record records the stack of the thread that crashed, with -record.
func record(t *testing.T, target *corewalk.Target) {
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, _ := w.WalkStack(unwind.NullThread)
	for range target.Tasks(context.Background(), func(p *tasks.Process) (tasks.Runtime, error) { v8.Record(t, p, s); return nil, nil }) {
		break
	}
}
