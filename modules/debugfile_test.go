package modules_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

var (
	idA = []byte{1, 2, 3, 4}
	idB = []byte{1, 2, 3, 5}

	debugInfo  = section{".debug_info", elffile.SHT_PROGBITS}
	symTab     = section{".symtab", elffile.SHT_SYMTAB}
	someOption = modules.WithDebugDir("/nowhere")
)

// link is where a debug directory has the debug file of a build-id.
func link(dir string, id []byte) string {
	h := hex.EncodeToString(id)
	return filepath.Join(dir, ".build-id", h[:2], h[2:]+".debug")
}

// A debug file stands for a missing library if it is of its build and tells something.
func TestDebugFileOfMissing(t *testing.T) {
	long := slices.Repeat([]byte{7}, 20)
	partial := &libstate.ModuleID{Format: libstate.FormatELF, PartialBuildID: true}
	for _, c := range []struct {
		name string
		file []byte
		at   []byte // the build-id whose name it has; nil for another name, which a search finds
		lib  libstate.Library
		used bool
	}{
		{"DWARF", elfWith(idA, noCode, debugInfo), idA, libstate.Library{BuildID: idA}, true},
		{"compressed DWARF", elfWith(idA, noCode, section{".zdebug_info", elffile.SHT_PROGBITS}), idA, libstate.Library{BuildID: idA}, true},
		{"call frames", elfWith(idA, noCode, section{".debug_frame", elffile.SHT_PROGBITS}), idA, libstate.Library{BuildID: idA}, true},
		{"symbols", elfWith(idA, noCode, symTab), idA, libstate.Library{BuildID: idA}, true},
		{"lines only", elfWith(idA, noCode, section{".debug_line", elffile.SHT_PROGBITS}), idA, libstate.Library{BuildID: idA}, false},
		{"nothing", elfWith(idA, noCode), idA, libstate.Library{BuildID: idA}, false},
		{"another build", elfWith(idB, noCode, debugInfo), idA, libstate.Library{BuildID: idA}, false},
		{"no build-id", elfWith(nil, noCode, debugInfo), idA, libstate.Library{BuildID: idA}, false},
		{"a longer build-id", elfWith(append(slices.Clone(idA), 0), noCode, debugInfo), idA, libstate.Library{BuildID: idA}, false},
		{"not an ELF file", []byte("text"), idA, libstate.Library{BuildID: idA}, false},
		{"searched", elfWith(idA, noCode, debugInfo), nil, libstate.Library{BuildID: idA}, true},
		{"searched, a short build-id", elfWith(idA[:1], noCode, debugInfo), nil, libstate.Library{BuildID: idA[:1]}, true},
		{"neither has a build-id", elfWith(nil, noCode, debugInfo), nil, libstate.Library{}, false},
		{"the beginning of the build-id", elfWith(long, noCode, debugInfo), long, libstate.Library{BuildID: long[:16], Module: partial}, true},
		{"only the beginning is the same", elfWith(long, noCode, debugInfo), long, libstate.Library{BuildID: long[:16]}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "some.debug")
			if c.at != nil {
				path = link(dir, c.at)
			}
			put(t, c.file, path)
			opts := []modules.Option{modules.WithDebugDir(dir)}
			if c.at == nil {
				opts = append(opts, modules.WithSearch(dir))
			}
			c.lib.Path = "/none"
			r := newSet(t, regions{}, opts...).Resolve(&c.lib)
			if r.Match != modules.Missing || r.Path != "" || (r.Image != nil) != c.used {
				t.Fatalf("%+v, want an image: %v", r, c.used)
			}
			if c.used && (r.Image.Path() != path || !r.Image.DebugOnly()) {
				t.Errorf("%q, want %q", r.Image.Path(), path)
			}
		})
	}
}

// A debug file that has the code, too, is the library.
func TestDebugFileThatIsTheLibrary(t *testing.T) {
	dir := t.TempDir()
	path := put(t, elfWith(idA, code, debugInfo), link(dir, idA))
	r := newSet(t, regions{}, modules.WithDebugDir(dir)).Resolve(&libstate.Library{Path: "/none", BuildID: idA})
	if r.Match != modules.Matched || r.Path != path || r.Image.Path() != path {
		t.Errorf("%+v", r)
	}
}

