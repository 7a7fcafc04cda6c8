package handle

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"
)

// store opens a store that accepts any disk.
func store(t *testing.T) (*Store, *Policy) {
	t.Helper()
	p := Default()
	p.Directory, p.Free = filepath.Join(t.TempDir(), "store"), 0
	s, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	return s, &p
}

func crash(t *testing.T, s *Store, p *Policy, when time.Time, size int) string {
	t.Helper()
	d, err := s.begin(p, Crash{PID: 7, Time: when}, "prog", 0)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.create("core")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := d.finish(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(d.path, when, when); err != nil {
		t.Fatal(err)
	}
	return d.path
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// The oldest crashes go first, for each of the limits, and no more of them than needed.
func TestRotate(t *testing.T) {
	for name, limit := range map[string]func(*Policy){
		"count": func(p *Policy) { p.Count = 2 },
		"disk":  func(p *Policy) { p.Disk = 250 << 10 },
		"age":   func(p *Policy) { p.Age = 150 * time.Minute },
		"none":  func(p *Policy) { p.Disk, p.Count, p.Age = 0, 0, 0 },
	} {
		s, p := store(t)
		var paths []string
		for i := range 4 {
			paths = append(paths, crash(t, s, p, time.Now().Add(time.Duration(i-4)*time.Hour), 100<<10))
		}
		limit(p)
		s.rotate(p)
		for i, path := range paths {
			if want := i >= 2 || name == "none"; there(path) != want {
				t.Errorf("%s: crash %d is there: %v", name, i, !want)
			}
		}
	}
}

// Directories that dead handlers left are removed, those of living ones are not.
func TestAbandoned(t *testing.T) {
	s, p := store(t)
	old, young := filepath.Join(s.dir, crashesDir, tempPrefix+"old"), filepath.Join(s.dir, crashesDir, tempPrefix+"young")
	for _, d := range []string{old, young} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	when := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(old, when, when); err != nil {
		t.Fatal(err)
	}
	s.rotate(p)
	if there(old) || !there(young) {
		t.Errorf("old: %v, young: %v", there(old), there(young))
	}
}

// Handlers that begin at the same time, with the same number of a process, have directories of their own.
func TestAtOnce(t *testing.T) {
	s, p := store(t)
	now := time.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			d, err := s.begin(p, Crash{PID: 7, Time: now}, "prog", 0)
			if err == nil {
				err = d.finish()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(s.entries()); n != 20 {
		t.Errorf("%d crashes, want 20", n)
	}
}

func TestRate(t *testing.T) {
	s, p := store(t)
	p.Rate, p.RateTime = 3, time.Hour
	now := time.Now()
	for i, c := range []struct {
		program string
		at      time.Duration
		want    bool
	}{{"/a", 0, true}, {"/a", 0, true}, {"/a", 0, true}, {"/a", 0, false}, {"/b", 0, true}, {"/a", 2 * time.Hour, true}} {
		if ok, err := s.rate(p, c.program, 0, now.Add(c.at)); err != nil || ok != c.want {
			t.Errorf("%d: %v, %v", i, ok, err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, stateDir, "rates"), []byte("{damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.rate(p, "/a", 0, now); err != nil || !ok {
		t.Errorf("damaged: %v, %v", ok, err)
	}
}

// A disk that would be too full gets nothing.
func TestDiskFull(t *testing.T) {
	s, p := store(t)
	p.Free = 1 << 60
	if _, err := s.begin(p, Crash{Time: time.Now()}, "prog", 1); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
}

// A directory that others may write to is not used, nor is a link, nor one below another user's.
func TestUnsafe(t *testing.T) {
	p := Default()
	p.Directory = filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(p.Directory, 0o700); err != nil {
		t.Fatal(err)
	}
	link := p.Directory + "-link"
	if err := errors.Join(os.Chmod(p.Directory, 0o777), os.Symlink(p.Directory, link)); err != nil {
		t.Fatal(err)
	}
	list := []string{p.Directory, link}
	if os.Geteuid() == 0 { // whoever owns what is above it puts something else in its place
		below := filepath.Join(t.TempDir(), "of another")
		if err := errors.Join(os.Mkdir(below, 0o755), os.Mkdir(filepath.Join(below, "store"), 0o700), os.Chown(below, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
		list = append(list, filepath.Join(below, "store"), filepath.Join(below, "none"))
	}
	for _, dir := range list {
		p.Directory = dir
		if _, err := p.open(); !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestPlain(t *testing.T) {
	for name, want := range map[string]string{"server": "server", "../../etc": "_._.._etc", "": "unknown", ".new-": "_new_", "a b\n\x1b[": "a_b___", "-rf": "_rf",
		strings.Repeat("x", 99): strings.Repeat("x", maxName)} {
		if got := plain(name); got != want || strings.Contains(got, "/") {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Files are kept once for a build and a user; those that were used the longest ago go first.
func TestKeep(t *testing.T) {
	s, p := store(t)
	p.FilesDisk = 250
	d, err := s.begin(p, Crash{Time: time.Now()}, "prog", 0)
	if err != nil {
		t.Fatal(err)
	}
	keep := func(id, text string, uid int) string {
		path := filepath.Join(t.TempDir(), "prog")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		name, err := s.keep(p, &file{f: f, path: path, buildID: id}, d, uid, nil, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	first := keep("aabb", strings.Repeat("1", 100), 5)
	if again := keep("aabb", "another", 5); again != first {
		t.Errorf("kept as %s and %s", first, again)
	}
	if b, err := os.ReadFile(first); err != nil || len(b) != 100 {
		t.Errorf("%d bytes: %v", len(b), err)
	}
	other := keep("aabb", strings.Repeat("2", 100), 6)
	if other == first {
		t.Error("one user's file stands for another's")
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(first, past, past); err != nil {
		t.Fatal(err)
	}
	third := keep("ccdd", strings.Repeat("3", 100), 5)
	if there(first) || !there(other) || !there(third) {
		t.Errorf("first %v, other %v, third %v", there(first), there(other), there(third))
	}
	if name := keep("", "no id", 5); name != filepath.Join(d.path, "prog") || !there(filepath.Join(d.temp, "prog")) {
		t.Errorf("without an identifier: %s", name)
	}
	// Of those beside the core no more than a quarter of what all may take.
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, make([]byte, 60), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if name, err := s.keep(p, &file{f: f, path: path}, d, 5, nil, time.Now().Add(time.Minute)); !errors.Is(err, errLarge) || there(filepath.Join(d.temp, "large")) {
		t.Errorf("the second: %s, %v", name, err)
	}
}

// Links below a root directory lead nowhere outside of it; what is not a regular file is not opened.
func TestWithin(t *testing.T) {
	root := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), os.Mkdir(filepath.Join(root, "usr"), 0o700),
		os.WriteFile(filepath.Join(root, "usr/inside"), []byte("inside"), 0o600),
		os.Symlink(outside, filepath.Join(root, "absolute")), os.Symlink("../../../../../../.."+outside, filepath.Join(root, "relative")),
		os.Symlink("/usr/inside", filepath.Join(root, "good")), syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Open(root, syscall.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	for path, want := range map[string]bool{"/absolute": false, "/relative": false, "/pipe": false, "/usr": false, "/good": true, "/usr/inside": true, "/none": false} {
		f := within(fd, path)
		if (f != nil) != want {
			t.Errorf("%s was opened: %v", path, f != nil)
		}
		f.Close()
	}
	// A root directory may lead to what the kernel makes up, of which root may read more than the process.
	top, err := syscall.Open("/", syscall.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(top)
	for _, path := range []string{"/proc/self/maps", "/proc/version", "/sys/kernel/profiling", "/proc/self/root" + outside, "/proc/self/exe"} {
		if f := within(top, path); f != nil {
			t.Errorf("%s was opened", path)
			f.Close()
		}
	}
	// A file with a lease is not waited for.
	leased := filepath.Join(root, "leased")
	f, err := os.OpenFile(leased, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	signal.Ignore(syscall.SIGIO)
	defer signal.Reset(syscall.SIGIO)
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Logf("no leases here: %v", err)
		return
	}
	begun := time.Now()
	if f := within(fd, "/leased"); f != nil || time.Since(begun) > 3*time.Second {
		t.Errorf("a file with a lease: %v, after %v", f, time.Since(begun))
	}
}

// The kernel's settings are not changed for a program that others can change.
func TestTrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	exe := filepath.Join(t.TempDir(), "exe")
	if err := os.WriteFile(exe, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := trusted(exe); err != nil {
		t.Errorf("root's alone: %v", err)
	}
	if err := os.Chmod(exe, 0o757); err != nil {
		t.Fatal(err)
	}
	if err := trusted(exe); !errors.Is(err, ErrUnsafe) {
		t.Errorf("anybody's: %v", err)
	}
	if err := errors.Join(os.Chmod(exe, 0o755), os.Chown(exe, 1000, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := trusted(exe); !errors.Is(err, ErrUnsafe) {
		t.Errorf("user %s's: %v", strconv.Itoa(1000), err)
	}
}

// A file that cannot be read to its end in time, as on a file system of a process that hangs, is not kept, and nothing waits for it.
func TestCopyUntil(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go w.Write([]byte("the beginning"))
	if err := copyUntil(io.Discard, r, time.Now().Add(20*time.Millisecond)); !errors.Is(err, errSlow) {
		t.Error(err)
	}
	var b strings.Builder
	if err := copyUntil(&b, strings.NewReader("all"), time.Now().Add(time.Minute)); err != nil || b.String() != "all" {
		t.Error(b.String(), err)
	}
	if err := copyUntil(io.Discard, iotest.ErrReader(io.ErrUnexpectedEOF), time.Now().Add(time.Minute)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// What is below a process's root directory is opened with the rights of its user: who makes a namespace leads there to any file.
func TestAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		_ = os.Chmod(d, 0o755)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600), os.WriteFile(filepath.Join(dir, "group"), []byte("x"), 0o640), os.WriteFile(filepath.Join(dir, "all"), []byte("x"), 0o644),
		os.WriteFile(filepath.Join(dir, "own"), []byte("x"), 0o600), os.Chown(filepath.Join(dir, "own"), nobody, nobody), os.Symlink("secret", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	for name, of := range map[string]struct{ stranger, root bool }{"secret": {false, true}, "group": {false, true}, "link": {false, true}, "all": {true, true}, "own": {true, true}} {
		for _, p := range []struct {
			process
			want bool
		}{{process{uid: nobody, gid: nobody}, of.stranger}, {process{uid: 0, gid: 0}, of.root}, {process{uid: -1, gid: -1}, false}} {
			opened := false
			p.asUser(func() {
				if f := within(root, "/"+name); f != nil {
					opened = true
					f.Close()
				}
			})
			if opened != p.want {
				t.Errorf("%s for user %d: opened: %t", name, p.uid, opened)
			}
		}
	}
	// The rights of this program are what they were.
	if b, err := os.ReadFile(filepath.Join(dir, "secret")); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
}
