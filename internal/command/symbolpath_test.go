package command

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/decompress/cabtest"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/format/pefile"
)

const symbolCase = "amd64-clang-O2-deep"

func symbolDump(t *testing.T) fixture.Case {
	t.Helper()
	all := fixture.Minidumps(t)
	i := slices.IndexFunc(all, func(c fixture.Case) bool { return c.Name == symbolCase })
	if i < 0 {
		t.Fatalf("no minidump %s", symbolCase)
	}
	return all[i]
}

// symbolStore makes a symbol store of the files of a case: PDBs as they are, images
// compressed when pack says so.
func symbolStore(t *testing.T, c fixture.Case, pack bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	put := func(name, id, file string, data []byte) {
		path := filepath.Join(dir, name, id, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range c.Search(t) {
		files, err := filepath.Glob(filepath.Join(from, "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", from, err)
		}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(path)
			if pe, err := pefile.Parse(data); err == nil {
				file := name
				if pack {
					file, data = name[:len(name)-1]+"_", cabtest.MSZIP(name, data)
				}
				put(name, pe.CodeID(), file, data)
			} else if f, err := pdb.Open(data); err == nil {
				put(name, f.DebugID(), name, data)
			}
		}
	}
	return dir
}

func symbolRun(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(append(args, symbolDump(t).Core(t)), env{context.Background(), nil, &o, &e, nil, nil})
	return status, o.String(), e.String()
}

// The same report comes of files anywhere in directories, of a symbol store as it
// is and compressed, by flag and by environment, and of a symbol server.
func TestSymbolPath(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c := symbolDump(t)
	var search []string
	for _, dir := range c.Search(t) {
		search = append(search, "--search", dir)
	}
	_, want, errs := symbolRun(t, search...)
	if !strings.Contains(want, "leaf(") || !strings.Contains(want, "crash.c:") || errs != "" {
		t.Fatalf("%s\n%s", errs, want)
	}
	if _, out, _ := symbolRun(t); strings.Contains(out, "leaf(") {
		t.Fatalf("without any files:\n%s", out)
	}
	fetched := false // from servers comes only what stacks go through: the count of modules differs
	check := func(what string, args ...string) {
		t.Helper()
		_, out, errs := symbolRun(t, args...)
		if fetched {
			out, _, _ = strings.Cut(out, "Not known:")
		}
		if out != want || errs != "" {
			t.Errorf("%s: %s\n%s\nwant\n%s", what, errs, out, want)
		}
	}
	plain, packed := symbolStore(t, c, false), symbolStore(t, c, true)
	check("a store", "--symbol-path", plain)
	check("a store to search", "--search", plain)
	check("a store below a directory to search", "--search", filepath.Dir(plain))
	check("a compressed store", "--symbol-path", "cache*"+t.TempDir()+";"+packed)
	check("a compressed store, with the cache of the user", "--search", packed)
	t.Setenv("_NT_SYMBOL_PATH", plain)
	check("_NT_SYMBOL_PATH")
	t.Setenv("COREWALK_SYMBOL_PATH", `c:\none`)
	if _, out, errs := symbolRun(t); strings.Contains(out, "leaf(") || !strings.Contains(errs, "COREWALK_SYMBOL_PATH: ") {
		t.Errorf("COREWALK_SYMBOL_PATH does not come first: %s", errs)
	}
	t.Setenv("COREWALK_SYMBOL_PATH", packed)
	check("COREWALK_SYMBOL_PATH")
	t.Setenv("COREWALK_SYMBOL_PATH", "")

	var mu sync.Mutex
	var asked []string
	files := http.FileServer(http.Dir(packed))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	defer s.Close()
	fetched = true
	want, _, _ = strings.Cut(want, "Not known:")
	cache := t.TempDir()
	if _, _, errs := symbolRun(t, "info", "--symbol-path", "srv*"+cache+"*"+s.URL); errs != "" || len(asked) != 0 {
		t.Errorf("info: %s; queries %q", errs, asked)
	}
	check("a server", "--symbol-path", "srv*"+cache+"*"+s.URL)
	n := len(asked)
	if n == 0 {
		t.Error("the server is not asked")
	}
	check("the server's cache", "--symbol-path", "srv*"+cache+"*"+s.URL)
	check("the cache alone", "--symbol-path", cache)
	if len(asked) != n {
		t.Errorf("%d more queries", len(asked)-n)
	}
}

func TestSymbolPathRefused(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for path, want := range map[string]string{
		"/nowhere/at/all":               "no such file",
		"symbolpath_test.go":            "not a directory",
		"srv*":                          "no server given",
		"srv*http://example.com":        "must use https",
		"srv*ftp://example.com":         "not a valid URL",
		`c:\symbols`:                    "not a directory path on this system",
		"foo*bar":                       "unknown kind",
		"srv*http://u:pw@localhost\x00": "invalid URL",
	} {
		status, _, errs := symbolRun(t, "--symbol-path", path)
		if status != exitUsage || !strings.Contains(errs, want) || !strings.Contains(errs, "--symbol-path: ") || strings.Contains(errs, "pw@") {
			t.Errorf("%q: status %d, %s, want %q", path, status, errs, want)
		}
	}
}
