package debuginfod

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/modules"
)

func TestNew(t *testing.T) {
	var agent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		http.NotFound(w, r)
	}))
	defer server.Close()
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	t.Setenv("DEBUGINFOD_URLS", "")
	if f, err := New(); f != nil || err == nil {
		t.Errorf("without a server: %v, %v", f, err)
	}
	for _, urls := range [][]string{{server.URL}, nil} {
		f, err := New(urls...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = f.Fetch(context.Background(), []byte{1, 2, 3, 4}, "debuginfo"); !errors.Is(err, fs.ErrNotExist) || agent == "" {
			t.Errorf("%v, agent %q", err, agent)
		}
		agent = ""
		t.Setenv("DEBUGINFOD_URLS", server.URL)
		t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	}
}

// Warnings reports what New leaves out.
func TestWarnings(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "http://a ima:enforcing http://b")
	t.Setenv("DEBUGINFOD_HEADERS_FILE", "/nonexistent/headers")
	w := Warnings()
	if len(w) != 2 || !strings.Contains(w[0], "/nonexistent/headers") || !strings.Contains(w[1], "http://b is not used: ima:enforcing") {
		t.Errorf("%q", w)
	}
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	t.Setenv("DEBUGINFOD_URLS", "ima:enforcing http://b")
	if _, err := New(); err == nil || !strings.Contains(err.Error(), "http://b is not used: ima:enforcing") {
		t.Errorf("%v", err)
	}
	if _, err := New("http://b"); err != nil {
		t.Errorf("%v", err)
	}
}

func TestNewSymbols(t *testing.T) {
	var agent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		http.NotFound(w, r)
	}))
	defer server.Close()
	for _, path := range []string{"", "/srv/symbols", "srv*"} {
		if f, err := NewSymbols(path); f != nil || err == nil {
			t.Errorf("%q, without a server: %v, %v", path, f, err)
		}
	}
	f, err := NewSymbols("srv*" + t.TempDir() + "*" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	key := modules.StoreKey{Name: "a.pdb", ID: "0123", File: "a.pdb"}
	if _, err := f.FetchSymbols(context.Background(), []modules.StoreKey{key}); !errors.Is(err, fs.ErrNotExist) || agent != "corewalk/"+corewalk.Version {
		t.Errorf("%v, agent %q", err, agent)
	}
}
