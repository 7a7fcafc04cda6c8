//go:build linux

package debuginfod

import (
	"bytes"
	"context"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

// What is in the cache under the name of a file, but is not that file, is not used: the file
// is fetched, and takes its place, or the error says what is in the way.
func TestOddEntries(t *testing.T) {
	good := elftest.WithID(3, testID, 4096)
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, []byte("secret"), 0o600, 0)
	right := filepath.Join(t.TempDir(), "right")
	put(t, right, good, 0o600, 0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(good) }))
	defer server.Close()
	flipped := bytes.Clone(good)
	flipped[140] ^= 1 // of the build-id
	for name, tt := range map[string]struct {
		create func(path string) error
		fail   bool
	}{
		"truncated":        {create: func(p string) error { return os.WriteFile(p, good[:100], 0o400) }},
		"a bit flipped":    {create: func(p string) error { return os.WriteFile(p, flipped, 0o400) }},
		"link elsewhere":   {create: func(p string) error { return os.Symlink(secret, p) }},
		"link to a twin":   {create: func(p string) error { return os.Symlink(right, p) }},
		"link to itself":   {create: func(p string) error { return os.Symlink(p, p) }},
		"pipe":             {create: func(p string) error { return syscall.Mkfifo(p, 0o600) }},
		"directory":        {create: func(p string) error { return os.Mkdir(p, 0o700) }, fail: true},
		"full directory":   {create: func(p string) error { return os.MkdirAll(filepath.Join(p, "x"), 0o700) }, fail: true},
		"link to a device": {create: func(p string) error { return os.Symlink("/dev/zero", p) }},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configFor(t, server.URL)
			r := request{id: hex.EncodeToString(testID), kind: find.KindDebugInfo}
			path := cache{cfg.CacheDir}.path(r)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tt.create(path); err != nil {
				t.Fatal(err)
			}
			got, err := newClient(t, cfg).Fetch(context.Background(), testID, find.KindDebugInfo)
			if tt.fail {
				if err == nil {
					t.Errorf("%s", got)
				}
				return
			}
			data, rerr := os.ReadFile(path)
			if err != nil || got != path || rerr != nil || !bytes.Equal(data, good) {
				t.Errorf("%q, %v, %v", got, err, rerr)
			}
			if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
				t.Errorf("it is still there: %v, %v", st.Mode(), err)
			}
			if data, err := os.ReadFile(secret); string(data) != "secret" {
				t.Errorf("the link's target was written to: %q, %v", data, err)
			}
		})
	}
}

// Control files that are pipes, devices or long are not read for ever.
func TestOddSettings(t *testing.T) {
	for name, create := range map[string]func(path string) error{
		"pipe":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"device": func(p string) error { return os.Symlink("/dev/zero", p) },
		"long":   func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("1"), 1<<20), 0o600) },
	} {
		c := cache{t.TempDir()}
		if err := create(filepath.Join(c.dir, cacheMiss.name)); err != nil {
			t.Fatal(err)
		}
		if got := c.setting(cacheMiss); got != cacheMiss.value {
			t.Errorf("%s: %v", name, got)
		}
		c.clean(time.Now())
	}
}

// Nothing is written through links in a cache.
func TestLinksInCache(t *testing.T) {
	c := cache{t.TempDir()}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	r := request{id: hex.EncodeToString(testID), kind: find.KindDebugInfo}
	if err := os.MkdirAll(filepath.Dir(c.path(r)), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{c.path(r), filepath.Join(c.dir, cacheMiss.name)} {
		if err := os.Symlink(elsewhere, path); err != nil {
			t.Fatal(err)
		}
	}
	c.miss(r)
	c.setting(cacheMiss)
	if st, err := os.Lstat(elsewhere); err == nil {
		t.Errorf("a file of %d bytes was made", st.Size())
	}
}
