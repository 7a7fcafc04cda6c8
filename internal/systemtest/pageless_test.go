package systemtest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestPageless: a SIGBUS that its handler raised again, and that ended the process when it had returned, is told as the access that it was, by the frame that
// the handler has left below the stack. What was not that access is not.
func TestPageless(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions are of x86-64")
	}
	const again = ", of which the file mapped there had no page (/memfd:pages (deleted)); a signal handler raised the signal again"
	for _, flags := range [][]string{nil, {"-m32"}} {
		exe := fixture.Compile(t, "gcc", "signals/pageless.c", append([]string{"-g", "-O1", "-w"}, flags...)...)
		for _, c := range []struct{ how, kind, start, end string }{
			{"raise", report.CrashBusTruncated, "read of 1 byte at ", again},
			{"kill", report.CrashBusTruncated, "read of 1 byte at ", again},
			{"asked", report.CrashBusTruncated, "read of 1 byte at ", again},
			{"store", report.CrashBusTruncated, "write of 1 byte at ", again},
			{"sent", report.CrashSignal, "sent by the program to itself", "f"},
			{"mended", report.CrashSignal, "sent by the program to itself", "f"},
			{"child", report.CrashSignal, "sent by the program to itself", "f"},
		} {
			r := analyzeCore(t, fixture.Crash(t, nil, exe, c.how), exe)
			if r.Crash.Kind != c.kind || !strings.HasPrefix(r.Crash.Reason, c.start) || !strings.HasSuffix(r.Crash.Reason, c.end) {
				t.Errorf("%v %s: %s: %s", flags, c.how, r.Crash.Kind, r.Crash.Reason)
			}
		}
	}
}
