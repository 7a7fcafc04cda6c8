package modules_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

// fetcher has one file, of one kind; its servers are down for others.
type fetcher struct{ kind, path string }

func (f fetcher) Fetch(_ context.Context, _ []byte, kind string) (string, error) {
	if kind == f.kind {
		return f.path, nil
	}
	return "", &find.FetchError{Text: kind + ": refused", Unreachable: []string{"http://b: refused", "http://a: refused"}}
}

// What a library lacks is told before it is fetched, and no more after.
func TestLacks(t *testing.T) {
	c := fixture.Get(t, "amd64-build-id")
	data := read(t, c.Binary(t))
	dir := t.TempDir()
	binary := filepath.Join(dir, "pack")
	if err := os.WriteFile(binary, data, 0o700); err != nil {
		t.Fatal(err)
	}
	id := buildID(t, data)
	for _, tt := range []struct {
		name   string
		lib    libstate.Library
		asks   modules.Fetcher
		before bool // it lacks something
		file   bool // it has a file after
	}{
		{"no file", libstate.Library{Path: "/none", BuildID: id}, fetcher{}, true, false},
		{"fetched", libstate.Library{Path: "/none", BuildID: id}, fetcher{find.KindExecutable, binary}, true, true},
		{"debug file", libstate.Library{Path: binary, BuildID: id}, fetcher{}, true, true},
		{"nobody to ask", libstate.Library{Path: "/none", BuildID: id}, nil, false, false},
		{"no build-id", libstate.Library{Path: "/none"}, fetcher{}, false, false},
		{"vdso", libstate.Library{Path: "[vdso]", BuildID: id, Kind: libstate.VDSO}, fetcher{}, false, false},
	} {
		opts := []modules.Option{modules.WithDebugDir(t.TempDir())}
		if tt.asks != nil {
			opts = append(opts, modules.WithFetcher(tt.asks))
		}
		set := newSet(t, block(nil), opts...)
		if got := set.Lacks(&tt.lib); got != tt.before {
			t.Errorf("%s: lacks %v, want %v", tt.name, got, tt.before)
		}
		im := (*image.Image)(set.Image(&tt.lib))
		im.DWARF()
		if (im != nil) != tt.file || set.Lacks(&tt.lib) {
			t.Errorf("%s: after: image %v, lacks %v", tt.name, im, set.Lacks(&tt.lib))
		}
		want := []string{"http://a: refused", "http://b: refused"}
		if !tt.before {
			want = nil
		}
		if got := set.Unreachable(); !slices.Equal(got, want) {
			t.Errorf("%s: unreachable %q, want %q", tt.name, got, want)
		}
		if im != nil && len(im.Warnings()) != 0 {
			t.Errorf("%s: %q", tt.name, im.Warnings())
		}
	}
}

func TestFetchError(t *testing.T) {
	if e := (&find.FetchError{Text: "x"}); !errors.Is(e, fs.ErrNotExist) || e.Error() != "x" {
		t.Error(e)
	}
	if errors.Is(&find.FetchError{Failed: true}, fs.ErrNotExist) {
		t.Error("what failed may exist")
	}
}

// noting has nothing, and notes what it is asked for.
type noting struct{ kinds *[]string }

func (n noting) Fetch(_ context.Context, _ []byte, kind string) (string, error) {
	*n.kinds = append(*n.kinds, kind)
	return "", &find.FetchError{Text: "not there"}
}

// The debug file of a library that no server has is asked for when the library is
// named or walked through, not when only its code is looked at; and once.
func TestObtainCode(t *testing.T) {
	var kinds []string
	set := newSet(t, block(nil), modules.WithFetcher(noting{&kinds}), modules.WithDebugDir(t.TempDir()))
	lib := &libstate.Library{Path: "/none", BuildID: []byte{1, 2, 3, 4}}
	for range 2 {
		set.Obtain(lib)
	}
	if !slices.Equal(kinds, []string{find.KindExecutable}) || !set.Lacks(lib) {
		t.Errorf("for its code: %q", kinds)
	}
	for range 2 {
		if set.Image(lib) != nil {
			t.Error("an image of nothing")
		}
	}
	if !slices.Equal(kinds, []string{find.KindExecutable, find.KindDebugInfo}) || set.Lacks(lib) {
		t.Errorf("asked for %q", kinds)
	}
}
