package corestate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

var signals = map[string]int{"SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGSEGV": 11, "SIGXCPU": 24, "SIGSYS": 31}

// fileOf finds the file of a library of a fixture.
func fileOf(t *testing.T, cs fixture.Case, l *libstate.Library) *elffile.File {
	t.Helper()
	path := filepath.Join(cs.Sysroot(t), l.Path)
	if l.Kind == libstate.Executable {
		path = cs.Binary(t)
	} else if _, err := os.Stat(path); err != nil {
		path = filepath.Join(cs.Dir, filepath.Base(l.Path))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	f, err := elffile.Parse(data)
	if err != nil {
		t.Fatal(path, err)
	}
	return f
}

func TestFixtures(t *testing.T) {
	for _, cs := range fixture.Cases(t) {
		t.Run(cs.Name, func(t *testing.T) {
			c, err := Open(context.Background(), cs.Core(t))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ids, _ := c.ThreadIDs()
			if s := c.Signal(); len(ids) != cs.Threads || s.Signo != signals[cs.Signal] {
				t.Errorf("%d threads, signal %+v; want %d, %s", len(ids), s, cs.Threads, cs.Signal)
			}
			for _, tid := range ids {
				if _, err := c.Registers(tid); err != nil {
					t.Error(err)
				}
			}
			if len(c.Warnings()) > 0 {
				t.Errorf("warnings %q", c.Warnings())
			}
			checkLibraries(t, cs, c)
		})
	}
}

// withoutLibc are dynamic programs without a C library.
var withoutLibc = []string{"i386-pic", "amd64-go-stripped-pie"}

// checkLibraries compares the libraries with the files that were loaded.
func checkLibraries(t *testing.T, cs fixture.Case, c *ELFCore) {
	table, warnings := c.BuildLibraries(elfOf(func(l *libstate.Library) *elffile.File { return fileOf(t, cs, l) }))
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
	libs, _ := table.Libraries(false)
	if _, ok := table.AOut(); !ok {
		t.Errorf("no program among %d libraries", len(libs))
	}
	for _, l := range libs {
		if l.Kind == libstate.VDSO {
			continue
		}
		if strings.Contains(l.Path, "deleted)") || l.Deleted != (cs.Name == "amd64-deleted" && l.Kind == libstate.Executable) {
			t.Errorf("%s: deleted %v", l.Path, l.Deleted)
		}
		f := fileOf(t, cs, l)
		if f == nil && strings.HasPrefix(l.Path, "/opt/corewalk-fixtures/"+strings.TrimPrefix(cs.Name, "amd64-")+"/lib/") {
			continue // not shipped
		}
		if f == nil || l.BiasGuessed {
			t.Errorf("%s: file %v, load bias guessed %v", l.Path, f != nil, l.BiasGuessed)
			continue
		}
		if l.BuildID != nil && !bytes.Equal(l.BuildID, f.BuildID()) && cs.Name != "amd64-mismatch" {
			t.Errorf("%s: build-id %x, the file's is %x", l.Path, l.BuildID, f.BuildID())
		}
		checkPlace(t, l, f)
	}
	exe, ok := table.AOut()
	if !ok || filepath.Base(exe.Path) != cs.Program || c.ExecutablePath() != exe.Path {
		t.Errorf("program %v, path %q", exe, c.ExecutablePath())
	}
	if slices.Contains(withoutLibc, cs.Name) {
		return
	}
	libc, ok := table.Libc()
	static := fileOf(t, cs, exe).Interp() == ""
	if !ok || (libc == exe) != static {
		t.Errorf("C library %v, static program %v", libc, static)
	}
	// (Static programs have no dynamic linker that could tell.)
	if trap, ok := table.LibraryAt(table.LibTrapAddress()); !static && ok && trap.Kind != libstate.Interpreter {
		t.Errorf("the dynamic linker's trap is in %s", trap.Path)
	}
}

// checkPlace checks that every mapping is where the file's segments put it.
func checkPlace(t *testing.T, l *libstate.Library, f *elffile.File) {
	for _, m := range l.Mappings {
		if m.Path == "" {
			continue
		}
		fits := false
		for i := range f.Progs {
			p := &f.Progs[i]
			fits = fits || p.Type == elffile.PT_LOAD && l.LoadBias+p.Vaddr-p.Off == m.Start-m.Offset
		}
		if !fits {
			t.Errorf("%s: mapping %#x of offset %#x does not fit a segment at bias %#x", l.Path, m.Start, m.Offset, l.LoadBias)
		}
	}
}

// Wherever a fixture's code is in the dump, it is what the file has; where it is
// not, the file gives it. The page of RELRO that one core lacks it never gives.
func TestFixtureCodeFromFiles(t *testing.T) {
	for _, name := range []string{"amd64-recursion-O0", "amd64-gcore", "amd64-filter-0x01", "amd64-relro-omitted", "amd64-truncated", "amd64-static-pie"} {
		cs := fixture.Get(t, name)
		c, err := Open(context.Background(), cs.Core(t))
		if err != nil {
			t.Fatal(err)
		}
		find := elfOf(func(l *libstate.Library) *elffile.File { return fileOf(t, cs, l) })
		table, _ := c.BuildLibraries(find)
		exe, _ := table.AOut()
		f := fileOf(t, cs, exe)
		text := f.Section(".text")
		want, err := f.SectionData(text)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if n, err := c.ReadMem(exe.LoadBias+text.Addr, got); n != 0 || !errors.Is(err, arch.ErrNotInDump) {
			t.Errorf("%s: %d bytes of code are in the dump, %v", name, n, err)
		}
		c.SetBacking(find)
		if _, err := c.ReadMem(exe.LoadBias+text.Addr, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: code is not the file's: %v", name, err)
		}
		lo, hi, ok := f.Relro()
		if !ok {
			t.Errorf("%s: no RELRO", name)
		}
		_, err = c.ReadMem(exe.LoadBias+lo, make([]byte, hi-lo))
		if omitted := name == "amd64-relro-omitted"; omitted != errors.Is(err, arch.ErrNotInDump) || !omitted && err != nil {
			t.Errorf("%s: RELRO: %v", name, err)
		}
		c.Close()
	}
}

func BenchmarkOpen(b *testing.B) {
	path := fixture.Get(b, "amd64-threads").Core(b)
	for b.Loop() {
		c, err := Open(context.Background(), path)
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

func BenchmarkOpenAndBuild(b *testing.B) {
	path := fixture.Get(b, "amd64-threads").Core(b)
	for b.Loop() {
		c, err := Open(context.Background(), path)
		if err != nil {
			b.Fatal(err)
		}
		c.BuildLibraries(nil)
		c.Close()
	}
}

// elfOf is a source of files by a function.
type elfOf func(*libstate.Library) *elffile.File

func (f elfOf) Image(lib *libstate.Library) *modules.Image {
	elf := f(lib)
	if elf == nil {
		return nil
	}
	return (*modules.Image)(image.FromParts(image.Parts{ELF: elf}))
}
