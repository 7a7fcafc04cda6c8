package values

import (
	"errors"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Element returns element number i of an array, of what a pointer points to, or of a container.
func (x Explorer) Element(o *Object, i int64) (Object, error) {
	s, err := x.Elements(o, i, 1)
	if err != nil {
		return Object{}, err
	}
	if len(s.Parts) == 0 {
		return Object{}, wrong("there is no element %d", i)
	}
	p := s.Parts[0].Value
	if at, ok := s.Object(p); ok {
		return at, nil
	}
	if p.Err != nil {
		return Object{}, p.Err
	}
	return Object{}, &NotStored{Value: p}
}

// A NotStored error has an element that is no object of its own, such as a bit of a std::vector<bool>.
type NotStored struct{ Value *Value }

func (n *NotStored) Error() string { return "the element has no address" }

// MaxRun is the largest number of elements that are read at once.
const MaxRun = 1 << 16

// Elements reads n elements from number first on, of an array, of what a pointer points to, or of a container.
func (x Explorer) Elements(o *Object, first, n int64) (*Seen, error) {
	if n < 0 || n > MaxRun {
		return nil, wrong("%d elements: at most %d are read at once", n, MaxRun)
	}
	b := x.many(n)
	at := *o
	for range maxSteps {
		t := at.Type.Strip()
		switch {
		case goContainer(at.Type):
			return x.printed(&at, first, n)
		case t.Reference():
			to, err := x.Pointee(&at)
			if err != nil {
				return nil, err
			}
			at = to
			continue
		case t.Pointer():
			to, err := x.Pointee(&at)
			if err != nil {
				return nil, err
			}
			if rustReference(t.BareName) && !single(to.Type) {
				at = to
				continue
			}
			if to.Size == 0 {
				return nil, wrong("elements of %s have no size", describe(to.Type))
			}
			return x.run(b, &to, first, n)
		case t.Tag == dwarf.TagArrayType:
			return x.array(b, &at, t, first, n)
		case t.Aggregate() && isAda(t.Language):
			array, shape, err := b.adaArray(&at)
			switch {
			case err != nil:
				return nil, err
			case array == nil:
				return nil, wrong("%s has no elements", describe(at.Type))
			case array.Addr == 0:
				return nil, wrong("the array is null")
			case shape[0].Count == 0:
				return nil, wrong("the array is empty")
			}
			return x.rows(b, array, &at, shape, first, n)
		case t.Aggregate():
			return x.printed(&at, first, n)
		}
		break
	}
	return nil, wrong("%s has no elements", describe(o.Type))
}

// goContainer reports whether a type is that of Go's maps or channels, which are pointers.
func goContainer(t *types.Type) bool {
	if t.Language != dwarf.LangGo || !t.Strip().Pointer() {
		return false
	}
	name := t.Name()
	return strings.HasPrefix(name, "map[") || strings.HasPrefix(name, "chan ") || strings.HasPrefix(name, "<-chan ") || strings.HasPrefix(name, "chan<- ")
}

// single reports whether what a reference refers to is no array and no container.
func single(t *types.Type) bool {
	s := t.Strip()
	return s.Tag != dwarf.TagArrayType && !s.Aggregate()
}

// Run reads n objects one after the other in memory, the first of which is o.
func (x Explorer) Run(o *Object, n int64) (*Seen, error) {
	if !o.Mem {
		return nil, wrong("what is not in memory has no neighbours")
	}
	if n < 1 || n > MaxRun {
		return nil, wrong("%d elements: from 1 to %d are read at once", n, MaxRun)
	}
	if o.Size == 0 {
		return nil, wrong("elements of %s have no size", describe(o.Type))
	}
	return x.run(x.many(n), o, 0, n)
}

// many returns a builder that reads n elements, each as large as a variable.
func (x Explorer) many(n int64) *builder {
	b := x.builder(Options{MaxElements: int(max(n, 200)), MaxParts: 8 * int(max(n, 250))})
	b.objects, b.noRepeats = map[*Value][]Object{}, true
	return b
}

func (x Explorer) run(b *builder, first *Object, from, n int64) (*Seen, error) {
	storage := Object{Type: first.Type, Mem: true, Addr: first.Addr + uint64(from)*first.Size, Size: uint64(n) * first.Size}
	v := &Value{Compound: true}
	v = b.runIn(v, &storage, first.Type, uint64(n), first.Size, 0)
	return &Seen{v, b.objects}, nil
}

// array reads elements of an array, which may have several dimensions.
func (x Explorer) array(b *builder, o *Object, t *types.Type, first, n int64) (*Seen, error) {
	at := *o
	if absent, err := t.Absent(b.in(&at)); err != nil {
		return nil, err
	} else if absent != "" {
		return nil, wrong("the array is %s", absent)
	}
	whole := at
	shape, err := b.layOut(&at, t)
	if err != nil {
		return nil, err
	}
	return x.rows(b, &at, &whole, shape, first, n)
}

// rows reads elements of an array at, whose bounds are those of whole.
func (x Explorer) rows(b *builder, at, whole *Object, shape []types.Extent, first, n int64) (*Seen, error) {
	t, count := at.Type.Strip(), shape[0].Count
	flexible := count == 0 && at.Mem
	if !flexible && (first < 0 || uint64(first) >= count && n > 0) {
		return nil, wrong("element %d of an array of %d", first, count)
	}
	if !flexible {
		n = min(n, int64(count)-first)
	}
	elem := t.Target()
	if len(shape) > 1 {
		if whole.Type.Strip().Row && whole.whole != nil {
			whole = whole.whole
		}
		at.whole = whole
		var err error
		if elem, err = x.P.Types.Row(t); err != nil {
			return nil, err
		}
	}
	if first < 0 {
		return nil, wrong("element %d of an array without a length", first)
	}
	at.Type, b.skip = elem, uint64(first)
	e := shape[0]
	e.Count = uint64(first + n)
	v := b.extentIn(&Value{Compound: true}, at, elem, &e, 0)
	return &Seen{v, b.objects}, nil
}

// printed reads elements of a container as its printer does.
func (x Explorer) printed(o *Object, first, n int64) (*Seen, error) {
	if first < 0 {
		return nil, wrong("there is no element %d", first)
	}
	s, left := x.page(o, uint64(first), n)
	k := s.Kind()
	if p, ok := s.held(); ok { // a smart pointer to an array
		return x.Elements(&p, first, n)
	}
	if left == uint64(first) && first > 0 { // its printer begins at the first element
		if first+n > MaxRun {
			return nil, wrong("element %d: only %d elements are read of %s", first, MaxRun, describe(o.Type))
		}
		s, _ = x.page(o, 0, first+n)
		cut := min(int(first), len(s.Parts))
		left = uint64(first) - uint64(cut)
		s.Parts = s.Parts[cut:]
	}
	if int64(len(s.Parts)) > n {
		s.Parts, s.More = s.Parts[:n], true
	}
	v := s.Value
	switch {
	case v.Err != nil:
		return nil, v.Err
	case k != KindSequence && k != KindMap && k != KindArray && !goContainer(o.Type):
		if in, ok := s.inner(v); ok && in.Type.Strip() != o.Type.Strip() { // a box
			return x.Elements(&in, first, n)
		}
		if to, ok := x.boxed(o); ok {
			return x.Elements(&to, first, n)
		}
		return nil, wrong("%s has no elements", describe(o.Type))
	case left > 0 || len(v.Parts) == 0 && first > 0:
		return nil, wrong("element %d of %s", first, strings.TrimSuffix(v.Text, " ="))
	}
	return s, nil
}

// page reads a container without its first elements. It returns how many of these its printer did not leave out.
func (x Explorer) page(o *Object, first uint64, n int64) (*Seen, uint64) {
	b := x.many(n)
	b.skip = first
	at := *o
	v := b.value(&at, 0)
	return &Seen{v, b.objects}, b.skip
}

// maxKeys is how many elements of a map are looked at to find one.
const maxKeys = 1 << 16

// A NoKey error says that a map has no element with a key.
type NoKey struct{ Wrong }

// Key returns the element of a map with a key, a string or a number in words.
func (x Explorer) Key(o *Object, text string, isText bool) (Object, error) {
	return x.keyed(o, text, isText, false)
}

// Has reports whether a map or a set has a key.
func (x Explorer) Has(o *Object, text string, isText bool) (bool, error) {
	_, err := x.keyed(o, text, isText, true)
	var none *NoKey
	var bit *NotStored
	switch {
	case err == nil, errors.As(err, &bit):
		return true, nil
	case errors.As(err, &none):
		return false, nil
	}
	return false, err
}

// keyed finds the element of a map with a key; with sets also that of a set.
func (x Explorer) keyed(o *Object, text string, isText, sets bool) (Object, error) {
	at := *o
	for range maxSteps {
		t := at.Type.Strip()
		if !t.Reference() && !t.Pointer() || goContainer(at.Type) {
			break
		}
		to, err := x.Pointee(&at)
		if err != nil {
			return Object{}, err
		}
		at = to
	}
	want := text
	if isText {
		want = stringText(nil, []byte(text), false, false)
	}
	for first := int64(0); first < maxKeys; {
		s, err := x.printed(&at, first, 1<<10)
		if err != nil {
			var w *Wrong
			if first > 0 || errors.As(err, &w) && sets && setType(at.Type.Strip().BareName) {
				break
			}
			return Object{}, err
		}
		set := sets && s.Kind() == KindSequence && setType(at.Type.Strip().BareName)
		if s.Kind() != KindMap && !set {
			return Object{}, wrong("%s has no keys", describe(o.Type))
		}
		for i := range s.Parts {
			p := &s.Parts[i]
			k := p.Key
			if set {
				k = p.Value
			}
			if k == nil || !sameKey(k, want, isText) {
				continue
			}
			if v, ok := s.Object(p.Value); ok {
				return v, nil
			}
			return Object{}, &NotStored{Value: p.Value}
		}
		first += int64(len(s.Parts))
		if !s.More || len(s.Parts) == 0 {
			break
		}
		if first >= maxKeys {
			return Object{}, wrong("the key %s is not among the %d that were read", want, maxKeys)
		}
	}
	return Object{}, &NoKey{Wrong{"there is no element with the key " + want}}
}

// setType reports whether the name of a class is that of a set.
func setType(name string) bool {
	name, _, _ = strings.Cut(name, "<")
	return strings.HasSuffix(strings.ToLower(name), "set")
}

// Keyed reports whether an object is a map, so that an index is a key.
func (x Explorer) Keyed(o *Object) bool {
	if goContainer(o.Type) {
		return strings.HasPrefix(o.Type.Name(), "map[")
	}
	t := o.Type.Strip()
	for n := 0; (t.Reference() || t.Pointer() && rustReference(t.BareName)) && n < maxSteps; n++ {
		t = t.Target().Strip()
	}
	return t.Aggregate() && (mapType(t.BareName) || t.Language == dwarf.LangD && dKeyed(t.BareName))
}

// sameKey compares a key with what somebody wrote.
func sameKey(k *Value, want string, isText bool) bool {
	if k.Err != nil {
		return false
	}
	text := k.Text
	if isText {
		return text == want || strings.HasSuffix(text, " "+want) || strings.TrimLeft(text, "LUu8") == want
	}
	own, _, _ := strings.Cut(text, " ")
	return own == want
}
