package image_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// place copies a file of a fixture to dir/as and returns its path.
func place(t *testing.T, c fixture.Case, name, dir, as string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.Dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(dir, filepath.FromSlash(as)), data)
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens path in a cache whose only debug directory is debugDir.
func open(t *testing.T, path, debugDir string) *image.Image {
	t.Helper()
	cache := image.NewCache(find.New(context.Background(), find.Options{DebugDirs: []string{debugDir}}))
	t.Cleanup(func() { cache.Close() })
	im, err := cache.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// frames returns the names of the functions and inlined calls where main begins.
func lines(t *testing.T, im *image.Image, symbol string) bool {
	t.Helper()
	s, ok := im.SymbolByName(symbol)
	if !ok {
		t.Errorf("no symbol %s", symbol)
		return false
	}
	got, ok := im.SymbolAt(s.Value)
	if !ok || got.Name() != symbol {
		t.Errorf("%#x is %q, want %s", s.Value, got.Name(), symbol)
	}
	d := im.DWARF()
	if d == nil {
		return false
	}
	calls, err := d.Frames(s.Value, nil)
	return err == nil && len(calls) > 0 && filepath.Base(calls[0].File.Path) == "pack.c"
}

const buildIDFile = "debug/.build-id/2f/0fc63b3fda74bcc26678fbda2fac99c8aeb218.debug"

// TestCompanions opens a binary whose debug information is in various other places.
func TestCompanions(t *testing.T) {
	buildID, link, dwz := fixture.Get(t, "amd64-build-id"), fixture.Get(t, "amd64-debuglink"), fixture.Get(t, "amd64-dwz")
	other := fixture.Get(t, "amd64-pie")
	for _, c := range []struct {
		name    string
		files   func(t *testing.T, dir string) string // returns the binary's path
		lines   bool
		debug   string // base name of DebugPath
		warning string
	}{
		{"by build-id", func(t *testing.T, dir string) string {
			place(t, buildID, buildIDFile, dir, buildIDFile)
			return place(t, buildID, "pack", dir, "bin/pack")
		}, true, "0fc63b3fda74bcc26678fbda2fac99c8aeb218.debug", ""},
		{"another build under the build-id's name", func(t *testing.T, dir string) string {
			place(t, other, "pack", dir, buildIDFile)
			return place(t, buildID, "pack", dir, "bin/pack")
		}, false, "", "different build"},
		{"the stripped binary itself under the build-id's name", func(t *testing.T, dir string) string {
			place(t, buildID, "pack", dir, buildIDFile)
			return place(t, buildID, "pack", dir, "bin/pack")
		}, false, "", ""},
		{"beside the binary", func(t *testing.T, dir string) string {
			place(t, link, ".debug/pack.debug", dir, "bin/pack.debug")
			return place(t, link, "pack", dir, "bin/pack")
		}, true, "pack.debug", ""},
		{"in .debug", func(t *testing.T, dir string) string {
			place(t, link, ".debug/pack.debug", dir, "bin/.debug/pack.debug")
			return place(t, link, "pack", dir, "bin/pack")
		}, true, "pack.debug", ""},
		{"with another checksum", func(t *testing.T, dir string) string {
			data, err := os.ReadFile(filepath.Join(link.Dir, ".debug", "pack.debug"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "bin", "pack.debug"), append(data, 0))
			return place(t, link, "pack", dir, "bin/pack")
		}, false, "", "checksum"},
		{"no ELF file", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "bin", "pack.debug"), []byte("not ELF"))
			return place(t, link, "pack", dir, "bin/pack")
		}, false, "", ""},
		{"nowhere", func(t *testing.T, dir string) string { return place(t, link, "pack", dir, "bin/pack") }, false, "", ""},
		{"shared", func(t *testing.T, dir string) string {
			place(t, dwz, "pack.dwz", dir, "bin/pack.dwz")
			return place(t, dwz, "pack", dir, "bin/pack")
		}, true, "pack", ""},
		{"shared, lost", func(t *testing.T, dir string) string { return place(t, dwz, "pack", dir, "bin/pack") },
			true, "pack", "pack.dwz"},
		{"shared, another build", func(t *testing.T, dir string) string {
			place(t, other, "pack", dir, "bin/pack.dwz")
			return place(t, dwz, "pack", dir, "bin/pack")
		}, true, "pack", "pack.dwz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			im := open(t, c.files(t, dir), filepath.Join(dir, "debug"))
			d := im.DWARF()
			if (d != nil) != (c.debug != "") {
				t.Errorf("DWARF %v", d)
			}
			if c.lines && !lines(t, im, "main") {
				t.Error("main has no line")
			}
			if got := im.DebugPath(); got != "" && filepath.Base(got) != c.debug || got == "" && c.debug != "" {
				t.Errorf("debug information from %q, want %q", got, c.debug)
			}
			warnings := strings.Join(im.Warnings(), "\n")
			if c.warning == "" && warnings != "" || !strings.Contains(warnings, c.warning) {
				t.Errorf("warnings %q, want %q", warnings, c.warning)
			}
			if im.EHFrame() == nil {
				t.Error("no .eh_frame")
			}
		})
	}
}

