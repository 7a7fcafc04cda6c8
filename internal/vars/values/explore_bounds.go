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
	Open  bool // Count is not known, as of the last dimension of real b(n, *) in Fortran
}

// Bounds returns the dimensions of an array, the outermost in memory first; nil if an object is none.
func (x Explorer) Bounds(o *Object) ([]Bound, error) { return x.bounds(o, false) }

// OpenBounds is Bounds of an array of which the outermost dimension may have no known end.
func (x Explorer) OpenBounds(o *Object) ([]Bound, error) { return x.bounds(o, true) }

func (x Explorer) bounds(o *Object, open bool) ([]Bound, error) {
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
			return x.boundsOf(&at, t, open)
		case t.Aggregate() && isAda(t.Language):
			return x.builder(Options{}).adaBounds(&at)
		}
		return nil, nil
	}
	return nil, nil
}

// Absent says of an array of Fortran that it is not allocated or not associated, and "" if it is. known is false for others.
func (x Explorer) Absent(o *Object) (absent string, known bool, err error) {
	at := *o
	for range maxSteps {
		t := at.Type.Strip()
		if t.Reference() || t.Pointer() {
			to, err := x.Pointee(&at)
			if err != nil {
				return "", false, err
			}
			at = to
			continue
		}
		if !t.MayBeAbsent() {
			return "", false, nil
		}
		in := at
		absent, err := t.Absent(x.builder(Options{}).in(&in))
		return absent, err == nil, err
	}
	return "", false, nil
}

// A Pick is which elements a section of an array has in one dimension, counted from 0: one, if Single is true, or those from First on, Count of them,
// each Step behind the one before.
type Pick struct {
	First, Count, Step int64
	Single             bool
}

// Section reads some elements of an array, of the outermost dimension in memory first.
func (x Explorer) Section(o *Object, picks []Pick) (*Seen, error) {
	out := &Seen{nil, map[*Value][]Object{}}
	left := int64(MaxRun)
	v, err := x.section(o, picks, out, &left)
	out.Value = v
	return out, err
}

func (x Explorer) section(o *Object, picks []Pick, out *Seen, left *int64) (*Value, error) {
	p := picks[0]
	one := func(i int64) (*Value, error) {
		at, err := x.Element(o, i)
		switch {
		case err != nil:
			return nil, err
		case len(picks) > 1:
			return x.section(&at, picks[1:], out, left)
		}
		s := x.Read(&at, Options{})
		for v, list := range s.objects {
			out.objects[v] = list
		}
		return s.Value, nil
	}
	if p.Single {
		return one(p.First)
	}
	v := &Value{Compound: true}
	for n := range p.Count {
		if *left--; *left < 0 {
			v.More = true
			break
		}
		part, err := one(p.First + n*p.Step)
		if err != nil {
			return nil, err
		}
		v.Parts = append(v.Parts, Part{Value: part})
	}
	return v, nil
}

func (x Explorer) boundsOf(o *Object, t *types.Type, open bool) ([]Bound, error) {
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
		if list[i].Open = !shape[i].Known; list[i].Open && (!open || i > 0) {
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
		list[i] = Bound{Lower: int64(n), Count: shape[i].Count}
	}
	return list, nil
}
