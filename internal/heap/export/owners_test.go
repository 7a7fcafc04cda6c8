package export

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap/graph"
)

// stack is an entry as pprof has it, outermost first.
func (o *ownership) stack(i uint32) string {
	var names []string
	for ; i != 0; i = o.entries[i].parent {
		names = append(names, o.names[o.entries[i].class])
	}
	slices.Reverse(names)
	return strings.Join(names, ";")
}

func TestOwners(t *testing.T) {
	const items = "std::vector<Item, std::allocator<Item> >"
	by := []string{
		"g_cache;" + items, "g_cache;" + items + ";Order", "g_cache;" + items + ";Order",
		"g_cache;" + items + ";Order;untyped, 100 bytes", "g_cache;" + items + ";Order;char[]",
		"stack of thread 12;Node", "g_cache;" + items + ";char[]", "stack of thread 12;Node", "stack of thread 12;Node",
		"(unreached);std::vector<long>", "(unreached);untyped, more than 2 KiB", "(unnamed root);untyped, more than 8 KiB",
	}
	// An object that no other dominates is right below the root that reaches it first.
	shared := heap(t, []object{{16, item, []int{2}}, {16, order, []int{2}}, {16, chars, nil}}, 0, 1)
	if o, err := owners(t.Context(), shared, 100, false, nil); err != nil || o.stack(o.at[2]) != "g_cache;char[]" {
		t.Errorf("%v, %s", err, o.stack(o.at[2]))
	}
	path := slices.Clone(by)
	path[6] = "g_cache;" + items + ";Order;char[]"
	for name, c := range map[string]struct {
		change func(*Heap)
		want   []string
	}{
		"dominators": {func(*Heap) {}, by},
		"paths":      {func(h *Heap) { h.By = nil }, path},
	} {
		h := shop(t)
		c.change(h)
		o, err := owners(t.Context(), h, 100, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if got := o.stack(o.at[i]); got != want {
				t.Errorf("%s, %d: %s, want %s", name, i, got, want)
			}
		}
		if o.entries[0].total != shopBytes {
			t.Errorf("%s: %d bytes in all, want %d", name, o.entries[0].total, shopBytes)
		}
	}
}

// TestOwnersBounded: chains are as deep as they may be, entries as many; the innermost class is always the object's.
func TestOwnersBounded(t *testing.T) {
	var objects []object
	for i := range 40 {
		objects = append(objects, object{size: uint64(8 + 8*i)})
		if i > 0 {
			objects[i-1].to = []int{i}
		}
	}
	h := heap(t, objects, 0)
	for _, limit := range []int{1000, 10} {
		o, err := owners(t.Context(), h, limit, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(o.entries) > limit+41 {
			t.Errorf("%d entries of %d", len(o.entries), limit)
		}
		for i, at := range o.at {
			_, name := sizeName(objects[i].size)
			s := o.stack(at)
			if parts := strings.Split(s, ";"); len(parts) > maxDepth || parts[len(parts)-1] != name() {
				t.Errorf("%d: %s", i, s)
			}
		}
	}
}

// TestOwnersOfOne: objects that are told apart begin chains of their own.
func TestOwnersOfOne(t *testing.T) {
	h := heap(t, []object{{32, list, []int{1}}, {32, list, []int{2, 3}}, {32, list, []int{4}}, {32, list, nil}, {32, list, nil}}, 0)
	o, err := owners(t.Context(), h, 100, false, func(n graph.Node) bool { return n == 1 })
	if err != nil {
		t.Fatal(err)
	}
	if o.at[0] == o.at[1] || o.at[2] == o.at[0] || o.at[2] == o.at[1] || o.at[3] != o.at[2] || o.at[4] != o.at[2] || o.entries[o.at[2]].parent != o.at[1] {
		t.Errorf("entries %d", o.at)
	}
}

// TestOwnersInCircles: dominators that are wrong end somewhere.
func TestOwnersInCircles(t *testing.T) {
	h := shop(t)
	h.By[0], h.By[1], h.By[2], h.By[5] = 1, 0, 2, 1<<31
	o, err := owners(t.Context(), h, 100, true, nil)
	if err != nil || o.entries[0].total != shopBytes {
		t.Errorf("%v, %d bytes", err, o.entries[0].total)
	}
}

// TestDeepOwners: a long list takes no longer than others.
func TestDeepOwners(t *testing.T) {
	objects := make([]object, 300_000)
	for i := range objects {
		objects[i] = object{size: 16, kind: list}
		if i > 0 {
			objects[i-1].to = []int{i}
		}
	}
	o, err := owners(context.Background(), heap(t, objects, 0), 100, true, nil)
	if err != nil || len(o.entries) != 3 || o.entries[2].count != uint64(len(objects)) {
		t.Errorf("%v, %d entries", err, len(o.entries))
	}
}
