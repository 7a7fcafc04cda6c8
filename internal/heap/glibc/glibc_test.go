package glibc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/glibc"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// TestReleases: the same of the C libraries in the directories that COREWALK_GLIBC lists.
func TestReleases(t *testing.T) {
	dirs := filepath.SplitList(os.Getenv("COREWALK_GLIBC"))
	if len(dirs) == 0 {
		t.Skip("no other C library: unpack Debian's package libc6, and name the directory that has its libc.so.6 in COREWALK_GLIBC")
	}
	var all []program
	for _, dir := range dirs {
		flags := []string{"-Wl,--dynamic-linker=" + filepath.Join(dir, "ld-linux-x86-64.so.2"), "-Wl,-rpath," + dir}
		all = append(all, program{dir + ", one thread", heaptest.Program{Flags: flags, Threads: 1, Rounds: 20000}},
			program{dir + ", eight threads", heaptest.Program{Flags: flags, Threads: 8, Rounds: 20000}})
	}
	blocks(t, all)
}

type program struct {
	name string
	heaptest.Program
}

// TestNewest: the heap of a process of 2.43, whose arenas have no fastbins, and whose blocks with mappings of their own say another size.
func TestNewest(t *testing.T) {
	h := glibc.Find(heaptest.Recorded(t, "glibc243").Process(), glibc.Options{})
	if h == nil {
		t.Fatal("no heap")
	}
	var used, mapped int
	h.Blocks(func(b heap.Block) bool {
		if !b.Free && !b.Own {
			used++
		}
		if b.Mapped {
			mapped++
			if at, ok := h.BlockAt(b.End() - 1); !ok || at != b || b.End()%4096 != 0 {
				t.Errorf("%+v is %+v, %v", b, at, ok)
			}
		}
		return true
	})
	if d := h.Damages(); used != 1336 || mapped != 5 || len(d) != 0 {
		t.Errorf("%d blocks in use, %d with mappings of their own; %+v", used, mapped, d)
	}
}

// Every block that a program holds is found with its size, what it gave back is free, and the walk ends where the heap does.
func TestBlocks(t *testing.T) {
	blocks(t, []program{
		{"one thread", heaptest.Program{Threads: 1, Rounds: 20000}},
		{"eight threads", heaptest.Program{Threads: 8, Rounds: 20000}},
		{"few", heaptest.Program{Threads: 1, Rounds: 300}},
		{"static", heaptest.Program{Flags: []string{"-static"}, Threads: 1, Rounds: 5000}},
		{"32 bits", heaptest.Program{Flags: []string{"-m32"}, Threads: 3, Rounds: 5000}},
		{"no tcache", heaptest.Program{Env: []string{"GLIBC_TUNABLES=glibc.malloc.tcache_count=0"}, Threads: 1, Rounds: 5000}},
		{"one arena", heaptest.Program{Env: []string{"GLIBC_TUNABLES=glibc.malloc.arena_max=1"}, Threads: 4, Rounds: 5000}},
	})
}

func blocks(t *testing.T, all []program) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, held := heaptest.Crash(t, c.Program)
			h := glibc.Find(p, glibc.Options{})
			if h == nil {
				t.Fatal("no heap")
			}
			most := func(b heap.Block, size uint64) uint64 {
				if b.Mapped {
					return size + 8192
				}
				return size + 64
			}
			lists := heaptest.Check(t, h, held, heaptest.Rule{Most: most, Others: 20 + 4*c.Threads})
			if !strings.Contains(strings.Join(c.Env, ""), "tcache_count=0") && lists["tcache"] < c.Threads*20 && c.Rounds > 300 {
				t.Errorf("lists: %v", lists)
			}
		})
	}
}
