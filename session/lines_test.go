package session_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/session"
)

// TestCodeOfFiles: the code of a line is looked for in the frame's unit and in those that were compiled from the file, not in all that include it.
func TestCodeOfFiles(t *testing.T) {
	ctx := context.Background()
	exe := fixture.Compile(t, "gcc", "lines/near.c", "-g", "-O0", filepath.Join(fixture.Root(t), "testdata", "src", "lines", "far.c"))
	target, err := corewalk.Open(ctx, fixture.Crash(t, nil, exe), corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	s := session.New(target, session.Options{})
	t.Cleanup(s.Close)
	threads, err := s.Threads(ctx)
	if err != nil {
		t.Fatal(err)
	}
	frames, _, err := s.Frames(ctx, threads[0].ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	at := frames[0].ID
	for _, f := range frames {
		if f.Function == "main" {
			at = f.ID
		}
	}
	for _, c := range []struct {
		file string
		line int
		ok   bool
	}{{"near.c", 8, true}, {"lines/near.c", 8, true}, {"near.c", 1, false}, {"far.c", 4, true}, {"ar.c", 4, false}, {"shared.h", 2, false}} {
		if low, _, err := s.CodeOf(ctx, at, c.file, c.line); (err == nil) != c.ok || c.ok && low == 0 {
			t.Errorf("%s:%d: %#x, %v", c.file, c.line, low, err)
		}
	}
}
