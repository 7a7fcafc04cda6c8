package hotspot

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// A removed is an object that the compiler did without: its fields are values of the frame. Or it is one of several such
// objects, or one in memory, as a number in the frame says.
type removed struct {
	class  uint64       // of the object that is not there
	fields []scopeValue // those of the class that others extend first; elements of an array
	// Where several ways through the code meet.
	merged     bool
	selector   scopeValue // which of candidates it is; -1 for pointer
	pointer    scopeValue
	candidates []uint32
}

// removedObjects are the removed objects that the description of a place in compiled code has, by their numbers.
type removedObjects map[uint32]*removed

const (
	maxRemoved     = 1 << 10 // removed objects of one description
	maxRemovedDeep = 32      // objects described within each other
)

// A scopeReader decodes values of debug information.
type scopeReader struct {
	reader
	vm      *VM
	blob    *blob
	objects removedObjects
	left    int // values that may still be read
	deep    int
}

func (vm *VM) scopeReader(b *blob, at uint32) *scopeReader {
	return &scopeReader{reader: reader{m: vm.memory, at: b.scopes + uint64(at)}, vm: vm, blob: b, left: maxSlots}
}

func (r *scopeReader) number() (uint32, bool) { return r.unsigned5(r.vm) }

// removedAt decodes the objects that the description of a place has at an offset.
func (vm *VM) removedAt(b *blob, at uint32) removedObjects {
	if at == 0 || uint64(at) >= b.scopesEnd-b.scopes {
		return nil
	}
	r := vm.scopeReader(b, at)
	r.objects = removedObjects{}
	n, ok := r.number()
	if !ok || n > maxRemoved {
		return nil
	}
	for range n {
		if _, ok := r.value(); !ok {
			break // the next one cannot be found
		}
	}
	return r.objects
}

// object decodes an object that the compiler removed.
func (r *scopeReader) object(kind uint32) (v scopeValue, ok bool) {
	id, ok := r.number()
	if r.objects == nil || !ok || r.deep >= maxRemovedDeep || len(r.objects) >= maxRemoved {
		return v, false
	}
	r.deep++
	defer func() { r.deep-- }()
	o := &removed{}
	if kind == scopeMerge {
		o.merged = true
		if o.selector, ok = r.value(); !ok {
			return v, false
		}
		if o.pointer, ok = r.value(); !ok {
			return v, false
		}
	} else {
		if r.vm.hasRoots() {
			if _, ok := r.byte(); !ok {
				return v, false
			}
		}
		mirror, ok := r.value()
		if !ok || mirror.kind != scopeObject {
			return v, false
		}
		if p := r.vm.placeOf(r.blob, mirror, javaFrame{}); p.err == nil && !p.isConst {
			o.class = r.vm.classOfMirror(r.vm.reference(p))
		}
	}
	n, ok := r.number()
	if !ok || n > maxSlots {
		return v, false
	}
	for range n {
		f, ok := r.value()
		if !ok {
			return v, false
		}
		if !o.merged {
			o.fields = append(o.fields, f)
		} else if f.kind == scopeRemovedID {
			o.candidates = append(o.candidates, uint32(f.number))
		}
	}
	r.objects[id] = o
	return scopeValue{scopeRemovedID, uint64(id)}, true
}

// hasRoots is true from JDK 22 on: a removed object says whether it is more than a candidate for another.
func (vm *VM) hasRoots() bool { return vm.version >= 22 && !vm.isOld() }

// A removal is a removed object of a frame.
type removal struct {
	b       *blob
	frame   javaFrame
	objects removedObjects
	id      uint32
}

// found resolves objects of several ways: the object that was removed, or the place of the one that was not.
func (vm *VM) found(r removal) (o *removed, kept place) {
	for range maxRemovedDeep {
		o := r.objects[r.id]
		if o == nil || !o.merged {
			return o, place{}
		}
		w, ok := vm.wordAt(vm.placeOf(r.b, o.selector, r.frame))
		switch n := int32(w); {
		case !ok:
			return nil, place{}
		case n == -1:
			p := vm.placeOf(r.b, o.pointer, r.frame)
			return nil, p
		case n < 0 || int(n) >= len(o.candidates):
			return nil, place{}
		default:
			r.id = o.candidates[n]
		}
	}
	return nil, place{}
}

