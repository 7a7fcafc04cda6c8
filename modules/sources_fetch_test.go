package modules_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

// binaries is a Fetcher that has no file.
type binaries struct{ asked *[]string }

func (f binaries) Fetch(context.Context, []byte, string) (string, error) { return "", fs.ErrNotExist }

// withSources also has source files in a directory, by their base names.
type withSources struct {
	binaries
	dir string
}

var errDown = errors.New("the server is down")

func (f withSources) FetchSource(_ context.Context, id []byte, path string) (string, error) {
	*f.asked = append(*f.asked, string(id)+" "+path)
	if strings.HasSuffix(path, "/down.c") {
		return "", errDown
	}
	found := filepath.Join(f.dir, filepath.Base(path))
	if _, err := os.Stat(found); err != nil {
		return "", fs.ErrNotExist
	}
	return found, nil
}

// Sources are fetched last, by the build-id and the absolute path, and once.
func TestFetchedSource(t *testing.T) {
	dir, local := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{dir + "/a.c": "fetched", dir + "/zero.c": "\x00", local + "/here.c": "local", local + "/bad.c": "\x00", dir + "/bad.c": "good"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	withID := &libstate.Library{Path: "/bin/x", BuildID: []byte("12345678")}
	for _, c := range []struct {
		name, path string
		lib        *libstate.Library
		plain      bool // the Fetcher has no sources
		text       string
		err        string // part of it
		absent     bool
		asked      string
	}{
		{name: "fetched", path: "/src/a.c", lib: withID, text: "fetched", asked: "12345678 /src/a.c"},
		{name: "found here", path: "/src/here.c", lib: withID, text: "local"},
		{name: "found here but no text, and fetched", path: "/src/bad.c", lib: withID, text: "good", asked: "12345678 /src/bad.c"},
		{name: "nowhere", path: "/src/none.c", lib: withID, err: "no source file for /src/none.c", absent: true, asked: "12345678 /src/none.c"},
		{name: "a failure", path: "/src/down.c", lib: withID, err: errDown.Error(), asked: "12345678 /src/down.c"},
		{name: "fetched, but no text", path: "/src/zero.c", lib: withID, err: "not a text file", asked: "12345678 /src/zero.c"},
		{name: "a relative path", path: "a.c", lib: withID, err: "no source file", absent: true},
		{name: "no build-id", path: "/src/a.c", lib: &libstate.Library{Path: "/bin/x"}, err: "no source file", absent: true},
		{name: "no fetcher of sources", path: "/src/a.c", lib: withID, plain: true, err: "no source file", absent: true},
		{name: "a vDSO", path: "/src/a.c", lib: &libstate.Library{Path: "[vdso]", Kind: libstate.VDSO, BuildID: []byte("12345678")}, err: "no source file", absent: true},
	} {
		var asked []string
		var fetcher modules.Fetcher = withSources{binaries{&asked}, dir}
		if c.plain {
			fetcher = binaries{&asked}
		}
		files, err := modules.New(context.Background(), noBytes{}, modules.WithSearch(local), modules.WithDebugDir(t.TempDir()), modules.WithFetcher(fetcher))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			f, err := files.SourceFile(c.lib, c.path)
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) || errors.Is(err, fs.ErrNotExist) != c.absent {
					t.Errorf("%s: %v, %v", c.name, f, err)
				}
			case err != nil:
				t.Errorf("%s: %v", c.name, err)
			default:
				if _, lines := f.Lines(1, 9); strings.Join(lines, "\n") != c.text || f.Newer {
					t.Errorf("%s: %q, newer %v", c.name, lines, f.Newer)
				}
			}
		}
		if got := strings.Join(asked, ", "); got != c.asked {
			t.Errorf("%s: asked for %q, not %q", c.name, got, c.asked)
		}
		// Another module may have another file at the same path.
		if _, err := files.SourceFile(&libstate.Library{Path: "/bin/y", BuildID: []byte("87654321")}, c.path); c.name == "fetched" && (err != nil || len(asked) != 2) {
			t.Errorf("%s: of another module: %v, asked %q", c.name, err, asked)
		}
		files.Close()
	}
}

// A source file is newer if it was changed after the module's file; not if that was not found.
func TestNewerSource(t *testing.T) {
	dir := t.TempDir()
	id := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	binary := filepath.Join(dir, "libx.so")
	if err := os.WriteFile(binary, elfWith(id, code), 0o755); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 0)
	if err := os.Chtimes(binary, at, at); err != nil {
		t.Fatal(err)
	}
	for name, when := range map[string]time.Time{"old.c": at.Add(-time.Second), "same.c": at, "new.c": at.Add(time.Second)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	files, err := modules.New(context.Background(), noBytes{}, modules.WithSearch(dir), modules.WithDebugDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for name, newer := range map[string]bool{"old.c": false, "same.c": false, "new.c": true} {
		for path, want := range map[string]bool{binary: newer, "/none/liby.so": false} {
			lib := &libstate.Library{Path: path, BuildID: id}
			if path != binary {
				lib.BuildID = []byte{9, 9, 9, 9}
			}
			if f, err := files.SourceFile(lib, "/src/"+name); err != nil || f.Newer != want {
				t.Errorf("%s of %s: %+v, %v", name, path, f, err)
			}
		}
	}
}
