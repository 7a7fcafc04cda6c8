package modules_test

import (
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

// resolved is the path of the file that is taken for lib.
func resolved(t *testing.T, lib libstate.Library, opts ...modules.Option) string {
	t.Helper()
	r := newSet(t, regions{}, append(opts, someOption)...).Resolve(&lib)
	if (r.Match == modules.Matched) != (r.Path != "") {
		t.Errorf("%+v", r)
	}
	return r.Path
}

// Files of modules are looked for beside the executable that is given, not in the
// directory where the program happens to run.
func TestBesideExecutable(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	path := put(t, elfWith(idA, code), dir, "libx.so")
	lib := libstate.Library{Path: "/none/libx.so", BuildID: idA}
	if got := resolved(t, lib); got != "" {
		t.Errorf("%q in the current directory", got)
	}
	if got := resolved(t, lib, modules.WithExecutable(filepath.Join(dir, "prog"))); got != path {
		t.Errorf("%q beside the executable, want %q", got, path)
	}
	if got := resolved(t, lib, modules.WithBeside(dir)); got != path {
		t.Errorf("%q beside, want %q", got, path)
	}
}

// The root of a process stands for the root directory unless another sysroot is given.
func TestProcessRoot(t *testing.T) {
	root, sys := t.TempDir(), t.TempDir()
	inRoot, inSys := put(t, elfWith(idA, code), root, "opt", "libx.so"), put(t, elfWith(idA, code), sys, "opt", "libx.so")
	lib := libstate.Library{Path: "/opt/libx.so", BuildID: idA}
	for _, c := range []struct {
		opts []modules.Option
		want string
	}{
		{[]modules.Option{modules.WithProcessRoot(root)}, inRoot},
		{[]modules.Option{modules.WithProcessRoot(root), modules.WithSysroot(sys)}, inSys},
		{[]modules.Option{modules.WithSysroot(sys), modules.WithProcessRoot(root)}, inSys},
		{[]modules.Option{modules.WithProcessRoot(root), modules.WithSysroot(t.TempDir())}, ""},
		{[]modules.Option{modules.WithSysroot(t.TempDir()), modules.WithSysroot(sys)}, inSys},
		{[]modules.Option{modules.WithProcessRoot("")}, ""},
	} {
		if got := resolved(t, lib, c.opts...); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	// Without a build-id to compare, files of this machine are none of another's.
	data := elfWith(nil, code)
	file := put(t, data, t.TempDir(), "libx.so")
	lib = libstate.Library{Path: file, LoadBias: base}
	if r := newSet(t, regions{base: data}, modules.WithProcessRoot(root)).Resolve(&lib); r.Match != modules.Missing {
		t.Errorf("a file of this machine: %+v", r)
	}
	if r := newSet(t, regions{base: data}, modules.WithProcessRoot("")).Resolve(&lib); r.Match != modules.NoID {
		t.Errorf("without a root: %+v", r)
	}
}

// A running process holds its files open.
func TestHeldFiles(t *testing.T) {
	path := put(t, elfWith(idA, code), t.TempDir(), "deleted")
	for _, kind := range []libstate.Kind{libstate.Executable, libstate.SharedLibrary} {
		held := func(p string, main bool) []string {
			if p != "/none/prog" || main != (kind == libstate.Executable) {
				t.Errorf("%q, main %v", p, main)
			}
			return []string{path}
		}
		if got := resolved(t, libstate.Library{Path: "/none/prog", BuildID: idA, Kind: kind}, modules.WithHeldFiles(held)); got != path {
			t.Errorf("%q, want %q", got, path)
		}
	}
}

// The later symbol path counts.
func TestSymbolPath(t *testing.T) {
	dir := t.TempDir()
	path := put(t, peWith(t, codeID, ""), dir, "app.dll")
	lib := pe(libstate.ModuleID{CodeID: codeID})
	if got := resolved(t, lib, modules.WithSymbolPath(dir)); got != path {
		t.Errorf("%q, want %q", got, path)
	}
	if got := resolved(t, lib, modules.WithSymbolPath(dir), modules.WithSymbolPath(t.TempDir())); got != "" {
		t.Errorf("%q of an earlier path", got)
	}
}

// Nil takes a fetcher of symbols away.
func TestNoSymbolFetcher(t *testing.T) {
	var asked []modules.StoreKey
	lib := pe(libstate.ModuleID{CodeID: codeID})
	set := newSet(t, regions{}, modules.WithSymbolFetcher(store{asked: &asked}), modules.WithSymbolFetcher(nil))
	if set.Lacks(&lib) || set.Image(&lib) != nil || len(asked) > 0 {
		t.Errorf("asked for %v", asked)
	}
}

// plain is a Source and no more.
type plain struct{ im *modules.Image }

func (p plain) Image(*libstate.Library) *modules.Image { return p.im }

// What takes files for the process's, or wants them at once, asks a Source for just that
// if it tells, and else for the file.
func TestSources(t *testing.T) {
	im, err := modules.NewImage(elfWith(idA, code))
	if err != nil {
		t.Fatal(err)
	}
	lib := &libstate.Library{Path: "/none", BuildID: idA}
	if modules.LocalImage(plain{im}, lib) != im || modules.MatchedImage(plain{im}, lib) != im {
		t.Error("the file of a plain source is not taken")
	}
	wrong := put(t, elfWith(idB, code), t.TempDir(), "libx.so")
	set := newSet(t, regions{}, modules.WithForceMismatched(), someOption)
	lib = &libstate.Library{Path: wrong, BuildID: idA}
	if modules.LocalImage(set, lib).Path() != wrong || modules.MatchedImage(set, lib) != nil {
		t.Error("a file of another build is taken for the process's")
	}
	var asked []string
	set = newSet(t, regions{}, someOption, modules.WithFetcher(server{nil, errServer, &asked}))
	if modules.LocalImage(set, &libstate.Library{BuildID: idA}) != nil || len(asked) > 0 {
		t.Errorf("asked for %q", asked)
	}
	if modules.MatchedImage(set, &libstate.Library{BuildID: idA}) != nil || len(asked) != 1 {
		t.Errorf("asked for %q", asked)
	}
}

// A key of a symbol store accepts the file that it identifies.
func TestStoreKey(t *testing.T) {
	dir := t.TempDir()
	img, sym := put(t, peWith(t, codeID, debugID), dir, "app.dll"), put(t, symWith(debugID, codeID), dir, "app.sym")
	for kind, word := range map[modules.SymbolKind]string{modules.PDB: "PDB", modules.BreakpadSymbol: "symbol file", modules.PEImage: "PE image"} {
		if kind.String() != word {
			t.Errorf("%d is %q, want %q", kind, kind, word)
		}
	}
	image := modules.StoreKey{Name: "App.dll", ID: codeID, File: "App.dll", Kind: modules.PEImage}
	symbols := modules.StoreKey{Name: "app.pdb", ID: debugID, File: "app.sym", Kind: modules.BreakpadSymbol}
	if paths := image.Paths(); len(paths) == 0 || paths[0] != "App.dll/"+codeID+"/App.dll" {
		t.Errorf("paths %q", paths)
	}
	if paths := symbols.Paths(); len(paths) == 0 || paths[0] != "app.pdb/"+debugID+"/app.sym" {
		t.Errorf("paths %q", paths)
	}
	for _, c := range []struct {
		key  modules.StoreKey
		path string
		ok   bool
	}{
		{image, img, true},
		{symbols, sym, true},
		{image, sym, false},
		{symbols, img, false},
		{modules.StoreKey{ID: otherID(codeID), Kind: modules.PEImage}, img, false},
		{modules.StoreKey{ID: otherID(debugID), Kind: modules.BreakpadSymbol}, sym, false},
		{modules.StoreKey{ID: debugID, Kind: modules.PDB}, sym, false},
	} {
		if err := c.key.Check(c.path); (err == nil) != c.ok {
			t.Errorf("%+v, %s: %v", c.key, c.path, err)
		}
	}
}
