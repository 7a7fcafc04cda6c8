package values

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
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
	case t.Aggregate():
		if to, ok := x.boxed(o); ok {
			if t.Language == dwarf.LangGo && to.Type.Strip().Pointer() { // an interface that has a pointer
				return x.Pointee(&to)
			}
			return to, nil
		}
	}
	return Object{}, wrong("%s is no pointer", describe(o.Type))
}

// At returns the object of a type at an address.
func (x Explorer) At(t *types.Type, addr arch.Address) (Object, error) {
	if t.Strip().Tag == 0 {
		return Object{}, wrong("it points to void: cast it to the type that is there")
	}
	size, err := x.builder(Options{}).sizeOf(t)
	return Object{Type: t, Mem: true, Addr: addr, Size: size}, err
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

// Member returns a member by its name, also of what a pointer or a reference leads to, of base classes, of members
// without a name, and of what Go embeds. The members of a tuple are called 0, 1 ...
func (x Explorer) Member(o *Object, name string) (Object, error) {
	b := x.builder(Options{})
	at := *o
	for range maxSteps {
		t := at.Type.Strip()
		if t.Aggregate() {
			if m, ok, err := x.in(b, &at, name); ok || err != nil {
				return m, err
			}
			to, ok := x.boxed(&at)
			if !ok {
				break
			}
			if m, ok, _ := x.shown(&at, name); ok {
				return m, nil
			}
			at = to
			continue
		}
		if !t.Pointer() && !t.Reference() {
			break
		}
		to, err := x.Pointee(&at)
		if err != nil {
			return Object{}, err
		}
		at = to
	}
	t := at.Type.Strip()
	if !t.Aggregate() {
		return Object{}, wrong("%s has no members", describe(o.Type))
	}
	return Object{}, wrong("%s has no member %s%s", describe(at.Type), name, x.members(t))
}

// in finds a member of an aggregate. The error says why it has no value.
func (x Explorer) in(b *builder, o *Object, name string) (Object, bool, error) {
	scope, bare := "", name
	if i := strings.LastIndex(name, "::"); i >= 0 {
		scope, bare = name[:i], name[i+2:]
	}
	left := types.MaxMembers
	return x.find(b, o, scope, bare, &left, 0)
}

func (x Explorer) find(b *builder, o *Object, scope, name string, left *int, depth int) (Object, bool, error) {
	t := o.Type.Strip()
	*left--
	if t.Declared {
		full, ok := b.p.Types.Complete(t)
		if !ok {
			return Object{}, false, &unknown.Incomplete{Name: t.Name()}
		}
		t = full
	}
	if !t.Aggregate() || depth > maxSteps || *left < 0 {
		return Object{}, false, nil
	}
	m := t.Members()
	if scope == "" || scope == t.FullName() || scope == t.BareName {
		scope = ""
		for i := range m.Fields {
			f := &m.Fields[i]
			if f.Base || f.Name != name && (f.Name == "" || f.Name != "__"+name) {
				continue
			}
			if f.Static {
				at, ok := b.static(o, f)
				if !ok {
					return Object{}, false, wrong("the static member %s was not found", name)
				}
				return at, true, nil
			}
			at, err := b.field(o, f)
			return at, err == nil, err
		}
	}
	if m.Variant != nil {
		if at, ok, err := x.shown(o, name); ok || err != nil {
			return at, ok, err
		}
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Static || !f.Base && f.Name != "" && !embedded(b, t, f) {
			continue
		}
		at, err := b.field(o, f)
		if err != nil {
			continue
		}
		if at.Type.Strip().Pointer() { // Go embeds pointers, too
			if at, err = x.Pointee(&at); err != nil {
				continue
			}
		}
		if in, ok, err := x.find(b, &at, scope, name, left, depth+1); ok || err != nil && scope == "" {
			return in, ok, err
		}
	}
	return Object{}, false, nil
}

// embedded reports whether a member of Go's struct t is embedded: it is called as its type.
func embedded(b *builder, t *types.Type, f *types.Field) bool {
	if t.Language != dwarf.LangGo {
		return false
	}
	name := strings.TrimPrefix(b.p.Types.OfField(f).Name(), "*")
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i]
	}
	return name[strings.LastIndexByte(name, '.')+1:] == f.Name
}

