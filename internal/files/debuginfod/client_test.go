package debuginfod

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

var _ find.Fetcher = (*Client)(nil)

// One client fetches a file once for many goroutines; several clients with one cache all
// end up with a complete file.
func TestConcurrent(t *testing.T) {
	data := elftest.WithID(3, testID, 1<<20)
	var queries atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries.Add(1)
		w.Write(data[:1<<19])
		time.Sleep(20 * time.Millisecond)
		w.Write(data[1<<19:])
	}))
	defer server.Close()
	cfg := configFor(t, server.URL)
	cfg.Progress = func(settings.Progress) {}
	fetch := func(clients []*Client) {
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				path, err := clients[i%len(clients)].Fetch(context.Background(), testID, find.KindDebugInfo)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}()
		}
		wg.Wait()
	}
	fetch([]*Client{newClient(t, cfg)})
	if queries.Load() != 1 {
		t.Errorf("%d queries of one client", queries.Load())
	}
	cfg.CacheDir = t.TempDir()
	var clients []*Client
	for range 4 {
		clients = append(clients, newClient(t, cfg))
	}
	fetch(clients)
	if got := cached(t, cfg.CacheDir); len(got) != 1 {
		t.Errorf("the cache holds %q", got)
	}
}

// Several files are fetched at once.
func TestParallel(t *testing.T) {
	var mu sync.Mutex
	inside, most := 0, 0
	both := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		inside++
		if most = max(most, inside); inside == 2 {
			close(both)
		}
		mu.Unlock()
		select {
		case <-both:
		case <-time.After(5 * time.Second):
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	c := newClient(t, configFor(t, server.URL))
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c.Fetch(context.Background(), []byte{1, 2, byte(i)}, find.KindDebugInfo)
		}()
	}
	wg.Wait()
	if most != 2 {
		t.Errorf("%d queries at a time", most)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(elftest.WithID(3, testID, 0))
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	cfg := configFor(t, server.URL)
	start := time.Now()
	_, err := newClient(t, cfg).Fetch(ctx, testID, find.KindDebugInfo)
	if !errors.Is(err, context.Canceled) || time.Since(start) > 4*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if got := cached(t, cfg.CacheDir); len(got) != 0 {
		t.Errorf("the cache holds %q", got)
	}
}

func TestProgress(t *testing.T) {
	data := elftest.WithID(3, testID, 200<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(data) }))
	defer server.Close()
	cfg := configFor(t, server.URL)
	var told []settings.Progress
	cfg.Progress = func(p settings.Progress) { told = append(told, p) }
	c := newClient(t, cfg)
	if _, err := c.Fetch(context.Background(), testID, find.KindDebugInfo); err != nil {
		t.Fatal(err)
	}
	n := len(told)
	if n < 2 || told[0].Done != 0 || told[0].Ended {
		t.Fatalf("%+v", told)
	}
	want := settings.Progress{Kind: "debuginfo", BuildID: "deadbeef01020304", Server: strings.TrimPrefix(server.URL, "http://"), Done: 200 << 10, Ended: true, OK: true}
	if told[n-1].Total = 0; told[n-1] != want {
		t.Errorf("%+v, want %+v", told[n-1], want)
	}
	c.Fetch(context.Background(), testID, find.KindDebugInfo)
	newClient(t, cfg).Fetch(context.Background(), testID, find.KindDebugInfo)
	if len(told) != n {
		t.Error("progress for a file in the cache")
	}
}

func TestBadQueries(t *testing.T) {
	c := newClient(t, configFor(t, "http://127.0.0.1:1"))
	for _, id := range [][]byte{nil, {1}, make([]byte, 65)} {
		if _, err := c.Fetch(context.Background(), id, find.KindDebugInfo); err == nil || !strings.Contains(err.Error(), "build-id has") {
			t.Errorf("%x: %v", id, err)
		}
	}
	if _, err := c.Fetch(context.Background(), testID, "../../x"); err == nil {
		t.Error("no kind, no error")
	}
}

// An unusable cache directory is an error that says so.
func TestNoPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := configFor(t, "http://127.0.0.1:1")
	cfg.CacheDir = filepath.Join(file, "cache")
	if _, err := newClient(t, cfg).Fetch(context.Background(), testID, find.KindDebugInfo); err == nil || !strings.Contains(err.Error(), "cannot create a file in the debuginfod cache") {
		t.Errorf("%v", err)
	}
}

// elfutils' client finds files and missing-file records that this client put into the
// cache, and vice versa.
func TestSharedCache(t *testing.T) {
	fixture.Tools(t)
	find, err := exec.LookPath("debuginfod-find")
	if err != nil {
		t.Skip("debuginfod-find is not installed (Debian: debuginfod): ", err)
	}
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		if strings.Contains(r.URL.Path, "deadbeef") {
			w.Write(elftest.WithID(3, testID, 0))
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	cfg := configFor(t, server.URL)
	theirs := func(kind, id string) (string, bool) {
		cmd := exec.Command(find, kind, id)
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "DEBUGINFOD_") || strings.HasPrefix(s, "http_proxy") }),
			"DEBUGINFOD_URLS="+server.URL, "DEBUGINFOD_CACHE_PATH="+cfg.CacheDir)
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	ours := func(kind string, id []byte) (string, bool) {
		path, err := newClient(t, cfg).Fetch(context.Background(), id, kind)
		return path, err == nil
	}
	path, ok := ours("debuginfo", testID)
	if p, found := theirs("debuginfo", "deadbeef01020304"); !ok || !found || p != path {
		t.Errorf("ours %q, then theirs %q", path, p)
	}
	path, ok = theirs("executable", "deadbeef01020304")
	if p, found := ours("executable", testID); !ok || !found || p != path {
		t.Errorf("theirs %q, then ours %q", path, p)
	}
	if len(paths) != 2 {
		t.Errorf("queries %q", paths)
	}
	ours("debuginfo", []byte{1, 2, 3, 4})
	theirs("debuginfo", "01020304")
	theirs("executable", "01020304")
	ours("executable", []byte{1, 2, 3, 4})
	if len(paths) != 4 {
		t.Errorf("queries %q", paths)
	}
}

func BenchmarkCached(b *testing.B) {
	id, data := debugFile(b)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(data) }))
	defer server.Close()
	cfg := configFor(b, server.URL)
	for b.Loop() {
		if _, err := newClient(b, cfg).Fetch(context.Background(), id, find.KindDebugInfo); err != nil {
			b.Fatal(err)
		}
	}
}
