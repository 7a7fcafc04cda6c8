package glibc_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/glibc"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// open opens the core of a program that was killed.
func open(t *testing.T, core string) heap.Process {
	t.Helper()
	target, err := corewalk.Open(t.Context(), core)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	return target.ProcessState().(heap.Process)
}

type held struct {
	addr, size uint64
	free       bool
}

func logged(t *testing.T, path string) (all []held) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var h held
		var what string
		if _, err := fmt.Sscanf(s.Text(), "%s %v %d", &what, &h.addr, &h.size); err != nil {
			t.Fatal(s.Text(), err)
		}
		h.free = what == "freed"
		all = append(all, h)
	}
	return all
}

// Every block that a program holds is found with its size, what it gave back is free, and the walk ends where the heap does.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name    string
		flags   []string
		threads int
		rounds  int
		env     []string
	}{
		{"one thread", nil, 1, 20000, nil},
		{"eight threads", []string{"-pthread"}, 8, 20000, nil},
		{"few", nil, 1, 300, nil},
		{"static", []string{"-static"}, 1, 5000, nil},
		{"32 bits", []string{"-m32", "-pthread"}, 3, 5000, nil},
		{"no tcache", nil, 1, 5000, []string{"GLIBC_TUNABLES=glibc.malloc.tcache_count=0"}},
		{"one arena", []string{"-pthread"}, 4, 5000, []string{"GLIBC_TUNABLES=glibc.malloc.arena_max=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			exe := fixture.Compile(t, "gcc", "heap/blocks.c", append([]string{"-O1"}, c.flags...)...)
			log := filepath.Join(t.TempDir(), "log")
			core := fixture.Crash(t, c.env, exe, log, "7", fmt.Sprint(c.threads), fmt.Sprint(c.rounds))
			p := open(t, core)
			h := glibc.Find(p, glibc.Options{})
			if h == nil {
				t.Fatal("no heap")
			}
			var blocks []heap.Block
			h.Blocks(func(b heap.Block) bool { blocks = append(blocks, b); return true })
			slices.SortFunc(blocks, func(a, b heap.Block) int { return int(int64(a.Start - b.Start)) })
			want := logged(t, log)
			if len(want) < 50 {
				t.Fatalf("only %d blocks are in the log", len(want))
			}
			wrong := 0
			complain := func(format string, args ...any) {
				if wrong++; wrong < 10 {
					t.Errorf(format, args...)
				}
			}
			seen := map[uint64]bool{}
			for _, w := range want {
				seen[w.addr] = seen[w.addr] || !w.free
			}
			for _, w := range want {
				if w.free && seen[w.addr] {
					continue // another thread has it now
				}
				i, found := slices.BinarySearchFunc(blocks, w.addr, func(b heap.Block, a uint64) int { return int(int64(b.Start - a)) })
				seen[w.addr] = true
				switch {
				case w.free && (!found || blocks[i].Free): // it may have been merged with its neighbours
				case !found:
					complain("%#x of %d bytes is not found", w.addr, w.size)
				case blocks[i].Free != w.free:
					complain("%#x: %+v, want free: %v", w.addr, blocks[i], w.free)
				case blocks[i].Size < w.size || blocks[i].Size > w.size+64 && !blocks[i].Mapped || blocks[i].Size > w.size+8192:
					complain("%#x: %+v, want %d bytes", w.addr, blocks[i], w.size)
				}
			}
			// What the log does not have, others hold: the C library, for files and threads.
			others := 0
			for i, b := range blocks {
				if !b.Free && !b.Own && !seen[b.Start] {
					others++
				}
				if i > 0 && blocks[i-1].End() > b.Start {
					complain("%+v overlaps %+v", blocks[i-1], b)
				}
			}
			if others > 20+4*c.threads {
				t.Errorf("%d blocks in use that nobody holds", others)
			}
			if d := h.Damages(); len(d) > 0 {
				t.Errorf("damages: %+v", d)
			}
			lists := map[string]int{}
			for _, b := range blocks {
				if b.Free {
					lists[b.List]++
				}
			}
			if lists[""] > 0 {
				t.Errorf("%d free blocks are on no list", lists[""])
			}
			if !strings.Contains(strings.Join(c.env, ""), "tcache_count=0") && lists["tcache"] < c.threads*20 && c.rounds > 300 {
				t.Errorf("lists: %v", lists)
			}
			for _, b := range blocks[:min(len(blocks), 200)] {
				if got, ok := h.BlockAt(b.Start + b.Size/2); !ok || got != b {
					complain("at %#x: %+v, want %+v", b.Start+b.Size/2, got, b)
				}
			}
			t.Logf("%d blocks, %v", len(blocks), lists)
		})
	}
}
