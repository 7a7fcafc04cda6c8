package triage

import (
	"testing"

	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// The place of an error that is no longer on the stack is where it was raised, as in the report.
func TestWhereMadeElsewhere(t *testing.T) {
	late := report.Raised{Language: "javascript", Type: "Late", Function: "fetches", File: "/x/shop.js", Line: 4}
	handled := late
	handled.Handled = true
	for want, raised := range map[string]report.Raised{"fetches shop.js:4 (no longer on the stack)": late, "rejects promises:3": handled} {
		frames := []report.Frame{{Function: "rejects", Language: "javascript", Kind: report.KindInterpreted, Trust: "cfi", Source: report.Source{File: "node:internal/process/promises", Line: 3}}}
		r := &report.Report{Crash: &report.Crash{Thread: 1, Kind: report.CrashAbort, Raised: []report.Raised{raised}},
			Threads: []report.Thread{{ID: 1, Crashed: true, Frames: frames, End: report.EndBottom}}}
		sig := signature.Of(r)
		if got := where(r, &sig); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
