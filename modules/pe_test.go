package modules_test

import (
	"bytes"
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// pe is a library of Windows.
func pe(id libstate.ModuleID) libstate.Library {
	id.Format = libstate.FormatPE
	return libstate.Library{Path: `C:\app\app.dll`, Start: base, End: base + 0x7000, LoadBias: base, Module: &id}
}

// A PE image is taken for a library that is identified by the same code id, else by the
// same debug id, and for no less.
func TestIdentityOfPE(t *testing.T) {
	both, plain := peWith(t, codeID, debugID), peWith(t, codeID, "")
	for _, c := range []struct {
		name  string
		file  []byte
		lib   libstate.Library
		match modules.Match
		why   string
	}{
		{"code id", both, pe(libstate.ModuleID{CodeID: codeID}), modules.Matched, ""},
		{"code id in lower case", both, pe(libstate.ModuleID{CodeID: strings.ToLower(codeID)}), modules.Matched, ""},
		{"code id, another debug id", both, pe(libstate.ModuleID{CodeID: codeID, DebugID: otherID(debugID)}), modules.Matched, ""},
		{"another code id", both, pe(libstate.ModuleID{CodeID: "5F3A00BD7000"}), modules.Mismatched, "file has code id 5F3A00BC7000, the process had 5F3A00BD7000"},
		{"another size in the code id", both, pe(libstate.ModuleID{CodeID: "5F3A00BC8000"}), modules.Mismatched, "code id"},
		{"another code id, same debug id", both, pe(libstate.ModuleID{CodeID: otherID(codeID), DebugID: debugID}), modules.Mismatched, "code id"},
		{"debug id", both, pe(libstate.ModuleID{DebugID: debugID}), modules.Matched, ""},
		{"debug id in lower case", both, pe(libstate.ModuleID{DebugID: strings.ToLower(debugID)}), modules.Matched, ""},
		{"debug id, another size", both, pe(libstate.ModuleID{DebugID: debugID, Size: 0x8000}), modules.Matched, ""},
		{"another age", both, pe(libstate.ModuleID{DebugID: guid + "1b"}), modules.Mismatched, "file has debug id " + debugID + ", the process had " + guid + "1b"},
		{"another debug id, same size", both, pe(libstate.ModuleID{DebugID: otherID(debugID), Size: 0x7000}), modules.Mismatched, "debug id"},
		{"a debug id, file without one", plain, pe(libstate.ModuleID{DebugID: debugID}), modules.Missing, "neither an identifier of the module nor its headers"},
		{"a debug id, file without one, same size", plain, pe(libstate.ModuleID{DebugID: debugID, Size: 0x7000}), modules.Missing, "neither an identifier of the module nor its headers"},
		{"a debug id, file without one, another size", plain, pe(libstate.ModuleID{DebugID: debugID, Size: 0x7001}), modules.Mismatched, "file takes 28672 bytes in memory, the process's module 28673"},
		{"size", both, pe(libstate.ModuleID{Size: 0x7000}), modules.Missing, "neither an identifier of the module nor its headers"},
		{"another size", both, pe(libstate.ModuleID{Size: 0x6fff}), modules.Mismatched, "file takes"},
		{"nothing known", both, pe(libstate.ModuleID{}), modules.Missing, "neither an identifier of the module nor its headers"},
		{"ELF file for a PE image", elfWith(nil, code), pe(libstate.ModuleID{}), modules.Mismatched, "file is an ELF file"},
		{"PE image for an ELF file", both, libstate.Library{Path: "/app/app.dll"}, modules.Mismatched, modules.WhyPEInELF},
		{"PE image for an ELF file of a minidump", both, libstate.Library{Path: "/app/app.dll", Module: &libstate.ModuleID{CodeID: codeID, DebugID: debugID, Format: libstate.FormatELF}}, modules.Mismatched, "another kind of file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := put(t, c.file, dir, "app.dll")
			r := newSet(t, regions{}, modules.WithBeside(dir)).Resolve(&c.lib)
			used := c.match == modules.Matched
			if r.Match != c.match || r.Path != path && c.match != modules.Missing || (r.Image != nil) != used {
				t.Errorf("%v, %q, image %v; want %v", r.Match, r.Path, r.Image != nil, c.match)
			}
			if c.why == "" && r.Why != "" || !strings.Contains(r.Why, c.why) {
				t.Errorf("why %q, want %q", r.Why, c.why)
			}
		})
	}
}

