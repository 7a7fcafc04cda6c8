package systemtest

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
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

// TestAda checks what is told of exceptions of Ada, and where the program is to be looked at first.
func TestAda(t *testing.T) {
	check, broken := "raising.adb:36 index check failed", "while recovering"
	handled := report.Raised{Language: "ada", Type: "CONSTRAINT_ERROR", File: "raising.adb", Line: 36, Message: "index check failed", Handled: true}
	outer := handled
	outer.Relation = "context"
	thrown := func(name, what string) []report.Thrown {
		return []report.Thrown{{Type: name, What: &what, Runtime: report.RuntimeGNAT}}
	}
	for _, tc := range []struct {
		name, reason, kind, function string
		line                         int
		thrown                       []report.Thrown
		raised                       []report.Raised
	}{
		{"index", "raised CONSTRAINT_ERROR : " + check, report.CrashException, "raising__element", 36, thrown("CONSTRAINT_ERROR", check), nil},
		{"task", "raised CONSTRAINT_ERROR : " + check, report.CrashException, "raising__element", 36, thrown("CONSTRAINT_ERROR", check), nil},
		{"full", "stack overflow: no room on the stack for the handler of a signal", report.CrashStackOverflow, "raising__element", 36, thrown("CONSTRAINT_ERROR", check), nil},
		{"stripped", "SIGSEGV caught: read of 4 bytes at null; its handler raised STORAGE_ERROR : stack overflow or erroneous memory access",
			report.CrashNullRead, "", 0, thrown("STORAGE_ERROR", "stack overflow or erroneous memory access"), nil},
		{"null", "SIGSEGV caught: read of 4 bytes at null; its handler raised STORAGE_ERROR : stack overflow or erroneous memory access",
			report.CrashNullRead, "raising__value", 56, thrown("STORAGE_ERROR", "stack overflow or erroneous memory access"), nil},
		{"second", "raised RAISING.BROKEN : " + broken, report.CrashException, "raising__recover", 98, thrown("RAISING.BROKEN", broken), []report.Raised{handled}},
		{"handler", "abort called while handling CONSTRAINT_ERROR : " + check, report.CrashAbort, "raising__give_up", 19, nil, []report.Raised{handled}},
		{"nested", "abort called while handling RAISING.BROKEN : " + broken, report.CrashAbort, "raising__give_up", 19, nil,
			[]report.Raised{{Language: "ada", Type: "RAISING.BROKEN", Message: broken, Handled: true}, outer}},
		{"assert", "assertion `count > 0' failed at store.c:7 in store", report.CrashAssertion, "raising__assert", 72,
			thrown("PROGRAM_ERROR", "unhandled signal"), []report.Raised{handled}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := analyzeCase(t, fixture.Get(t, "amd64-raised-"+tc.name))
			c := r.Crash
			if c.Reason != tc.reason || c.Kind != tc.kind {
				t.Errorf("%s: %s, want %s: %s", c.Kind, c.Reason, tc.kind, tc.reason)
			}
			if f := r.Threads[0].Frames[*c.Frame]; tc.function != "" && (f.Function != tc.function || f.Source.Line != tc.line) {
				t.Errorf("at %s line %d, want %s line %d", f.Function, f.Source.Line, tc.function, tc.line)
			}
			for i := range c.Thrown {
				if c.Thrown[i].Address == 0 {
					t.Error("an exception without an address")
				}
				c.Thrown[i].Address = 0
			}
			if !reflect.DeepEqual(c.Thrown, tc.thrown) || !reflect.DeepEqual(c.Raised, tc.raised) {
				t.Errorf("thrown %+v, raised %+v, want %+v, %+v", c.Thrown, c.Raised, tc.thrown, tc.raised)
			}
		})
	}
}

// TestFortran checks what is told of errors that gfortran's library reports, and where the program is to be looked at first.
func TestFortran(t *testing.T) {
	for _, tc := range []struct {
		name, reason, kind, function string
		line                         int
	}{
		{"bounds", "Fortran runtime error: Index '6' of dimension 1 of array 'a' above upper bound of 5", report.CrashAbort, "work::store", 8},
		{"twice", "Fortran runtime error: Attempting to allocate already allocated variable 'b'", report.CrashAbort, "work::twice", 14},
		{"much", "In file 'fortran.f90', around line 20: Error allocating 4611686018427387904 bytes", report.CrashOutOfMemory, "work::much", 19},
		{"load", "Fortran runtime error: Cannot open file '/nonexistent': No such file or directory", report.CrashAbort, "work::load", 25},
		{"stop", "ERROR STOP the matrix is singular", report.CrashAbort, "work::ends", 30},
		{"normal", "abort called by the program itself", report.CrashAbort, "leave_core", 4}, // the program had ended well
		{"abort", "abort called by the program itself", report.CrashAbort, "work::ends", 33},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := analyzeCase(t, fixture.Get(t, "amd64-fortran-"+tc.name))
			if c := r.Crash; c.Reason != tc.reason || c.Kind != tc.kind {
				t.Errorf("%s: %s, want %s: %s", c.Kind, c.Reason, tc.kind, tc.reason)
			}
			if f := r.Threads[0].Frames[*r.Crash.Frame]; f.Function != tc.function || f.Source.Line != tc.line {
				t.Errorf("at %s line %d, want %s line %d", f.Function, f.Source.Line, tc.function, tc.line)
			}
		})
	}
}