// Static returns the static member of a class.
func (x Explorer) Static(t *types.Type, name string) (Object, error) {
	s := t.Strip()
	if s.Declared {
		if full, ok := x.P.Types.Complete(s); ok {
			s = full
		}
	}
	if s.Aggregate() {
		for i := range s.Members().Fields {
			if f := &s.Members().Fields[i]; f.Static && f.Name == name {
				if at, ok := x.builder(Options{}).static(&Object{Type: s, Mem: true}, f); ok {
					return at, nil
				}
			}
		}
	}
	return Object{}, wrong("%s has no static member %s", describe(t), name)
}

// shown finds a part by the name that a printer gives it: a member of the variant of Rust's enum that the object has, or
// that variant itself by its name.
func (x Explorer) shown(o *Object, name string) (Object, bool, error) {
	s := x.Read(o, Options{MaxDepth: 2, MaxElements: 4, MaxParts: 64, Raw: false})
	if s.Err != nil {
		return Object{}, false, s.Err
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.Name == name || p.Name == "" && name == strconv.Itoa(i) {
			if in, ok := s.Object(p.Value); ok {
				return in, true, nil
			}
		}
	}
	if own, _, _ := strings.Cut(s.Text, " "); own == name || strings.HasSuffix(own, "::"+name) {
		return *o, true, nil
	}
	return Object{}, false, nil
}

// members lists the names of some members of t, for a message.
func (x Explorer) members(t *types.Type) string {
	if t.Declared {
		if full, ok := x.P.Types.Complete(t); ok {
			t = full
		}
	}
	const most = 8
	var names []string
	for _, f := range t.Members().Fields {
		if f.Base || f.Name == "" {
			continue
		}
		if len(names) == most {
			names = append(names, "...")
			break
		}
		names = append(names, strings.TrimPrefix(f.Name, "__"))
	}
	if len(names) == 0 {
		return ""
	}
	return "; it has " + strings.Join(names, ", ")
}

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
	if t.DataLocation.Present() {
		if err := b.follow(&at, t); err != nil {
			return nil, err
		}
	}
	dims := t.Dims()
	if len(dims) == 0 {
		return nil, &unknown.Corrupt{Err: unknown.ErrLimit}
	}
	count, err := t.Count(b.f, &dims[0])
	if err != nil {
		return nil, err
	}
	stride, err := b.strideOf(t, 1)
	if err != nil {
		return nil, err
	}
	flexible := count == 0 && at.Mem
	if !flexible && (first < 0 || uint64(first) >= count && n > 0) {
		return nil, wrong("element %d of an array of %d", first, count)
	}
	if !flexible {
		n = min(n, int64(count)-first)
	}
	elem := t.Target()
	if len(dims) > 1 {
		if elem, err = x.P.Types.Row(t); err != nil {
			return nil, err
		}
	}
	if first < 0 {
		return nil, wrong("element %d of an array without a length", first)
	}
	at.Type, b.skip = elem, uint64(first)
	v := b.runIn(&Value{Compound: true}, &at, elem, uint64(first+n), stride, 0)
	return &Seen{v, b.objects}, nil
}

// printed reads elements of a container as its printer does.
func (x Explorer) printed(o *Object, first, n int64) (*Seen, error) {
	if first < 0 {
		return nil, wrong("there is no element %d", first)
	}
	s, left := x.page(o, uint64(first), n)
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
	switch k := v.Kind(); {
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

// Key returns the element of a map with a key, a string or a number in words.
func (x Explorer) Key(o *Object, text string, isText bool) (Object, error) {
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
			if first > 0 {
				break
			}
			return Object{}, err
		}
		if s.Kind() != KindMap {
			return Object{}, wrong("%s has no keys", describe(o.Type))
		}
		for i := range s.Parts {
			p := &s.Parts[i]
			if p.Key == nil || !sameKey(p.Key, want, isText) {
				continue
			}
			if v, ok := s.Object(p.Value); ok {
				return v, nil
			}
			return Object{}, &NotStored{Value: p.Value}
		}
		first += int64(len(s.Parts))
		if !s.More {
			break
		}
	}
	return Object{}, wrong("there is no element with the key %s", want)
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
	return t.Aggregate() && mapType(t.BareName)
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
	case t.Tag == dwarf.TagArrayType && at.Mem:
		return at.Addr, false, nil
	case t.Tag == dwarf.TagEnumerationType, t.Pointer():
	case t.Tag != dwarf.TagBaseType && t.Tag != dwarf.TagSubrangeType || t.Floats():
		return 0, false, wrong("%s is no integer", describe(o.Type))
	}
	if at.Size > 8 {
		return 0, false, wrong("%s has more than 64 bits", describe(o.Type))
	}
	signed = t.Encoding.Signed()
	v, err = b.uint(&at, signed)
	return v, signed, err
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
