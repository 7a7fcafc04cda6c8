//go:build unix

package kept

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestStrangers: what somebody else put there, or could have, is not used, and nothing is written there.
func TestStrangers(t *testing.T) {
	whole := contents(2 * blockSize)
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, r *Room, path string)
		writes bool // an entry may be written nevertheless
	}{
		"sound":                      {func(*testing.T, *Room, string) {}, true},
		"wing writable by the group": {func(t *testing.T, _ *Room, p string) { must(t, os.Chmod(filepath.Dir(p), 0o770)) }, false},
		"wing writable by all":       {func(t *testing.T, _ *Room, p string) { must(t, os.Chmod(filepath.Dir(p), 0o1777)) }, false},
		"entry writable by others":   {func(t *testing.T, _ *Room, p string) { must(t, os.Chmod(p, 0o602)) }, true},
		"link": {func(t *testing.T, _ *Room, p string) {
			must(t, os.Rename(p, p+"x"))
			must(t, os.Symlink("/dev/zero", p))
		}, true},
		"pipe":      {func(t *testing.T, _ *Room, p string) { must(t, os.Remove(p)); must(t, syscall.Mkfifo(p, 0o600)) }, true},
		"directory": {func(t *testing.T, _ *Room, p string) { must(t, os.Remove(p)); must(t, os.Mkdir(p, 0o700)) }, false},
		"wing is a file": {func(t *testing.T, _ *Room, p string) {
			must(t, os.RemoveAll(filepath.Dir(p)))
			must(t, os.WriteFile(filepath.Dir(p), nil, 0o600))
		}, false},
		"wing is another user's":       {func(t *testing.T, _ *Room, p string) { asRoot(t); must(t, os.Chown(filepath.Dir(p), 12345, -1)) }, false},
		"entry is another user's":      {func(t *testing.T, _ *Room, p string) { asRoot(t); must(t, os.Chown(p, 12345, -1)) }, true},
		"room is a link to somebody's": {func(t *testing.T, r *Room, _ string) { asRoot(t); must(t, os.Chown(r.dir, 12345, -1)) }, false},
		"room writable by all":         {func(t *testing.T, r *Room, _ string) { must(t, os.Chmod(r.dir, 0o777)) }, false},
		"parent of missing room, foreign": {func(t *testing.T, r *Room, _ string) {
			asRoot(t)
			must(t, os.RemoveAll(r.dir))
			must(t, os.Chown(filepath.Dir(r.dir), 12345, -1))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := newRoom(t, 1<<30), newSource(t)
			path := keep(t, r, s, whole, len(whole))
			c.change(t, r, path)
			done := make(chan struct{})
			go func() {
				defer close(done)
				e := r.Entry(s)
				defer e.Close()
				used := e.Part(key, uint64(len(whole))) != nil
				// A room that others may write to is read: its wings are this user's.
				if want := name == "sound" || name == "room writable by all" || name == "room is a link to somebody's"; used != want {
					t.Errorf("used: %v, want %v", used, want)
				}
				if err := e.Keep(t.Context(), []NewPart{{key, uint64(len(whole)), whole}}); (err == nil) != c.writes {
					t.Errorf("written: %v", err)
				}
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("hangs")
			}
			if c.writes {
				if got := read(t, r, s, whole); got != 0 {
					t.Errorf("after writing, %d blocks are made", got)
				}
			}
		})
	}
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
}

// TestNoRoom: a directory that cannot be made, or is relative.
func TestNoRoom(t *testing.T) {
	s, whole := newSource(t), contents(blockSize)
	for _, dir := range []string{"", "relative/kept", filepath.Join(t.TempDir(), "no-home", ".cache", "corewalk", "kept"), "/proc/self/kept", "/dev/null/kept"} {
		r := New(dir, 1<<30)
		r.settled = -time.Hour
		e := r.Entry(s)
		if err := e.Keep(t.Context(), []NewPart{{key, uint64(len(whole)), whole}}); err == nil {
			t.Errorf("%q: kept", dir)
		}
		if list, _ := r.List(); len(list) > 0 {
			t.Errorf("%q: %+v", dir, list)
		}
	}
}

// The variables that tell this program to write entries until it is killed, and how large files may be.
const dirVariable, sourceVariable, limitVariable = "KEPT_TEST_DIR", "KEPT_TEST_SOURCE", "KEPT_TEST_FSIZE"

func TestMain(m *testing.M) {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	id, whole := os.Getenv(sourceVariable), contents(50*blockSize)
	r := New(dir, 1<<30)
	r.settled = -time.Hour
	s := sourceAt(&testing.T{}, id)
	if os.Getenv(limitVariable) != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 20 * blockSize, Max: 20 * blockSize}); err != nil {
			os.Exit(3)
		}
		if err := r.Entry(s).Keep(context.Background(), []NewPart{{key, uint64(len(whole)), whole}}); !errors.Is(err, syscall.EFBIG) {
			println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Stdout.WriteString("go\n")
	for n := 0; ; n++ {
		e := r.Entry(s)
		if err := e.Keep(context.Background(), []NewPart{{key, uint64(len(whole)), whole[:n%51*blockSize]}}); err != nil {
			os.Exit(1)
		}
		e.Close()
		os.Remove(filepath.Join(dir, s.wing(), s.name()))
	}
}

// writer is this program as a process that writes entries.
func writer(r *Room, s Source, more ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), dirVariable+"="+r.dir, sourceVariable+"="+s.Path), more...)
	return cmd
}

// TestKilled: a process that is killed while it writes leaves nothing that is wrong.
func TestKilled(t *testing.T) {
	whole := contents(50 * blockSize)
	r, s := newRoom(t, 1<<30), newSource(t)
	for i := range 10 {
		cmd := writer(r, s)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		out.Read(make([]byte, 8))
		time.Sleep(time.Duration(i) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		read(t, r, s, whole)
	}
	keep(t, r, s, whole, len(whole))
	if got := read(t, r, s, whole); got != 0 {
		t.Errorf("%d blocks made at the end", got)
	}
}

// TestFullDisk: what cannot be written leaves nothing behind.
func TestFullDisk(t *testing.T) {
	r, s := newRoom(t, 1<<30), newSource(t)
	if out, err := writer(r, s, limitVariable+"=1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, err := os.ReadDir(filepath.Join(r.dir, wingOwn))
	if err != nil || len(files) != 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}
