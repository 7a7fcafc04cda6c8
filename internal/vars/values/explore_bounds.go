package values

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Arrays as Fortran and Ada index them, whose first element has a number of its own.

// A Bound is the number of the first element of a dimension of an array, and how many there are.
type Bound struct {
	Lower int64
	Count uint64
}

// Bounds returns the dimensions of an array, the outermost in memory first; nil if an object is none.
func (x Explorer) Bounds(o *Object) ([]Bound, error) {
	at := *o
	for range maxSteps {
		t := at.Type.Strip()
		switch {
		case t.Reference(), t.Pointer():
			to, err := x.Pointee(&at)
			if err != nil {
				return nil, err
			}
			at = to
			continue
		case t.Tag == dwarf.TagArrayType:
			return x.boundsOf(&at, t)
		case t.Aggregate() && isAda(t.Language):
			return x.builder(Options{}).adaBounds(&at)
		}
		return nil, nil
	}
	return nil, nil
}

func (x Explorer) boundsOf(o *Object, t *types.Type) ([]Bound, error) {
	b := x.builder(Options{})
	in := *o
	if absent, err := t.Absent(b.in(&in)); err != nil {
		return nil, err
	} else if absent != "" {
		return nil, wrong("the array is %s", absent)
	}
	shape, err := t.Shape(b.in(&in))
	if err != nil {
		return nil, err
	}
	list := make([]Bound, len(shape))
	for i := range shape {
		if !shape[i].Known {
			return nil, wrong("the array has no length")
		}
		if list[i].Lower, err = t.Lower(b.in(&in), i); err != nil {
			return nil, err
		}
		list[i].Count = shape[i].Count
	}
	return list, nil
}

// adaBounds are those of an array whose bounds are in a record of their own.
func (b *builder) adaBounds(o *Object) ([]Bound, error) {
	array, shape, err := b.adaArray(o)
	if array == nil || err != nil {
		return nil, err
	}
	if array.Addr == 0 {
		return nil, wrong("the array is null")
	}
	at, ok := b.num(o, "P_BOUNDS")
	bounds := b.pointee(o, "P_BOUNDS")
	if !ok || bounds == nil {
		return nil, nil
	}
	record, err := b.inMemory(bounds, at)
	if err != nil {
		return nil, err
	}
	list := make([]Bound, len(shape))
	for i := range shape {
		part, ok := b.path(&record, fmt.Sprint("LB", i))
		if !ok {
			return nil, unknown.ErrLength
		}
		n, err := b.uint(&part, part.Type.Base().Encoding.Signed())
		if err != nil {
			return nil, err
		}
		list[i] = Bound{int64(n), shape[i].Count}
	}
	return list, nil
}
