package systemtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestMessages compares what is read from the cores with what the programs wrote to
// their standard error.
func TestMessages(t *testing.T) {
	n := 0
	for _, c := range fixture.Cases(t) {
		said, err := os.ReadFile(filepath.Join(c.Dir, "stderr.txt"))
		if err != nil {
			continue
		}
		n++
		t.Run(c.Name, func(t *testing.T) {
			r := analyzeCase(t, c)
			if r.Crash == nil {
				t.Fatal("no crash")
			}
			want := strings.TrimRight(string(said), "\n")
			got := r.Crash.Message
			// Of a panic the thread is told before the message, and advice after it.
			if got != want && (r.Crash.Panic == nil || !strings.Contains(want, " "+got+"\n")) {
				t.Errorf("message\n%q, the program wrote\n%q", got, want)
			}
			if r.Crash.MessageSource == "" {
				t.Error("no source")
			}
		})
	}
	if n < 8 {
		t.Errorf("only %d fixtures have a stderr.txt", n)
	}
}

// TestPanics checks the panics of Rust and Go.
func TestPanics(t *testing.T) {
	for _, tc := range []struct {
		name, message, reason string
		panic                 report.Panic
	}{
		{"amd64-rust-unwrap", "panicked at unwrap.rs:8:36:\ncalled `Option::unwrap()` on a `None` value",
			"panic at unwrap.rs:8: called `Option::unwrap()` on a `None` value",
			report.Panic{Runtime: "rust", Value: "called `Option::unwrap()` on a `None` value", File: "unwrap.rs", Line: 8, Column: 36}},
		{"amd64-words-rust", "panicked at lastwords.rs:14:5:\ncannot bind port 8080: in use", "panic at lastwords.rs:14: cannot bind port 8080: in use",
			report.Panic{Runtime: "rust", Value: "cannot bind port 8080: in use", File: "lastwords.rs", Line: 14, Column: 5}},
		{"amd64-words-rust-stripped", "panicked at lastwords.rs:24:5:\nindex out of bounds: the len is 3 but the index is 7",
			"panic at lastwords.rs:24: index out of bounds: the len is 3 but the index is 7",
			report.Panic{Runtime: "rust", Value: "index out of bounds: the len is 3 but the index is 7", File: "lastwords.rs", Line: 24, Column: 5}},
		{"amd64-go-nil", "panic: runtime error: invalid memory address or nil pointer dereference",
			"panic: runtime error: invalid memory address or nil pointer dereference (goroutine 1): read of 8 bytes at null",
			report.Panic{Runtime: "go", Type: "runtime.errorString", Value: "runtime error: invalid memory address or nil pointer dereference", Goroutine: 1}},
		{"amd64-go-stripped", "panic: food is overdrawn", "panic: food is overdrawn (goroutine 6)",
			report.Panic{Runtime: "go", Type: "*main.overdrawn", Value: "food is overdrawn", Goroutine: 6}},
		{"amd64-go-stripped-118", "panic: food is overdrawn", "panic: food is overdrawn (goroutine 6)",
			report.Panic{Runtime: "go", Type: "*main.overdrawn", Value: "food is overdrawn", Goroutine: 6}},
		{"amd64-go-stripped-pie", "fatal error: sync: unlock of unlocked mutex", "fatal error: sync: unlock of unlocked mutex (goroutine 1)",
			report.Panic{Runtime: "go", Value: "sync: unlock of unlocked mutex", Fatal: true, Goroutine: 1}},
		{"aarch64-go-stripped", "fatal error: sync: unlock of unlocked mutex", "fatal error: sync: unlock of unlocked mutex (goroutine 1)",
			report.Panic{Runtime: "go", Value: "sync: unlock of unlocked mutex", Fatal: true, Goroutine: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := analyzeCase(t, fixture.Get(t, tc.name)).Crash
			kind := report.CrashException
			if c.Address != nil { // the fault that the panic stands for
				kind = report.CrashNullRead
			}
			if c.Message != tc.message || c.Reason != tc.reason || c.Kind != kind {
				t.Errorf("message %q, reason %q, kind %q", c.Message, c.Reason, c.Kind)
			}
			if c.Panic == nil || *c.Panic != tc.panic {
				t.Errorf("panic %+v, want %+v", c.Panic, tc.panic)
			}
		})
	}
}

