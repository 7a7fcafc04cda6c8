package analysis

import (
	"context"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// larger has symbols that are larger than those of a recorded process: they are of a release that nobody knows.
type larger struct{ *heaptest.Process }

func (l larger) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	s, ok := l.Process.SymbolByName(lib, name)
	s.Size += 8
	return s, ok
}

// The heap of an allocator that is linked into the program is known by the program's symbols; of a release that is not known it says so.
func TestLinkedAllocator(t *testing.T) {
	p := heaptest.Recorded(t, "gtcmalloc").Process()
	engine := func(names unwind.SymbolReader) *Engine {
		w, err := unwind.NewWalker(p, unwind.WithSymbolReader(names))
		if err != nil {
			t.Fatal(err)
		}
		return NewEngine(Parts{Proc: p, Walker: w})
	}
	m, _, err := engine(p).Memory(context.Background(), MemoryOptions{})
	if err != nil || len(m.Allocators) != 1 || m.Allocators[0].Name != "Google's tcmalloc" || m.Allocators[0].Used.Count != heaptest.Held64+4 {
		t.Errorf("%v %+v", err, m.Allocators)
	}
	for _, w := range m.Warnings {
		if w.Code == report.WarnHeap {
			t.Error(w)
		}
	}
	m, _, err = engine(larger{p}).Memory(context.Background(), MemoryOptions{})
	if err != nil || len(m.Allocators) != 0 {
		t.Errorf("%v %+v", err, m.Allocators)
	}
	told := false
	for _, w := range m.Warnings {
		told = told || w.Code == report.WarnHeap && strings.Contains(w.Message, "Google's tcmalloc")
	}
	if !told {
		t.Errorf("%+v", m.Warnings)
	}
}

// A report that asks about one block reads next to nothing of the heap, however large that is.
func TestLinkedAllocatorReads(t *testing.T) {
	p := heaptest.Recorded(t, "gtcmalloc").Process()
	w, err := unwind.NewWalker(p, unwind.WithSymbolReader(p))
	if err != nil {
		t.Fatal(err)
	}
	e := NewEngine(Parts{Proc: p, Walker: w})
	all, _ := e.Heaps()
	if len(all) != 1 {
		t.Fatalf("%d heaps", len(all))
	}
	h := e.heap().(*partlyRead)
	n, left := 0, h.reads.left
	t.Logf("%d bytes are read to find it", maxHeapRead-left)
	const least = 1 << 20 // of what may be read
	for b := range all[0].Blocks {
		if n++; n%50 == 0 {
			if got, ok := h.BlockAt(b.Start); !ok || got != b {
				t.Fatalf("%+v, want %+v", got, b)
			}
		}
	}
	if read := left - h.reads.left; read > least {
		t.Errorf("%d bytes were read", read)
	}
}
