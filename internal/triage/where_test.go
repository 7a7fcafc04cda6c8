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

// TestWhereGivenNull: people are told of the function that failed, with its place, as in the report, though the signature begins with its caller.
func TestWhereGivenNull(t *testing.T) {
	frame := func(n int, function, file string) report.Frame {
		return report.Frame{Index: n, Physical: n, Function: function, Module: "/x/app", Trust: "cfi", Source: report.Source{File: file, Line: 10 + n}}
	}
	blame := func(function string) *report.Blame {
		return &report.Blame{Steps: []report.BlameStep{{Kind: report.BlameVariable, Name: "p", Role: "argument", Entry: true, Function: function}}}
	}
	handed := blame("width")
	handed.Steps[0].Name = "this" // on a null object
	handed.Steps = append(handed.Steps, report.BlameStep{Kind: report.BlamePassed, Function: "draw", Physical: 1}, report.BlameStep{Kind: report.BlamePassed, Function: "paint", Physical: 2})
	for _, c := range []struct {
		name  string
		file  string
		blame *report.Blame
		want  string
		first string // of the signature
	}{
		{"given null", "/src/app.c", blame("width"), "width app.c:10 < draw < paint", "draw"},
		{"given null that was handed on", "/src/app.c", handed, "width app.c:10 < draw < paint", "paint"},
		{"without a place", "", blame("width"), "width < draw < paint", "draw"},
		{"its own", "/src/app.c", nil, "width app.c:10 < draw < paint", "width"},
	} {
		r := &report.Report{Crash: &report.Crash{Thread: 1, Kind: report.CrashNullRead, Blame: c.blame}, Threads: []report.Thread{{ID: 1, Crashed: true, End: report.EndBottom,
			Frames: []report.Frame{frame(0, "width", c.file), frame(1, "draw", "/src/app.c"), frame(2, "paint", "/src/app.c"), frame(3, "main", "/src/app.c")}}}}
		sig := signature.Of(r)
		if got := where(r, &sig); got != c.want || sig.Frames[0] != c.first {
			t.Errorf("%s: %q, want %q; %q", c.name, got, c.want, sig.Frames)
		}
	}
}
