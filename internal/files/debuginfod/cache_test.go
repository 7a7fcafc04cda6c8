package debuginfod

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

func put(t *testing.T, path string, data []byte, mode os.FileMode, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-age)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestLookup(t *testing.T) {
	good := elftest.WithID(3, testID, 0)
	for _, tt := range []struct {
		name     string
		data     []byte
		mode     os.FileMode
		age      time.Duration
		missS    string // content of cache_miss_s; "" for none
		hit      bool
		miss     bool
		leftover bool
	}{
		{name: "file", data: good, mode: 0o400, hit: true, leftover: true},
		{name: "file of another build", data: elftest.WithID(3, []byte{1, 2, 3}, 0), mode: 0o400, leftover: true},
		{name: "no ELF file", data: []byte("hello"), mode: 0o400, leftover: true},
		{name: "miss", mode: 0o644, miss: true, leftover: true},
		{name: "miss of an old client", mode: 0, miss: true, leftover: true},
		{name: "miss long ago", mode: 0o644, age: 11 * time.Minute},
		{name: "miss of an old client, long ago", mode: 0, age: 11 * time.Minute},
		{name: "miss a day ago, remembered for a week", mode: 0o644, age: 24 * time.Hour, missS: "604800\n", miss: true, leftover: true},
		{name: "miss, forgotten soon", mode: 0o644, age: 2 * time.Second, missS: "1"},
		{name: "miss, nonsense how long", mode: 0o644, age: 2 * time.Second, missS: "long", miss: true, leftover: true},
		{name: "miss, kept for ever", mode: 0o644, age: 2 * time.Second, missS: "9223372036854775807", miss: true, leftover: true},
		{name: "miss, less than no time", mode: 0o644, age: 2 * time.Second, missS: "-5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := cache{t.TempDir()}
			r := request{id: hex.EncodeToString(testID), kind: find.KindDebugInfo}
			put(t, c.path(r), tt.data, tt.mode, tt.age)
			if tt.missS != "" {
				put(t, filepath.Join(c.dir, "cache_miss_s"), []byte(tt.missS), 0o644, 0)
			}
			path, miss := c.lookup(r, time.Now())
			if (path == c.path(r)) != tt.hit || miss != tt.miss {
				t.Errorf("%q, %v", path, miss)
			}
			if _, err := os.Stat(c.path(r)); (err == nil) != tt.leftover {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// Control files are created with other clients' defaults.
func TestSettings(t *testing.T) {
	c := cache{t.TempDir()}
	for _, s := range []setting{cacheMiss, cleanInterval, maxUnusedAge} {
		if got := c.setting(s); got != s.value {
			t.Errorf("%s: %v", s.name, got)
		}
	}
	for name, want := range map[string]string{"cache_miss_s": "600", "cache_clean_interval_s": "86400", "max_unused_age_s": "604800"} {
		if got, err := os.ReadFile(filepath.Join(c.dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestClean(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("access times are not available on ", runtime.GOOS)
	}
	const week = 7 * 24 * time.Hour
	c := cache{t.TempDir()}
	in := func(name string) string { return filepath.Join(c.dir, name) }
	old := []string{"aa11/debuginfo", "aa11/executable", "bb22/source#x.c", "bb22/debuginfo.123", "bb22/hdr-debuginfo"}
	kept := []string{"aa12/debuginfo", "aa12/notes", "Notes/debuginfo", "debuginfo", "aa11.bak"}
	for _, f := range old {
		put(t, in(f), []byte("x"), 0o400, week+time.Hour)
	}
	for _, f := range kept {
		put(t, in(f), []byte("x"), 0o600, week+time.Hour)
	}
	put(t, in("aa12/debuginfo"), []byte("x"), 0o400, week-time.Hour)
	if err := os.Symlink(in("Notes"), in("cc33")); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-2 * week)
	os.Chtimes(in("aa11"), then, then)
	list := func() (files []string) {
		for _, pattern := range []string{"*", "*/*"} {
			got, _ := filepath.Glob(in(pattern))
			for _, f := range got {
				rel, _ := filepath.Rel(c.dir, f)
				files = append(files, rel)
			}
		}
		return files
	}
	before := list()
	c.clean(time.Now()) // makes the control file: the first time to clean is a day after
	if got := list(); len(got) != len(before)+1 {
		t.Fatalf("cleaned at once: %q", got)
	}
	put(t, in("cache_clean_interval_s"), []byte("3600"), 0o600, time.Hour+time.Second)
	c.clean(time.Now())
	got := list()
	for _, f := range append(old, "aa11") {
		if slices.Contains(got, f) {
			t.Errorf("%s is still there", f)
		}
	}
	for _, f := range append(kept, "bb22", "cc33") {
		if !slices.Contains(got, f) {
			t.Errorf("%s is gone", f)
		}
	}
	if st, err := os.Stat(in("cache_clean_interval_s")); err != nil || time.Since(st.ModTime()) > time.Minute {
		t.Errorf("the time of cleaning is not noted: %v", err)
	}
}

// A file that is read stays.
func TestReadStays(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("access times are not available on ", runtime.GOOS)
	}
	c := cache{t.TempDir()}
	r := request{id: hex.EncodeToString(testID), kind: find.KindDebugInfo}
	put(t, c.path(r), elftest.WithID(3, testID, 0), 0o400, 30*24*time.Hour)
	put(t, filepath.Join(c.dir, "cache_clean_interval_s"), []byte("0"), 0o600, 0)
	if path, _ := c.lookup(r, time.Now()); path == "" {
		t.Fatal("not found")
	}
	c.clean(time.Now())
	if path, _ := c.lookup(r, time.Now()); path == "" {
		t.Error("cleaned away although it was read just now")
	}
}
