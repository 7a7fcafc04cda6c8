package debuginfod

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
)

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
	cfg.Headers = []settings.Header{{Name: "X-Token", Value: "a"}, {Name: "x-token", Value: "b"}, {Name: "User-Agent", Value: "mine"}, {Name: "host", Value: "elsewhere"}, {Name: "X-Debuginfod-Maxsize", Value: "5"}}
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
		vars := map[string]string{"DEBUGINFOD_URLS": "http://h", "DEBUGINFOD_HEADERS_FILE": file, "HOME": "/"}
		cfg := settings.FromEnv(func(name string) string { return vars[name] }, true)
		req := httptest.NewRequest(http.MethodGet, "http://h", nil)
		setHeaders(req, &cfg)
		var sent strings.Builder
		req.Host = "h"
		if err := req.Write(&sent); err != nil || strings.Count(sent.String(), "\r\n\r\n") != 1 {
			t.Errorf("%v: %q", err, sent.String())
		}
	})
}
