package s3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture/servers"
	"github.com/corewalk/corewalk/internal/service/objects"
)

func open(t *testing.T, s servers.S3, endpoint string) (*Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "way")
	st, err := Open(t.Context(), Options{Endpoint: endpoint, Bucket: s.Bucket, Prefix: "corewalk", Access: s.Access, Secret: s.Secret, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return st, dir
}

func put(t *testing.T, s objects.Store, key string, content io.Reader) error {
	t.Helper()
	f, err := s.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Drop()
	if _, err := io.Copy(f, content); err != nil {
		t.Fatal(err)
	}
	return f.Keep(t.Context(), key)
}

func get(t *testing.T, s objects.Store, key string) ([]byte, error) {
	t.Helper()
	path, release, err := s.Local(t.Context(), key)
	if err != nil {
		return nil, err
	}
	defer release()
	return os.ReadFile(path)
}

// nothingLeft fails if files on their way stayed.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Files are found by their keys, and by nothing that leads out of the prefix.
func TestStore(t *testing.T) {
	server := servers.StartS3(t)
	s, dir := open(t, server, server.Address)
	if err := os.WriteFile(filepath.Join(server.Dir, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(put(t, s, "a/b", strings.NewReader("one")), put(t, s, "a/b", strings.NewReader("two")), put(t, s, "empty", strings.NewReader(""))); err != nil {
		t.Fatal(err)
	}
	if b, err := get(t, s, "a/b"); err != nil || string(b) != "two" {
		t.Errorf("%q %v", b, err)
	}
	if b, err := get(t, s, "empty"); err != nil || len(b) != 0 {
		t.Errorf("%q %v", b, err)
	}
	for _, key := range []string{"../secret", "a/../../secret", "/secret", "", ".", "a//b", "none", `a\b`, "a\x00"} {
		if _, err := get(t, s, key); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", key, err)
		}
		if key == "none" {
			continue
		}
		if put(t, s, key, strings.NewReader("x")) == nil {
			t.Errorf("%q is stored", key)
		}
		if s.Remove(t.Context(), key) == nil || s.Rename(t.Context(), "a/b", key) == nil || s.Rename(t.Context(), key, "y") == nil {
			t.Errorf("%q is removed or renamed", key)
		}
	}
	listed := map[string]int64{}
	for o, err := range s.List(t.Context(), "a") {
		if err != nil || time.Since(o.Changed).Abs() > time.Hour {
			t.Errorf("%+v %v", o, err)
		}
		listed[o.Key] = o.Size
	}
	if len(listed) != 1 || listed["a/b"] != 3 {
		t.Errorf("%v", listed)
	}
	for o, err := range s.List(t.Context(), "../secret") {
		if err == nil {
			t.Errorf("%+v", o)
		}
	}
	if err := errors.Join(s.Rename(t.Context(), "a/b", "c/d"), s.Rename(t.Context(), "c/d", "c/d")); err != nil {
		t.Error(err)
	}
	if _, err := get(t, s, "a/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("renamed, and still there: %v", err)
	}
	if b, err := get(t, s, "c/d"); err != nil || string(b) != "two" {
		t.Errorf("%q %v", b, err)
	}
	if err := s.Rename(t.Context(), "none", "e"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(s.Remove(t.Context(), "c/d"), s.Remove(t.Context(), "c/d")); err != nil {
		t.Error(err)
	}
	f, err := s.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "dropped")
	f.Drop()
	nothingLeft(t, dir)
	for _, o := range []Options{{Bucket: "none", Secret: server.Secret}, {Bucket: server.Bucket, Secret: "wrong"}, {Bucket: server.Bucket, Secret: server.Secret, Prefix: "../x"}} {
		o.Endpoint, o.Access, o.Dir = server.Address, server.Access, t.TempDir()
		if _, err := Open(t.Context(), o); err == nil {
			t.Errorf("%+v can be opened", o)
		}
	}
}

// A file of several parts arrives whole, in bounded memory, although the storage fails some requests and cuts an answer short.
func TestFailingStorage(t *testing.T) {
	server := servers.StartS3(t)
	target := &url.URL{Scheme: "http", Host: server.Address}
	var requests, cut atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodGet && r.ContentLength > 1<<20 && cut.Add(1) == 1 {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.LimitReader(r.Body, 1<<20), r.Body}
		}
		return nil
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				panic(http.ErrAbortHandler) // the answer that was cut short
			}
		}()
		if requests.Add(1)%3 == 0 {
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	s, dir := open(t, server, front.Listener.Addr().String())
	want := make([]byte, 2*partSize+12345)
	for i := range want {
		want[i] = byte(i * i >> 7)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := put(t, s, "large", bytes.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > partSize {
		t.Errorf("sending %d bytes allocated %d", len(want), n)
	}
	got, err := get(t, s, "large")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	if cut.Load() < 2 || requests.Load() < 6 {
		t.Errorf("%d downloads, %d requests: nothing failed", cut.Load(), requests.Load())
	}
	nothingLeft(t, dir)
}
