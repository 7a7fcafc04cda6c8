package heaptest

import (
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/tasks"
)

// Found is what a runtime knows of the objects of a process.
type Found struct {
	Runtime tasks.Runtime
	Types   map[string]int    // how many objects there are of each
	Names   map[string]uint64 // of variables: the objects that they lead to
	Free    int               // blocks that are not in use, of the runtime's own heap or the one that was given
}

// Objects asks the runtime that find finds in a recorded process for all objects: in its own heap, or in the one that of finds.
func (r *Recording) Objects(tb testing.TB, find tasks.Finder, of func(heap.Process) heap.Allocator) Found {
	tb.Helper()
	p := r.Process()
	modules, _ := p.LibraryTracker().Libraries(false)
	rt, err := find(&tasks.Process{State: p, Modules: modules, Symbols: p})
	if err != nil || rt == nil {
		tb.Fatalf("no runtime: %v", err)
	}
	out := Found{rt, map[string]int{}, map[string]uint64{}, 0}
	var h heap.Allocator
	if o, ok := rt.(heap.Owner); ok {
		h = o.Heap()
	} else {
		h = of(p)
	}
	if h == nil {
		tb.Fatal("no heap")
	}
	if d := h.Damages(); d != nil {
		tb.Errorf("%+v", d)
	}
	mem := procmem.Of(p)
	objects := rt.(heap.Objects)
	for b := range h.Blocks {
		switch o, ok := objects.ObjectIn(b.Start, b.Size, mem.Some(b.Start, int(min(b.Size, heap.ObjectBytes)))); {
		case b.Free:
			out.Free++
		case ok:
			out.Types[o.Type]++
		}
	}
	objects.Variables(func(name string, value uint64) bool { out.Names[name] = value; return true })
	return out
}

// Wants checks how many objects of some types there are.
func (f *Found) Wants(tb testing.TB, want map[string]int) {
	tb.Helper()
	for name, n := range want {
		if f.Types[name] != n {
			tb.Errorf("%d of %s, want %d: %v", f.Types[name], name, n, f.Types)
		}
	}
}