// server has files by kind, and an error for what it lacks. It notes what it is asked for.
type server struct {
	files map[string]string
	err   error
	asked *[]string
}

func (s server) Fetch(_ context.Context, _ []byte, kind string) (string, error) {
	*s.asked = append(*s.asked, kind)
	if path := s.files[kind]; path != "" {
		return path, nil
	}
	return s.files["anything"], s.err
}

var errServer = errors.New("the server is down")

// What a server sends is used if it is of the right build, and what was asked for.
func TestFetch(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string { return put(t, data, dir, name) }
	right, wrong, plain := file("right", elfWith(idA, code)), file("wrong", elfWith(idB, code, symTab)), file("plain", elfWith(nil, code, symTab))
	debug, otherDebug, text := file("debug", elfWith(idA, noCode, debugInfo)), file("other", elfWith(idB, noCode, debugInfo)), file("text", []byte("text"))
	empty := file("empty", elfWith(idA, noCode))
	const exe, dbg = find.KindExecutable, find.KindDebugInfo
	for _, c := range []struct {
		name  string
		files map[string]string
		match modules.Match
		why   string
		image string // of Set.Image
	}{
		{"right", map[string]string{exe: right}, modules.Matched, "", right},
		{"another build", map[string]string{exe: wrong}, modules.Missing, "file has build-id 01020305, the process had 01020304", ""},
		{"no build-id", map[string]string{exe: plain}, modules.Missing, "file has no build-id", ""},
		{"debug information for code", map[string]string{exe: debug}, modules.Missing, debug + " has debug information only, not the code", ""},
		{"no ELF file", map[string]string{exe: text}, modules.Missing, text, ""},
		{"a file that is not there", map[string]string{exe: "/none/file"}, modules.Missing, "/none/file", ""},
		{"an error", nil, modules.Missing, "the server is down", ""},
		{"a file with an error", map[string]string{"anything": debug}, modules.Missing, "the server is down", ""},
		{"debug information", map[string]string{dbg: debug}, modules.Missing, "the server is down", debug},
		{"debug information of another build", map[string]string{dbg: otherDebug}, modules.Missing, "the server is down", ""},
		{"a debug file with nothing", map[string]string{dbg: empty}, modules.Missing, "the server is down", ""},
		{"a debug file that is not there", map[string]string{dbg: "/none/file"}, modules.Missing, "the server is down", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			set := newSet(t, regions{}, modules.WithFetcher(server{c.files, errServer, &asked}), modules.WithDebugDir(t.TempDir()))
			lib := &libstate.Library{Path: "/none", BuildID: idA}
			if r := set.Resolve(lib); r.Match != modules.Missing || r.Why != "" || set.LocalImage(lib) != nil || len(asked) > 0 {
				t.Errorf("before: %+v, asked for %q", r, asked)
			}
			r := set.Obtain(lib)
			if r.Match != c.match || !strings.Contains(r.Why, c.why) || strings.HasPrefix(r.Why, ";") || c.why == "" && r.Why != "" {
				t.Errorf("%v, %q; want %v, %q", r.Match, r.Why, c.match, c.why)
			}
			if r.Match == modules.Matched && (r.Path != c.files[exe] || set.MatchedImage(lib) != r.Image) || r.Match != modules.Matched && (r.Path != "" || r.Image != nil) {
				t.Errorf("%+v", r)
			}
			if set.Resolve(lib) != r {
				t.Errorf("Resolve forgot: %+v", set.Resolve(lib))
			}
			im := set.Image(lib)
			if im.Path() != c.image || set.LocalImage(lib) != im || set.Obtain(lib).Match != c.match {
				t.Errorf("image %q, local one %q, want %q", im.Path(), set.LocalImage(lib).Path(), c.image)
			}
			want := []string{exe, dbg}
			if c.match == modules.Matched {
				want = want[:1]
			}
			if !slices.Equal(asked, want) {
				t.Errorf("asked for %q, want %q", asked, want)
			}
		})
	}
}