// Identifiers of a Breakpad module that is no PE image do not find PE images.
func TestSearchByFormat(t *testing.T) {
	dir := t.TempDir()
	path := put(t, peWith(t, codeID, debugID), dir, "other name.dll")
	lib := pe(libstate.ModuleID{CodeID: codeID})
	if r := newSet(t, regions{}, modules.WithSearch(dir)).Resolve(&lib); r.Match != modules.Matched || r.Path != path {
		t.Errorf("by code id: %+v", r)
	}
	lib.Module.CodeID, lib.Module.DebugID = "", debugID
	if r := newSet(t, regions{}, modules.WithSearch(dir)).Resolve(&lib); r.Match != modules.Matched || r.Path != path {
		t.Errorf("by debug id: %+v", r)
	}
	lib.Module = &libstate.ModuleID{Format: libstate.FormatELF, CodeID: codeID}
	if r := newSet(t, regions{}, modules.WithSearch(dir)).Resolve(&lib); r.Match != modules.Missing || r.Path != "" {
		t.Errorf("of an ELF file: %+v", r)
	}
}

// A full dump has the image itself, perhaps with holes. It is taken where no directory
// has the right file, and nothing else was asked for.
func TestPEFromMemory(t *testing.T) {
	img := peWith(t, codeID, debugID)
	img = append(img, make([]byte, 0x7000-len(img))...)
	for i := 0x1100; i < len(img); i++ {
		img[i] = byte(i>>8) | 1
	}
	holes := regions{base: img[:0x1180], base + 0x3000: img[0x3000:0x4000], base + 0x6000: img[0x6000:]}
	want := bytes.Clone(img)
	clear(want[0x1180:0x3000])
	clear(want[0x4000:0x6000])
	for _, c := range []struct {
		name string
		mem  arch.Memory
		lib  libstate.Library
		want []byte
	}{
		{"whole", regions{base: img}, pe(libstate.ModuleID{CodeID: codeID}), img},
		{"with holes", holes, pe(libstate.ModuleID{CodeID: codeID}), want},
		{"without an identifier", regions{base: img}, pe(libstate.ModuleID{}), img},
		{"headers lost", regions{base + 0x1000: img[0x1000:]}, pe(libstate.ModuleID{CodeID: codeID}), nil},
		{"other bytes", regions{base: make([]byte, 0x7000)}, pe(libstate.ModuleID{CodeID: codeID}), nil},
		{"no PE image", regions{base: img}, libstate.Library{Path: `C:\app\app.dll`, Start: base, End: base + 0x7000}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := newSet(t, c.mem)
			if r := set.Resolve(&c.lib); r.Match != modules.Missing || r.Image != nil {
				t.Errorf("before: %+v", r)
			}
			r := set.Obtain(&c.lib)
			if c.want == nil {
				if r.Match != modules.Missing || r.Image != nil {
					t.Errorf("%+v", r)
				}
				return
			}
			if r.Match != modules.Matched || r.Image == nil || r.Path != "" || r.Why != "" {
				t.Fatalf("%+v", r)
			}
			if !bytes.Equal((*image.Image)(r.Image).PE().Data, c.want) {
				t.Error("other bytes than in memory")
			}
			if r.Image.CodeID() != codeID || r.Image.Bias(base) != base-0x180000000 {
				t.Errorf("code id %q, bias %#x", r.Image.CodeID(), r.Image.Bias(base))
			}
			if set.Resolve(&c.lib) != r || set.Image(&c.lib) != r.Image || set.MatchedImage(&c.lib) != r.Image {
				t.Error("another answer the second time")
			}
		})
	}
}

