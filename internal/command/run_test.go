package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A run that is interrupted tells what was done.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := fixture.Get(t, "amd64-threads")
	for _, core := range []string{c.Core(t), filepath.Join(c.Dir, "core.zst")} {
		var out, errs bytes.Buffer
		status := run([]string{"--debug-dir", t.TempDir(), "--sysroot", c.Sysroot(t), core, c.Binary(t)}, env{ctx, nil, &out, &errs, nil, nil})
		if filepath.Ext(core) == ".zst" {
			if status != exitNothing || strings.Count(errs.String(), "\n") != 1 {
				t.Errorf("unpacking: status %d, %s", status, errs.String())
			}
			continue
		}
		if status != exitIncomplete || errs.Len() > 0 {
			t.Errorf("status %d, %s", status, errs.String())
		}
		if s := out.String(); !strings.Contains(s, "died of SIGSEGV") || !strings.Contains(s, "nalysis stopped after 1 of 51 threads") {
			t.Errorf("no word of what was done:\n%s", s)
		}
	}
}

// A pipe that brings part of a core, and then nothing any more.
func TestInterruptedStream(t *testing.T) {
	c := fixture.Get(t, "amd64-threads")
	data, err := os.ReadFile(c.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, have := range []int{0, 100_000} {
		ctx, cancel := context.WithCancel(context.Background())
		r, w := io.Pipe()
		go func() {
			w.Write(data[:have])
			cancel()
		}()
		var out, errs bytes.Buffer
		status := run([]string{"--debug-dir", t.TempDir(), "--sysroot", c.Sysroot(t), "-", c.Binary(t)}, env{ctx, r, &out, &errs, nil, nil})
		// How much gets through before the interruption is chance.
		switch {
		case status == exitNothing && strings.Count(errs.String(), "\n") == 1:
		case status == exitIncomplete && have > 0 && strings.Contains(out.String(), "cut short"):
		default:
			t.Errorf("%d bytes: status %d, %s%s", have, status, out.String(), errs.String())
		}
		w.Close()
	}
}

// failing is a stream whose reader is gone, or whose disk is full.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWriteErrors(t *testing.T) {
	c := fixture.Get(t, "amd64-pie")
	files := []string{"--debug-dir", t.TempDir(), "--sysroot", c.Sysroot(t), c.Core(t), c.Binary(t)}
	for _, args := range [][]string{files, append([]string{"--format=json"}, files...), append([]string{"info"}, files...), {"--help"}, {"--version"}} {
		var errs bytes.Buffer
		gone := failing{&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}}
		if status := run(args, env{context.Background(), nil, gone, &errs, nil, nil}); status != exitComplete || errs.Len() > 0 {
			t.Errorf("%v: reader gone: status %d, %s", args[0], status, errs.String())
		}
		if status := run(args, env{context.Background(), nil, failing{syscall.ENOSPC}, &errs, nil, nil}); status != exitNothing || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%v: disk full: status %d, %q", args[0], status, errs.String())
		}
	}
}

// A bar is shown when unpacking is long, and taken away after.
func TestProgress(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p := &progress{out: out, start: time.Now(), total: 1 << 20}
	for i := range int64(10) {
		p.report(i<<16, 0)
	}
	p.done()
	if st, err := out.Stat(); err != nil || st.Size() > 0 {
		t.Errorf("a bar at once: %v bytes, %v", st.Size(), err)
	}
	want := ""
	for _, total := range []int64{1 << 20, 0} {
		p = &progress{out: out, start: time.Now().Add(-2 * patience), total: total}
		p.report(1<<18, 0)
		p.report(1<<18, 0) // too soon
		p.done()
		want += eraseLine
		if total > 0 {
			want += "[########                        ] unpacking: 25% of 1.0 MB, 0.0 MB so far" + eraseLine
		} else {
			want += "unpacking: 0.3 MB read, 0.0 MB so far" + eraseLine
		}
	}
	text, err := os.ReadFile(out.Name())
	if err != nil || string(text) != want {
		t.Errorf("%q, want\n%q, %v", text, want, err)
	}
}

// syncBuffer is written by a timer.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.more <- struct{}{} }()
	return b.text.Write(p)
}

// What comes soon after a change is drawn, though nothing comes after it, and not after the line has been removed.
func TestProgressLater(t *testing.T) {
	t.Parallel()
	b := &syncBuffer{more: make(chan struct{}, 10)}
	p := &progress{out: b}
	for _, text := range []string{"one", "two", "three"} {
		p.show(text, 0, 0)
	}
	<-b.more
	<-b.more
	p.show("four", 0, 0)
	p.done()
	time.Sleep(2 * pace)
	b.mu.Lock()
	defer b.mu.Unlock()
	if want := eraseLine + "one" + eraseLine + "three" + eraseLine; b.text.String() != want {
		t.Errorf("%q, want %q", b.text.String(), want)
	}
}

// The terminal is told from files and pipes; no terminal, no colour.
func TestColored(t *testing.T) {
	var b bytes.Buffer
	f := fileFlags{color: "auto"}
	if isTerminal(&b) || f.colored(&b) {
		t.Error("a buffer is a terminal")
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		tty, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0) // one end of a new terminal
	}
	if err != nil {
		t.Skip("no terminal: ", err)
	}
	defer tty.Close()
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil || isTerminal(null) {
		t.Errorf("what is written nowhere is a terminal: %v", err)
	} else {
		null.Close()
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if !f.colored(tty) {
		t.Error("no colour on a terminal")
	}
	t.Setenv("NO_COLOR", "1")
	if f.colored(tty) {
		t.Error("colour in spite of NO_COLOR")
	}
	f.color = "always"
	if !f.colored(tty) {
		t.Error("NO_COLOR is stronger than --color always")
	}
}

func TestPlainError(t *testing.T) {
	_, err := os.Stat("none")
	if got := plainError(err); got != syscall.ENOENT {
		t.Errorf("%v", got)
	}
	if err := errors.New("x"); plainError(err) != err {
		t.Errorf("%v", plainError(err))
	}
}
