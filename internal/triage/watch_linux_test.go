package triage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A watched gives what a Watch finds.
type watched struct {
	t     *testing.T
	dir   string
	paths chan string
	stop  context.CancelFunc
}

// watch watches a directory, and returns once what is there has been looked at.
func watch(t *testing.T, dir string, recursive bool) *watched {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{t, dir, make(chan string, 1000), cancel}
	ready := make(chan bool)
	src := Watch{Paths: []string{dir}, Recursive: recursive, Ready: func() { close(ready) }}
	done := make(chan bool)
	go func() {
		defer close(done)
		for p, err := range src.Dumps(ctx) {
			if err != nil {
				p = "error: " + err.Error()
			} else if rel, err := filepath.Rel(dir, p); err == nil {
				p = rel
			}
			w.paths <- p
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	<-ready
	return w
}

// next checks which paths come next.
func (w *watched) next(want ...string) {
	w.t.Helper()
	for _, name := range want {
		select {
		case got := <-w.paths:
			if got != name {
				w.t.Fatalf("got %q, want %q", got, name)
			}
		case <-time.After(30 * time.Second):
			w.t.Fatalf("%q does not come", name)
		}
	}
}

// mark makes a dump and waits for it: whatever was done before it has been seen.
func (w *watched) mark(n int) {
	w.t.Helper()
	name := fmt.Sprint("core.mark", n)
	write(w.t, filepath.Join(w.dir, name), coreHead)
	w.next(name)
}

func TestWatch(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write(t, at("core.before"), coreHead)
	write(t, at("sub/core.below"), coreHead)
	growing, err := os.Create(at("core.growing"))
	must(err)
	_, err = growing.WriteString(coreHead)
	must(err)
	w := watch(t, dir, false)
	w.next("core.before")
	w.mark(1) // core.growing has not come

	_, err = growing.WriteString("more")
	must(err)
	w.mark(2)
	must(growing.Close())
	w.next("core.growing")

	write(t, at("notes.txt"), "text")
	write(t, filepath.Join(other, "half"), coreHead)
	must(os.Rename(filepath.Join(other, "half"), at("core.moved")))
	w.next("core.moved")
	write(t, filepath.Join(other, "half"), coreHead+"another")
	must(os.Rename(filepath.Join(other, "half"), at("core.moved"))) // over it
	w.next("core.moved")
	write(t, filepath.Join(other, "whole"), coreHead)
	must(os.Link(filepath.Join(other, "whole"), at("core.linked")))
	w.next("core.linked")
	must(os.Symlink(filepath.Join(other, "whole"), at("core.symlinked")))
	w.next("core.symlinked")
	write(t, at("core.empty"), "")
	w.next("core.empty")
	write(t, at("core \xff\n.odd"), coreHead)
	w.next("core \xff\n.odd")
	write(t, at("new/core.deep"), coreHead)
	w.mark(3)
	w.stop()
}

func TestWatchRecursive(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a/b/core.1"), coreHead)
	w := watch(t, dir, true)
	w.next("a/b/core.1")
	write(t, filepath.Join(dir, "a/b/core.2"), coreHead)
	w.next("a/b/core.2")
	if err := os.MkdirAll(filepath.Join(dir, "new/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "new/deep/core.3"), coreHead)
	w.next("new/deep/core.3")
	// A directory that is moved away is not watched, one that is moved in is.
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(other, "a")); err != nil {
		t.Fatal(err)
	}
	w.mark(1)
	write(t, filepath.Join(other, "a/b/core.4"), coreHead)
	w.mark(2)
	if err := os.Rename(filepath.Join(other, "a"), filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for range 3 {
		got[<-w.paths] = true
	}
	for _, name := range []string{"c/b/core.1", "c/b/core.2", "c/b/core.4"} {
		if !got[name] {
			t.Errorf("%s did not come: %v", name, got)
		}
	}
}

// TestWatchOverflow: what events were lost for is found by looking.
func TestWatchOverflow(t *testing.T) {
	dir := t.TempDir()
	var got []string
	s := watching{Watch: Watch{Paths: []string{dir}}, ctx: t.Context(), fd: -1, dirs: map[int32]string{}, seen: map[string]arrival{}, written: beingWritten,
		yield: func(p string, err error) bool {
			if err == nil {
				got = append(got, filepath.Base(p))
			}
			return true
		}}
	write(t, filepath.Join(dir, "core.lost"), coreHead)
	overflow := make([]byte, 16)
	overflow[0], overflow[1], overflow[2], overflow[3] = 0xff, 0xff, 0xff, 0xff
	overflow[5] = 0x40 // IN_Q_OVERFLOW
	s.events(overflow)
	s.events(overflow)
	if len(got) != 1 || got[0] != "core.lost" {
		t.Errorf("found %q", got)
	}
}

func TestWatchGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	write(t, filepath.Join(dir, "core.1"), coreHead)
	w := watch(t, dir, false)
	w.next("core.1")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	w.next("error: " + dir + ": is gone, and is not watched any more")
}

// TestJustClosed: a file that somebody still seems to write is looked at again, for half a second.
func TestJustClosed(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "core.1"), filepath.Join(dir, "core.2")
	write(t, first, coreHead)
	write(t, second, coreHead)
	for _, c := range []struct {
		closed bool
		busy   int // looks at the first that find a writer
		want   string
	}{{true, 0, "core.1 core.2"}, {true, 3, "core.2 core.1"}, {false, 9, "core.2 core.1"}, {false, 10, "core.2"}} {
		var got []string
		s := watching{ctx: t.Context(), yield: func(p string, _ error) bool { got = append(got, filepath.Base(p)); return true }, seen: map[string]arrival{}}
		s.written = func(path string) bool {
			if path == first {
				c.busy--
			}
			return path == first && c.busy >= 0
		}
		s.file(first, c.closed)
		s.file(second, c.closed)
		now := time.Now()
		for range 20 {
			now = now.Add(mostLate * 2)
			s.again(now)
		}
		if list := strings.Join(got, " "); list != c.want || len(s.late) > 0 {
			t.Errorf("%+v: %s, %d left", c, list, len(s.late))
		}
	}
}
