package asan_test

import (
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/asan"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

var (
	flags = []string{"-fsanitize=address"}
	env   = []string{"ASAN_OPTIONS=disable_coredump=0:abort_on_error=1"}
)

// Every block that a program holds is found with its size, small and large, and what it gave back is in quarantine.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		heaptest.Program
	}{
		{"one thread", heaptest.Program{Threads: 1, Rounds: 20000}},
		{"eight threads", heaptest.Program{Threads: 8, Rounds: 5000}},
		{"no quarantine", heaptest.Program{Threads: 2, Rounds: 5000, Env: []string{env[0] + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"}}},
		{"wide redzones", heaptest.Program{Threads: 1, Rounds: 3000, Env: []string{env[0] + ":redzone=128"}}},
		{"clang", heaptest.Program{Compiler: "clang-19", Threads: 2, Rounds: 5000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.Env, c.Flags = append(env[:1:1], c.Env...), flags
			p, held := heaptest.Crash(t, c.Program)
			h := asan.Find(p, asan.Options{})
			if h == nil {
				t.Fatal("no heap")
			}
			lists := heaptest.Check(t, h, held, heaptest.Rule{Most: func(_ heap.Block, size uint64) uint64 { return max(size, 1) }, Others: 20 + 4*c.Threads})
			if lists["quarantine"] < 40 {
				t.Errorf("lists: %v", lists)
			}
			large := 0
			h.Blocks(func(b heap.Block) bool {
				if b.Mapped && !b.Free {
					large++
				}
				if s, ok := h.History(b); ok != (!b.Own && b.List != "free slot") || ok && (len(s.Allocated.Stack) == 0 || (s.Freed != nil) != b.Free || b.Free && len(s.Freed.Stack) == 0) {
					t.Errorf("%+v: %+v, %v", b, s, ok)
					return false
				}
				return true
			})
			want := 0
			for _, x := range held {
				if !x.Free && x.Size > 200000 {
					want++
				}
			}
			if large < want {
				t.Errorf("%d large blocks, want %d", large, want)
			}
		})
	}
}

func FuzzMemory(f *testing.F) {
	heaptest.Fuzz(f, heaptest.Program{Flags: flags, Env: env, Threads: 2, Rounds: 1000}, func(p heap.Process) heap.Allocator {
		h := asan.Find(p, asan.Options{Blocks: 1 << 13})
		if h == nil {
			return nil
		}
		n := 0
		h.Blocks(func(b heap.Block) bool {
			h.History(b)
			n++
			return n < 256
		})
		return h
	})
}
