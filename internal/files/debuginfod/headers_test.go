package debuginfod

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
)

func headersFrom(path string) Config {
	vars := map[string]string{"DEBUGINFOD_URLS": "http://h", "DEBUGINFOD_HEADERS_FILE": path, "HOME": "/"}
	return FromEnv(func(name string) string { return vars[name] }, true)
}

func TestHeadersFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "headers")
	put(t, file, []byte("X-Token: one: two\r\n \t\n\nx-token:three\nno secret\n: secret\nX:\nX y: secret\nX-\u212a: secret\nX-Nul: \x00secret\nUser-Agent: mine\nX-Debuginfod-Maxsize: 5\nHost: elsewhere"), 0o600, 0)
	cfg := headersFrom(file)
	want := http.Header{"X-Token": {"one: two", "three"}, "User-Agent": {"mine"}, "X-Debuginfod-Maxsize": {"5"}, "Host": {"elsewhere"}}
	if !maps.EqualFunc(cfg.Headers, want, slices.Equal) {
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
	put(t, filepath.Join(dir, "long"), make([]byte, maxHeaders+1), 0o600, 0)
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file", dir: "not a regular file", filepath.Join(dir, "long"): "longer than",
	} {
		if cfg := headersFrom(path); len(cfg.Headers) != 0 || len(cfg.Warnings) != 1 || !strings.Contains(cfg.Warnings[0], want) {
			t.Errorf("%s: %q", path, cfg.Warnings)
		}
	}
}

// Headers are sent to the configured servers, not to servers they redirect to.
func TestHeadersSent(t *testing.T) {
	var got []http.Header
	var host string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header)
		good(w, r)
	}))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, host = append(got, r.Header), r.Host
		http.Redirect(w, r, other.URL, http.StatusFound)
	}))
	defer server.Close()
	cfg := configFor(t, server.URL)
	cfg.MaxSize = 1 << 20
	cfg.Headers = http.Header{"X-Token": {"a", "b"}, "User-Agent": {"mine"}, "Host": {"elsewhere"}, "X-Debuginfod-Maxsize": {"5"}}
	if _, err := newClient(t, cfg).Fetch(context.Background(), testID, find.KindDebugInfo); err != nil {
		t.Fatal(err)
	}
	if h := got[0]; host != "elsewhere" || !slices.Equal(h["X-Token"], []string{"a", "b"}) || h.Get("User-Agent") != "mine" || h.Get("X-Debuginfod-Maxsize") != "1048576" {
		t.Errorf("sent %q to %s", h, host)
	}
	if h := got[1]; h["X-Token"] != nil || h.Get("User-Agent") != "corewalk" {
		t.Errorf("sent %q to another server", h)
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add("A: b\nc")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "headers")
		put(t, file, []byte(text), 0o600, 0)
		cfg := headersFrom(file)
		req := httptest.NewRequest(http.MethodGet, "http://h", nil)
		cfg.setHeaders(req)
		var sent strings.Builder
		req.Host = "h"
		if err := req.Write(&sent); err != nil || strings.Count(sent.String(), "\r\n\r\n") != 1 {
			t.Errorf("%v: %q", err, sent.String())
		}
	})
}
