package debuginfod

import (
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
