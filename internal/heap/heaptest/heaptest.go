// Package heaptest tests allocators by a program that writes down which blocks it holds, and dies.
package heaptest

import (
	"bufio"
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/modules"
)

// A Program is testdata/src/heap/blocks.c as it is built and run.
type Program struct {
	Source   string   // "" for heap/blocks.c
	Compiler string   // "" for gcc
	Flags    []string // of the compiler
	Env      []string
	Threads  int
	Rounds   int
}

// A Held is a block that the program has, or gave back last.
type Held struct {
	Addr, Size uint64
	Free       bool
}

// Crash runs the program until it dies, and returns its process and what it wrote down.
func Crash(t testing.TB, c Program) (heap.Process, []Held) {
	t.Helper()
	core, held := c.Crash(t)
	return Open(t, core), held
}

// Crash runs the program until it dies, and returns its core and what it wrote down.
func (c Program) Crash(t testing.TB) (core string, held []Held) {
	t.Helper()
	if c.Compiler == "" {
		c.Compiler = "gcc"
	}
	exe := fixture.Compile(t, c.Compiler, cmp.Or(c.Source, "heap/blocks.c"), append([]string{"-O1", "-pthread"}, c.Flags...)...)
	log := filepath.Join(t.TempDir(), "log")
	core = fixture.Crash(t, c.Env, exe, log, "7", fmt.Sprint(c.Threads), fmt.Sprint(c.Rounds))
	if held = Logged(t, log); len(held) < 50 {
		t.Fatalf("only %d blocks are in the log", len(held))
	}
	return core, held
}

// Open opens the core of a program that was killed.
func Open(t testing.TB, core string) heap.Process {
	t.Helper()
	p, err := corestate.Open(context.Background(), core)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	files, err := modules.New(context.Background(), p.DumpMemory())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	p.BuildLibraries(files)
	p.SetBacking(files)
	return p
}

// Preload is the environment that puts a library in front of the C library's malloc. The test is skipped where the library is not installed.
func Preload(t testing.TB, library, debian string) []string {
	t.Helper()
	for _, dir := range []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"} {
		if path := filepath.Join(dir, library); exists(path) {
			return []string{"LD_PRELOAD=" + path}
		}
	}
	t.Skipf("%s is not installed: Debian's %s", library, debian)
	return nil
}

// Releases are the environments that put each of some libraries in front of the C library's malloc, by their paths, which a variable of the environment has
// with colons between them. The test is skipped where that is not set: a system has one release.
func Releases(t testing.TB, variable string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, path := range filepath.SplitList(os.Getenv(variable)) {
		all[path] = []string{"LD_PRELOAD=" + path}
	}
	if len(all) == 0 {
		t.Skip("no libraries of other releases in " + variable)
	}
	return all
}

// CheckReleases tests an allocator with each of the Releases that a variable has.
func CheckReleases(t *testing.T, variable string, find func(heap.Process) heap.Allocator, most func(b heap.Block, size uint64) uint64) {
	for path, env := range Releases(t, variable) {
		for _, c := range []Program{{Threads: 1, Rounds: 20000}, {Threads: 8, Rounds: 20000}, {Threads: 1, Rounds: 300}} {
			t.Run(fmt.Sprintf("%s/%d/%d", path, c.Threads, c.Rounds), func(t *testing.T) {
				c.Env, c.Flags = env, FlagsFor(t, path)
				p, held := Crash(t, c)
				h := find(p)
				if h == nil {
					t.Fatal("no heap")
				}
				Check(t, h, held, Rule{Most: most, Others: 20 + 4*c.Threads})
			})
		}
	}
}

// CheckRecorded tests that the allocator of a recorded process finds as many blocks in use as that held, and a few of others, each by any address in it, and
// nothing damaged.
func CheckRecorded(t *testing.T, name string, find func(heap.Process) heap.Allocator, want int) {
	t.Helper()
	h := find(Recorded(t, name).Process())
	if h == nil {
		t.Fatal("no heap")
	}
	used := 0
	h.Blocks(func(b heap.Block) bool {
		if !b.Free && !b.Own {
			used++
		}
		if got, ok := h.BlockAt(b.Start + b.Size/2); !ok || got != b {
			t.Errorf("at %#x: %+v, want %+v", b.Start+b.Size/2, got, b)
		}
		return true
	})
	if used != want {
		t.Errorf("%d blocks are in use, want %d", used, want)
	}
	if d := h.Damages(); len(d) > 0 {
		t.Errorf("damages: %+v", d)
	}
}

// Of a recorded program: what it held when it died, by the size of words.
const (
	Held64 = 1334
	Held32 = 1368
)

