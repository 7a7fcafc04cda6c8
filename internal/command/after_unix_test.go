//go:build unix

package command

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestHistoryIsPipe: nobody waits for the reader of a pipe.
func TestHistoryIsPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		keepHistory(typed{}, path)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits")
	}
}
