package debuginfod

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Source files are asked for by their cleaned path, each part escaped, and kept.
func TestFetchSource(t *testing.T) {
	var asked atomic.Value
	var queries atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.RequestURI)
		queries.Add(1)
		switch {
		case strings.HasSuffix(r.URL.Path, "/large.c"):
			w.Write(make([]byte, maxSource+1))
		case strings.HasSuffix(r.URL.Path, "/empty.c"):
		case strings.HasSuffix(r.URL.Path, ".c"):
			w.Write([]byte("x"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	cfg := configFor(t, server.URL)
	c := newClient(t, cfg)
	const source = "/buildid/deadbeef01020304/source"
	for _, tt := range []struct {
		path, asked string
		want        string // part of the error; "" for a file
		absent      bool
	}{
		{path: "/src/a.c", asked: source + "/src/a.c"},
		{path: "/build/../src/./b.c", asked: source + "/src/b.c"},
		{path: "/../../etc/c.c", asked: source + "/etc/c.c"},
		{path: "/a b/%2e%2e/%2e%2e/x?y#.c", asked: source + "/a%20b/%252e%252e/%252e%252e/x%3Fy%23.c"},
		{path: "/src/none.h", asked: source + "/src/none.h", want: "source file /src/none.h of build-id deadbeef01020304: not on 127.0.0.1", absent: true},
		{path: "/src/empty.c", asked: source + "/src/empty.c", want: "empty", absent: true},
		{path: "/src/large.c", asked: source + "/src/large.c", want: errSize.Error()},
		{path: "a.c", want: "absolute path"},
		{path: "/" + strings.Repeat("a", maxPath), want: "absolute path"},
	} {
		asked.Store("")
		path, err := c.FetchSource(context.Background(), testID, tt.path)
		if asked.Load() != tt.asked {
			t.Errorf("%s: asked %s, not %s", tt.path, asked.Load(), tt.asked)
		}
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, fs.ErrNotExist) != tt.absent {
				t.Errorf("%s: %q, %v; want %s", tt.path, path, err, tt.want)
			}
			continue
		}
		if text, _ := os.ReadFile(path); err != nil || string(text) != "x" || filepath.Dir(path) != filepath.Join(cfg.CacheDir, "deadbeef01020304") || !isCached(filepath.Base(path)) {
			t.Errorf("%s: %q, %v: %q", tt.path, path, err, text)
		}
		before := queries.Load()
		if again, err := newClient(t, cfg).FetchSource(context.Background(), testID, tt.path); again != path || err != nil || queries.Load() != before {
			t.Errorf("%s: again %q, %v, %d queries", tt.path, again, err, queries.Load()-before)
		}
	}
}

// No path leaves the directory of a tree.
func TestSourceTree(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "tree/buildid/deadbeef01020304/source/src/a.c"), []byte("x"), 0o400, 0)
	put(t, filepath.Join(dir, "secret.c"), []byte("secret"), 0o400, 0)
	c := newClient(t, configFor(t, "file://"+dir+"/tree"))
	for path, ok := range map[string]bool{"/src/a.c": true, "/../../../../secret.c": false, "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/secret.c": false, "/..%2f..%2f..%2f..%2fsecret.c": false} {
		if got, err := c.FetchSource(context.Background(), testID, path); (err == nil) != ok {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
}
