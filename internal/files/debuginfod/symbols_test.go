package debuginfod

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/decompress/cabtest"
	"github.com/corewalk/corewalk/modules"
)

const symbolID = "0123ABCD45670089A0B1C2D3E4F506171"

var (
	pdbKey = modules.StoreKey{Name: "App.pdb", ID: symbolID, File: "App.pdb", Kind: modules.PDB}
	symKey = modules.StoreKey{Name: "App.pdb", ID: symbolID, File: "App.sym", Kind: modules.BreakpadSymbol}
	symBig = symFile(symbolID, 300_000)
)

// symFile returns a Breakpad symbol file of about n bytes.
func symFile(id string, n int) []byte {
	b := []byte("MODULE windows x86_64 " + id + " App.pdb\n")
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, "PUBLIC %x 0 function%d\n", 0x1000+16*i, i)
	}
	return b
}

// pdbFile returns a program database that consists of headers only, with symbolID.
func pdbFile() []byte {
	const block = 512
	le := binary.LittleEndian
	b := make([]byte, 8*block)
	copy(b, "Microsoft C/C++ MSF 7.00\r\n\x1aDS")
	for i, v := range []uint32{block, 1, 8, 28, 0, 6} {
		le.PutUint32(b[32+4*i:], v)
	}
	guid := []byte{0xcd, 0xab, 0x23, 0x01, 0x67, 0x45, 0x89, 0x00, 0xa0, 0xb1, 0xc2, 0xd3, 0xe4, 0xf5, 0x06, 0x17}
	copy(b[3*block+12:], guid)
	le.PutUint32(b[4*block:], 0xffffffff)
	le.PutUint32(b[4*block+8:], 1)
	for i, v := range []uint32{4, 0, 48, 0, 64, 3, 4} { // streams, their sizes, their blocks
		le.PutUint32(b[5*block+4*i:], v)
	}
	le.PutUint32(b[6*block:], 5)
	return b
}

// A fakeSymbols is a server that records its requests.
type fakeSymbols struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func (s *fakeSymbols) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func symbolServing(t *testing.T, answer http.HandlerFunc) *fakeSymbols {
	s := &fakeSymbols{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.mu.Unlock()
		answer(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// having serves the given files.
func having(files map[string][]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if data, ok := files[r.URL.Path]; ok {
			w.Write(data)
			return
		}
		http.NotFound(w, r)
	}
}

// symbolClient returns a client for servers that share one cache.
func symbolClient(t *testing.T, cfg settings.Config, urls ...string) (c *SymbolClient, cache string) {
	t.Helper()
	cache = filepath.Join(t.TempDir(), "cache")
	var list []find.SymbolServer
	for _, u := range urls {
		list = append(list, find.SymbolServer{URL: u, Cache: find.SymbolCache{Dir: cache}})
	}
	c, err := NewSymbols(list, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.client().CloseIdleConnections() })
	return c, cache
}

// symbolsCached lists the files in a cache, without records of missing files.
func symbolsCached(t *testing.T, cache string) []string {
	var list []string
	filepath.WalkDir(cache, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, ".absent-") {
			rel, _ := filepath.Rel(cache, path)
			list = append(list, rel)
		}
		return nil
	})
	return list
}