// The image in memory knows which symbols are its own.
func TestPEFromMemorySymbols(t *testing.T) {
	dir := t.TempDir()
	path := put(t, symWith(debugID, codeID), dir, "any.sym")
	lib := pe(libstate.ModuleID{CodeID: codeID, DebugID: debugID, DebugFile: "app.pdb"})
	if r := newSet(t, regions{base: peWith(t, codeID, "")}, modules.WithSearch(dir)).Obtain(&lib); r.Match != modules.Matched || r.Image.SymbolPath() != path {
		t.Errorf("symbols from %q, want %q", r.Image.SymbolPath(), path)
	}
}

// An image of more than 256 MiB is not read from memory.
func TestPEFromMemoryBound(t *testing.T) {
	for size, want := range map[uint64]modules.Match{256 << 20: modules.Matched, 256<<20 + 1: modules.Missing, ^uint64(0): modules.Missing} {
		lib := pe(libstate.ModuleID{CodeID: codeID})
		lib.End = lib.Start + size
		if r := newSet(t, regions{base: peWith(t, codeID, "")}).Obtain(&lib); r.Match != want {
			t.Errorf("%#x bytes: %+v", size, r)
		}
	}
}

// A file of another build that the user insists on comes before the image in memory; one
// that was refused does not.
func TestForcedPE(t *testing.T) {
	dir := t.TempDir()
	path := put(t, peWith(t, "000000017000", ""), dir, "app.dll")
	for _, force := range []bool{false, true} {
		opts := []modules.Option{modules.WithBeside(dir)}
		if force {
			opts = append(opts, modules.WithForceMismatched())
		}
		lib := pe(libstate.ModuleID{CodeID: codeID})
		set := newSet(t, regions{base: peWith(t, codeID, debugID)}, opts...)
		r := set.Obtain(&lib)
		if force && (r.Match != modules.Mismatched || !r.Forced || r.Path != path || r.Image == nil || set.MatchedImage(&lib) != nil) {
			t.Errorf("forced: %+v, as the right one %v", r, set.MatchedImage(&lib))
		}
		if !force && (r.Match != modules.Matched || r.Forced || r.Path != "" || set.MatchedImage(&lib) != r.Image) {
			t.Errorf("not forced: %+v", r)
		}
	}
}

// store is a symbol server with files by kind; it notes what it is asked for.
type store struct {
	files map[modules.SymbolKind]string
	asked *[]modules.StoreKey
}

func (s store) FetchSymbols(_ context.Context, wanted []modules.StoreKey) (string, error) {
	*s.asked = append(*s.asked, wanted...)
	if path := s.files[wanted[0].Kind]; path != "" {
		return path, nil
	}
	return "", fs.ErrNotExist
}

// A PE image comes from a symbol server where nothing else has it, if it is the right one.
func TestFetchPE(t *testing.T) {
	dir := t.TempDir()
	right, wrong := put(t, peWith(t, codeID, debugID), dir, "right"), put(t, peWith(t, "000000017000", debugID), dir, "wrong")
	for _, c := range []struct {
		name  string
		path  string // that the server has
		mem   regions
		id    libstate.ModuleID
		match modules.Match
		asked bool
		why   string
	}{
		{name: "right", path: right, id: libstate.ModuleID{CodeID: codeID}, match: modules.Matched, asked: true},
		{name: "wrong", path: wrong, id: libstate.ModuleID{CodeID: codeID, DebugID: debugID}, asked: true, why: "file has code id"},
		{name: "not there", id: libstate.ModuleID{CodeID: codeID}, asked: true, why: "not exist"},
		{name: "no code id", path: right, id: libstate.ModuleID{DebugID: debugID}},
		{name: "in memory", path: right, mem: regions{base: peWith(t, codeID, "")}, id: libstate.ModuleID{CodeID: codeID}, match: modules.Matched},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []modules.StoreKey
			set := newSet(t, c.mem, modules.WithSymbolFetcher(store{map[modules.SymbolKind]string{modules.PEImage: c.path}, &asked}))
			lib := pe(c.id)
			r := set.Obtain(&lib)
			if r.Match != c.match || (r.Match == modules.Matched && c.mem == nil) != (r.Path != "" && r.Path == c.path) {
				t.Errorf("%+v, want %v", r, c.match)
			}
			if c.why == "" && r.Why != "" || !strings.Contains(r.Why, c.why) {
				t.Errorf("why %q, want %q", r.Why, c.why)
			}
			if (len(asked) > 0) != c.asked {
				t.Errorf("asked for %v", asked)
			}
			for _, k := range asked {
				if want := (modules.StoreKey{Name: "app.dll", ID: codeID, File: "app.dll", Kind: modules.PEImage}); k != want {
					t.Errorf("asked for %+v, want %+v", k, want)
				}
			}
		})
	}
}