// One function is only in the compressed symbol table in .gnu_debugdata, one only in the
// dynamic symbol table.
func TestMiniDebugInfo(t *testing.T) {
	c := fixture.Get(t, "amd64-minidebuginfo")
	im := open(t, c.Binary(t), t.TempDir())
	if s, ok := im.SymbolByName("visit"); !ok {
		t.Error("no visit")
	} else if at, ok := im.SymbolAt(s.Value + 1); !ok || at.Name() != "visit" {
		t.Errorf("visit+1 is %q", at.Name())
	}
	if !im.HasSymTab() || im.DWARF() != nil || im.DebugPath() != "" {
		t.Errorf("symbol table %v, DWARF %v from %q", im.HasSymTab(), im.DWARF(), im.DebugPath())
	}
	libc := open(t, filepath.Join(c.Sysroot(t), "lib/x86_64-linux-gnu/libc.so.6"), t.TempDir())
	if _, ok := libc.SymbolByName("abort"); !ok || libc.HasSymTab() || !libc.HasDynSym() {
		t.Errorf("abort %v, symbol table %v, exports %v", ok, libc.HasSymTab(), libc.HasDynSym())
	}
}

// A damaged .gnu_debugdata is a warning.
func TestMiniDebugInfoDamaged(t *testing.T) {
	c := fixture.Get(t, "amd64-minidebuginfo")
	data, err := os.ReadFile(c.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(data), "\xfd7zXZ\x00")
	if at < 0 {
		t.Fatal("no xz stream")
	}
	data[at+8] ^= 0xff
	im := open(t, write(t, filepath.Join(t.TempDir(), "pack"), data), t.TempDir())
	if _, ok := im.SymbolByName("visit"); ok {
		t.Error("visit was found")
	}
	if w := im.Warnings(); len(w) != 1 || !strings.Contains(w[0], ".gnu_debugdata") {
		t.Errorf("warnings %q", w)
	}
}

