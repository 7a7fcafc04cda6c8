package export

import (
	"cmp"
	"context"
	"slices"

	"github.com/corewalk/corewalk/internal/heap/graph"
)

// A typeRow has the figures of a class.
type typeRow struct {
	class                  class
	count, bytes, retained uint64
}

// types are the figures of all classes, those that keep the most alive first. What objects of a class keep alive together counts once: what is
// below one of them is not counted again for those of its class below it.
func (o *ownership) types(ctx context.Context) ([]typeRow, error) {
	rows := make([]typeRow, len(o.names))
	for i := range o.at {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		r := &rows[o.of(graph.Node(i))]
		r.count++
		r.bytes += o.h.Graph.Size(graph.Node(i))
	}
	if o.dominated() {
		kept, err := o.h.Graph.RetainedBy(ctx, o.h.Retained, o.h.By, len(rows), o.of)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].retained = kept[i]
		}
	}
	for i := range rows {
		rows[i].class = class(i)
	}
	rows = slices.DeleteFunc(rows, func(r typeRow) bool { return r.count == 0 })
	slices.SortFunc(rows, func(a, b typeRow) int {
		return cmp.Or(cmp.Compare(max(b.retained, b.bytes), max(a.retained, a.bytes)), cmp.Compare(a.class, b.class))
	})
	return rows, nil
}

// dominated reports whether it is known what keeps what alive.
func (o *ownership) dominated() bool {
	return len(o.at) > 0 && len(o.h.By) == len(o.at) && len(o.h.Retained) == len(o.at)
}

// heaviest are the objects that keep the most alive, or are the largest, at most limit. Of a list and the like it is only the first that counts.
func (o *ownership) heaviest(ctx context.Context, limit int) ([]graph.Node, error) {
	weight := o.h.weight()
	var list []graph.Node
	tidy := func() {
		slices.SortFunc(list, func(a, b graph.Node) int { return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a, b)) })
		list = list[:min(len(list), limit)]
	}
	least := uint64(0)
	for i := range o.at {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		n := graph.Node(i)
		if w := weight(n); w == 0 || w < least || o.folded(n) {
			continue
		}
		if list = append(list, n); len(list) == 4*limit {
			tidy()
			least = weight(list[len(list)-1])
		}
	}
	tidy()
	return list, nil
}

// folded reports whether an object is in the entry of another above it.
func (o *ownership) folded(n graph.Node) bool {
	if !o.dominated() || int64(o.h.By[n]) >= int64(len(o.at)) {
		return false
	}
	for i := o.at[o.h.By[n]]; i != 0; i = o.entries[i].parent {
		if i == o.at[n] {
			return true
		}
	}
	return false
}