// A file of another build is replaced by a fetched one; where there is none, both reasons
// are told, and it is used only if the user insists.
func TestFetchForMismatched(t *testing.T) {
	dir := t.TempDir()
	right, debug := put(t, elfWith(idA, code), dir, "right"), put(t, elfWith(idA, noCode, debugInfo), dir, "right.debug")
	wrong := put(t, elfWith(idB, code), dir, "at", "libx.so")
	for _, force := range []bool{false, true} {
		opts := []modules.Option{modules.WithDebugDir(t.TempDir())}
		if force {
			opts = append(opts, modules.WithForceMismatched())
		}
		var asked []string
		lib := &libstate.Library{Path: wrong, BuildID: idA}
		set := newSet(t, regions{}, append(opts, modules.WithFetcher(server{map[string]string{find.KindExecutable: right}, nil, &asked}))...)
		if !set.Lacks(lib) {
			t.Errorf("force %v: lacks nothing", force)
		}
		if r := set.Obtain(lib); r.Match != modules.Matched || r.Forced || r.Path != right || r.Why != "" || set.MatchedImage(lib) != r.Image {
			t.Errorf("force %v: %+v", force, r)
		}
		set = newSet(t, regions{}, append(opts, modules.WithFetcher(server{map[string]string{find.KindDebugInfo: debug}, errServer, &asked}))...)
		r := set.Obtain(lib)
		if r.Match != modules.Mismatched || r.Forced != force || r.Path != wrong || r.Why != "file has build-id 01020305, the process had 01020304; the server is down" {
			t.Errorf("force %v: %+v", force, r)
		}
		want := debug // for names; the wrong file is not touched
		if force {
			want = wrong
		}
		if got := set.Image(lib).Path(); got != want || (r.Image != nil) != force || force && set.MatchedImage(lib) != nil {
			t.Errorf("force %v: image %q, want %q", force, got, want)
		}
	}
}

// A library without a file of its own that was found, but with a debug file: it comes from
// the servers once.
func TestCompleteDebugFile(t *testing.T) {
	dir := t.TempDir()
	binary, debug := put(t, elfWith(idA, code), dir, "libx.so"), put(t, elfWith(idA, noCode, debugInfo), dir, "x.debug")
	var asked []string
	set := newSet(t, regions{}, modules.WithDebugDir(t.TempDir()), modules.WithFetcher(server{map[string]string{find.KindDebugInfo: debug}, nil, &asked}))
	lib := &libstate.Library{Path: binary, BuildID: idA}
	if !set.Lacks(lib) || set.Image(lib).DebugPath() != "" || len(asked) > 0 {
		t.Errorf("before: asked for %q", asked)
	}
	for range 2 {
		set.FetchAll(lib)
		if set.Lacks(lib) || set.Image(lib).DebugPath() != debug || !slices.Equal(asked, []string{find.KindDebugInfo}) {
			t.Errorf("after: debug file %q, asked for %q", set.Image(lib).DebugPath(), asked)
		}
	}
}

// What a server sends as the debug file of a build, and is not that build's, names nothing.
func TestFetchedDebugFileOfAnother(t *testing.T) {
	dir := t.TempDir()
	binary, other := put(t, elfWith(idA, code), dir, "libx.so"), put(t, elfWith(idB, noCode, debugInfo), dir, "x.debug")
	var asked []string
	set := newSet(t, regions{}, modules.WithDebugDir(t.TempDir()), modules.WithFetcher(server{map[string]string{find.KindDebugInfo: other}, nil, &asked}))
	lib := &libstate.Library{Path: binary, BuildID: idA}
	if set.FetchAll(lib); set.Image(lib).DebugPath() != "" || len(asked) == 0 {
		t.Errorf("debug file %q, asked for %q", set.Image(lib).DebugPath(), asked)
	}
}

// A file that is taken for its layout is kept: servers are asked for its debug file only.
func TestNoIDIsKept(t *testing.T) {
	file := elfWith(nil, code)
	path := put(t, file, t.TempDir(), "libx.so")
	var asked []string
	set := newSet(t, regions{base: file}, someOption, modules.WithFetcher(server{nil, errServer, &asked}))
	lib := &libstate.Library{Path: path, LoadBias: base}
	r := set.Obtain(lib)
	set.FetchAll(lib)
	if r.Match != modules.NoID || r.Path != path || set.Obtain(lib) != r || set.Lacks(lib) || len(asked) > 0 {
		t.Errorf("%+v, asked for %q", r, asked)
	}
}

