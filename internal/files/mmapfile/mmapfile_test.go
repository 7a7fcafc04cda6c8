package mmapfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func write(t testing.TB, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i % 251)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpen(t *testing.T) {
	for _, size := range []int{0, 1, 4096, 100_000} {
		path := write(t, size)
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Data()) != size || f.Path != path || f.ID().Size != int64(size) {
			t.Errorf("%d bytes: %d mapped, path %q, %+v", size, len(f.Data()), f.Path, f.ID())
		}
		for i, b := range f.Data() {
			if b != byte(i%251) {
				t.Fatalf("byte %d of %d is %d", i, size, b)
			}
		}
		first := f.Close()
		if again := f.Close(); first != nil || again != nil || f.Data() != nil {
			t.Errorf("%d bytes: closing twice: %v, %v", size, first, again)
		}
	}
}

// What was released is as readable as before, wherever the range begins and ends.
func TestRelease(t *testing.T) {
	f, err := Open(write(t, 1_000_000))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, r := range [][2]uint64{{0, 1_000_000}, {1, 1}, {999_999, 1}, {70_000, 1 << 63}, {300_000, 0}, {1_000_000, 5}, {1 << 63, 1 << 63}} {
		f.Release(r[0], r[1])
		for i, b := range f.Data() {
			if b != byte(i%251) {
				t.Fatalf("byte %d of %d after %d from %d on", i, b, r[1], r[0])
			}
		}
	}
}

func TestFromOSIgnoresOffset(t *testing.T) {
	o, err := os.Open(write(t, 10))
	if err != nil {
		t.Fatal(err)
	}
	o.Seek(5, 0)
	f, err := FromOS(o)
	o.Close()
	if err != nil || len(f.Data()) != 10 || f.Data()[0] != 0 {
		t.Fatalf("%v, %d bytes", err, len(f.Data()))
	}
	f.Close()
}

func TestRefused(t *testing.T) {
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := os.Stat("/dev/null"); err == nil {
		if _, err := Open("/dev/null"); !errors.Is(err, ErrNotRegular) {
			t.Errorf("a device: %v", err)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := FromOS(r); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a pipe: %v", err)
	}
}

func TestID(t *testing.T) {
	path := write(t, 10)
	open := func(p string) ID {
		f, err := Open(p)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return f.ID()
	}
	first := open(path)
	if again := open(path); again != first {
		t.Errorf("one file: %+v and %+v", first, again)
	}
	if other := open(write(t, 10)); other == first {
		t.Errorf("two files: %+v", other)
	}
	if err := os.Chtimes(path, time.Now(), time.Unix(1, 5000)); err != nil {
		t.Fatal(err)
	}
	if changed := open(path); changed == first {
		t.Errorf("modified: still %+v", changed)
	}
}

func TestGuardTruncatedFile(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" || runtime.GOOS == "js" {
		t.Skip("files are read, not mapped, on", runtime.GOOS)
	}
	path := write(t, 100_000)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	sum, reached := 0, false
	err = Guard(func() {
		for _, b := range f.Data() {
			sum += int(b)
		}
		reached = true
	})
	if !errors.Is(err, ErrChanged) || reached {
		t.Errorf("err %v, reached the end: %v", err, reached)
	}
	if err := Guard(func() { sum += int(f.Data()[9]) }); err != nil {
		t.Errorf("bytes that still exist: %v", err)
	}
}

func TestGuardPassesOtherPanics(t *testing.T) {
	type node struct{ next *node }
	var none *node
	var empty []int
	for name, fn := range map[string]func(){
		"string":      func() { panic("mine") },
		"nil pointer": func() { none = none.next },
		"index":       func() { empty[len(empty)] = 1 },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic was swallowed", name)
				}
			}()
			if err := Guard(fn); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
}

func TestGuardRestoresSetting(t *testing.T) {
	for _, before := range []bool{false, true} {
		old := debug.SetPanicOnFault(before)
		Guard(func() {
			Guard(func() {})
			if !debug.SetPanicOnFault(true) {
				t.Error("a nested call switched the outer one off")
			}
		})
		if after := debug.SetPanicOnFault(old); after != before {
			t.Errorf("was %v, is %v", before, after)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	path := write(b, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkGuard(b *testing.B) {
	for b.Loop() {
		Guard(func() {})
	}
}

// Files in /proc are regular to stat, and are the kernel's to make.
func TestOpenRegularMadeUp(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc of Linux")
	}
	for _, path := range []string{"/proc/self/maps", "/proc/cmdline"} {
		if f, _, err := OpenRegular(path); !errors.Is(err, ErrNoRealFile) {
			f.Close()
			t.Errorf("%s: %v", path, err)
		}
	}
	f, _, err := OpenRegular("/proc/self/exe") // a link to a real file
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
