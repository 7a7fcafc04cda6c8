package modules

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestReadWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "perf-1.map")
	if err := os.WriteFile(path, []byte("1000 10 name\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := New(t.Context(), nil, WithBeside(dir))
	if err != nil {
		t.Fatal(err)
	}
	here, err := New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if data, at, err := beside.ReadWritten("/tmp/perf-1.map", 100, nil); err != nil || at != path || len(data) != 13 {
		t.Errorf("%q at %q: %v", data, at, err)
	}
	if _, _, err := beside.ReadWritten("/tmp/perf-2.map", 100, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is none: %v", err)
	}
	if _, _, err := beside.ReadWritten("/tmp/perf-1.map", 12, nil); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("too large: %v", err)
	}
	if _, _, err := here.ReadWritten(path, 100, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a dump, the path itself: %v", err)
	}
	if _, at, err := here.ReadWritten(path, 100, own); err != nil || at != path {
		t.Errorf("of a process: %v", err)
	}
	if err := os.Chtimes(path, time.Time{}, own.ModTime().Add(-slack-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := here.ReadWritten(path, 100, own); !errors.Is(err, ErrOlder) {
		t.Errorf("written before: %v", err)
	}
	if _, _, err := beside.ReadWritten(path, 100, nil); err != nil {
		t.Errorf("beside a dump: %v", err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "perf-3.map")
	if err := os.Symlink("perf-1.map", link); err != nil {
		t.Skip(err)
	}
	st, err := os.Stat(link)
	if err != nil {
		t.Fatal(err)
	}
	if owned(link, st, own) == nil {
		t.Error("a link is followed")
	}
	if again, err := os.Stat(dir); err != nil || owned(path, again, own) == nil {
		t.Error("another file than the one that was opened is at the path")
	}
	other, err := os.Stat("/proc/1")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs another user")
	}
	if err := os.Chown(path, 4242, -1); err != nil {
		t.Skip(err)
	}
	if _, _, err := here.ReadWritten(path, 100, other); !errors.Is(err, ErrOwner) {
		t.Errorf("of another user: %v", err)
	}
}
