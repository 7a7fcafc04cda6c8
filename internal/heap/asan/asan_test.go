package asan_test

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/asan"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
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
		{"32 bits", heaptest.Program{Threads: 1, Rounds: 20000, Flags: []string{"-m32"}}},
		{"32 bits, eight threads", heaptest.Program{Threads: 8, Rounds: 5000, Flags: []string{"-m32"}}},
		{"32 bits, no quarantine", heaptest.Program{Threads: 2, Rounds: 5000, Flags: []string{"-m32"}, Env: []string{env[0] + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"}}},
		{"32 bits, clang", heaptest.Program{Compiler: "clang-19", Threads: 2, Rounds: 5000, Flags: []string{"-m32"}}},
		{"clang", heaptest.Program{Compiler: "clang-19", Threads: 2, Rounds: 5000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			narrow := len(c.Flags) > 0
			c.Env, c.Flags = append(env[:1:1], c.Env...), append(c.Flags, flags...)
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
				if s, ok := h.History(b); ok != (!b.Own && b.List != "free slot") || ok && !narrow && (len(s.Allocated.Stack) == 0 || (s.Freed != nil) != b.Free || b.Free && len(s.Freed.Stack) == 0) {
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
	heaptest.Fuzz(f, heaptest.Recorded(f, "asan").Cut(), func(p heap.Process) heap.Allocator {
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

// A process is some memory.
type process struct {
	heap.Process
	maps []libstate.Mapping
	mem  map[uint64]uint64 // words
}

func (p *process) Arch() *arch.Arch                      { return arch.AMD64 }
func (p *process) LibraryTracker() libstate.LibraryState { return nil }
func (p *process) Mappings() []libstate.Mapping          { return p.maps }

func (p *process) ReadWord(at arch.Address) (uint64, error) {
	for _, m := range p.maps {
		if m.Start <= at && at+8 <= m.End {
			return p.mem[uint64(at)], nil
		}
	}
	return 0, arch.ErrUnreadable
}

func (p *process) ReadMem(at arch.Address, b []byte) (n int, err error) {
	for ; n+8 <= len(b); n += 8 {
		v, err := p.ReadWord(at + arch.Address(n))
		if err != nil {
			return n, err
		}
		binary.LittleEndian.PutUint64(b[n:], v)
	}
	return n, nil
}

// Chunks whose headers contradict themselves are damages, and no blocks; regions of chunks without headers are none of the sanitizer's.
func TestDamaged(t *testing.T) {
	const region, size = 0x600000000000 + 4<<36, 64 // of the class of 64 bytes
	head := func(state, kind, used uint64) uint64 { return state | kind<<8 | used<<32 }
	for _, c := range []struct {
		name        string
		first, next uint64 // words of the chunk
		good        bool
	}{
		{"in use", head(2, 1, 48), 0, true},
		{"in quarantine", head(3, 3, 1), 0, true},
		{"never used", 0, 0, true},
		{"its header inside", 0xCC6E96B9CC6E96B9, region + size + 16, true},
		{"size past the chunk", head(2, 1, 49), 0, false},
		{"size of 48 bits", head(2, 1, 0) | 1<<16, 0, false},
		{"no way of allocation", head(2, 0, 8), 0, false},
		{"no state", head(7, 1, 8), 0, false},
		{"header outside", 0xCC6E96B9CC6E96B9, region + 4*size, false},
		{"header past the end", 0xCC6E96B9CC6E96B9, region + 2*size - 8, false},
		{"header not aligned", 0xCC6E96B9CC6E96B9, region + size + 17, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &process{maps: []libstate.Mapping{{Start: region, End: region + 8*size, Perm: libstate.Read | libstate.Write}}, mem: map[uint64]uint64{
				region + size: c.first, region + size + 8: c.next, region + size + 16: head(2, 1, 8),
			}}
			for _, i := range []uint64{0, 2, 3, 4, 5, 6, 7} {
				p.mem[region+i*size] = head(2, 1, 8)
			}
			h := asan.Find(p, asan.Options{})
			if h == nil {
				t.Fatal("no heap")
			}
			_, ok := h.BlockAt(region + size + 20)
			if d := h.Damages(); ok != c.good || (len(d) == 0) != c.good || !c.good && (d[0].At != region+size || d[0].Before.Start != region+16) {
				t.Errorf("%v, %+v", ok, d)
			}
			n := 0
			h.Blocks(func(heap.Block) bool { n++; return true })
			if n != 8 && c.good || n != 7 && !c.good {
				t.Errorf("%d blocks", n)
			}
			for i := range uint64(8) {
				p.mem[region+i*size] = 0x4141414141414141
			}
			if asan.Find(p, asan.Options{}) != nil {
				t.Error("a heap without headers")
			}
		})
	}
}