// Part of a build-id, and one of a single byte, name no file to servers.
func TestUnfetchable(t *testing.T) {
	partial := &libstate.ModuleID{Format: libstate.FormatELF, PartialBuildID: true}
	for name, lib := range map[string]libstate.Library{
		"partial": {BuildID: slices.Repeat([]byte{7}, 16), Module: partial},
		"short":   {BuildID: idA[:1]},
		"vdso":    {BuildID: idA, Kind: libstate.VDSO},
	} {
		var asked []string
		set := newSet(t, regions{}, someOption, modules.WithFetcher(server{nil, errServer, &asked}))
		if set.Image(&lib) != nil || set.Lacks(&lib) || len(asked) > 0 {
			t.Errorf("%s: asked for %q", name, asked)
		}
	}
	var asked []string
	set := newSet(t, regions{}, someOption, modules.WithFetcher(server{nil, errServer, &asked}))
	// All of a build-id of 16 bytes.
	if lib := (&libstate.Library{BuildID: slices.Repeat([]byte{7}, 16), Module: &libstate.ModuleID{}}); !set.Lacks(lib) || set.Image(lib) != nil || len(asked) != 2 {
		t.Errorf("asked for %q", asked)
	}
}

// Nothing is fetched once the context is done.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var asked []string
	set, err := modules.New(ctx, regions{}, someOption, modules.WithFetcher(server{nil, errServer, &asked}))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	cancel()
	if r := set.Obtain(&libstate.Library{BuildID: idA}); len(asked) > 0 || !strings.Contains(r.Why, context.Canceled.Error()) {
		t.Errorf("%q, asked for %q", r.Why, asked)
	}
}

// A file that is taken for its contents has a debug file by its own build-id; a library with
// a debug file only lacks its code.
func TestLacksWhat(t *testing.T) {
	dir := t.TempDir()
	file := elfWith(idA, code)
	binary := put(t, file, dir, "libx.so")
	put(t, elfWith(idB, noCode, debugInfo), link(dir, idB))
	var asked []string
	set := newSet(t, regions{base: file}, modules.WithDebugDir(dir), modules.WithFetcher(server{nil, errServer, &asked}))
	for _, c := range []struct {
		lib  libstate.Library
		asks []string
	}{
		{libstate.Library{Path: binary, LoadBias: base}, []string{find.KindDebugInfo}},
		{libstate.Library{Path: "/none", BuildID: idB}, []string{find.KindExecutable}},
	} {
		if set.LocalImage(&c.lib) == nil || !set.Lacks(&c.lib) {
			t.Errorf("%+v: image %v, lacks %v", c.lib, set.LocalImage(&c.lib) != nil, set.Lacks(&c.lib))
		}
		asked = nil
		set.FetchAll(&c.lib)
		if set.Lacks(&c.lib) || !slices.Equal(asked, c.asks) {
			t.Errorf("%+v: asked for %q", c.lib, asked)
		}
	}
}

// A debug file that could not be fetched, for instance because the disk is full, is told of.
func TestDebugFileFails(t *testing.T) {
	var asked []string
	set := newSet(t, regions{}, modules.WithFetcher(diskFull{server{nil, fs.ErrNotExist, &asked}}), modules.WithDebugDir(t.TempDir()))
	lib := &libstate.Library{Path: "/none", BuildID: idA}
	if im := set.Image(lib); im != nil || !strings.Contains(set.Resolve(lib).Why, errDisk.Error()) {
		t.Errorf("%v, %q", im, set.Resolve(lib).Why)
	}
}

var errDisk = errors.New("no space left on device")

// A diskFull server lacks binaries, and fails for debug files.
type diskFull struct{ server }

func (d diskFull) Fetch(ctx context.Context, id []byte, kind string) (string, error) {
	if kind == find.KindDebugInfo {
		return "", errDisk
	}
	return d.server.Fetch(ctx, id, kind)
}
