package debuginfod

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

var testID = []byte{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4}

// debugFile returns a real separate debug file and its build-id.
func debugFile(t testing.TB) (id, data []byte) {
	c := fixture.Get(t, "amd64-build-id")
	paths, err := filepath.Glob(filepath.Join(c.Dir, "debug", ".build-id", "*", "*.debug"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	name := filepath.Base(filepath.Dir(paths[0])) + strings.TrimSuffix(filepath.Base(paths[0]), ".debug")
	if id, err = hex.DecodeString(name); err == nil {
		data, err = os.ReadFile(paths[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	return id, data
}

// configFor returns a configuration for one server, with a new cache directory and no
// delays.
func configFor(t testing.TB, url string) settings.Config {
	return settings.Config{URLs: []string{url}, CacheDir: filepath.Join(t.TempDir(), "cache"), Timeout: 5 * time.Second, Retries: 2}
}

func newClient(t testing.TB, cfg settings.Config) *Client {
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.client().CloseIdleConnections() })
	return c
}

// cached lists the files in the cache, without control files.
func cached(t testing.TB, dir string) []string {
	all, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i], _ = filepath.Rel(dir, all[i])
	}
	return all
}

// raw sends bytes that net/http's server would not send.
func raw(w http.ResponseWriter, head string, body []byte) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\n\r\n", strings.ReplaceAll(head, "\n", "\r\n"))
	conn.Write(body)
}