func TestSymbolForms(t *testing.T) {
	pdb := pdbFile()
	lower := strings.ToLower(symbolID)
	for name, tt := range map[string]struct {
		key   modules.StoreKey
		files map[string][]byte
		want  []byte
	}{
		"as it is":              {pdbKey, map[string][]byte{"/s/App.pdb/" + symbolID + "/App.pdb": pdb}, pdb},
		"identifier lower case": {pdbKey, map[string][]byte{"/s/App.pdb/" + lower + "/App.pdb": pdb}, pdb},
		"all lower case":        {pdbKey, map[string][]byte{"/s/app.pdb/" + lower + "/app.pdb": pdb}, pdb},
		"compressed":            {pdbKey, map[string][]byte{"/s/App.pdb/" + symbolID + "/App.pd_": cabtest.MSZIP("App.pdb", pdb)}, pdb},
		"cabinet by its name":   {pdbKey, map[string][]byte{"/s/App.pdb/" + symbolID + "/App.pdb": cabtest.MSZIP("App.pdb", pdb)}, pdb},
		"pointer":               {pdbKey, map[string][]byte{"/s/App.pdb/" + symbolID + "/file.ptr": []byte("PATH:/other/x.pdb\r\n"), "/other/x.pdb": pdb}, pdb},
		"Breakpad, compressed":  {symKey, map[string][]byte{"/s/App.pdb/" + symbolID + "/App.sy_": cabtest.MSZIP("App.sym", symBig)}, symBig},
		"Breakpad":              {symKey, map[string][]byte{"/s/App.pdb/" + symbolID + "/App.sym": symBig}, symBig},
	} {
		s := symbolServing(t, having(tt.files))
		c, cache := symbolClient(t, settings.Config{}, s.URL+"/s")
		path, err := c.FetchSymbols(context.Background(), []modules.StoreKey{tt.key})
		if err != nil {
			t.Errorf("%s: %v; asked for %q", name, err, s.paths())
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, tt.want) || path != filepath.Join(cache, tt.key.Name, tt.key.ID, tt.key.File) {
			t.Errorf("%s: %s of %d bytes, %v", name, path, len(got), err)
		}
		if all := symbolsCached(t, cache); len(all) != 1 {
			t.Errorf("%s: the cache holds %q", name, all)
		}
		// It is now in the cache, for other clients as well.
		asked := len(s.paths())
		other, err := NewSymbols([]find.SymbolServer{{URL: s.URL, Cache: find.SymbolCache{Dir: cache}}}, settings.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := other.FetchSymbols(context.Background(), []modules.StoreKey{tt.key}); again != path || err != nil || len(s.paths()) != asked {
			t.Errorf("%s: again %s, %v, %d more queries", name, again, err, len(s.paths())-asked)
		}
	}
}

// Rejected answers leave nothing in the cache.
func TestSymbolServersThatLie(t *testing.T) {
	pdb := pdbFile()
	wrong := bytes.Replace(symBig, []byte("0123ABCD"), []byte("99999999"), 1)
	older := pdbFile()
	older[4*512+8]++ // its age
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(symBig)
	z.Close()
	for name, tt := range map[string]struct {
		key    modules.StoreKey
		answer http.HandlerFunc
		cfg    settings.Config
		want   string
		absent bool // counts as missing
		down   bool // the server is no longer used
	}{
		"nothing":            {key: pdbKey, answer: http.NotFound, want: "not on 127.0.0.1", absent: true},
		"forbidden":          {key: pdbKey, answer: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }, want: "not on 127.0.0.1", absent: true},
		"a page":             {key: pdbKey, answer: func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>not here</html>") }, want: "not the expected kind of file (PDB)"},
		"another id":         {key: symKey, answer: func(w http.ResponseWriter, r *http.Request) { w.Write(wrong) }, want: "want " + symbolID},
		"PDB of another age": {key: pdbKey, answer: func(w http.ResponseWriter, r *http.Request) { w.Write(older) }, want: "want " + symbolID},
		"cut, with length": {key: symKey, answer: func(w http.ResponseWriter, r *http.Request) {
			raw(w, fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\nConnection: close", len(symBig)), symBig[:1000])
		}, want: "unexpected EOF"},
		"cut, without length": {key: pdbKey, answer: func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.0 200 OK", pdb[:7*512])
		}, want: "truncated"},
		"cut line": {key: symKey, answer: func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.0 200 OK", symBig[:1003])
		}, want: "truncated"},
		"claims to be huge": {key: symKey, answer: func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.1 200 OK\nContent-Length: 99999999999999", symBig[:100])
		}, want: "larger than"},
		"is larger than allowed": {key: symKey, cfg: settings.Config{MaxSize: 1000}, answer: func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.0 200 OK", symBig)
		}, want: "larger than"},
		"expands to more than allowed": {key: pdbKey, cfg: settings.Config{MaxSize: 4000}, answer: func(w http.ResponseWriter, r *http.Request) {
			w.Write(cabtest.MSZIP("a", pdb))
		}, want: "too large"},
		"gzip that expands to more": {key: symKey, cfg: settings.Config{MaxSize: 200_000}, answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed.Bytes())
		}, want: "larger than"},
		"LZX": {key: pdbKey, answer: func(w http.ResponseWriter, r *http.Request) {
			w.Write(cabtest.Method(cabtest.MSZIP("a", pdb), 3))
		}, want: "LZX"},
		"too slow": {key: symKey, cfg: settings.Config{Timeout: 50 * time.Millisecond}, answer: func(w http.ResponseWriter, r *http.Request) {
			w.Write(symBig[:100])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, want: "too slow", absent: true, down: true},
		"takes too long": {key: symKey, cfg: settings.Config{MaxTime: 50 * time.Millisecond}, answer: func(w http.ResponseWriter, r *http.Request) {
			w.Write(symBig[:100])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, want: "takes longer"},
		"sent away": {key: symKey, answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/App.sym", http.StatusFound)
		}, want: "redirection refused"},
		"in circles": {key: symKey, answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, want: "too many redirections"},
		"wants a password": {key: symKey, answer: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401) }, want: "401", absent: true, down: true},
		"points to another server": {key: pdbKey, answer: func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "file.ptr") {
				io.WriteString(w, "PATH:http://192.0.2.1/App.pdb")
				return
			}
			http.NotFound(w, r)
		}, want: "not on", absent: true},
		"points to a share": {key: pdbKey, answer: func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "file.ptr") {
				io.WriteString(w, `PATH:\\server\share\App.pdb`)
				return
			}
			http.NotFound(w, r)
		}, want: "not on", absent: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := symbolServing(t, tt.answer)
			c, cache := symbolClient(t, tt.cfg, s.URL)
			_, err := c.FetchSymbols(context.Background(), []modules.StoreKey{tt.key})
			var fe *find.FetchError
			if !errors.As(err, &fe) || !strings.Contains(err.Error(), tt.want) || errors.Is(err, fs.ErrNotExist) != tt.absent || (len(fe.Unreachable) > 0) != tt.down {
				t.Errorf("%v (absent %v), want %q (%v)", err, errors.Is(err, fs.ErrNotExist), tt.want, tt.absent)
			}
			if got := symbolsCached(t, cache); len(got) != 0 {
				t.Errorf("the cache holds %q", got)
			}
			// The client remembers that a server lacks the file, and so does the cache.
			asked := len(s.paths())
			c.FetchSymbols(context.Background(), []modules.StoreKey{tt.key})
			other, err := NewSymbols([]find.SymbolServer{{URL: s.URL, Cache: find.SymbolCache{Dir: cache}}}, tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(s.paths()); n != asked {
				t.Errorf("%d more queries of one client", n-asked)
			}
			if name == "nothing" {
				if other.FetchSymbols(context.Background(), []modules.StoreKey{tt.key}); len(s.paths()) != asked {
					t.Errorf("%d more queries of another", len(s.paths())-asked)
				}
			}
		})
	}
}