// TestLastWords checks what is known besides the message.
func TestLastWords(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, tc := range []struct {
		name, kind, source string
		assertion          *report.Assertion
		thrown             []report.Thrown
	}{
		{name: "amd64-assert", kind: report.CrashAssertion, source: "__abort_msg in libc.so.6",
			assertion: &report.Assertion{Expression: "x == 7", File: "ends.c", Line: 23, Function: "claim"}},
		{name: "amd64-words-perror", kind: report.CrashAssertion, source: "__abort_msg in libc.so.6",
			assertion: &report.Assertion{Error: "No space left on device", File: "lastwords.c", Line: 32, Function: "claim_success"}},
		{name: "amd64-words-free", kind: report.CrashHeapCorruption, source: "__abort_msg in libc.so.6"},
		{name: "amd64-words-fortify", kind: report.CrashInvalidArgument, source: "__abort_msg in libc.so.6"},
		{name: "amd64-smash-canary", kind: report.CrashStackOverrun, source: "__abort_msg in libc.so.6"},
		{name: "amd64-cxx-uncaught", kind: report.CrashException, source: "caughtExceptions in libstdc++.so.6.0.30",
			thrown: []report.Thrown{{Type: "std::runtime_error", What: text("empty text"), Runtime: "libstdc++"}}},
		{name: "amd64-words-nested", kind: report.CrashException, source: "caughtExceptions in libstdc++.so.6.0.30",
			thrown: []report.Thrown{{Type: "Config", What: text("cannot read the configuration"), Runtime: "libstdc++"},
				{Type: "std::out_of_range", What: text("key 'port' is missing"), Runtime: "libstdc++"}}},
		{name: "amd64-words-string", kind: report.CrashException, source: "caughtExceptions in libstdc++.so.6.0.30",
			thrown: []report.Thrown{{Type: "std::string", What: text("a string that is longer than what fits inside"), Runtime: "libstdc++"}}},
		{name: "amd64-words-libcxx", kind: report.CrashException, source: "caughtExceptions in lastwords",
			thrown: []report.Thrown{{Type: "Several", What: text("index 9 of 3"), Runtime: "libc++abi"}}},
		{name: "amd64-words-thread", kind: report.CrashException, source: "caughtExceptions in libstdc++.so.6.0.30"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := analyzeCase(t, fixture.Get(t, tc.name)).Crash
			if c.Kind != tc.kind || c.MessageSource != tc.source {
				t.Errorf("kind %q from %q, want %q from %q", c.Kind, c.MessageSource, tc.kind, tc.source)
			}
			if (c.Assertion == nil) != (tc.assertion == nil) || c.Assertion != nil && *c.Assertion != *tc.assertion {
				t.Errorf("assertion %+v, want %+v", c.Assertion, tc.assertion)
			}
			if len(c.Thrown) != len(tc.thrown) {
				t.Fatalf("thrown %+v, want %+v", c.Thrown, tc.thrown)
			}
			for i, got := range c.Thrown {
				want := tc.thrown[i]
				if got.Type != want.Type || got.Runtime != want.Runtime || got.What == nil || *got.What != *want.What || got.Address == 0 {
					t.Errorf("thrown %d: %+v, want %+v", i, got, want)
				}
			}
		})
	}
}

// TestAssertionOfDump: Breakpad's writer tells what a handler of Windows' C library was
// called for.
func TestAssertionOfDump(t *testing.T) {
	path := filepath.Join(foreignDumps(t), "rust-minidump", "invalid-parameter.dmp")
	target, err := corewalk.Open(context.Background(), path, corewalk.WithDebugDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Crash
	if c.Message != "format != nullptr" || !strings.HasPrefix(c.Reason, "assertion `format != nullptr' failed at output.cpp:32 in ") {
		t.Errorf("message %q, reason %q", c.Message, c.Reason)
	}
	if a := c.Assertion; a == nil || a.Expression != "format != nullptr" || a.Line != 32 || !strings.HasSuffix(a.File, "output.cpp") {
		t.Errorf("assertion %+v", a)
	}
}
