package find

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/format/decompress/cabtest"
	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

// appModule is a module as a Windows dump describes it.
var appModule = Module{Path: `C:\Program Files\App\App.DLL`, CodeID: testCodeID, DebugID: testDebugID, DebugFile: `d:\build\out\App.pdb`}

func symbolFiles(f *Finder, m Module) []string {
	var list []string
	for s := range f.SymbolFiles(m) {
		list = append(list, fmt.Sprintf("%v %s", s.Kind, s.Path))
	}
	return list
}

func finder(t *testing.T, o Options) *Finder {
	t.Helper()
	if o.SymbolCache.Dir == "" {
		o.SymbolCache.Dir = filepath.Join(t.TempDir(), "cache")
	}
	o.DebugDirs = []string{}
	return New(context.Background(), o)
}

// The layouts of stores, looked up by path.
func TestStoreLayouts(t *testing.T) {
	id, lower, upper := testDebugID, strings.ToLower(testDebugID), strings.ToUpper(testDebugID)
	pdb, sym, pe := pdbWith(t, id), symWith(id, testCodeID, "App.pdb"), peWith(t, testCodeID, id, "App.pdb")
	for name, tt := range map[string]struct {
		path string // in the store
		data []byte
		also map[string]string // path -> text
		want string            // "": path
	}{
		"PDB":                    {path: "App.pdb/" + id + "/App.pdb", data: pdb},
		"PDB, upper case":        {path: "App.pdb/" + upper + "/App.pdb", data: pdb},
		"PDB, lower case":        {path: "app.pdb/" + lower + "/app.pdb", data: pdb},
		"PDB, two letters":       {path: "Ap/App.pdb/" + upper + "/App.pdb", data: pdb, also: map[string]string{"index2.txt": ""}},
		"PDB, compressed":        {path: "App.pdb/" + id + "/App.pd_", data: cabtest.MSZIP("App.pdb", pdb), want: "cache"},
		"PDB, stored in cabinet": {path: "App.pdb/" + id + "/App.pd_", data: cabtest.Stored("x", pdb), want: "cache"},
		"PDB, pointer":           {path: "away/a.pdb", data: pdb, also: map[string]string{"App.pdb/" + id + "/file.ptr": "PATH:../../away/a.pdb\r\n"}, want: "App.pdb/" + id + "/../../away/a.pdb"},
		"PDB, pointer to cab":    {path: "away/a.pd_", data: cabtest.MSZIP("a", pdb), also: map[string]string{"App.pdb/" + id + "/file.ptr": "../../away/a.pd_"}, want: "cache"},
		"Breakpad":               {path: "App.pdb/" + id + "/App.sym", data: sym},
		"Breakpad, compressed":   {path: "App.pdb/" + id + "/App.sy_", data: cabtest.MSZIP("App.sym", sym), want: "cache"},
		"Breakpad, a cabinet":    {path: "App.pdb/" + id + "/App.sym", data: cabtest.MSZIP("App.sym", sym), want: "cache"},
		"Breakpad, .cab":         {path: "App.pdb/" + id + "/App.sym.cab", data: cabtest.Stored("App.sym", sym), want: "cache"},
		"Breakpad, by code id":   {path: "App.DLL/" + testCodeID + "/App.DLL.sym", data: sym},
		"Breakpad, stem":         {path: "App.DLL/" + testCodeID + "/App.sym", data: sym},
		"PE":                     {path: "App.DLL/5F3A00BC7000/App.DLL", data: pe},
		"PE, lower case":         {path: "app.dll/5f3a00bc7000/app.dll", data: pe},
		"PE, compressed":         {path: "app.dll/5f3a00bc7000/app.dl_", data: cabtest.MSZIP("App.dll", pe), want: "cache"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, where := range []string{"search", "symbol path"} {
				dir := t.TempDir()
				path := write(t, filepath.Join(dir, tt.path), tt.data)
				for p, text := range tt.also {
					write(t, filepath.Join(dir, p), []byte(text))
				}
				o := Options{Search: []string{dir}}
				if where == "symbol path" {
					o = Options{SymbolDirs: []string{dir}}
				}
				f := finder(t, o)
				kind, got := KindPE, slices.Collect(f.Binaries(appModule))
				if !strings.HasPrefix(name, "PE") {
					kind, got = KindPDB, nil
					if strings.HasPrefix(name, "Breakpad") {
						kind = KindBreakpad
					}
					for s := range f.SymbolFiles(appModule) {
						if s.Kind == kind {
							got = append(got, s.Path)
						}
					}
				}
				want := path
				switch {
				case tt.want == "cache":
					k := symbolKeys(appModule, kind)[0]
					want = f.opts.SymbolCache.path(k)
				case tt.want != "":
					want = filepath.Join(dir, tt.want)
				}
				if !slices.Contains(got, want) {
					t.Errorf("%s: %q, want %s; %v", where, got, want, f.Unusable())
				} else if err := (StoreKey{Kind: kind, ID: map[bool]string{true: testCodeID, false: id}[kind == KindPE]}).verify(want); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Cabinets that cannot be expanded are reported once and leave nothing behind.
func TestUnusableCabinets(t *testing.T) {
	dir := t.TempDir()
	pdb := pdbWith(t, testDebugID)
	for i, tt := range []struct {
		cab  []byte
		want string
	}{
		{cabtest.Method(cabtest.MSZIP("a", pdb), 3), "LZX"},
		{cabtest.MSZIP("a", pdbWith(t, strings.Repeat("1", 33))), "want " + testDebugID},
		{cabtest.MSZIP("a", []byte("hello")), "not a PDB"},
		{cabtest.MSZIP("a", pdb)[:200], "truncated"},
		{cabtest.MSZIP("a", pdb[:7*512]), "truncated"},
		{cabtest.Stored("a", cabtest.Stored("a", pdb)), "contains another cabinet"},
	} {
		store := filepath.Join(dir, fmt.Sprint(i))
		write(t, filepath.Join(store, "App.pdb", testDebugID, "App.pd_"), tt.cab)
		f := finder(t, Options{SymbolDirs: []string{store}})
		for range 2 {
			if got := symbolFiles(f, appModule); len(got) != 0 {
				t.Errorf("%s: %q", tt.want, got)
			}
		}
		if got := f.Unusable(); len(got) != 1 || !strings.Contains(got[0], tt.want) {
			t.Errorf("%q, want one with %q", got, tt.want)
		}
		if left, _ := filepath.Glob(filepath.Join(f.opts.SymbolCache.Dir, "*")); len(left) != 0 {
			t.Errorf("%s: %q are left in the cache", tt.want, left)
		}
	}
}

// Files anywhere below a search directory are found by their identifiers, whatever their
// names.
func TestSearchSymbols(t *testing.T) {
	dir := t.TempDir()
	other := strings.Repeat("7", 33)
	pdb := write(t, filepath.Join(dir, "a/renamed.pdb"), pdbWith(t, testDebugID))
	write(t, filepath.Join(dir, "a/App.pdb"), pdbWith(t, other))
	sym := write(t, filepath.Join(dir, "b/x.sym"), symWith(testDebugID, testCodeID, "App.pdb"))
	pe := write(t, filepath.Join(dir, "c/old.dll"), peWith(t, testCodeID, testDebugID, ""))
	app := write(t, filepath.Join(dir, "d/APP.dll"), peWith(t, testCodeID, "", ""))
	f := finder(t, Options{Search: []string{dir}})
	if got, want := symbolFiles(f, appModule), []string{"PDB " + pdb, "symbol file " + sym}; !slices.Equal(got, want) {
		t.Errorf("symbol files %q, want %q", got, want)
	}
	if got := slices.Collect(f.Binaries(appModule)); !slices.Equal(got, []string{app, pe}) {
		t.Errorf("binaries %q, want %q", got, []string{app, pe})
	}
	if got := slices.Collect(f.Binaries(Module{Path: `c:\old.DLL`, DebugID: strings.ToUpper(testDebugID)})); !slices.Equal(got, []string{pe}) {
		t.Errorf("binaries by debug identifier %q, want %q", got, pe)
	}
	if got := slices.Collect(f.Binaries(Module{Path: `c:\App.DLL`})); !slices.Equal(got, []string{app}) {
		t.Errorf("binaries by name %q, want %q", got, app)
	}
	if got, want := symbolFiles(f, Module{Path: `c:\other.dll`, CodeID: testCodeID}), []string{"symbol file " + sym}; !slices.Equal(got, want) {
		t.Errorf("by code id %q, want %q", got, want)
	}
	if got, want := symbolFiles(f, Module{Path: "App.exe"}), []string{"PDB " + filepath.Join(dir, "a/App.pdb")}; !slices.Equal(got, want) {
		t.Errorf("by name %q, want %q", got, want)
	}
	// The identifier of an ELF file is derived from its build-id.
	id := guidBytes(t, testGUID)
	elf := write(t, filepath.Join(dir, "e/libx.so.sym"), symWith(testGUID+"0", "", "libx.so"))
	f = finder(t, Options{Search: []string{dir}})
	if got := symbolFiles(f, Module{Path: "/lib/libx.so", BuildID: append(id, 1, 2, 3, 4)}); !slices.Equal(got, []string{"symbol file " + elf}) {
		t.Errorf("of ELF %q, want %q", got, elf)
	}
}

// Compressed files outside of stores: Breakpad symbol files are found by the identifiers in
// them, others only where their names say whose they are.
func TestCabinetsOutsideOfStores(t *testing.T) {
	sym, pdb := symWith(testDebugID, testCodeID, "App.pdb"), pdbWith(t, testDebugID)
	long := append(slices.Clip(sym), strings.Repeat("FILE 1 x\n", 10000)...)
	for _, c := range []struct {
		name, path string
		data       []byte
		kind       string // "" if it is not found
		unusable   string
	}{
		{name: "below", path: "search/any.sy_", data: cabtest.MSZIP("x", sym), kind: "symbol file"},
		{name: "below, with any name", path: "search/a/b/setup.cab", data: cabtest.Stored("x", long), kind: "symbol file"},
		{name: "below, in many blocks", path: "search/any.sy_", data: cabtest.MSZIP("x", long), kind: "symbol file"},
		{name: "below, of another build", path: "search/any.sy_", data: cabtest.MSZIP("x", symWith(strings.Repeat("7", 33), "", "App.pdb"))},
		{name: "below, no symbol file", path: "search/setup.cab", data: cabtest.MSZIP("x", []byte(strings.Repeat("hello", 100)))},
		{name: "below, cut off", path: "search/any.sy_", data: cabtest.MSZIP("x", sym)[:60]},
		{name: "below, cut off later", path: "search/any.sy_", data: cabtest.Stored("x", long)[:60000], unusable: "truncated"},
		{name: "beside", path: "dumps/App.sy_", data: cabtest.MSZIP("x", sym), kind: "symbol file"},
		{name: "beside, a PDB", path: "dumps/App.pd_", data: cabtest.MSZIP("x", pdb), kind: "PDB"},
		{name: "beside, .cab", path: "dumps/App.sym.cab", data: cabtest.MSZIP("x", sym), kind: "symbol file"},
		{name: "in a flat directory", path: "syms/App.pd_", data: cabtest.MSZIP("x", pdb), kind: "PDB"},
		{name: "beside, of another build", path: "dumps/App.sy_", data: cabtest.MSZIP("x", symWith(strings.Repeat("7", 33), "", "App.pdb")), unusable: "identifier is"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, c.path), c.data)
		f := finder(t, Options{Beside: []string{filepath.Join(dir, "dumps")}, SymbolDirs: []string{filepath.Join(dir, "syms")}, Search: []string{filepath.Join(dir, "search")}})
		var want []string
		if c.kind != "" {
			kind := map[string]SymbolKind{"PDB": KindPDB, "symbol file": KindBreakpad}[c.kind]
			want = []string{c.kind + " " + f.opts.SymbolCache.path(symbolKeys(appModule, kind)[0])}
		}
		if got := symbolFiles(f, appModule); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
		if got := strings.Join(f.Unusable(), "\n"); (got != "") != (c.unusable != "") || !strings.Contains(got, c.unusable) {
			t.Errorf("%s: unusable %q, want %q", c.name, got, c.unusable)
		}
		if got := symbolFiles(f, Module{Path: "App.dll"}); len(got) != 0 {
			t.Errorf("%s: without an identifier %q", c.name, got)
		}
	}
}

// A file that a store's path leads to is used without reading the search directories.
// Stores below them are used for look-ups, not read.
func TestStoresAreNotRead(t *testing.T) {
	dir := t.TempDir()
	direct := write(t, filepath.Join(dir, "App.pdb", testDebugID, "App.pdb"), pdbWith(t, testDebugID))
	f := finder(t, Options{Search: []string{dir}})
	if got := symbolFiles(f, appModule); !slices.Equal(got, []string{"PDB " + direct}) || f.index.peByID != nil {
		t.Errorf("%q, the directories were read: %v", got, f.index.peByID != nil)
	}
	// A wrong file there does not hide the others.
	write(t, direct, pdbWith(t, strings.Repeat("7", 33)))
	right := write(t, filepath.Join(dir, "z/App.pdb"), pdbWith(t, testDebugID))
	if got := symbolFiles(f, appModule); !slices.Contains(got, "PDB "+right) {
		t.Errorf("%q, want %s", got, right)
	}

	dir = t.TempDir()
	nested := write(t, filepath.Join(dir, "deep/symbols/App.pdb", testDebugID, "App.sym"), symWith(testDebugID, "", "App.pdb"))
	marked := write(t, filepath.Join(dir, "deep/store/App.DLL", testCodeID, "App.DLL"), peWith(t, testCodeID, "", ""))
	write(t, filepath.Join(dir, "deep/store/pingme.txt"), nil)
	// Directories that only look like stores are read: they contain other files.
	elf := write(t, filepath.Join(dir, "cache", strings.Repeat("a", 40), "executable"), elftest.WithID(3, []byte{1, 2, 3}, 0))
	elf2 := write(t, filepath.Join(dir, "x.d", strings.Repeat("b", 16), "x"), elftest.WithID(3, []byte{1, 2, 3}, 0))
	f = finder(t, Options{Search: []string{dir}})
	if got := symbolFiles(f, appModule); !slices.Equal(got, []string{"symbol file " + nested}) {
		t.Errorf("%q, want %s", got, nested)
	}
	if got := slices.Collect(f.Binaries(appModule)); !slices.Equal(got, []string{marked}) {
		t.Errorf("%q, want %s", got, marked)
	}
	if want := []string{filepath.Join(dir, "deep/store"), filepath.Join(dir, "deep/symbols")}; !slices.Equal(f.index.stores, want) {
		t.Errorf("stores %q, want %q", f.index.stores, want)
	}
	if got := slices.Collect(f.Binaries(Module{Path: "x", BuildID: []byte{1, 2, 3}})); !slices.Equal(got, []string{elf, elf2}) {
		t.Errorf("%q, want %q and %q", got, elf, elf2)
	}
}

// If a directory begins with many names typical of a store, the rest is not read.
func TestLargeStore(t *testing.T) {
	dir := t.TempDir()
	for i := range surelyStore {
		write(t, filepath.Join(dir, "st", fmt.Sprintf("a%03d.pdb", i), testDebugID, fmt.Sprintf("a%03d.sym", i)), nil)
	}
	write(t, filepath.Join(dir, "st/z/App.pdb"), pdbWith(t, testDebugID))
	stored := write(t, filepath.Join(dir, "st/app.pdb", strings.ToLower(testDebugID), "app.sym"), symWith(testDebugID, "", "App.pdb"))
	o := Options{Search: []string{dir}}
	if got := symbolFiles(finder(t, o), appModule); !slices.Equal(got, []string{"symbol file " + stored}) {
		t.Errorf("%q, want %s", got, stored)
	}
	write(t, filepath.Join(dir, "st/README"), nil)
	if got := symbolFiles(finder(t, o), appModule); len(got) != 2 {
		t.Errorf("%q: a directory that is no store only is not read to its end", got)
	}
}

// The search directories are not read for an ELF file that has been found.
func TestELFAtHand(t *testing.T) {
	dir := t.TempDir()
	m := Module{Path: "/lib/libx.so", BuildID: guidBytes(t, testGUID), File: "/lib/libx.so"}
	write(t, filepath.Join(dir, "x/libx.so.sym"), symWith(testGUID+"0", "", "libx.so"))
	f := finder(t, Options{Search: []string{dir}})
	if got := symbolFiles(f, m); len(got) != 0 || f.index.byID != nil {
		t.Errorf("%q, the directories were read: %v", got, f.index.byID != nil)
	}
	direct := write(t, filepath.Join(dir, "libx.so", testGUID+"0", "libx.so.sym"), symWith(testGUID+"0", "", "libx.so"))
	if got := symbolFiles(f, m); !slices.Equal(got, []string{"symbol file " + direct}) {
		t.Errorf("%q, want %s", got, direct)
	}
}

// Beside the dump, beside the module's own file, where it was built, and in plain
// directories of the symbol path.
func TestSymbolsBeside(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return write(t, filepath.Join(dir, name), pdbWith(t, testDebugID)) }
	built, beside, at, plain, below := in("built/App.pdb"), in("dumps/App.pdb"), in("bin/App.pdb"), in("syms/App.pdb"), in("syms2/symbols/dll/App.pdb")
	f := finder(t, Options{Beside: []string{filepath.Join(dir, "dumps")}, SymbolDirs: []string{filepath.Join(dir, "syms"), filepath.Join(dir, "syms2")}})
	m := appModule
	m.DebugFile, m.File = built, filepath.Join(dir, "bin/App.dll")
	if got, want := symbolFiles(f, m), []string{"PDB " + built, "PDB " + beside, "PDB " + at, "PDB " + plain, "PDB " + below}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got := slices.Collect(f.Binaries(appModule))
	for _, want := range []string{"dumps/App.DLL", "syms/App.DLL", "syms/dll/App.DLL", "syms/symbols/dll/App.DLL"} {
		if !slices.Contains(got, filepath.Join(dir, want)) {
			t.Errorf("binaries %q, want %s among them", got, want)
		}
	}
}

// Windows paths are also looked up below a sysroot.
func TestWindowsRoots(t *testing.T) {
	f := finder(t, Options{Sysroots: []string{"/mnt"}})
	for path, want := range map[string][]string{
		`C:\Windows\System32\ntdll.dll`: {"/mnt/Windows/System32/ntdll.dll", "/mnt/windows/system32/ntdll.dll"},
		`C:\..\..\etc\passwd`:           nil,
		`C:\a/../../b`:                  nil,
		`C:\`:                           nil,
		`\\server\share\a.dll`:          nil,
		"C:relative.dll":                nil,
	} {
		if got := slices.Collect(f.Binaries(Module{Path: path})); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// Module names come from the dump and must not lead to any other file.
func TestHostileNames(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a/b/store")
	f := finder(t, Options{Search: []string{dir}, SymbolDirs: []string{dir}, Beside: []string{dir}})
	for _, name := range []string{"..", ".", "", "/", `\`, "../../x", `..\..\x`, "/etc/passwd", `c:\x\..`, "c:", "a:b", "x\x00y", "a\nb", "a\x1b[2J",
		".hidden", "file.ptr", "FILE.PTR", "index2.txt", "000Admin", "NUL", "nul.pdb", "Com1.dll", "x.", "x ", "a*b", "a?b", strings.Repeat("n", 300), "\xff\xfe", "a\u202eb"} {
		for _, id := range []string{testDebugID, "../../../../etc", "/etc", "", testGUID + "/1", strings.Repeat("A", 5000)} {
			m := Module{Path: name, DebugFile: name, CodeID: id, DebugID: id}
			for kind := KindPDB; kind <= KindPE; kind++ {
				for _, k := range symbolKeys(m, kind) {
					for _, part := range []string{k.Name, k.File} {
						if !component(part) || part != filepath.Base(part) || len(part) > maxComponent {
							t.Errorf("%q: part %q of a path", name, part)
						}
					}
					if !isHex(k.ID, 9, maxBuildID) {
						t.Errorf("identifier %q", k.ID)
					}
				}
			}
			for _, p := range append(f.symbolsBeside(m), slices.Collect(f.Binaries(m))...) {
				if rel, err := filepath.Rel(dir, p); p != name && (err != nil || strings.HasPrefix(rel, "..")) {
					t.Errorf("%q leads to %s", name, p)
				}
			}
		}
	}
	for name, want := range map[string]bool{"App.pdb": true, "libstdc++.so.6": true, "my app.exe": true, "com10.dll": true, "конец.pdb": true, "nul": false} {
		if component(name) != want {
			t.Errorf("component(%q) is %v", name, !want)
		}
	}
	for _, c := range "/\\:*?\"<>|\x00\n\x1b\x7f\u0085\u202e" {
		if name := "a" + string(c) + "b.pdb"; component(name) {
			t.Errorf("component(%q)", name)
		}
	}
}

// A file.ptr to a file of this machine that is not the module's is ignored, and one to a
// pipe does not block.
func TestHostilePointers(t *testing.T) {
	for _, text := range []string{"PATH:/etc/passwd", "/dev/zero", "PATH:", "MSG: gone", `PATH:\\server\share\App.pdb`, "PATH:.", strings.Repeat("x/", 5000), "\x00"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "App.pdb", testDebugID, "file.ptr"), []byte(text))
		f := finder(t, Options{SymbolDirs: []string{dir}})
		for s := range f.SymbolFiles(appModule) {
			if s.isOf(appModule) || s.Path != "/etc/passwd" {
				t.Errorf("%q leads to %+v", text, s)
			}
		}
	}
}

// asks records the keys for which it is asked.
type asks struct{ wanted [][]StoreKey }

func (a *asks) FetchSymbols(ctx context.Context, wanted []StoreKey) (string, error) {
	a.wanted = append(a.wanted, wanted)
	return "got", ctx.Err()
}

func TestFetchSymbolFile(t *testing.T) {
	a := &asks{}
	f := finder(t, Options{SymbolFetcher: a})
	for _, tt := range []struct {
		m    Module
		kind SymbolKind
		want string
	}{
		{appModule, KindPDB, "[{App.pdb " + testDebugID + " App.pdb PDB}]"},
		{appModule, KindPE, "[{App.DLL " + testCodeID + " App.DLL PE image}]"},
		{appModule, KindBreakpad, "[{App.pdb " + testDebugID + " App.sym symbol file}]"},
		{Module{Path: "App.DLL", CodeID: testCodeID}, KindBreakpad, "[{App.DLL " + testCodeID + " App.sym symbol file} {App.DLL " + testCodeID + " App.DLL.sym symbol file}]"},
		{Module{Path: "/usr/lib/libx.so.1.0.30", DebugFile: "libx.so.1", BuildID: guidBytes(t, testGUID)}, KindBreakpad, "[{libx.so.1 " + testGUID + "0 libx.so.1.sym symbol file}]"},
		{Module{Path: "/usr/lib/libx.so.1", BuildID: guidBytes(t, testGUID)}, KindBreakpad, "[{libx.so.1 " + testGUID + "0 libx.so.1.sym symbol file}]"},
		{Module{Path: `c:\x.exe`, DebugID: testDebugID}, KindPDB, "[{x.pdb " + testDebugID + " x.pdb PDB}]"},
		{Module{Path: `c:\x.exe`}, KindPDB, ""},
		{Module{Path: "/usr/lib/libx.so.1", BuildID: []byte{1, 2}}, KindPDB, ""},
		{Module{Path: "/usr/lib/libx.so.1", BuildID: []byte{1, 2}, CodeID: "0102"}, KindPE, ""},
	} {
		a.wanted = nil
		got, err := f.FetchSymbolFile(tt.m, tt.kind)
		if tt.want == "" {
			if !errors.Is(err, fs.ErrNotExist) || len(a.wanted) != 0 {
				t.Errorf("%+v: %v, %v", tt.m, err, a.wanted)
			}
			continue
		}
		if err != nil || got != "got" || fmt.Sprint(a.wanted) != "["+tt.want+"]" {
			t.Errorf("%v of %s: %v, %v, want %s", tt.kind, tt.m.Path, a.wanted, err, tt.want)
		}
	}
	f = New(context.Background(), Options{})
	if _, err := f.FetchSymbolFile(appModule, KindPDB); f.FetchesSymbols() || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without servers: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f = New(ctx, Options{SymbolFetcher: a})
	if _, err := f.FetchSymbolFile(appModule, KindPDB); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAbsence(t *testing.T) {
	c := SymbolCache{t.TempDir()}
	k := symbolKeys(appModule, KindPDB)[0]
	now := time.Now()
	if c.Missed(k, "a", now) {
		t.Error("missed before it was")
	}
	c.Miss(k, "a")
	if !c.Missed(k, "a", now.Add(absence/2)) || c.Missed(k, "b", now) {
		t.Error("a server's absence is not its own, or not remembered")
	}
	if c.Missed(k, "a", now.Add(2*absence)) || c.Missed(k, "a", now) {
		t.Error("remembered for too long")
	}
	if c.Lookup(k) != "" {
		t.Error("absence is a file")
	}
	mine := filepath.Join(t.TempDir(), "mine")
	if err := errors.Join(os.WriteFile(mine, []byte("mine"), 0o600), os.Symlink(mine, c.absent(k, "c"))); err != nil {
		t.Skip(err)
	}
	c.Miss(k, "c")
	if text, err := os.ReadFile(mine); string(text) != "mine" {
		t.Errorf("a link of the cache was written through: %q, %v", text, err)
	}
}

// A tree with link loops, pipes and unreadable files is searched.
func TestWalkOddTrees(t *testing.T) {
	dir := t.TempDir()
	pdb := write(t, filepath.Join(dir, "a/App.pdb"), pdbWith(t, testDebugID))
	for from, to := range map[string]string{"a/up": "..", "a/self": "self", "a/link.pdb": "App.pdb", "a/gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Skip(err)
		}
	}
	f := finder(t, Options{Search: []string{dir, filepath.Join(dir, "nowhere")}})
	if got, want := symbolFiles(f, appModule), []string{"PDB " + pdb, "PDB " + filepath.Join(dir, "a/link.pdb")}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
