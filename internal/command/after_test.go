package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// typed are the lines that a user typed.
type typed struct{}

func (typed) WriteHistory(w io.Writer) (int, error) { return io.WriteString(w, "bt\n") }

// TestKeepHistory: the lines are kept in a file, and a directory in its place keeps nobody from leaving. Of a pipe, see TestHistoryIsPipe.
// after_unix_test.go.
func TestKeepHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "corewalk", "history")
	for range 2 {
		keepHistory(typed{}, path)
		if got, err := os.ReadFile(path); err != nil || string(got) != "bt\n" {
			t.Errorf("%q, %v", got, err)
		}
	}
	keepHistory(typed{}, filepath.Dir(path))
	keepHistory(typed{}, "")
}

// TestAfterAnswer: what is done for later runs is done before the end, if it does not take long.
func TestAfterAnswer(t *testing.T) {
	t.Parallel()
	err := errors.New("not done")
	afterAnswer(func() { time.Sleep(10 * time.Millisecond); err = nil })
	if err != nil {
		t.Error(err)
	}
	hangs := make(chan struct{})
	defer close(hangs)
	from := time.Now()
	afterAnswer(func() { <-hangs })
	if took := time.Since(from); took < afterwards || took > afterwards+time.Minute {
		t.Errorf("took %v", took)
	}
}