// Servers are asked in order, for the files in order.
func TestSymbolOrder(t *testing.T) {
	none := symbolServing(t, http.NotFound)
	has := symbolServing(t, having(map[string][]byte{"/App.pdb/" + symbolID + "/App.sym": symBig}))
	never := symbolServing(t, having(map[string][]byte{"/App.pdb/" + symbolID + "/App.sym": symBig}))
	var told []string
	c, _ := symbolClient(t, settings.Config{Progress: func(p settings.Progress) {
		told = append(told, fmt.Sprint(p.Kind, " ", p.Name, " ", p.Server == strings.TrimPrefix(has.URL, "http://"), " ", p.Ended, " ", p.OK))
	}}, none.URL, has.URL, never.URL)
	other := symKey
	other.Name, other.File = "App.dll", "App.dll.sym"
	if _, err := c.FetchSymbols(context.Background(), []modules.StoreKey{other, symKey}); err != nil {
		t.Fatal(err)
	}
	if len(none.paths()) == 0 || len(never.paths()) != 0 || none.paths()[0] != "/App.dll/"+symbolID+"/App.dll.sym" {
		t.Errorf("asked %q, %q, %q", none.paths(), has.paths(), never.paths())
	}
	if n := len(told); n == 0 || told[n-1] != "symbol file App.sym true true true" {
		t.Errorf("progress %q", told)
	}
}

