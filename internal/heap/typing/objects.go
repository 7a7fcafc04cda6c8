package typing

import (
	"context"
	"math"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/graph"
)

// An objectKey tells kinds of a runtime's objects apart: pointers into the heads of objects do not count, and classes of one name may differ in it.
type objectKey struct {
	name  string
	head  uint64
	links uint64
	blind bool // what it leads to does not count
	freed bool
}

// Objects gives the objects of a runtime their kinds, and the blocks that belong to them. It comes before what else finds types and roots.
func (t *Typer) Objects(ctx context.Context, r heap.Objects) error {
	var err error
	t.g.Each(heap.ObjectBytes, func(n graph.Node, start uint64, b []byte) bool {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			err = context.Cause(ctx)
			return false
		}
		if t.g.Kinds[n] != Unknown {
			return true // a part of an object that came before
		}
		o, ok := r.ObjectIn(start, t.g.Size(n), b)
		if !ok {
			return true
		}
		t.g.Kinds[n] = t.object(objectKey{o.Type, o.Head, o.Links, o.Freed, o.Freed})
		for _, p := range o.Owns {
			// What looked like an object, but is a part of one, is that: a list of types has the type of one where an object has its own.
			part, off, ok := t.g.Find(p.At)
			if ok && part != n && (off == 0 || t.g.Kinds[part] == Unknown) {
				k := t.object(objectKey{name: p.What, blind: p.Weak})
				if t.g.Kinds[part] = k; p.Idle <= t.g.Size(part) {
					t.Kinds[k].Idle += p.Idle
				}
			}
		}
		return true
	})
	return err
}

// object is the number of a kind of a runtime's objects.
func (t *Typer) object(key objectKey) graph.Kind {
	if k, ok := t.objects[key]; ok {
		return k
	}
	if len(t.Kinds) >= maxKinds || key.head > math.MaxUint8 {
		return Unknown
	}
	if t.objects == nil {
		t.objects = map[objectKey]graph.Kind{}
	}
	k := graph.Kind(len(t.Kinds))
	t.objects[key] = k
	t.Kinds = append(t.Kinds, Kind{Name: key.name, ByObject: true, Freed: key.freed})
	for len(t.g.Heads) < len(t.Kinds) {
		t.g.Heads, t.g.Blind, t.g.Skips = append(t.g.Heads, 0), append(t.g.Blind, false), append(t.g.Skips, 0)
	}
	t.g.Heads[k], t.g.Blind[k], t.g.Skips[k] = uint8(key.head), key.blind, key.links
	return k
}
