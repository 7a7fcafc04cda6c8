package command

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// keptAbout runs the command twice with a program whose debugging information is compressed, and returns the cache
// directory.
func keptAbout(t *testing.T, flags ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	c := fixture.Get(t, "amd64-vars-cxx-O2")
	file, _ := fixture.PackDebug(t, c.Binary(t))
	binary := fixture.Keep(t, "packed", file)
	fixture.Settle(t, binary)
	args := append(flags, "--sysroot", c.Sysroot(t), "--debug-dir", c.Dir, "--locals", "all", "--format", "json", c.Core(t), binary)
	want := printed(t, append([]string{"--no-cache"}, args...)...)
	for range 2 {
		if got := printed(t, args...); got != want {
			t.Errorf("with a cache: %s\nwithout: %s", got, want)
		}
	}
	return dir
}

// listedCache is what corewalk cache prints as JSON.
func listedCache(t *testing.T, args ...string) (r cacheReport) {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(append([]string{"cache", "--format", "json"}, args...), env{ctx: t.Context(), stdout: &out, stderr: &errs}); status != exitComplete {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// What was decompressed of a file is one entry, what was found out about its code another; libc has one of the latter.
func TestCacheCommand(t *testing.T) {
	dir := keptAbout(t)
	r := listedCache(t)
	packed := 0
	for _, e := range r.Entries {
		if strings.HasSuffix(e.Path, "/packed") {
			packed++
		}
	}
	if len(r.Entries) != 3 || packed != 2 || r.Size <= 0 || r.Path != filepath.Join(dir, "corewalk", "kept") || r.Cleared {
		t.Fatalf("%+v", r)
	}
	var text bytes.Buffer
	if status := run([]string{"cache"}, env{ctx: t.Context(), stdout: &text, stderr: &text}); status != exitComplete || !strings.Contains(text.String(), "3 entries") || !strings.Contains(text.String(), r.Entries[0].Path) {
		t.Errorf("status %d: %s", status, text.String())
	}
	if r := listedCache(t, "--clear"); len(r.Entries) != 3 || !r.Cleared {
		t.Errorf("cleared %+v", r)
	}
	if r := listedCache(t); len(r.Entries) != 0 || r.Size != 0 {
		t.Errorf("after clearing: %+v", r)
	}
}

// TestNoCache: nothing is written with --no-cache, without a size, without a place, and from inside the sandbox.
func TestNoCache(t *testing.T) {
	for _, flag := range []string{"--no-cache", "--cache-size=0"} {
		dir := keptAbout(t, flag)
		if files := filesBelow(t, dir); len(files) > 0 {
			t.Errorf("%s: %v", flag, files)
		}
	}
	t.Run("sandbox", func(t *testing.T) {
		needSandbox(t)
		if files := filesBelow(t, keptAbout(t, "--sandbox")); len(files) > 0 {
			t.Error(files)
		}
	})
	t.Run("no home", func(t *testing.T) {
		c := fixture.Get(t, "amd64-cxx-sort")
		t.Setenv("XDG_CACHE_HOME", "")
		missing := filepath.Join(t.TempDir(), "none")
		for _, home := range []string{"", missing, "/dev/null", "relative"} {
			t.Setenv("HOME", home)
			if got := printed(t, c.Core(t), c.Binary(t)); strings.Contains(got, "cache") || !strings.HasSuffix(got, "status 0") && !strings.HasSuffix(got, "status 3") {
				t.Errorf("HOME=%q: %s", home, got)
			}
			if _, err := os.Stat(missing); err == nil {
				t.Fatal("a home directory was made")
			}
		}
	})
}

func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	return files
}
