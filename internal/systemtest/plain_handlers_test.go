package systemtest

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// TestPlainHandlers asks of programs that die in handlers without SA_SIGINFO which signals these were called for: the
// source says so. What lies in the place of the siginfo_t is that of SIGFPE, or of a signal that came before.
func TestPlainHandlers(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions are of x86-64")
	}
	exe := fixture.Compile(t, "gcc", "signals/plain.c", "-g", "-O1", "-fno-optimize-sibling-calls")
	for _, c := range []struct {
		how     string
		signals string // from the youngest, with [likely]
		kind    string
		place   string // the function of the second line
		reason  string
		cause   string // the first
	}{
		{"read", "SIGSEGV", report.CrashNullRead, "touch", "SIGSEGV caught: read of 4 bytes at null; its handler called abort",
			"*nowhere where nowhere = 0x0, global, read by touch at plain.c:"},
		{"nodefer", "SIGSEGV", report.CrashNullRead, "touch", "SIGSEGV caught: read of 4 bytes at null; its handler called abort", ""},
		{"once", "SIGSEGV", report.CrashNullRead, "touch", "SIGSEGV caught: read of 4 bytes at null; its handler called abort", ""},
		{"divide", "SIGFPE", report.CrashDivZero, "divide", "SIGFPE caught: integer division by zero; its handler called abort",
			"zero = 0, global, read by divide at plain.c:"},
		{"illegal", "SIGILL", report.CrashTrap, "illegal", "SIGILL caught: trap instruction (ud2), placed where code must not be reached; its handler called abort", ""},
		{"stop", "SIGTRAP", "", "", "", ""},
		{"crash", "SIGSEGV", report.CrashNullWrite, "broken", "write of 4 bytes at null", ""},
		{"stale", "SIGUSR2", report.CrashAbort, "end", "abort called by the program itself", ""},
		{"raise", "SIGUSR1", report.CrashAbort, "end", "abort called by the program itself", ""},
		{"other", "SIGUSR1 [likely]", report.CrashAbort, "end", "abort called by the program itself", ""},
		{"pending", "SIGUSR2 [likely] SIGUSR1", report.CrashAbort, "end", "abort called by the program itself", ""},
		{"alarm", "SIGALRM [likely]", report.CrashAbort, "end", "abort called by the program itself", ""},
	} {
		t.Run(c.how, func(t *testing.T) {
			r := analyzeCore(t, fixture.Crash(t, nil, exe, c.how), exe)
			var signals []string
			for _, f := range r.Threads[0].Frames {
				if f.Signal != "" {
					s := f.Signal
					if f.SignalConfidence != "" {
						s += " [" + f.SignalConfidence + "]"
					}
					signals = append(signals, s)
				}
			}
			if got := strings.Join(signals, " "); got != c.signals {
				t.Errorf("signals %q, want %q", got, c.signals)
			}
			if c.kind == "" {
				return
			}
			if got := r.Crash; got.Kind != c.kind || got.Reason != c.reason || got.Frame == nil || r.Threads[0].Frames[*got.Frame].Function != c.place {
				t.Errorf("%s: %s, frame %v", got.Kind, got.Reason, got.Frame)
			}
			if c.cause != "" && (len(r.Crash.Causes) == 0 || !strings.HasPrefix(r.Crash.Causes[0].Text, c.cause)) {
				t.Errorf("causes %+v, want %q first", r.Crash.Causes, c.cause)
			}
			if slices.ContainsFunc(r.Crash.Causes, func(x report.Cause) bool { return strings.Contains(x.Text, "caught earlier") }) != (c.how == "crash") {
				t.Errorf("causes %+v", r.Crash.Causes)
			}
		})
	}
	// What lay in the stack before makes no other group of the same fault.
	groups := map[string]bool{}
	for _, how := range []string{"read", "nodefer", "once"} {
		groups[signature.Of(analyzeCore(t, fixture.Crash(t, nil, exe, how), exe)).Hash] = true
	}
	if len(groups) != 1 {
		t.Errorf("%d groups of one fault", len(groups))
	}
}

func analyzeCore(t *testing.T, core, exe string) *report.Report {
	t.Helper()
	target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(exe), corewalk.WithDebugDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
