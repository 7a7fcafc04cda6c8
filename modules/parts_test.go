package modules_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/modules"
)

func open(t *testing.T, path string, opts ...modules.Option) *modules.Image {
	t.Helper()
	im, err := modules.OpenImage(context.Background(), path, append(opts, someOption)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closes(t, im) })
	return im
}

// Each kind of unwind table is one to walk by.
func TestUnwindTables(t *testing.T) {
	for path, want := range map[string]bool{
		fixture.Get(t, "amd64-pie").Binary(t):                                                          true, // .eh_frame
		fixture.Get(t, "amd64-debug-frame-only").Binary(t):                                             true,
		fixture.Get(t, "arm-exidx").Binary(t):                                                          true,
		filepath.Join(fixture.Images(t, "clang-O2"), "crash.exe"):                                      true, // .pdata
		put(t, elfWith(idA, code, section{".debug_frame", elffile.SHT_PROGBITS}), t.TempDir(), "f.so"): true,
		put(t, peWith(t, codeID, ""), t.TempDir(), "a.dll"):                                            false,
		put(t, elfWith(idA, code, debugInfo, symTab), t.TempDir(), "a.so"):                             false,
		put(t, elfWith(idA, noCode, debugInfo, symTab), t.TempDir(), "a.debug"):                        false,
	} {
		if got := open(t, path).HasUnwindTables(); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// What an image says of its companions.
func TestCompanions(t *testing.T) {
	dir := t.TempDir()
	stripped, dwarf := put(t, elfWith(idA, code), dir, "libx.so"), put(t, elfWith(idA, noCode, debugInfo), link(dir, idA))
	dll, sym := put(t, peWith(t, codeID, debugID), dir, "app.dll"), put(t, symWith(debugID, codeID), dir, "any.sym")
	exe := filepath.Join(fixture.Images(t, "clang-O2"), "crash.exe")
	pdb := filepath.Join(filepath.Dir(exe), "crash.pdb")
	for _, c := range []struct {
		name, path     string
		opt            modules.Option
		debug, symbols string
		has, only      bool
	}{
		{"stripped", stripped, someOption, "", "", false, false},
		{"with a debug file", stripped, modules.WithDebugDir(dir), dwarf, "", true, false},
		{"a debug file", dwarf, someOption, dwarf, "", true, true},
		{"Breakpad symbols", dll, modules.WithSearch(dir), sym, sym, false, false},
		{"no symbols", dll, someOption, "", "", false, false},
		{"a PDB", exe, modules.WithSearch(filepath.Dir(exe)), pdb, pdb, true, false},
	} {
		im := open(t, c.path, c.opt)
		if im.Path() != c.path || im.DebugPath() != c.debug || im.SymbolPath() != c.symbols || im.HasDebugInfo() != c.has || im.DebugOnly() != c.only {
			t.Errorf("%s: debug information %v from %q, symbols from %q, debug information only %v", c.name, im.HasDebugInfo(), im.DebugPath(), im.SymbolPath(), im.DebugOnly())
		}
		if isPE := strings.HasSuffix(c.path, ".dll") || strings.HasSuffix(c.path, ".exe"); (im.CodeID() != "") != isPE || (im.BuildID() != nil) == isPE {
			t.Errorf("%s: code id %q, build-id %x", c.name, im.CodeID(), im.BuildID())
		}
	}
	if im := open(t, dll); im.CodeID() != codeID || im.Bias(base) != base-0x180000000 {
		t.Errorf("code id %q, bias %#x", im.CodeID(), im.Bias(base))
	}
}

// A build-id is the caller's to change.
func TestBuildIDIsACopy(t *testing.T) {
	im := open(t, put(t, elfWith(idA, code), t.TempDir(), "libx.so"))
	im.BuildID()[0] = 99
	if !bytes.Equal(im.BuildID(), idA) {
		t.Errorf("%x", im.BuildID())
	}
}

// Close unmaps the file of an image that was opened alone, and not that of a set.
func TestCloseImage(t *testing.T) {
	dir := t.TempDir()
	path, shared := put(t, elfWith(idA, code), dir, "libx.so"), put(t, elfWith(idA, code), dir, "liby.so")
	im, err := modules.OpenImage(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if !isMapped(t, path) {
		t.Error("not mapped")
	}
	closes(t, im)
	if isMapped(t, path) {
		t.Error("still mapped")
	}
	cache := modules.NewCache(context.Background(), 0)
	set, im := one(t, cache, shared)
	closes(t, im)
	if !isMapped(t, shared) {
		t.Error("a set's file is closed with an image")
	}
	closes(t, set)
	closes(t, cache)
}

// What is wrong with a file is told.
func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	path := put(t, elfWith(idA, code), dir, "libx.so")
	put(t, elfWith(idB, noCode, debugInfo), link(dir, idA))
	im := open(t, path, modules.WithDebugDir(dir))
	if im.HasDebugInfo() || len(im.Warnings()) != 1 || !strings.Contains(im.Warnings()[0], "different build") {
		t.Errorf("%q", im.Warnings())
	}
}

// Lines by DWARF: of code with no inlined call, and what damage does.
func TestDWARFLines(t *testing.T) {
	path := fixture.Get(t, "amd64-pie").Binary(t)
	im := open(t, path)
	sym, ok := im.SymbolByName("main")
	lines, err := im.Lines(sym.Addr)
	if !ok || err != nil || len(lines) != 1 || lines[0].Function != "main" || lines[0].Inlined || lines[0].Line == 0 || filepath.Base(lines[0].File) != "pack.c" {
		t.Errorf("%+v, %v", lines, err)
	}
	data := read(t, path)
	f, err := elffile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(".debug_abbrev")
	copy(data[s.Off:s.Off+s.Size], bytes.Repeat([]byte{0xff}, int(s.Size)))
	damaged, err := modules.NewImage(data)
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := damaged.Lines(sym.Addr); err == nil || errors.Is(err, modules.ErrNoLine) {
		t.Errorf("damaged: %+v, %v", lines, err)
	}
}

// Lines by a Breakpad symbol file, which counts from the module's base.
func TestBreakpadLines(t *testing.T) {
	dir := t.TempDir()
	dll := put(t, peWith(t, codeID, debugID), dir, "app.dll")
	put(t, symWith(debugID, codeID), dir, "any.sym")
	im := open(t, dll, modules.WithSearch(dir))
	const at = 0x180000000
	for addr, want := range map[uint64][]modules.Line{
		at + 0x1100: {{Function: "outer", File: "outer.c", Line: 10}},
		at + 0x1108: {{Function: "inner", File: "inner.h", Line: 5, Inlined: true}, {Function: "outer", File: "outer.c", Line: 12}},
		at + 0x1110: {{Function: "outer", File: "outer.c", Line: 13}},
		at + 0x1120: nil,
		0x1108:      nil,
	} {
		if lines, err := im.Lines(addr); !slices.Equal(lines, want) || (err != nil) != (want == nil) || err != nil && !errors.Is(err, modules.ErrNoLine) {
			t.Errorf("%#x: %+v, %v; want %+v", addr, lines, err, want)
		}
	}
	if lines, err := open(t, dll).Lines(at + 0x1100); !errors.Is(err, modules.ErrNoLine) {
		t.Errorf("without symbols: %+v, %v", lines, err)
	}
}

// Lines by a PDB: calls that are inlined, and the function that has the code.
func TestPDBLines(t *testing.T) {
	dir := fixture.Images(t, "msvc-O2")
	im := open(t, filepath.Join(dir, "vars.exe"), modules.WithSearch(dir))
	at := -im.Bias(0)
	plain, inlined, linkage := 0, 0, 0
	for rva := uint64(0x1000); rva < 0x4000; rva++ {
		lines, err := im.Lines(at + rva)
		if err != nil {
			if !errors.Is(err, modules.ErrNoLine) {
				t.Fatalf("%#x: %v", rva, err)
			}
			continue
		}
		for i, l := range lines {
			if l.Inlined != (i < len(lines)-1) || l.Inlined && l.LinkageName != "" || l.Function == "" {
				t.Fatalf("%#x: %+v", rva, lines)
			}
		}
		if lines[len(lines)-1].LinkageName != "" {
			linkage++
		}
		if len(lines) > 1 {
			inlined++
		} else if lines[0].Line > 0 && lines[0].File != "" {
			plain++
		}
		// No more than 32 bits count, rather than the low ones.
		if far, err := im.Lines(at + rva + 1<<32); err == nil {
			t.Fatalf("%#x: %+v beyond the module", rva, far)
		}
	}
	if plain == 0 || inlined == 0 || linkage == 0 {
		t.Errorf("%d addresses with lines, %d in inlined calls, %d with linkage names", plain, inlined, linkage)
	}
}

// A PDB that cannot be looked into is an error, not a place without a line.
func TestDamagedPDB(t *testing.T) {
	dir := t.TempDir()
	dll := put(t, peWith(t, codeID, debugID), dir, "app.dll")
	path := put(t, pdbWith(t, debugID), dir, "app.pdb")
	im := open(t, dll, modules.WithSearch(dir))
	if lines, err := im.Lines(0x180001100); lines != nil || err == nil || errors.Is(err, modules.ErrNoLine) || im.SymbolPath() != path {
		t.Errorf("%+v, %v, from %q", lines, err, im.SymbolPath())
	}
}
