package systemtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// allocated is how many bytes the program has ever allocated.
func allocated() uint64 { return metric("/gc/heap/allocs:bytes") }

func metric(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// watchHeap fails the test when at any time too much memory is in use. The
// function it returns ends the watch.
func watchHeap(t *testing.T) func() {
	var peak atomic.Uint64
	was := debug.SetGCPercent(100) // what is not yet collected is as much as users have
	quit, gone := make(chan bool), make(chan bool)
	go func() {
		defer close(gone)
		for {
			select {
			case <-quit:
				return
			case <-time.After(2 * time.Millisecond):
				if n := metric("/memory/classes/heap/objects:bytes"); n > peak.Load() {
					peak.Store(n)
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
		debug.SetGCPercent(was)
		t.Logf("at most %d MB in use", peak.Load()>>20)
		if peak.Load() > heapPeak {
			t.Errorf("%d MB were in use", peak.Load()>>20)
		}
	}
}

// copyTree copies a directory, following no links but keeping them.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		dest := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			return os.MkdirAll(dest, 0o755)
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, dest)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(dest, data, 0o755)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// copySparse copies a file, leaving holes for zeros.
func copySparse(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zeros := make([]byte, 64<<10)
	for off := 0; off < len(data); off += len(zeros) {
		block := data[off:min(off+len(zeros), len(data))]
		if bytes.Equal(block, zeros[:len(block)]) {
			continue
		}
		if _, err := f.WriteAt(block, int64(off)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		t.Fatal(err)
	}
}
