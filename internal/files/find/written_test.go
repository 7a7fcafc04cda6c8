package find

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWritten: links lead to nothing outside of a sysroot or of the dump's directory.
func TestWritten(t *testing.T) {
	dir := t.TempDir()
	root, beside := filepath.Join(dir, "root"), filepath.Join(dir, "beside")
	for _, d := range []string{root + "/tmp", beside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{root + "/tmp/perf-1.map", beside + "/perf-1.map"} {
		if err := os.Symlink("/../../../etc/secret", link); err != nil {
			t.Skip(err)
		}
	}
	f := New(t.Context(), Options{Sysroots: []string{root}, Beside: []string{beside}})
	want := []string{root + "/etc/secret", beside + "/etc/secret"}
	if got := slices.Collect(f.Written("/tmp/perf-1.map", true)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := slices.Collect(New(t.Context(), Options{}).Written(beside+"/perf-2.map", true)); !slices.Equal(got, []string{beside + "/perf-2.map"}) {
		t.Errorf("of a process of this machine: %q", got)
	}
	if got := slices.Collect(New(t.Context(), Options{}).Written(beside+"/perf-1.map", true)); !slices.Equal(got, []string{beside + "/etc/secret"}) {
		t.Errorf("a link of a process of this machine: %q", got)
	}
	if got := slices.Collect(New(t.Context(), Options{}).Written("/tmp/perf-2.map", false)); len(got) > 0 {
		t.Errorf("of a dump: %q", got)
	}
	if got := slices.Collect(New(t.Context(), Options{}).Written("/proc/self/perf-2.map", true)); len(got) > 0 {
		t.Errorf("below /proc: %q", got)
	}
	for _, none := range []string{"", ".", "/..", "/tmp/.."} {
		if got := slices.Collect(New(t.Context(), Options{Beside: []string{beside}}).Written(none, false)); len(got) > 0 {
			t.Errorf("%q is no name of a file: %q", none, got)
		}
	}
}

func TestIsMemory(t *testing.T) {
	for path, want := range map[string]bool{"/memfd:vmem (deleted)": true, "/SYSV00000000 (deleted)": true, "/anon_hugepage (deleted)": true, "/dev/zero (deleted)": true,
		"/dev/zero": false, "/dev/shm/x.so": false, "/srv/memfd:x": false, "": false} {
		if IsMemory(path) != want {
			t.Errorf("%q", path)
		}
	}
}

func TestIsJitdump(t *testing.T) {
	for path, want := range map[string]bool{"/tmp/jit-1.dump": true, "jit-23.dump": true, "/srv/libjit-1.dump": false, "jit-.dump": false, "jit-1a.dump": false, "jit-1.so": false} {
		if IsJitdump(path) != want {
			t.Errorf("%s: not %v", path, want)
		}
	}
}
