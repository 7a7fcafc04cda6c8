package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestThrownAt: of an uncaught exception the frame that threw is looked at, whatever handler runs on top of it.
func TestThrownAt(t *testing.T) {
	frame := func(function, file string) report.Frame {
		return report.Frame{Module: "/srv/app", Function: function, Source: report.Source{File: file}}
	}
	handler, end, parse := frame("on_terminate", "p.cc"), frame("std::terminate", ""), frame("parse", "p.cc")
	for _, c := range []struct {
		name        string
		frames      []report.Frame
		found, want int // -1 for none
	}{
		{"a handler", []report.Frame{handler, end, parse}, 0, 2},
		{"found below it", []report.Frame{handler, end, parse, parse}, 3, 3},
		{"nothing below it", []report.Frame{handler, end}, 0, 0},
		{"nothing terminates", []report.Frame{handler, parse}, 0, 0},
		{"nothing found", []report.Frame{handler, end, parse}, -1, -1},
	} {
		var found *int
		if c.found >= 0 {
			found = &c.found
		}
		got := -1
		if p := thrownAt(c.frames, found); p != nil {
			got = *p
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