// Symbols are used without the module's own file, if they are of the build that ran.
func TestBare(t *testing.T) {
	elfID := []byte{0xcd, 0xab, 0x23, 0x01, 0x67, 0x45, 0x89, 0x00, 0xa0, 0xb1, 0xc2, 0xd3, 0xe4, 0xf5, 0x06, 0x17}
	elf := libstate.Library{Path: "/app/app.pdb", BuildID: elfID}
	for _, c := range []struct {
		name string
		sym  []byte
		lib  libstate.Library
		used bool
	}{
		{"by debug id", symWith(debugID, "1"), pe(libstate.ModuleID{DebugID: debugID, DebugFile: "app.pdb"}), true},
		{"another debug id", symWith(debugID, "1"), pe(libstate.ModuleID{DebugID: otherID(debugID), DebugFile: "app.pdb"}), false},
		{"by code id", symWith(debugID, codeID), pe(libstate.ModuleID{CodeID: codeID}), true},
		{"another code id", symWith(debugID, codeID), pe(libstate.ModuleID{CodeID: otherID(codeID)}), false},
		{"by build-id", symWith(guid+"0", "1"), elf, true},
		{"another build-id", symWith(otherID(guid)+"0", "1"), elf, false},
		{"nothing to go by", symWith(debugID, codeID), pe(libstate.ModuleID{DebugFile: "app.pdb"}), false},
		{"nothing to go by, of ELF", symWith(guid+"0", "1"), libstate.Library{Path: "/app/app.pdb"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := put(t, c.sym, dir, "app.sym")
			set := newSet(t, regions{}, modules.WithSearch(dir))
			r := set.Resolve(&c.lib)
			if r.Match != modules.Missing || r.Path != "" || (r.Image != nil) != c.used {
				t.Errorf("%+v, want an image: %v", r, c.used)
			}
			if c.used && (r.Image.SymbolPath() != path || r.Image.DebugPath() != path || !r.Image.DebugOnly() || r.Image.HasDebugInfo() || r.Image.Path() != "") {
				t.Errorf("symbols from %q, debug information from %q, file %q", r.Image.SymbolPath(), r.Image.DebugPath(), r.Image.Path())
			}
			if set.Lacks(&c.lib) {
				t.Error("it lacks something that nobody has")
			}
		})
	}
}

// What a module of Windows lacks is its own file, then its symbols; each is asked for once.
func TestLacksPE(t *testing.T) {
	dir := t.TempDir()
	file, sym := put(t, peWith(t, codeID, debugID), dir, "app.dll"), put(t, symWith(debugID, codeID), dir, "any.sym")
	for _, c := range []struct {
		name  string
		has   map[modules.SymbolKind]string
		opts  []modules.Option
		id    libstate.ModuleID
		lacks bool
		after string // symbols that it has in the end
	}{
		{"everything fetched", map[modules.SymbolKind]string{modules.PEImage: file, modules.BreakpadSymbol: sym}, nil, libstate.ModuleID{CodeID: codeID, DebugID: debugID, DebugFile: "app.pdb"}, true, sym},
		{"symbols fetched", map[modules.SymbolKind]string{modules.BreakpadSymbol: sym}, []modules.Option{modules.WithBeside(dir)}, libstate.ModuleID{CodeID: codeID}, true, sym},
		{"symbols fetched, file lost", map[modules.SymbolKind]string{modules.BreakpadSymbol: sym}, nil, libstate.ModuleID{DebugID: debugID, DebugFile: "app.pdb"}, true, sym},
		{"symbols found", nil, []modules.Option{modules.WithSearch(dir)}, libstate.ModuleID{CodeID: codeID}, false, sym},
		{"nothing served", nil, nil, libstate.ModuleID{CodeID: codeID, DebugID: debugID}, true, ""},
		{"nothing to ask for", nil, nil, libstate.ModuleID{}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []modules.StoreKey
			set := newSet(t, regions{}, append(c.opts, modules.WithSymbolFetcher(store{c.has, &asked}))...)
			lib := pe(c.id)
			if set.Lacks(&lib) != c.lacks || len(asked) > 0 {
				t.Errorf("lacks %v, want %v; asked for %v", !c.lacks, c.lacks, asked)
			}
			set.FetchAll(&lib)
			n := len(asked)
			if (n > 0) != c.lacks || set.Lacks(&lib) {
				t.Errorf("after: lacks %v, asked for %v", set.Lacks(&lib), asked)
			}
			set.FetchAll(&lib)
			if len(asked) != n {
				t.Errorf("asked again: %v", asked[n:])
			}
			if got := set.Image(&lib).SymbolPath(); got != c.after {
				t.Errorf("symbols from %q, want %q", got, c.after)
			}
		})
	}
}

