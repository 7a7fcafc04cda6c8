package glibc_test

import (
	"os"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/glibc"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// Every block that a program holds is found with its size, what it gave back is free, and the walk ends where the heap does.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		heaptest.Program
	}{
		{"one thread", heaptest.Program{Threads: 1, Rounds: 20000}},
		{"eight threads", heaptest.Program{Threads: 8, Rounds: 20000}},
		{"few", heaptest.Program{Threads: 1, Rounds: 300}},
		{"static", heaptest.Program{Flags: []string{"-static"}, Threads: 1, Rounds: 5000}},
		{"32 bits", heaptest.Program{Flags: []string{"-m32"}, Threads: 3, Rounds: 5000}},
		{"no tcache", heaptest.Program{Env: []string{"GLIBC_TUNABLES=glibc.malloc.tcache_count=0"}, Threads: 1, Rounds: 5000}},
		{"one arena", heaptest.Program{Env: []string{"GLIBC_TUNABLES=glibc.malloc.arena_max=1"}, Threads: 4, Rounds: 5000}},
	} {
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
