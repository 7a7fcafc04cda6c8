package analysis

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/heap/typing"
	"github.com/corewalk/corewalk/report"
)

// typeRows count blocks by their types, and those of unknown types by their sizes.
type typeRows struct {
	c      *census
	kinds  []report.MemoryCount
	bySize map[uint64]*report.MemoryCount
}

func newTypeRows(c *census) *typeRows {
	return &typeRows{c: c, kinds: make([]report.MemoryCount, len(c.types.Kinds)), bySize: map[uint64]*report.MemoryCount{}}
}

func (t *typeRows) add(n graph.Node, size uint64) {
	k := t.c.g.Kinds[n]
	s := &t.kinds[k]
	if k == typing.Unknown {
		if s = t.bySize[size]; s == nil {
			s = &report.MemoryCount{}
			t.bySize[size] = s
		}
	}
	s.Count++
	s.Bytes += size
}

// list is the rows, those with the most bytes first. retained is by type, and may be nil. idle says that what containers have for nothing is of these.
func (t *typeRows) list(retained []uint64, idle bool) []report.MemoryType {
	out := []report.MemoryType{}
	for k, s := range t.kinds {
		if s.Count == 0 {
			continue
		}
		kind := &t.c.types.Kinds[k]
		row := report.MemoryType{Name: kind.Name, Count: s.Count, Bytes: s.Bytes, By: report.TypeByPointer}
		switch {
		case kind.ByTable:
			row.By = report.TypeByTable
		case kind.ByObject:
			row.By = report.TypeByObject
		}
		if retained != nil {
			row.Retained = retained[k]
		}
		if idle {
			row.Idle = min(kind.Idle, row.Bytes)
		}
		out = append(out, row)
	}
	for size, s := range t.bySize {
		out = append(out, report.MemoryType{Size: size, Count: s.Count, Bytes: s.Bytes})
	}
	slices.SortFunc(out, func(a, b report.MemoryType) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Size, b.Size))
	})
	return out[:min(len(out), maxMemoryTypes)]
}

// A top keeps the blocks with the largest keys.
type top struct {
	most int
	list []keyed
}

type keyed struct {
	n   graph.Node
	key uint64
}

func newTop(most int) *top { return &top{most: most} }

// The least is the first; of equal ones the last block.
func (t *top) Len() int { return len(t.list) }
func (t *top) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(t.list[i].key, t.list[j].key), cmp.Compare(t.list[j].n, t.list[i].n)) < 0
}
func (t *top) Swap(i, j int) { t.list[i], t.list[j] = t.list[j], t.list[i] }
func (t *top) Push(x any)    { t.list = append(t.list, x.(keyed)) }
func (t *top) Pop() any {
	x := t.list[len(t.list)-1]
	t.list = t.list[:len(t.list)-1]
	return x
}

func (t *top) add(n graph.Node, key uint64) {
	if len(t.list) == t.most {
		if key <= t.list[0].key {
			return
		}
		t.list[0] = keyed{n, key}
		heap.Fix(t, 0)
		return
	}
	heap.Push(t, keyed{n, key})
}

// sorted are the blocks, the largest first.
func (t *top) sorted() []keyed {
	return slices.SortedFunc(slices.Values(t.list), func(a, b keyed) int { return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.n, b.n)) })
}
