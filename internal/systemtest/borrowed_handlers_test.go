package systemtest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestBorrowedHandlers: a handler that is a function of the C library is where the program failed, if it fails, and not the code that the signal interrupted.
// If it ends the program, the report says that the place is what the signal interrupted.
func TestBorrowedHandlers(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions are of x86-64")
	}
	exe := fixture.Compile(t, "gcc", "signals/borrowed.c", "-g", "-O1", "-w")
	for _, c := range []struct {
		how, handler string
		place        string
		reason       string // how it ends
	}{
		{"raise", "puts", "puts", "null+0xa)"},
		{"alarm", "puts", "puts", "null+0xe)"},
		{"raise", "abort", "work", "abort called by the program itself, in the handler of SIGUSR1"},
		{"alarm", "abort", "work", "abort called by the program itself, in the handler of a signal (likely SIGALRM)"},
		{"fault", "abort", "work", "SIGSEGV caught: read of 4 bytes at null; its handler called abort"},
		{"raise", "own", "lineless", "abort called by the program itself"},
		{"alarm", "own", "lineless", "abort called by the program itself"},
		{"fault", "own", "work", "SIGSEGV caught: read of 4 bytes at null; its handler called abort"},
	} {
		r := analyzeCore(t, fixture.Crash(t, nil, exe, c.how, c.handler), exe)
		if r.Crash == nil || r.Crash.Frame == nil {
			t.Fatalf("%s %s: %+v", c.how, c.handler, r.Crash)
		}
		place := strings.TrimPrefix(r.Threads[0].Frames[*r.Crash.Frame].Function, "_IO_")
		if place != c.place || !strings.HasSuffix(r.Crash.Reason, c.reason) {
			t.Errorf("%s %s: %s, %s, want %s, %s", c.how, c.handler, place, r.Crash.Reason, c.place, c.reason)
		}
	}
}
