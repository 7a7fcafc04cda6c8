package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func headersFrom(path string) Config {
	vars := map[string]string{"DEBUGINFOD_URLS": "http://h", "DEBUGINFOD_HEADERS_FILE": path, "HOME": "/"}
	return FromEnv(func(name string) string { return vars[name] }, true)
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestHeadersFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "headers")
	put(t, file, []byte("X-Token: one: two\r\n \t\n\nx-token:three\nno secret\n: secret\nX:\nX y: secret\nX-\u212a: secret\nX-Nul: \x00secret\nUser-Agent: mine\nX-Debuginfod-Maxsize: 5\nHost: elsewhere"))
	cfg := headersFrom(file)
	want := []Header{{"X-Token", "one: two"}, {"x-token", "three"}, {"User-Agent", "mine"}, {"X-Debuginfod-Maxsize", "5"}, {"Host", "elsewhere"}}
	if !slices.Equal(cfg.Headers, want) {
		t.Errorf("%q", cfg.Headers)
	}
	var lines []string
	for _, w := range cfg.Warnings {
		_, rest, _ := strings.Cut(w, "line ")
		n, _, _ := strings.Cut(rest, " ")
		lines = append(lines, n)
		if strings.Contains(w, "secret") {
			t.Errorf("told: %s", w)
		}
	}
	if !slices.Equal(lines, []string{"5", "6", "7", "8", "9", "10"}) {
		t.Errorf("warnings of lines %q", lines)
	}
	put(t, filepath.Join(dir, "long"), make([]byte, maxHeaders+1))
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file", dir: "not a regular file", filepath.Join(dir, "long"): "longer than",
	} {
		if cfg := headersFrom(path); len(cfg.Headers) != 0 || len(cfg.Warnings) != 1 || !strings.Contains(cfg.Warnings[0], want) {
			t.Errorf("%s: %q", path, cfg.Warnings)
		}
	}
}
