package heaptest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/symlookup"
	"github.com/corewalk/corewalk/unwind"
)

// GoogleReleases are the directories in COREWALK_GTCMALLOC, named by dates of commits, each with the archives of Google's tcmalloc and of Abseil of that time,
// libtcm.a and libabsl.a, with debugging information.
func GoogleReleases() []string { return filepath.SplitList(os.Getenv("COREWALK_GTCMALLOC")) }

// Google are the compiler's flags for a program with a release.
func Google(dir string) []string {
	return []string{"-Wl,--whole-archive", filepath.Join(dir, "libtcm.a"), "-Wl,--no-whole-archive", filepath.Join(dir, "libabsl.a"), "-lstdc++", "-lm"}
}

// A Described is a process with what the files of its modules say of it.
type Described struct {
	heap.Process
	Names unwind.SymbolReader
	libs  libstate.LibraryState
	where where.Process
}

// OpenDescribed opens the core of a program that was killed, with its files.
func OpenDescribed(t testing.TB, core string) *Described {
	t.Helper()
	p := Open(t, core)
	files, err := modules.New(context.Background(), p.(*corestate.ELFCore).DumpMemory())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return &Described{p, symlookup.New(p.LibraryTracker(), files), p.LibraryTracker(), where.ProcessOf(dwarfvars.New(p.(unwind.ProcessState), files))}
}

// SymbolNamed finds a symbol of the program.
func (d *Described) SymbolNamed(name string) (addr, size uint64, ok bool) {
	list, _ := d.libs.Libraries(false)
	for _, lib := range list {
		if s, ok := d.Names.SymbolByName(lib, name); ok {
			return s.Addr, s.Size, true
		}
	}
	return 0, 0, false
}

// TypeOfUnit finds a type.
func (d *Described) TypeOfUnit(code uint64, name string) (*types.Type, bool) {
	return d.where.TypeOfUnit(code, name)
}
