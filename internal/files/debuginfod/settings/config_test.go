package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFromEnv(t *testing.T) {
	home := t.TempDir()
	oldHome := t.TempDir()
	if err := os.Mkdir(filepath.Join(oldHome, ".debuginfod_client_cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	base := Config{Timeout: 90 * time.Second, Retries: 2, MaxSize: defaultMaxSize, CacheDir: filepath.Join(home, ".cache/debuginfod_client")}
	for _, tt := range []struct {
		env  string // NAME=VALUE, separated by semicolons
		edit func(*Config)
	}{
		{"", func(*Config) {}},
		{"DEBUGINFOD_URLS= https://a/  http://b ", func(c *Config) { c.URLs = []string{"https://a/", "http://b"} }},
		{"DEBUGINFOD_URLS=http://a ima:enforcing http://b ima:ignore http://c", func(c *Config) {
			c.URLs, c.LeftOut = []string{"http://a", "http://c"}, []string{"http://b is not used: ima:enforcing requires signature checks, which corewalk does not support"}
		}},
		{"DEBUGINFOD_URLS=ima:enforcing http://me:secret@b ima:loose http://[c", func(c *Config) {
			c.LeftOut = []string{"http://me:xxxxx@b is not used: ima:enforcing", "a server is not used: ima:enforcing"}
			c.Warnings = []string{"ima:loose is unknown and ignored; ima:enforcing remains in effect"}
		}},
		{"DEBUGINFOD_URLS=ima:permissive http://a ima:ignore file:///b ima:", func(c *Config) {
			c.URLs = []string{"http://a", "file:///b"}
			c.Warnings = []string{"ima:permissive: signatures of files of http://a are not checked", "ima: is unknown and ignored; ima:ignore remains in effect"}
		}},
		{"XDG_CACHE_HOME=/xdg", func(c *Config) { c.CacheDir = "/xdg/debuginfod_client" }},
		{"XDG_CACHE_HOME=/xdg;HOME=" + oldHome, func(c *Config) { c.CacheDir = oldHome + "/.debuginfod_client_cache" }},
		{"XDG_CACHE_HOME=/xdg;DEBUGINFOD_CACHE_PATH=/mine", func(c *Config) { c.CacheDir = "/mine" }},
		{"HOME=", func(c *Config) { c.CacheDir = "" }},
		{"DEBUGINFOD_TIMEOUT=5;DEBUGINFOD_MAXTIME=60;DEBUGINFOD_MAXSIZE=1000;DEBUGINFOD_RETRY_LIMIT=1", func(c *Config) {
			c.Timeout, c.MaxTime, c.MaxSize, c.Retries = 5*time.Second, time.Minute, 1000, 1
		}},
		{"DEBUGINFOD_TIMEOUT=0;DEBUGINFOD_MAXTIME=-1;DEBUGINFOD_MAXSIZE=0;DEBUGINFOD_RETRY_LIMIT=0", func(c *Config) { c.Timeout, c.MaxSize, c.Retries = 0, 0, 0 }},
		{"DEBUGINFOD_TIMEOUT=soon;DEBUGINFOD_MAXSIZE=99999999999999999999;DEBUGINFOD_RETRY_LIMIT=9999999", func(c *Config) { c.Retries = 10 }},
		{"DEBUGINFOD_TIMEOUT=9223372036854775807", func(c *Config) { c.Timeout = 1 << 30 * time.Second }},
	} {
		vars := map[string]string{"HOME": home}
		for _, v := range strings.Split(tt.env, ";") {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = value
		}
		want := base
		tt.edit(&want)
		got := FromEnv(func(name string) string { return vars[name] }, true)
		if !slices.Equal(got.URLs, want.URLs) || got.CacheDir != want.CacheDir || got.Timeout != want.Timeout || got.MaxTime != want.MaxTime ||
			got.MaxSize != want.MaxSize || got.Retries != want.Retries || !likewise(got.LeftOut, want.LeftOut) || !likewise(got.Warnings, want.Warnings) {
			t.Errorf("%s:\n%+v, want\n%+v", tt.env, got, want)
		}
	}
}

// likewise reports whether each text contains the expected one.
func likewise(got, want []string) bool { return slices.EqualFunc(got, want, strings.Contains) }

func TestFromEnvWithoutServers(t *testing.T) {
	vars := map[string]string{"DEBUGINFOD_URLS": "http://a ima:x ima:enforcing http://b", "DEBUGINFOD_CACHE_PATH": "/mine", "DEBUGINFOD_HEADERS_FILE": "/nonexistent"}
	c := FromEnv(func(name string) string { return vars[name] }, false)
	if len(c.URLs)+len(c.LeftOut) != 0 || c.CacheDir != "/mine" || !likewise(c.Warnings, []string{"DEBUGINFOD_HEADERS_FILE: "}) {
		t.Errorf("%+v", c)
	}
}