// Various answers to a query for the debug information of testID or of a real file.
func TestServers(t *testing.T) {
	small, large := elftest.WithID(3, testID, 0), elftest.WithID(3, testID, 300<<10)
	var many bytes.Buffer // before the time limits run
	z := gzip.NewWriter(&many)
	z.Write(elftest.WithID(3, testID, 10<<20))
	z.Close()
	realID, whole := debugFile(t)
	debugOnly := whole
	drip := func(w http.ResponseWriter, r *http.Request, every time.Duration, n int) {
		w.Write(large[:64])
		for r.Context().Err() == nil {
			w.(http.Flusher).Flush()
			time.Sleep(every)
			w.Write(make([]byte, n))
		}
	}
	type call struct {
		w http.ResponseWriter
		r *http.Request
		n int // number of the query, from 1
	}
	tests := []struct {
		name    string
		answer  func(call)
		id      []byte // nil for testID
		kind    string // "" for debuginfo
		cfg     func(*settings.Config)
		want    string // part of the error; "" if a file is expected
		absent  bool   // the error says that there is no such file, as if the server is down
		miss    bool   // and this is cached
		queries int    // total number of queries; 0 means one
		down    bool   // the server is no longer queried
	}{
		{name: "file", answer: func(c call) { c.w.Write(small) }},
		{name: "executable", kind: find.KindExecutable, answer: func(c call) { c.w.Write(small) }},
		{name: "real file", id: realID, answer: func(c call) { c.w.Write(whole) }},
		{name: "in chunks", answer: func(c call) {
			for i := 0; i < len(large); i += 4096 {
				c.w.Write(large[i : i+4096])
				c.w.(http.Flusher).Flush()
			}
		}},
		{name: "gzip", answer: func(c call) {
			if c.r.Header.Get("Accept-Encoding") != "gzip" {
				t.Error("compression is not asked for")
			}
			c.w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(c.w)
			z.Write(large)
			z.Close()
		}},
		{name: "404", answer: func(c call) { http.NotFound(c.w, c.r) }, want: "not on 127.0.0.1", absent: true, miss: true},
		{name: "410", answer: func(c call) { c.w.WriteHeader(410) }, want: "not on 127.0.0.1", absent: true, miss: true},
		{name: "503, then the file", answer: func(c call) {
			if c.n < 3 {
				c.w.WriteHeader(503)
				return
			}
			c.w.Write(small)
		}, queries: 3},
		{name: "503", answer: func(c call) { c.w.WriteHeader(503) }, want: "503 Service Unavailable", queries: 3, down: true},
		{name: "503 without repetition", answer: func(c call) { c.w.WriteHeader(503) }, cfg: func(c *settings.Config) { c.Retries = 0 }, want: "503", down: true},
		{name: "429, come back in an hour", answer: func(c call) {
			c.w.Header().Set("Retry-After", "3600")
			c.w.WriteHeader(429)
		}, want: "429", down: true},
		{name: "500", answer: func(c call) { c.w.WriteHeader(500) }, want: "500", queries: 3},
		{name: "401", answer: func(c call) { c.w.WriteHeader(401) }, want: "401", down: true},
		{name: "418", answer: func(c call) { c.w.WriteHeader(418) }, want: "418"},
		{name: "204", answer: func(c call) { c.w.WriteHeader(204) }, want: "204"},
		{name: "redirected often", answer: func(c call) {
			if c.n <= maxRedirects {
				http.Redirect(c.w, c.r, c.r.URL.Path+"x", http.StatusFound)
				return
			}
			c.w.Write(small)
		}, queries: maxRedirects + 1},
		{name: "redirected for ever", answer: func(c call) { http.Redirect(c.w, c.r, c.r.URL.Path, http.StatusFound) }, want: errRedirects.Error(), queries: maxRedirects + 1},
		{name: "redirected to a file", answer: func(c call) { http.Redirect(c.w, c.r, "file:///etc/passwd", http.StatusFound) }, want: errDowngrade.Error()},
		{name: "page", answer: func(c call) { fmt.Fprint(c.w, "<html>Log in to the Wi-Fi") }, want: errNotELF.Error()},
		{name: "nothing", answer: func(call) {}, want: errNotELF.Error()},
		{name: "head of a file", answer: func(c call) { c.w.Write(small[:20]) }, want: "ELF"},
		{name: "another build", answer: func(c call) { c.w.Write(elftest.WithID(3, []byte{9, 9, 9, 9}, 0)) }, want: "build-id 09090909, want deadbeef01020304"},
		{name: "no build-id", answer: func(c call) { c.w.Write(elftest.WithID(3, nil, 0)) }, want: "no build-id"},
		{name: "debug file for the program", id: realID, kind: find.KindExecutable, answer: func(c call) { c.w.Write(debugOnly) }, want: "not the code"},
		{name: "cut short", answer: func(c call) { raw(c.w, "HTTP/1.1 200 OK\nContent-Length: 307200", large[:2000]) }, want: "unexpected EOF", queries: 3},
		{name: "truncated, without a length", id: realID, answer: func(c call) { raw(c.w, "HTTP/1.0 200 OK", whole[:len(whole)/2]) }, want: "damaged"},
		{name: "cut off", answer: func(c call) { raw(c.w, "HTTP/1.1 200 OK\nContent-Le", nil) }, want: "malformed MIME header", queries: 3, down: true},
		{name: "not HTTP", answer: func(c call) { raw(c.w, "220 smtp.example ESMTP", nil) }, want: "malformed HTTP", queries: 3, down: true},
		{name: "endless head", answer: func(c call) { raw(c.w, "HTTP/1.1 200 OK\nX: "+strings.Repeat("x", 128<<10), nil) }, want: "headers exceeded", queries: 3, down: true},
		{name: "too large, said so", answer: func(c call) { c.w.Write(large) }, cfg: func(c *settings.Config) { c.MaxSize = 1000 }, want: errSize.Error()},
		{name: "too large, said in its own way", answer: func(c call) {
			c.w.Header().Set("X-DEBUGINFOD-SIZE", "5000")
			c.w.(http.Flusher).Flush()
		}, cfg: func(c *settings.Config) { c.MaxSize = 1000 }, want: errSize.Error()},
		{name: "too large, not said", answer: func(c call) {
			c.w.(http.Flusher).Flush()
			c.w.Write(large)
		}, cfg: func(c *settings.Config) { c.MaxSize = 1000 }, want: errSize.Error()},
		{name: "as large as may be", answer: func(c call) {
			if got := c.r.Header.Get("X-Debuginfod-Maxsize"); got != fmt.Sprint(len(large)) {
				t.Errorf("X-DEBUGINFOD-MAXSIZE %q", got)
			}
			c.w.(http.Flusher).Flush()
			c.w.Write(large)
		}, cfg: func(c *settings.Config) { c.MaxSize = int64(len(large)) }},
		{name: "compressed many times over", answer: func(c call) {
			c.w.Header().Set("Content-Encoding", "gzip")
			c.w.Write(many.Bytes())
		}, cfg: func(c *settings.Config) { c.MaxSize = 1 << 20 }, want: errSize.Error()},
		{name: "too large, the server's word", answer: func(c call) { c.w.WriteHeader(406) }, cfg: func(c *settings.Config) { c.MaxSize = 1000 }, want: errSize.Error()},
		{name: "no answer", answer: func(c call) { <-c.r.Context().Done() }, cfg: func(c *settings.Config) { c.Timeout = 100 * time.Millisecond }, want: errSlow.Error(), down: true},
		{name: "drops", answer: func(c call) { drip(c.w, c.r, time.Millisecond, 1) }, cfg: func(c *settings.Config) { c.Timeout = 100 * time.Millisecond }, want: errSlow.Error(), down: true},
		{name: "no end", answer: func(c call) { drip(c.w, c.r, time.Millisecond, 16<<10) },
			cfg: func(c *settings.Config) { c.MaxTime, c.Timeout = time.Second, 900*time.Millisecond }, want: errMaxTime.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var queries atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tt.answer(call{w, r, int(queries.Add(1))})
			}))
			defer server.Close()
			id, kind := tt.id, tt.kind
			if id == nil {
				id = testID
			}
			if kind == "" {
				kind = find.KindDebugInfo
			}
			cfg := configFor(t, server.URL)
			if tt.cfg != nil {
				tt.cfg(&cfg)
			}
			c := newClient(t, cfg)
			path, err := c.Fetch(context.Background(), id, kind)
			if got, want := int(queries.Load()), max(tt.queries, 1); got != want {
				t.Errorf("%d queries, want %d", got, want)
			}
			if got := c.servers[0].down.Load() != nil; got != tt.down {
				t.Errorf("server taken for down: %v, want %v", got, tt.down)
			}
			name := hex.EncodeToString(id) + "/" + kind
			if tt.want == "" {
				if want := filepath.Join(cfg.CacheDir, name); err != nil || path != want {
					t.Fatalf("%q, %v; want %s", path, err, want)
				}
				if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o400 {
					t.Errorf("%v, %v", st, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, fs.ErrNotExist) != (tt.absent || tt.down) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q, %v; want %q", path, err, tt.want)
			}
			var want []string
			if tt.want == "" || tt.miss {
				want = []string{name}
			}
			if got := cached(t, cfg.CacheDir); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("the cache holds %q, want %q", got, want)
			}
			// Known results are not requested again: by this client, nor by the next if
			// they are in the cache.
			again, err2 := c.Fetch(context.Background(), id, kind)
			if again != path || (err2 == nil) != (err == nil) || int(queries.Load()) != max(tt.queries, 1) {
				t.Errorf("asked again: %q, %v, %d queries", again, err2, queries.Load())
			}
			if want != nil {
				_, err = newClient(t, cfg).Fetch(context.Background(), id, kind)
				if int(queries.Load()) != max(tt.queries, 1) || errors.Is(err, fs.ErrNotExist) != tt.miss {
					t.Errorf("the next client: %v, %d queries", err, queries.Load())
				}
			}
		})
	}
}