// removed reads an object that the compiler removed.
func (p *treeBuilder) removed(r removal) report.Data {
	if p.count++; p.count > p.parts || p.spend(4) != nil {
		p.count = p.parts
		return report.Data{Kind: "text", Text: "...", Truncated: true}
	}
	o, kept := p.found(r)
	if o == nil {
		if kept == (place{}) || kept.err != nil {
			return note(errDropped)
		}
		return p.object(p.reference(kept))
	}
	name := p.className(o.class)
	if name == "" {
		return note(errObject)
	}
	v := report.Data{Kind: "struct", Type: dotted(name)}
	if len(p.in) >= p.depth {
		v.Text, v.Truncated = simpleName(v.Type)+"{...}", true
		return v
	}
	p.in = append(p.in, 0)
	defer func() { p.in = p.in[:len(p.in)-1] }()
	if name[0] == '[' {
		return p.removedArray(r, o, name)
	}
	fields, ok := p.fieldPlaces(o)
	if !ok {
		return note(errDropped)
	}
	v.Text = simpleName(v.Type)
	for _, f := range fields {
		if len(v.Children) == p.atMost() || p.full() {
			v.Truncated = true
			break
		}
		part := report.Child{Name: f.name, Data: p.removedField(r, f.signature, f.at)}
		if isBox(name) && f.name == "value" {
			v.Kind, v.Text, v.Children = part.Data.Kind, part.Data.Text, nil
			return v
		}
		v.Children = append(v.Children, part)
	}
	return v
}

// isBox reports whether a class is one of those that hold a primitive value.
func isBox(class string) bool {
	return slices.Contains([]string{"java/lang/Integer", "java/lang/Long", "java/lang/Short", "java/lang/Byte", "java/lang/Character", "java/lang/Boolean",
		"java/lang/Float", "java/lang/Double"}, class)
}

// A fieldPlace is a field of a removed object and its value.
type fieldPlace struct {
	classField
	at scopeValue
}

// fieldPlaces are the fields of a removed object, those that its class adds last; false if the description does not have as
// many values as the class.
func (vm *VM) fieldPlaces(o *removed) (out []fieldPlace, ok bool) {
	for _, klass := range slices.Backward(slices.Collect(vm.supers(o.class))) {
		for _, f := range vm.fieldsOf(klass) {
			if !f.static && f.name != "" && f.signature != "" {
				out = append(out, fieldPlace{classField: f})
			}
		}
	}
	inOrder := make([]*fieldPlace, len(out))
	for i := range out {
		inOrder[i] = &out[i]
	}
	if vm.version < 25 || vm.isOld() { // the order of the description is that of the places in an object
		slices.SortStableFunc(inOrder, func(a, b *fieldPlace) int { return int(a.offset) - int(b.offset) })
	}
	values := o.fields
	for _, f := range inOrder {
		words := slots(f.signature)
		if len(values) < words {
			return nil, false
		}
		f.at = values[words-1] // the second of two has the value
		values = values[words:]
	}
	return out, len(values) == 0
}

// removedField is the value of a field of a removed object.
func (p *treeBuilder) removedField(r removal, signature string, at scopeValue) report.Data {
	reference := signature[0] == 'L' || signature[0] == '['
	if at.kind == scopeRemovedID {
		if !reference {
			return note(errDropped)
		}
		r.id = uint32(at.number)
		return p.removed(r)
	}
	where := p.placeOf(r.b, at, r.frame)
	if where.err != nil {
		return note(where.err)
	}
	word, ok := p.wordAt(where)
	switch {
	case !ok:
		return note(errMemory)
	case reference && where.isInt, !reference && at.kind == scopeObject:
		return note(errDropped)
	case reference:
		return p.object(p.reference(where))
	}
	var b [8]byte
	littleEndian.PutUint64(b[:], word)
	return p.told(primitive(signature[0], b[:]))
}

// removedArray reads an array that the compiler removed.
func (p *treeBuilder) removedArray(r removal, o *removed, name string) report.Data {
	element := name[1:]
	words := slots(element)
	v := report.Data{Kind: "array", Type: javaType(name)}
	if element == "" || len(o.fields)%words != 0 {
		return note(errDropped)
	}
	of, dimensions, _ := strings.Cut(simpleName(v.Type), "[]")
	n := len(o.fields) / words
	v.Text = arrayText(of, n, dimensions)
	for i := range n {
		if i == p.atMost() || p.full() {
			v.Truncated = true
			break
		}
		v.Children = append(v.Children, report.Child{Data: p.removedField(r, element, o.fields[i*words+words-1])})
	}
	return v
}
