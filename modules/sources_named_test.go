package modules_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

// Who makes a binary chooses the paths of sources in it. A source file at its recorded path
// is shown for this machine's own modules, and if it lies below the binary; else only where
// the user says that sources are.
func TestSourceIsNamed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of Unix")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	dir, err := filepath.EvalSymlinks(home)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	built := put(t, elfWith(idA, code), dir, "build", "prog")
	got := put(t, elfWith(idA, code), dir, "downloads", "prog")
	atHome := put(t, elfWith(idA, code), dir, "prog")
	source, near := put(t, []byte("one\n"), dir, "src", "a.c"), put(t, []byte("one\n"), dir, "downloads", "src", "a.c")
	put(t, []byte("key\n"), dir, "src", "key")
	noID, atNoID := put(t, elfWith(nil, code), dir, "noid", "prog"), put(t, []byte("one\n"), dir, "noid", "a.c")
	linked := filepath.Join(dir, "src", "b.c")
	if err := os.Symlink("key", linked); err != nil {
		t.Skip(err)
	}
	const asks = "only the debug information"
	search, mapped := modules.WithSearch(filepath.Join(dir, "src")), modules.WithSourceMap(filepath.Join(dir, "src"), filepath.Join(dir, "src"))
	for _, c := range []struct {
		name   string
		lib    libstate.Library
		source string
		opts   []modules.Option
		why    string // "" if it is shown
	}{
		{"where it was built", libstate.Library{Path: built, BuildID: idA}, source, nil, ""},
		{"given, where it was built", libstate.Library{Path: built, BuildID: idA, Kind: libstate.Executable}, source, []modules.Option{modules.WithExecutable(built)}, ""},
		{"given, from elsewhere", libstate.Library{Path: "/srv/prog", BuildID: idA, Kind: libstate.Executable}, source, []modules.Option{modules.WithExecutable(got)}, asks},
		{"given, another file at its path", libstate.Library{Path: atHome, BuildID: idA, Kind: libstate.Executable}, source, []modules.Option{modules.WithExecutable(got)}, asks},
		{"given, at a path of /proc", libstate.Library{Path: "/proc/self/root" + got, BuildID: idA, Kind: libstate.Executable}, source, []modules.Option{modules.WithExecutable(got)}, asks},
		{"below a given one", libstate.Library{Path: "/srv/prog", BuildID: idA, Kind: libstate.Executable}, near, []modules.Option{modules.WithExecutable(got)}, ""},
		{"below one at home", libstate.Library{Path: "/srv/prog", BuildID: idA, Kind: libstate.Executable}, source, []modules.Option{modules.WithExecutable(atHome)}, asks},
		{"in the search", libstate.Library{Path: "/srv/prog", BuildID: idA, Kind: libstate.Executable}, source, []modules.Option{modules.WithExecutable(got), search}, ""},
		{"mapped", libstate.Library{Path: "/srv/prog", BuildID: idA, Kind: libstate.Executable}, source, []modules.Option{modules.WithExecutable(got), mapped}, ""},
		{"another build", libstate.Library{Path: built, BuildID: idB}, source, nil, asks},
		{"another build, forced", libstate.Library{Path: built, BuildID: idB}, source, []modules.Option{modules.WithForceMismatched()}, asks},
		{"nothing proves it", libstate.Library{Path: noID}, atNoID, nil, asks},
		{"nothing proves it, forced", libstate.Library{Path: noID}, atNoID, []modules.Option{modules.WithForceMismatched()}, asks},
		{"no module", libstate.Library{Path: "/srv/prog", BuildID: idA}, source, nil, asks},
		{"no source by name", libstate.Library{Path: built, BuildID: idA}, filepath.Join(dir, "src", "key"), nil, "no source file"},
		{"a link to another file", libstate.Library{Path: built, BuildID: idA}, linked, nil, asks},
	} {
		f, err := newSet(t, regions{}, append(c.opts, someOption)...).SourceFile(&c.lib, c.source)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, %v; want %q", c.name, f, err, c.why)
		}
	}
	// What the owner of the binary may not read, its debug information does not show.
	if os.Getuid() != 0 {
		return // only root makes files of another's
	}
	if err := os.Chown(source, 12345, 12345); err != nil {
		t.Skip(err)
	}
	lib := libstate.Library{Path: built, BuildID: idA}
	if f, err := newSet(t, regions{}, someOption).SourceFile(&lib, source); err == nil {
		t.Errorf("another user's file: %+v", f)
	}
	if err := os.Chmod(source, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := newSet(t, regions{}, someOption).SourceFile(&lib, source); err != nil {
		t.Errorf("a file that all read: %v", err)
	}
}