// Queries have the form required by the protocol, whatever the form of the URL.
func TestQuery(t *testing.T) {
	var got atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		got.Store(strings.Join([]string{r.Method, r.RequestURI, r.Proto, user, pass, r.UserAgent()}, " "))
		w.Write(elftest.WithID(3, testID, 0))
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for url, want := range map[string]string{
		server.URL:                  "GET /buildid/deadbeef01020304/debuginfo HTTP/1.1   corewalk",
		server.URL + "/":            "GET /buildid/deadbeef01020304/debuginfo HTTP/1.1   corewalk",
		server.URL + "/buildid/":    "GET /buildid/deadbeef01020304/debuginfo HTTP/1.1   corewalk",
		server.URL + "/a%20b//?q#f": "GET /a%20b/buildid/deadbeef01020304/debuginfo HTTP/1.1   corewalk",
		"http://me:secret@" + host:  "GET /buildid/deadbeef01020304/debuginfo HTTP/1.1 me secret corewalk",
	} {
		if _, err := newClient(t, configFor(t, url)).Fetch(context.Background(), testID, find.KindDebugInfo); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if got.Load() != want {
			t.Errorf("%s: %s, want %s", url, got.Load(), want)
		}
	}
}

// Messages do not contain passwords.
func TestPassword(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(418) }))
	url := "http://me:secret@" + strings.TrimPrefix(server.URL, "http://")
	_, err := newClient(t, configFor(t, url)).Fetch(context.Background(), testID, find.KindDebugInfo)
	server.Close()
	cfg := configFor(t, url)
	cfg.Retries = 0
	_, err2 := newClient(t, cfg).Fetch(context.Background(), testID, find.KindDebugInfo)
	_, err3 := New(settings.Config{CacheDir: "x", URLs: []string{"ftp://me:secret@host"}})
	for _, err := range []error{err, err2, err3} {
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

// A server with an untrusted certificate is not used, and redirects from https to http are
// not followed.
func TestTLS(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(elftest.WithID(3, testID, 0)) }))
	defer plain.Close()
	var queries atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries.Add(1)
		if strings.Contains(r.URL.Path, "debuginfo") {
			http.Redirect(w, r, plain.URL, http.StatusFound)
			return
		}
		w.Write(elftest.WithID(3, testID, 0))
	}))
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	defer server.Close()
	c := newClient(t, configFor(t, server.URL))
	if _, err := c.Fetch(context.Background(), testID, find.KindExecutable); err == nil || queries.Load() != 0 || c.servers[0].down.Load() == nil {
		t.Errorf("untrusted certificate: %v, %d queries", err, queries.Load())
	}
	c = newClient(t, configFor(t, server.URL))
	c.client().Transport.(*http.Transport).TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	if _, err := c.Fetch(context.Background(), testID, find.KindExecutable); err != nil {
		t.Errorf("over https: %v", err)
	}
	if _, err := c.Fetch(context.Background(), testID, find.KindDebugInfo); err == nil || !strings.Contains(err.Error(), errDowngrade.Error()) {
		t.Errorf("redirected to http: %v", err)
	}
}