// FlagsFor are the compiler's flags for a program that can have a library.
func FlagsFor(t testing.TB, library string) []string {
	t.Helper()
	f, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Class == elf.ELFCLASS32 {
		return []string{"-m32"}
	}
	return nil
}

// OldMusl is a program that is built for a musl whose malloc is the old one, as its configure script installs it into a directory that a variable of the
// environment has. The test is skipped where that is not set: Debian has none.
func OldMusl(t testing.TB, variable string, c Program) Program {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skip("no musl with the old malloc in " + variable)
	}
	c.Compiler = filepath.Join(dir, "bin", "musl-gcc")
	c.Flags = append(c.Flags, "-Wl,--dynamic-linker="+filepath.Join(dir, "lib", "libc.so"))
	return c
}

// Scudo is the environment that puts LLVM's Scudo in front of the C library's malloc, with options. The test is skipped where it is not installed.
func Scudo(t testing.TB, arch, options string) []string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.scudo_standalone-" + arch + ".so")
	if len(found) == 0 {
		t.Skip("Scudo is not installed: Debian's libclang-rt-19-dev")
	}
	return []string{"LD_PRELOAD=" + found[len(found)-1], "SCUDO_OPTIONS=" + options}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Logged reads what a program wrote down.
func Logged(t testing.TB, path string) (all []Held) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var h Held
		var what string
		if _, err := fmt.Sscanf(s.Text(), "%s %v %d", &what, &h.Addr, &h.Size); err != nil {
			t.Fatal(s.Text(), err)
		}
		h.Free = what == "freed"
		all = append(all, h)
	}
	return all
}

// A Rule is what holds for blocks of one allocator.
type Rule struct {
	// Most is how many bytes the block that serves a request may have.
	Most func(b heap.Block, size uint64) uint64
	// Others is how many blocks in use nobody wrote down: those of the C library, for files and threads.
	Others int
}

// Check tests that an allocator finds every block that is held with its size, and those given back as free, that it invents none, and that nothing is
// damaged. It returns how many blocks are on each list.
func Check(t *testing.T, h heap.Allocator, held []Held, r Rule) map[string]int {
	t.Helper()
	var blocks []heap.Block
	start := time.Now()
	h.Blocks(func(b heap.Block) bool { blocks = append(blocks, b); return true })
	took := time.Since(start)
	slices.SortFunc(blocks, func(a, b heap.Block) int { return int(int64(a.Start - b.Start)) })
	wrong := 0
	complain := func(format string, args ...any) {
		t.Helper()
		if wrong++; wrong < 10 {
			t.Errorf(format, args...)
		}
	}
	seen := map[uint64]bool{}
	for _, w := range held {
		seen[w.Addr] = seen[w.Addr] || !w.Free
	}
	found, freed := 0, 0
	for _, w := range held {
		if w.Free && seen[w.Addr] {
			continue // another thread has it now
		}
		i, there := slices.BinarySearchFunc(blocks, w.Addr, func(b heap.Block, a uint64) int { return int(int64(b.Start - a)) })
		seen[w.Addr] = true
		switch {
		case w.Free && (!there || blocks[i].Free || blocks[i].Own): // it may have been merged with its neighbours, or the allocator has it
			freed++
		case !there:
			complain("%#x of %d bytes is not found", w.Addr, w.Size)
		case blocks[i].Free != w.Free:
			complain("%#x: %+v, want free: %v", w.Addr, blocks[i], w.Free)
		case blocks[i].Size < w.Size || blocks[i].Size > r.Most(blocks[i], w.Size):
			complain("%#x: %+v, want %d bytes", w.Addr, blocks[i], w.Size)
		default:
			found++
		}
	}
	others := 0
	lists := map[string]int{}
	for i, b := range blocks {
		if b.Free {
			lists[b.List]++
		} else if !b.Own && !seen[b.Start] {
			others++
		}
		if i > 0 && blocks[i-1].End() > b.Start {
			complain("%+v overlaps %+v", blocks[i-1], b)
		}
	}
	if others > r.Others {
		t.Errorf("%d blocks in use that nobody holds", others)
	}
	if d := h.Damages(); len(d) > 0 {
		t.Errorf("damages: %+v", d)
	}
	if lists[""] > 0 {
		t.Errorf("%d free blocks are on no list", lists[""])
	}
	for _, b := range blocks[:min(len(blocks), 200)] {
		if got, ok := h.BlockAt(b.Start + b.Size/2); !ok || got != b {
			complain("at %#x: %+v, want %+v", b.Start+b.Size/2, got, b)
		}
	}
	t.Logf("%d blocks in %v: %d held and %d freed are right, of %d; %d of others; lists %v", len(blocks), took, found, freed, len(held), others, lists)
	return lists
}
