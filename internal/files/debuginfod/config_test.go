package debuginfod

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
)

func TestBadConfig(t *testing.T) {
	for url, want := range map[string]string{
		"":               "not a valid URL",
		"host":           "not a valid URL",
		"host:80":        "debuginfod server",
		"file://host/v":  "not a valid URL",
		"file:var":       "not a valid URL",
		"file:":          "not a valid URL",
		"http://":        "not a valid URL",
		"http://[::1":    "debuginfod server",
		"http://h:port":  "debuginfod server",
		"https://h/\x00": "debuginfod server",
	} {
		if _, err := New(settings.Config{URLs: []string{url}, CacheDir: "x"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := New(settings.Config{CacheDir: "x"}); err == nil {
		t.Error("no server, no error")
	}
	if _, err := New(settings.Config{CacheDir: "x", LeftOut: []string{"http://h is not asked"}}); err == nil || !strings.Contains(err.Error(), "http://h is not asked") {
		t.Errorf("no server left: %v", err)
	}
	if c, err := New(settings.Config{CacheDir: "x", URLs: []string{"http://h", "http://h/buildid/", "http://i", "http://h/"}}); err != nil || len(c.servers) != 2 {
		t.Errorf("named several times: %v, %v", c, err)
	}
	if _, err := New(settings.Config{URLs: []string{"http://h"}}); err == nil || !strings.Contains(err.Error(), "DEBUGINFOD_CACHE_PATH") {
		t.Errorf("no place: %v", err)
	}
}

// Files from a server are rejected or verified, never used unchecked.
func FuzzVerify(f *testing.F) {
	f.Add(elfWithID(testID, 0))
	f.Add([]byte("\x7fELF"))
	id, data := debugFile(f)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, r := range []request{{id: "deadbeef01020304", kind: "debuginfo"}, {id: "deadbeef01020304", kind: "executable"}, {id: hex.EncodeToString(id), kind: "debuginfo"}} {
			if verifyELF(data, r) == nil && !strings.Contains(hex.EncodeToString(data), r.id) {
				t.Errorf("%s accepted, but the id is nowhere in it", r.id)
			}
		}
	})
}
