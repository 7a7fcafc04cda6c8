//go:build unix

package mmapfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe is not even opened: who writes to it would go on.
func TestPipeIsNotOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			f.Close()
		}
	}()
	for range 20 {
		if f, _, err := OpenRegular(pipe); err == nil {
			f.Close()
			t.Fatal("a pipe was opened")
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case <-opened:
		t.Error("a writer met who refuses the pipe")
	default:
	}
	r, err := OpenAtOnce(pipe) // lets the writer go
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	<-opened
}

// What is exchanged for a pipe or a directory between the look and the opening is refused, and nothing waits.
func TestExchangedWhileOpened(t *testing.T) {
	dir := t.TempDir()
	path, file, pipe := filepath.Join(dir, "at"), filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			to := file
			if i%2 == 0 {
				to = pipe
			}
			next := filepath.Join(dir, "next")
			_ = os.Link(to, next)
			_ = os.Rename(next, path)
			_ = os.Remove(next)
		}
	}()
	defer func() { close(stop); <-ended }()
	opened := 0
	for end := time.Now().Add(2 * time.Second); opened < 2000 && time.Now().Before(end); {
		f, st, err := OpenRegular(path)
		if err != nil {
			continue
		}
		opened++
		is, err := f.Stat()
		f.Close()
		if err != nil || !is.Mode().IsRegular() || !st.Mode().IsRegular() {
			t.Fatalf("%v, of which it was said %v", is.Mode(), st.Mode())
		}
	}
	if opened == 0 {
		t.Error("nothing was opened")
	}
}
