package session

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// Of a goroutine that waits, the frame to look at first is the program's, not one of the library that parked it.
func TestFocusOfGoroutine(t *testing.T) {
	at := func(function string) report.Frame {
		return report.Frame{Function: function, Source: report.Source{File: "f.go", Line: 1}}
	}
	for _, c := range []struct {
		want   int
		frames []report.Frame
	}{
		{3, []report.Frame{at("runtime.gopark"), at("sync.runtime_SemacquireMutex"), at("sync.(*Mutex).Lock"), at("main.worker")}},
		{2, []report.Frame{{Function: "runtime.asm"}, at("internal/poll.(*FD).Read"), at("net.(*conn).Read")}},
		{1, []report.Frame{{Function: "syscall.Syscall"}, at("runtime.gopark"), at("runtime.goexit")}},
		{0, []report.Frame{{Function: "a"}, {Function: "b"}}},
	} {
		s := &Session{}
		st := &stack{named: c.frames, whole: true}
		if got, err := s.focus(t.Context(), st); got != c.want || err != nil {
			t.Errorf("%v: frame %d, %v, want %d", c.frames, got, err, c.want)
		}
	}
}
