package systemtest

import (
	"regexp"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestAbortAgain: a SIGABRT whose handler ends the program is told by how it came, and where: by abort, or from another process.
func TestAbortAgain(t *testing.T) {
	exe := fixture.Compile(t, "gcc", "again.c", "-O1", "-g")
	for _, c := range []struct{ first, how, kind, reason, place string }{
		{"own", "kill", report.CrashAbort, "^abort called by the program itself; its handler raised it again$", "give_up"},
		{"own", "raise", report.CrashAbort, "^abort called by the program itself; its handler raised it again$", "give_up"},
		{"own", "abort", report.CrashAbort, "^abort called by the program itself; its handler called abort$", "give_up"},
		{"other", "kill", report.CrashSignal, `^SIGABRT caught: sent by kill from process \d+ of user \d+; its handler raised it again$`, "idle"},
		{"other", "raise", report.CrashSignal, `^SIGABRT caught: sent by kill from process \d+ of user \d+; its handler raised it again$`, "idle"},
		{"other", "abort", report.CrashSignal, `^SIGABRT caught: sent by kill from process \d+ of user \d+; its handler called abort$`, "idle"},
		{"self", "kill", report.CrashSignal, `^sent by the program to itself by kill, not by abort$`, "main"},
		{"term", "abort", report.CrashAbort, `^abort called by the program itself`, "closing"},
		{"other", "wait", report.CrashSignal, `^sent by kill from process \d+ of user \d+`, "closing"},
		{"term", "wait", report.CrashSignal, `^sent by kill from process \d+ of user \d+`, "closing"},
		{"term", "kill", report.CrashSignal, `^SIGTERM caught: sent by kill from process \d+ of user \d+; its handler raised it again$`, "idle"},
		{"other", "assert", report.CrashAssertion, "how == NULL", "closing"}, // the handler said why
	} {
		t.Run(c.first+"-"+c.how, func(t *testing.T) {
			t.Parallel()
			r := analyzeCore(t, fixture.Crash(t, nil, exe, c.first, c.how), exe)
			if r.Crash == nil || r.Crash.Kind != c.kind || !regexp.MustCompile(c.reason).MatchString(r.Crash.Reason) {
				t.Fatalf("%+v", r.Crash)
			}
			if r.Crash.Frame == nil {
				t.Fatal("no frame")
			}
			for i := range r.Threads {
				if at := &r.Threads[i]; at.Crashed && c.place != "" && at.Frames[*r.Crash.Frame].Function != c.place {
					t.Errorf("frame %d is %s, want %s", *r.Crash.Frame, at.Frames[*r.Crash.Frame].Function, c.place)
				}
			}
		})
	}
}
