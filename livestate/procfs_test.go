//go:build linux

package livestate

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/libstate"
)

func TestParseMaps(t *testing.T) {
	got := parseMaps([]byte(`55d0c0a00000-55d0c0a02000 r--p 00000000 fd:00 1234  /usr/bin/a b (c)
55d0c0a02000-55d0c0a06000 r-xp 00002000 fd:00 1234  /usr/bin/a b (c)
55d0c0b00000-55d0c0b01000 rw-p 00000000 00:00 0     [heap]
7f0000000000-7f0000001000 rw-s 00001000 00:01 77    /dev/shm/x\012y (deleted)
7f0000002000-7f0000003000 ---p 00000000 00:00 0
7f0000004000-7f0000005000 rw-p 00000000 00:01 5     anon_inode:[perf_event]
7f0000006000-7f0000007000 rw-s 00000000 00:01 2048  /memfd:jit (deleted)
garbage
7f0000008000-7f0000008000 r--p 00000000 00:00 0
7f0000009000-zz r--p 00000000 00:00 0
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
7f000000a000-7f000000b000 r-xp 0`))
	want := []libstate.Mapping{
		{Start: 0x55d0c0a00000, End: 0x55d0c0a02000, Perm: libstate.Read, Path: "/usr/bin/a b (c)"},
		{Start: 0x55d0c0a02000, End: 0x55d0c0a06000, Offset: 0x2000, Perm: libstate.Read | libstate.Exec, Path: "/usr/bin/a b (c)"},
		{Start: 0x55d0c0b00000, End: 0x55d0c0b01000, Perm: libstate.Read | libstate.Write},
		{Start: 0x7f0000000000, End: 0x7f0000001000, Offset: 0x1000, Perm: libstate.Read | libstate.Write, Path: "/dev/shm/x\ny (deleted)"},
		{Start: 0x7f0000002000, End: 0x7f0000003000},
		{Start: 0x7f0000004000, End: 0x7f0000005000, Perm: libstate.Read | libstate.Write},
		{Start: 0x7f0000006000, End: 0x7f0000007000, Perm: libstate.Read | libstate.Write, Path: "/memfd:jit (deleted)"},
		{Start: 0x7f000000a000, End: 0x7f000000b000, Perm: libstate.Read | libstate.Exec},
		{Start: 0xffffffffff600000, End: 0xffffffffff601000, Perm: libstate.Exec},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func FuzzMaps(f *testing.F) {
	f.Add([]byte("1000-2000 r-xp 00000000 fd:00 1 /a\n"))
	f.Add([]byte("1000-2000 ---p 0 0:0 0\n0-ffffffffffffffff rwxs ffffffffffffffff 0:0 9 /b (deleted)\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range parseMaps(b) {
			if m.End <= m.Start || m.Path == "" && m.Offset != 0 {
				t.Errorf("%+v", m)
			}
		}
	})
}

func TestEmptyFunction(t *testing.T) {
	for _, tt := range []struct {
		code string
		size int
		ret  bool
		ok   bool
	}{
		{"\xf3\x0f\x1e\xfa\xc3", 4, false, true},
		{"\xc3\x90", 1, true, true},
		{"\xf3\xc3", 2, true, true},
		{"\x55\x89\xe5", 0, false, false},
		{"\xcc", 0, false, false},
		{"", 0, false, false},
	} {
		size, ret, ok := emptyFunction([]byte(tt.code))
		if size != tt.size || ret != tt.ret || ok != tt.ok {
			t.Errorf("%x: %d %v %v", tt.code, size, ret, ok)
		}
	}
}

// TestReadProc: small and large files are read whole, and others are errors.
func TestReadProc(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte("0123456789abcdef"), 1<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{procPath(os.Getpid(), "comm"), procPath(os.Getpid(), "auxv"), large} {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readProc(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v, want %d", path, len(got), err, len(want))
		}
	}
	if _, err := readProc(procPath(os.Getpid(), "nothing")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := readProc(t.TempDir()); err == nil {
		t.Error("a directory was read")
	}
}