// A damaged file of a symbol store is told of.
func TestUnusable(t *testing.T) {
	dir := t.TempDir()
	put(t, nil, dir, "000admin", "x")
	put(t, nil, dir, "pingme.txt")
	path := put(t, []byte("MSCF and then nothing"), dir, "app.dll", codeID, "app.dl_")
	lib := pe(libstate.ModuleID{CodeID: codeID})
	set := newSet(t, regions{}, modules.WithSymbolPath("srv*"+filepath.Join(dir, "cache")+"*"+dir))
	if set.Resolve(&lib).Image != nil || len(set.Unusable()) != 1 || !strings.Contains(set.Unusable()[0], path) {
		t.Errorf("%q, want %s", set.Unusable(), path)
	}
}

// Memory that looks like a PE image is none where a library of ELF should lie.
func TestPEInMemoryOfELF(t *testing.T) {
	var asked []string
	set := newSet(t, regions{base: peWith(t, codeID, "")}, someOption, modules.WithFetcher(server{nil, errServer, &asked}))
	if r := set.Obtain(&libstate.Library{Path: "/none", BuildID: idA, Start: base, End: base + 0x3000}); r.Match != modules.Missing || r.Image != nil {
		t.Errorf("%+v", r)
	}
}

// A file that nothing contradicts comes before the image in memory.
func TestNoIDOfPE(t *testing.T) {
	dir := t.TempDir()
	path := put(t, peWith(t, codeID, ""), dir, "app.dll")
	lib := pe(libstate.ModuleID{})
	for _, c := range []struct {
		mem   regions
		match modules.Match
	}{{regions{base: peWith(t, codeID, "")}, modules.NoID}, {regions{base: peWith(t, otherID(codeID[:8])+"7000", "")}, modules.Mismatched}, {regions{}, modules.Missing}} {
		used := c.match == modules.NoID
		if r := newSet(t, c.mem, modules.WithBeside(dir)).Resolve(&lib); r.Match != c.match || (r.Image.Path() == path) != used || (r.Why == "") != used {
			t.Errorf("%+v, want %v", r, c.match)
		}
	}
}

// A PDB without the module that it is of.
func TestBarePDB(t *testing.T) {
	images, dir := fixture.Images(t, "clang-O2"), t.TempDir()
	cv, err := (*image.Image)(open(t, filepath.Join(images, "crash.exe"))).PE().CodeView()
	if err != nil {
		t.Fatal(err)
	}
	path := put(t, read(t, filepath.Join(images, "crash.pdb")), dir, "crash.pdb")
	for id, want := range map[string]string{cv.DebugID(): path, otherID(cv.DebugID()): ""} {
		lib := pe(libstate.ModuleID{DebugID: id, DebugFile: "crash.pdb"})
		if r := newSet(t, regions{}, modules.WithSearch(dir)).Resolve(&lib); r.Match != modules.Missing || (r.Image != nil) != (want != "") || r.Image.SymbolPath() != want {
			t.Errorf("%s: %+v, symbols from %q", id, r, r.Image.SymbolPath())
		}
	}
}