func TestCache(t *testing.T) {
	c := fixture.Get(t, "amd64-pie")
	dir := t.TempDir()
	path := place(t, c, "pack", dir, "pack")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	text := write(t, filepath.Join(dir, "text"), []byte("text"))
	cache := image.NewCache(find.New(context.Background(), find.Options{}))
	var wg sync.WaitGroup
	var got [8]*image.Image
	for i := range got {
		wg.Go(func() { got[i], _ = cache.Open([]string{path, link}[i%2]) })
	}
	wg.Wait()
	for _, im := range got {
		if im == nil || im != got[0] {
			t.Errorf("images %v: one file under two names was opened twice", got)
			break
		}
	}
	if _, err := cache.Open(text); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v does not name %s", err, text)
	}
	if _, err := cache.Open(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
	if err := cache.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// The methods of a nil image return nothing.
func TestNil(t *testing.T) {
	var im *image.Image
	_, ok := im.SymbolAt(1)
	_, byName := im.SymbolByName("main")
	if im.ELF() != nil || im.DWARF() != nil || im.EHFrame() != nil || im.DebugFrame() != nil || im.DebugPath() != "" ||
		im.HasSymTab() || im.HasDynSym() || im.GoFunc(0) != image.GoOther || ok || byName {
		t.Error("a method of a nil image returned something")
	}
}

func TestFromMemory(t *testing.T) {
	data, err := os.ReadFile(fixture.Get(t, "amd64-pie").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	im, err := image.FromMemory(data[:4096], 0x7fff0000)
	if err != nil {
		t.Fatal(err)
	}
	if im.Path() != "" || im.ELF() == nil || im.DWARF() != nil || len(im.Warnings()) != 0 {
		t.Errorf("%q, %v, %q", im.Path(), im.DWARF(), im.Warnings())
	}
	if _, err := image.FromMemory([]byte("text"), 0); err == nil {
		t.Error("text is an image")
	}
}

func TestGoFunc(t *testing.T) {
	im := open(t, fixture.Get(t, "amd64-go-cgo").Binary(t), t.TempDir())
	for name, want := range map[string]image.GoFunc{
		"runtime.sigpanic": image.GoSigpanic, "runtime.asmcgocall.abi0": image.GoAsmcgocall, "runtime.asmcgocall": image.GoOther,
		"runtime.mcall": image.GoMcall, "crosscall2": image.GoCrosscall2, "time.now": image.GoClock, "main.main": image.GoOther,
	} {
		s, ok := im.SymbolByName(name)
		if got := im.GoFunc(s.Value); !ok || got != want {
			t.Errorf("%s, found %v: %d, want %d", name, ok, got, want)
		}
	}
	if got := open(t, fixture.Get(t, "amd64-pie").Binary(t), t.TempDir()).GoFunc(0); got != image.GoOther {
		t.Errorf("in a program of C: %d", got)
	}
}

func TestDebugFrame(t *testing.T) {
	im := open(t, fixture.Get(t, "amd64-debug-frame-only").Binary(t), t.TempDir())
	if im.DebugFrame() == nil {
		t.Error("no .debug_frame")
	}
	if im := open(t, fixture.Get(t, "amd64-pie").Binary(t), t.TempDir()); im.DebugFrame() != nil {
		t.Error("a .debug_frame out of nothing")
	}
}

func BenchmarkGoFunc(b *testing.B) {
	path := fixture.Get(b, "amd64-go-cgo").Binary(b)
	for b.Loop() {
		im, err := image.NewCache(nil).Open(path)
		if err != nil {
			b.Fatal(err)
		}
		im.GoFunc(0)
	}
}

// Where only exported symbols are known, one without a size names only what is near: what
// follows may be functions that nobody knows.
func TestFarFromExport(t *testing.T) {
	c := fixture.Get(t, "amd64-minidebuginfo")
	data, err := os.ReadFile(filepath.Join(c.Sysroot(t), "lib/x86_64-linux-gnu/libc.so.6"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := f.DynSym()
	if err != nil {
		t.Fatal(err)
	}
	// The last exported function before a gap of a page: everything in it would have its name.
	const gap = 0x1000
	var syms []elffile.Sym
	for s := range tab.All() {
		if s.Type == elffile.STT_FUNC && s.Shndx != elffile.SHN_UNDEF {
			syms = append(syms, s)
		}
	}
	slices.SortFunc(syms, func(a, b elffile.Sym) int { return cmp.Compare(a.Value, b.Value) })
	i := slices.IndexFunc(syms, func(s elffile.Sym) bool {
		next := slices.IndexFunc(syms, func(n elffile.Sym) bool { return n.Value > s.Value })
		return next > 0 && syms[next].Value > s.Value+gap && s.Size < 200
	})
	if i < 0 {
		t.Fatal("no gap between exported functions")
	}
	at := syms[i].Value
	sec := f.Section(".dynsym")
	for _, s := range syms {
		if s.Value == at {
			binary.LittleEndian.PutUint64(data[sec.Off+uint64(s.Index)*24+16:], 0)
		}
	}
	im := open(t, write(t, filepath.Join(t.TempDir(), "libc.so.6"), data), t.TempDir())
	for off, want := range map[uint64]bool{0: true, 1: true, 255: true, 256: false, gap - 1: false} {
		if s, ok := im.SymbolAt(at + off); ok != want || ok && s.Value != at {
			t.Errorf("%s+%#x: %q, %v", syms[i].Name(), off, s.Name(), ok)
		}
	}
}