// Many goroutines that request one file make one query; several clients with one cache may
// fetch it at the same time.
func TestSymbolsAtATime(t *testing.T) {
	s := symbolServing(t, having(map[string][]byte{"/App.pdb/" + symbolID + "/App.sym": symBig}))
	c, cache := symbolClient(t, settings.Config{}, s.URL)
	var all sync.WaitGroup
	for i := range 8 {
		client := c
		if i >= 4 {
			var err error
			if client, err = NewSymbols([]find.SymbolServer{{URL: s.URL, Cache: find.SymbolCache{Dir: cache}}}, settings.Config{}); err != nil {
				t.Fatal(err)
			}
		}
		all.Go(func() {
			path, err := client.FetchSymbols(context.Background(), []modules.StoreKey{symKey})
			if data, rerr := os.ReadFile(path); err != nil || !bytes.Equal(data, symBig) {
				t.Errorf("%d bytes: %v, %v", len(data), err, rerr)
			}
		})
	}
	all.Wait()
	if n := len(s.paths()); n > 5 {
		t.Errorf("%d queries of five clients", n)
	}
	if got := symbolsCached(t, cache); len(got) != 1 {
		t.Errorf("the cache holds %q", got)
	}
}

// A cancelled query says nothing about the file.
func TestSymbolsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	s := symbolServing(t, func(w http.ResponseWriter, r *http.Request) {
		first := false
		once.Do(func() { first = true })
		if first {
			cancel()
			<-r.Context().Done()
			return
		}
		w.Write(symBig)
	})
	c, _ := symbolClient(t, settings.Config{}, s.URL)
	if _, err := c.FetchSymbols(ctx, []modules.StoreKey{symKey}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := c.FetchSymbols(context.Background(), []modules.StoreKey{symKey}); err != nil {
		t.Errorf("%v", err)
	}
}

func TestSymbolURLs(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for url, want := range map[string]string{
		"https://msdl.microsoft.com/download/symbols": "",
		"http://localhost:8080/x":                     "",
		"http://127.0.0.2":                            "",
		"http://[::1]:80/":                            "",
		"http://example.com":                          "must use https",
		"http://localhost.example.com":                "must use https",
		"http://u:secret@example.com":                 "u:xxxxx@example.com",
		"ftp://example.com":                           "not a valid URL",
		"https:///x":                                  "not a valid URL",
		"https://u:secret@%zz":                        "invalid URL",
	} {
		_, err := NewSymbols([]find.SymbolServer{{URL: url}}, settings.Config{})
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	if _, err := NewSymbols(nil, settings.Config{}); err == nil {
		t.Error("a client without servers")
	}
	base, err := symbolURL("https://h/s%20x/?q#f")
	if err != nil {
		t.Fatal(err)
	}
	if got := below(base, "a b%2f..pdb/12/a#?.pdb").String(); got != "https://h/s%20x/a%20b%252f..pdb/12/a%23%3F.pdb" {
		t.Errorf("%s", got)
	}
}
