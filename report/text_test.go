package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// Libraries of this machine that the dump cannot have had are one line; the program, and files from elsewhere,
// have their own.
func TestOtherBuilds(t *testing.T) {
	r := &Report{}
	add := func(m Module) {
		m.Status = ModuleMismatched
		r.Modules = append(r.Modules, m)
		r.Warnings = append(r.Warnings, Warning{Code: WarnMismatched, Module: m.Path, Message: "is another"})
	}
	text := func() string {
		var b strings.Builder
		if err := WriteText(&b, r, TextOptions{Wide: true}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const line = " libraries are of other builds than this machine's: "
	add(Module{Path: "/bin/prog", File: "/bin/prog", Main: true})
	add(Module{Path: "/lib/libz.so", File: "/builds/libz.so"})
	add(Module{Path: "/lib/lib0.so", File: "/lib/lib0.so"})
	if got := text(); strings.Contains(got, line) || strings.Count(got, ": is another") != 3 {
		t.Errorf("one library:\n%s", got)
	}
	for i := 1; i < 10; i++ {
		path := fmt.Sprintf("/lib/lib%d.so", i)
		add(Module{Path: path, File: path})
	}
	if got := text(); !strings.Contains(got, "10"+line+"lib0.so, lib1.so,") || !strings.Contains(got, "lib7.so and 2 more.") || strings.Count(got, ": is another") != 2 {
		t.Errorf("ten libraries:\n%s", got)
	}
}

func TestOptimisedOut(t *testing.T) {
	r := &Report{Threads: []Thread{{ID: 1, Frames: []Frame{{Function: "f", Locals: []Variable{
		{Name: "gone", Status: StatusOutOfScope, Reason: optimisedOut}, {Name: "here", Value: "7", Status: StatusSuccess}}}}}}}
	for _, tt := range []struct {
		opts TextOptions
		all  bool
	}{{TextOptions{}, false}, {TextOptions{AllLocals: true}, true}, {TextOptions{Explain: true}, true}} {
		var b strings.Builder
		if err := WriteText(&b, r, tt.opts); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if strings.Contains(got, "gone = <optimised out>") != tt.all || !strings.Contains(got, "here = 7") || !strings.Contains(got, "Not known: 1 of 2 variables (optimised out)") {
			t.Errorf("%+v:\n%s", tt.opts, got)
		}
	}
}

func TestActivity(t *testing.T) {
	thread := func(state string, cpu float64) *Thread { return &Thread{State: state, CPUSeconds: cpu} }
	for want, group := range map[string][]*Thread{
		"":                                      {thread("", 0), thread("", 0)},
		", sleeping, 0.00 s of CPU":             {thread("sleeping", 0)},
		", sleeping, 1.50 s of CPU":             {thread("sleeping", 1), thread("sleeping", .5)},
		", 1 running, 2 stopped, 1.00 s of CPU": {thread("running", 1), thread("stopped", 0), thread("stopped", 0)},
	} {
		if got := activity(group); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

var textTests = []struct {
	name  string
	make  func() *Report
	opts  TextOptions
	width int // widest line allowed; 0 for 100
}{
	{name: "queue", make: sampleQueue, width: 107},
	{name: "queue-color", make: sampleQueue, opts: TextOptions{Color: true}, width: 107},
	{name: "queue-narrow", make: sampleQueue, opts: TextOptions{Width: 60}, width: 90},
	{name: "queue-wide", make: sampleQueue, opts: TextOptions{Width: 60, Wide: true, Paths: PathsFull}, width: 160},
	{name: "queue-relative", make: sampleQueue, opts: TextOptions{Paths: PathsRelative, Dir: "/src"}, width: 107},
	{name: "folds", make: sampleFolds, opts: TextOptions{}},
	{name: "recursion", make: sampleRecursion},
	{name: "recursion-unfolded", make: sampleRecursion, opts: TextOptions{Unfolded: true, MaxFrames: 10}},
	{name: "kinds", make: sampleKinds, width: 105},
	{name: "kinds-noinlines", make: sampleKinds, opts: TextOptions{HideInlines: true}, width: 105},
	{name: "gaps", make: sampleGaps},
	{name: "hostile", make: sampleHostile, opts: TextOptions{ShowRegisters: true}, width: 1400},
	{name: "explain", make: sampleExplain, opts: TextOptions{Explain: true}},
	{name: "process", make: sampleProcess},
	{name: "process-wide", make: sampleProcess, opts: TextOptions{Wide: true}, width: 600},
	{name: "around", make: sampleAround},
	{name: "around-wide", make: sampleAround, opts: TextOptions{Wide: true}, width: 200},
	{name: "registers", make: sampleRegisters, opts: TextOptions{ShowRegisters: true}},
}

func TestWriteText(t *testing.T) {
	for _, test := range textTests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := WriteText(&out, test.make(), test.opts); err != nil {
				t.Fatal(err)
			}
			golden(t, test.name+".txt", out.Bytes())
			checkText(t, out.String(), test.opts.Color, max(100, test.width))
		})
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkText checks what holds for every text: no line ends in a space, is too long, or has anything that a
// terminal obeys.
func checkText(t *testing.T, text string, color bool, limit int) {
	t.Helper()
	if color {
		text = sgr.ReplaceAllString(text, "")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.TrimRight(line, " \t") != line {
			t.Errorf("trailing space: %q", line)
		}
		if n := width(line); n > limit {
			t.Errorf("%d columns: %s", n, line)
		}
		if clean(line) != line {
			t.Errorf("not clean: %q", line)
		}
	}
}

func TestColorOnlyAdds(t *testing.T) {
	for _, test := range textTests {
		if test.opts.Color {
			continue
		}
		var bare, colored bytes.Buffer
		WriteText(&bare, test.make(), test.opts)
		test.opts.Color = true
		WriteText(&colored, test.make(), test.opts)
		if bare.Len() == colored.Len() {
			t.Errorf("%s: no colour", test.name)
		}
		if diff := cmp.Diff(bare.String(), sgr.ReplaceAllString(colored.String(), "")); diff != "" {
			t.Errorf("%s: colour changes the text:\n%s", test.name, diff)
		}
	}
}

// TestHeadline checks what is shown in place of unknown facts.
func TestHeadline(t *testing.T) {
	tests := []struct {
		r    Report
		want string
	}{
		{Report{}, "process was running when dumped: no signal, no exception"},
		{Report{Dump: Dump{Format: FormatLive, PID: 3, Command: "x"}}, "x[3] is alive"},
		{Report{Crash: &Crash{}}, "process died of an unknown cause"},
		{Report{Crash: &Crash{SignalNumber: 70, Code: "SI_USER"}}, "process died of signal 70: SI_USER"},
		{Report{Crash: &Crash{Signal: "SIGBUS", Address: new(Addr)}}, "process died of SIGBUS: at address 0x0"},
		{Report{Crash: &Crash{Exception: "E", Code: "0xc5", Address: new(Addr(16)), Frame: new(9)}, Threads: []Thread{{}}},
			"process died of E: 0xc5 at address 0x10\n  thread 0 (1 of 1)\n\nThread 0\n  no frames"},
	}
	for _, test := range tests {
		var out bytes.Buffer
		WriteText(&out, &test.r, TextOptions{})
		if got := strings.TrimSuffix(out.String(), "\n"); got != test.want {
			t.Errorf("have %q\nwant %q", got, test.want)
		}
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken pipe")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterErrors(t *testing.T) {
	r, info := sampleRecursion(), sampleInfo()
	for name, write := range map[string]func() error{
		"WriteText":           func() error { return WriteText(brokenWriter{}, r, TextOptions{Unfolded: true}) },
		"WriteJSON":           func() error { return WriteJSON(brokenWriter{}, r) },
		"WriteInfoText":       func() error { return WriteInfoText(brokenWriter{}, info, TextOptions{}) },
		"WriteInfoJSON":       func() error { return WriteInfoJSON(brokenWriter{}, info) },
		"WriteMemoryText":     func() error { return WriteMemoryText(brokenWriter{}, filled[Memory](), TextOptions{}) },
		"WriteMemoryDiffText": func() error { return WriteMemoryDiffText(brokenWriter{}, filled[MemoryDiff](), TextOptions{}) },
		"WriteMemoryDiffJSON": func() error { return WriteMemoryDiffJSON(brokenWriter{}, filled[MemoryDiff]()) },
		"WriteMemoryJSON":     func() error { return WriteMemoryJSON(brokenWriter{}, filled[Memory]()) },
		"WriteMissing":        func() error { return WriteMissing(brokenWriter{}, info.Modules) },
	} {
		if err := write(); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v, want %v", name, err, errBroken)
		}
	}
}

func TestWriteInfo(t *testing.T) {
	in := sampleInfo()
	var text, doc, missing bytes.Buffer
	if err := WriteInfoText(&text, in, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "info.txt", text.Bytes())
	checkText(t, text.String(), false, 130)
	if err := WriteInfoJSON(&doc, in); err != nil {
		t.Fatal(err)
	}
	golden(t, "info.json", doc.Bytes())
	modules := append(in.Modules, sampleHostile().Modules[4:]...)
	if err := WriteMissing(&missing, append(modules, modules...)); err != nil {
		t.Fatal(err)
	}
	golden(t, "missing.txt", missing.Bytes())
	checkText(t, missing.String(), false, 100)
}

// TestEmptyInfo checks that tables without rows are left out.
func TestEmptyInfo(t *testing.T) {
	var out bytes.Buffer
	if err := WriteInfoText(&out, &Info{Dump: Dump{Format: FormatMinidump}}, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "minidump\n\nStreams: 0\n\nMappings: 0\n\nModules: 0\n"
	if out.String() != want {
		t.Errorf("have %q\nwant %q", out.String(), want)
	}
}

// TestSignalText: which signal a trampoline delivered, and how sure that is.
func TestSignalText(t *testing.T) {
	for want, f := range map[string]Frame{
		"--- signal 14 (SIGALRM) delivered here ---":          {Signal: "SIGALRM", SignalNumber: 14},
		"--- signal 14 (SIGALRM) delivered here [likely] ---": {Signal: "SIGALRM", SignalNumber: 14, SignalConfidence: "likely"},
		"--- a signal delivered here ---":                     {Signal: UnknownSignal},
	} {
		if got := signalText(&f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Words of which nobody knows where an argument ends are not quoted as if they were arguments.
func TestJoinedArguments(t *testing.T) {
	r := sampleProcess()
	r.Process.Arguments, r.Process.ArgumentsCut = []string{"php", "-r", "f();\x1b", "g();"}, false
	for joined, want := range map[bool]string{false: `command: php -r 'f();\x1b' 'g();'`, true: `command: php -r f();\x1b g();`} {
		r.Process.ArgumentsJoined = joined
		var b strings.Builder
		if err := WriteText(&b, r, TextOptions{Wide: true}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("joined %v: %s", joined, b.String()[:200])
		}
	}
}
