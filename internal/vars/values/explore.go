package values

import (
	"errors"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An Explorer goes from one object to another: to members, elements and what pointers point to, one step at a time. It
// is for one goroutine.
type Explorer struct {
	P *Process
	F Frame
}

// A Wrong error says why there is no such step, in words for whoever asked for it.
type Wrong struct{ Text string }

func (w *Wrong) Error() string { return w.Text }

func wrong(format string, args ...any) error { return &Wrong{fmt.Sprintf(format, args...)} }

// maxSteps is how many references and smart pointers are followed from one object.
const maxSteps = 16

func (x Explorer) builder(o Options) *builder {
	b := &builder{p: x.P, f: x.F, opts: o.withDefaults()}
	b.left = b.opts.MaxParts
	return b
}

// A Seen is a value with the objects that its parts were read from.
type Seen struct {
	*Value
	objects map[*Value][]Object
}

// Object returns the object that a part was read from; false for parts that have none, such as the bits of a
// std::vector<bool>.
func (s *Seen) Object(part *Value) (Object, bool) {
	list := s.objects[part]
	if len(list) == 0 {
		return Object{}, false
	}
	return list[len(list)-1], true
}

// inner returns the object that a value was read from in the end, which differs from Object for a box.
func (s *Seen) inner(part *Value) (Object, bool) {
	list := s.objects[part]
	if len(list) == 0 {
		return Object{}, false
	}
	return list[0], true
}

// Read reads an object as a tree.
func (x Explorer) Read(ob *Object, o Options) *Seen {
	b := x.builder(o)
	b.objects = map[*Value][]Object{}
	at := *ob
	v := b.value(&at, 0)
	if v.Err == nil || v.typ == nil {
		v.typ = ob.Type
	}
	return &Seen{v, b.objects}
}

// Pointer reports whether an object is a pointer, a reference, or a class that stands for one.
func (x Explorer) Pointer(o *Object) bool {
	t := o.Type.Strip()
	return t.Pointer() || t.Reference()
}

// Pointee returns what a pointer, a reference, a box or a smart pointer points to.
func (x Explorer) Pointee(o *Object) (Object, error) {
	b := x.builder(Options{})
	t := o.Type.Strip()
	switch {
	case t.Pointer() || t.Reference():
		if p := o.implicit(); p != nil {
			to, err := b.implicitTarget(t, p)
			if err != nil {
				return Object{}, err
			}
			return *to, nil
		}
		addr, err := b.uint(o, false)
		if err != nil {
			return Object{}, err
		}
		return x.At(t.Target(), addr)
	case t.Tag == dwarf.TagArrayType:
		return x.Element(o, 0)
	case t.Tag == dwarf.TagSubroutineType && o.Mem && !t.FunctionValue():
		return *o, nil
	case t.Aggregate():
		if to, ok, err := b.iterated(o); ok || err != nil {
			return to, err
		}
		if to, ok := x.boxed(o); ok {
			if t.Language == dwarf.LangGo && to.Type.Strip().Pointer() { // an interface that has a pointer
				return x.Pointee(&to)
			}
			return to, nil
		}
		if has, ok := x.Engaged(o); ok && !has {
			return Object{}, wrong("%s has no value", describe(o.Type))
		}
	}
	return Object{}, wrong("%s is no pointer", describe(o.Type))
}

// At returns the object of a type at an address.
func (x Explorer) At(t *types.Type, addr arch.Address) (Object, error) {
	if t.Strip().Tag == 0 {
		return Object{}, wrong("it points to void: cast it to the type that is there")
	}
	return x.builder(Options{}).inMemory(t, addr)
}

// boxed returns what a class of a library points to, by what its printer shows: std::unique_ptr, std::shared_ptr, Box.
func (x Explorer) boxed(o *Object) (Object, bool) {
	s := x.Read(o, Options{MaxDepth: 2, MaxElements: 4, MaxParts: 16})
	if !s.printed || s.Err != nil {
		return Object{}, false
	}
	if in, ok := s.inner(s.Value); ok && (in.Type.Strip() != o.Type.Strip() || in.Addr != o.Addr) {
		return in, true
	}
	if len(s.Parts) != 1 || s.keyed() {
		return Object{}, false
	}
	in, ok := s.inner(s.Parts[0].Value)
	if !ok {
		return Object{}, false
	}
	if in.Type.Strip().Pointer() {
		to, err := x.Pointee(&in)
		return to, err == nil
	}
	return in, in.Mem && s.Kind() == KindStruct
}

// Slice is the value of the elements alone.
func (s *Seen) Slice() *Seen {
	v := *s.Value
	v.Text, v.typ, v.More, v.printed, v.Compound = "", nil, false, false, true
	return &Seen{&v, s.objects}
}

// Tuple reports whether the parts of a value have numbers instead of names.
func (s *Seen) Tuple() bool { return s.style == parens }

// Plain reports whether the parts of a value are the members that its type has.
func (s *Seen) Plain() bool { return !s.printed }

// held returns the pointer that a smart pointer has.
func (s *Seen) held() (Object, bool) {
	if !s.printed || len(s.Parts) != 1 || s.Parts[0].Name != "get()" {
		return Object{}, false
	}
	return s.inner(s.Parts[0].Value)
}

// described is the most that a message says of a type.
const described = 80

func describe(t *types.Type) string {
	name := t.Name()
	if name == "" {
		return "an object without a type"
	}
	if len(name) > described {
		name = name[:described] + "..."
	}
	return "an object of type " + name
}

// Number returns an object as an integer, or the address that it points to. signed says that it is one with a sign.
func (x Explorer) Number(o *Object) (v uint64, signed bool, err error) {
	b := x.builder(Options{})
	at := *o
	for n := 0; at.Type.Strip().Reference() && n < maxSteps; n++ {
		if at, err = x.Pointee(&at); err != nil {
			return 0, false, err
		}
	}
	t := at.Type.Strip()
	switch {
	case t.Tag == dwarf.TagArrayType && at.Mem, t.Tag == dwarf.TagSubroutineType && at.Mem && !t.FunctionValue():
		return at.Addr, false, nil
	case t.Tag == dwarf.TagEnumerationType, t.Pointer(), t.FunctionValue() && t.Language != dwarf.LangGo:
	case t.Tag == dwarf.TagUnspecifiedType && strings.HasPrefix(t.BareName, "decltype(nullptr"):
		return 0, false, nil
	case t.Tag != dwarf.TagBaseType && t.Tag != dwarf.TagSubrangeType || t.Base().Floats():
		return 0, false, wrong("%s is no integer", describe(o.Type))
	case isComplex(t):
		return 0, false, wrong("%s is no integer", describe(o.Type))
	}
	if at.Size > 8 {
		return 0, false, wrong("%s has more than 64 bits", describe(o.Type))
	}
	signed = t.Base().Encoding.Signed() // of a range that of its numbers
	if t.Tag == dwarf.TagEnumerationType && t.Elem.Valid() {
		signed = t.Target().Base().Encoding.Signed()
	}
	v, err = b.uint(&at, signed)
	return v, signed, err
}

// Bits returns the bits of a number or an address, those of a signed integer extended to 64, and how many bytes its type has.
func (x Explorer) Bits(o *Object) (v, size uint64, err error) {
	at := *o
	for n := 0; at.Type.Strip().Reference() && n < maxSteps; n++ {
		if at, err = x.Pointee(&at); err != nil {
			return 0, 0, err
		}
	}
	if !at.Type.Strip().Floats() {
		v, _, err = x.Number(&at)
		return v, at.Size, err
	}
	if at.Size > 8 {
		return 0, 0, wrong("%s has more than 64 bits", describe(o.Type))
	}
	raw, err := x.P.Bytes(&at, 0, at.Size)
	if err != nil {
		return 0, 0, err
	}
	return types.Uint(raw, x.P.Arch.Big()), at.Size, nil
}

// Word returns an object of a type with an integer as its value, that of a cast or of a computation.
func (x Explorer) Word(t *types.Type, v uint64) (Object, error) {
	size, err := x.builder(Options{}).sizeOf(t)
	if err != nil {
		return Object{}, err
	}
	if size == 0 || size > 8 {
		return Object{}, wrong("a number does not become %s", describe(t))
	}
	data := make([]byte, size)
	for i := range data {
		at := i
		if x.P.Arch.Big() {
			at = int(size) - 1 - i
		}
		data[at] = byte(v >> (8 * i))
	}
	return Object{Type: t, Size: size, Data: data}, nil
}

// As returns an object read as another type: what is in memory stays where it is.
func (x Explorer) As(o *Object, t *types.Type) (Object, error) {
	size, err := x.builder(Options{}).sizeOf(t)
	if err != nil {
		return Object{}, err
	}
	if size > o.Size && !o.Mem {
		return Object{}, wrong("%s has %d bytes, too few for %s", describe(o.Type), o.Size, describe(t))
	}
	at := o.part(t, 0, size)
	return at, nil
}

// Indexed reports whether the parts of a value are elements.
func (x Explorer) Indexed(s *Seen) bool {
	switch s.Kind() {
	case KindArray, KindSequence, KindMap:
		return s.Compound
	}
	return s.Compound && s.typ != nil && goContainer(s.typ)
}

// MoreThan reports whether an object has more than n elements.
func (x Explorer) MoreThan(o *Object, n int64) bool {
	_, err := x.Element(o, n)
	var w *Wrong
	return !errors.As(err, &w)
}
