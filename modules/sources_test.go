package modules_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

type noBytes struct{}

func (noBytes) ReadMem(uint64, []byte) (int, error) { return 0, os.ErrNotExist }
func (noBytes) ReadWord(uint64) (uint64, error)     { return 0, os.ErrNotExist }

// Only regular text files of a bounded size are read, and only by names of sources.
func TestSourceFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.c": "one\r\ntwo\nthree", "empty.c": "", "zero.c": "a\x00b", "first.c": "\x00", "most.c": strings.Repeat("x", 16<<20), "large.c": strings.Repeat("x", 16<<20+1), "secret": "key", "d.c/x": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := modules.New(context.Background(), noBytes{}, modules.WithSourceMap("/build", dir), modules.WithDebugDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	lib := &libstate.Library{Path: "/bin/none"}
	for path, want := range map[string]string{
		"/build/a.c": "", "/build/x/../a.c": "", "/build/empty.c": "", "/build/none.c": "no source file", "/build/secret": "no source file",
		"/build/zero.c": "not a text file", "/build/first.c": "not a text file", "/build/most.c": "", "/build/large.c": "longer than 16 MB", "/build/d.c": "not a regular file",
	} {
		for range 2 { // the answer is kept
			f, err := files.SourceFile(lib, path)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, %v; want %q", path, f, err, want)
			}
		}
	}
	f, err := files.SourceFile(lib, "/build/a.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		first, last, from int
		want              []string
	}{
		{-3, 2, 1, []string{"one", "two"}}, {2, 2, 2, []string{"two"}}, {2, 99, 2, []string{"two", "three"}}, {4, 9, 4, nil}, {9, 12, 9, nil}, {3, 2, 3, nil},
	} {
		if from, lines := f.Lines(tt.first, tt.last); from != tt.from || !slices.Equal(lines, tt.want) {
			t.Errorf("lines %d to %d: %d, %q", tt.first, tt.last, from, lines)
		}
	}
}
