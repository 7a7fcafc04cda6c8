package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Values of Rust, as its Debug prints them: Some(5), Point {x: 1, y: 2}, (1, "a"). The layouts of
// the library's types are those of rustc 1.60 to 1.95.

// rustPrinter returns the printer for a type of Rust. Every aggregate has one.
func rustPrinter(t *types.Type) printer {
	name := t.BareName
	switch {
	case t.Members().Variant != nil:
		return rustEnum
	case name == "&str" || name == "&mut str":
		return rustStr
	case strings.HasPrefix(name, "&[") || strings.HasPrefix(name, "&mut ["):
		return rustSlice
	case name == "&std::path::Path" || name == "&std::ffi::os_str::OsStr" || name == "&core::ffi::c_str::CStr":
		return rustStr
	}
	full := t.FullName()
	if strings.HasPrefix(full, "core::") {
		return rustCore(name, full)
	}
	if !strings.HasPrefix(full, "alloc::") && !strings.HasPrefix(full, "std::") {
		return rustStruct
	}
	if p := rustStd(name, full); p != nil {
		return p
	}
	switch rustName(name) {
	case "String":
		return rustString
	case "Vec":
		return rustVec
	case "VecDeque":
		return rustVecDeque
	case "Box":
		return rustBoxed
	case "Rc", "Arc", "Weak":
		return rustRc
	case "HashMap", "HashSet":
		return rustHash
	case "BTreeMap", "BTreeSet":
		return rustTree
	}
	return rustStruct
}

// rustStruct prints a struct, a tuple or a tuple struct.
func rustStruct(b *builder, o *Object, t *types.Type, depth int) *Value {
	v := b.text(o, "")
	b.rustFields(v, o, t.Members().Fields, depth)
	if strings.HasPrefix(t.BareName, "(") {
		v.Compound, v.style = true, parens
		return v
	}
	v.Text = rustName(t.BareName)
	return v
}

// rustFields adds members to v and chooses its style. Members named __0, __1 ... are those of a
// tuple; without members v is only a name.
func (b *builder) rustFields(v *Value, o *Object, fields []types.Field, depth int) {
	v.style = record
	for i := range fields {
		f := &fields[i]
		if f.Static {
			continue
		}
		v.Compound = true
		if depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			return
		}
		p := Part{Name: f.Name}
		if strings.HasPrefix(f.Name, "__") {
			p.Name, v.style = "", parens
		}
		at, err := b.field(o, f)
		if err != nil {
			p.Value = Failed(b.p.Types.Of(f.Type), err)
		} else if table, ok := b.vtable(&at, f); ok {
			p.Value = table
		} else {
			p.Value = b.value(&at, depth+1)
		}
		v.Parts = append(v.Parts, p)
	}
}

// vtable prints the virtual table of a trait object as an address, although its type is a
// reference.
func (b *builder) vtable(at *Object, f *types.Field) (*Value, bool) {
	if f.Name != "vtable" || !at.Type.Strip().Pointer() {
		return nil, false
	}
	addr, err := b.uint(at, false)
	if err != nil {
		return nil, false
	}
	return b.text(at, b.p.addressText(addr)), true
}

// rustName returns the name of a type without modules and type parameters; of a trait object that of the trait.
func rustName(name string) string {
	if ref, object, ok := strings.Cut(name, "dyn "); ok && strings.Trim(ref, "&(*constmu ") == "" {
		name, _, _ = strings.Cut(strings.TrimSuffix(object, ")"), " + ")
		return strings.TrimSuffix(ref, "(") + "dyn " + rustName(name)
	}
	name, _, _ = strings.Cut(name, "<")
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	return name
}

// rustEnum prints the variant of an enum that is in use.
func rustEnum(b *builder, o *Object, t *types.Type, depth int) *Value {
	p := t.Members().Variant
	chosen, err := b.alternative(o, p)
	if err != nil {
		return Failed(o.Type, err)
	}
	if chosen == nil || len(chosen.Fields) == 0 {
		return Failed(o.Type, &unknown.Corrupt{Err: fmt.Errorf("no alternative of %s for this discriminant", t.BareName)})
	}
	f := &chosen.Fields[0]
	part, err := b.field(o, f)
	if err != nil {
		return Failed(o.Type, err)
	}
	v := b.text(o, f.Name)
	if name := rustName(t.BareName); name != "Option" && name != "Result" {
		v.Text = name + "::" + f.Name
	}
	b.rustFields(v, &part, part.Type.Strip().Members().Fields, depth)
	return v
}

// alternative returns the variant in use, by the discriminant.
func (b *builder) alternative(o *Object, p *types.VariantPart) (*types.Variant, error) {
	if !p.Has || len(p.Variants) == 0 {
		if len(p.Variants) > 0 {
			return &p.Variants[0], nil
		}
		return nil, nil
	}
	d, err := b.field(o, &p.Discr)
	if err != nil {
		return nil, err
	}
	raw, err := b.p.Bytes(&d, 0, d.Size)
	if err != nil {
		return nil, err
	}
	if err := b.search(p.Cost()); err != nil {
		return nil, err
	}
	signed := d.Type.Base().Encoding.Signed()
	got := types.Resize(types.Uint(raw, b.p.Arch.Big()), len(raw), signed)
	var other *types.Variant
	for i := range p.Variants {
		v := &p.Variants[i]
		if v.Holds(got, len(raw), signed) {
			return v, nil
		}
		if !v.Chosen() {
			other = v
		}
	}
	return other, nil
}

func rustStr(b *builder, o *Object, t *types.Type, depth int) *Value {
	addr, ok := b.num(o, "data_ptr")
	n, ok2 := b.num(o, "length")
	if !ok || !ok2 {
		return nil
	}
	if strings.HasSuffix(t.BareName, "::CStr") && n > 0 {
		n-- // the zero
	}
	return b.utf8(o, addr, n)
}

// utf8 reads a string of n bytes at addr.
func (b *builder) utf8(o *Object, addr, n uint64) *Value {
	if n > maxLength {
		return badLength(o.Type, n)
	}
	raw := make([]byte, min(n, uint64(b.opts.MaxString)))
	if err := b.p.Read(addr, raw); err != nil {
		return Failed(o.Type, err)
	}
	return b.placed(b.stringValue(o, nil, raw, uint64(len(raw)) < n), addr, n)
}

func rustSlice(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, _, ok := b.elem(o, "data_ptr")
	addr, ok1 := b.num(o, "data_ptr")
	n, ok2 := b.num(o, "length")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	return b.rustList(o, fmt.Sprintf("%s(size=%d)", rustSliceName(t), n), elem, addr, n, depth)
}

// rustSliceName returns the name to show for a slice or a boxed slice.
func rustSliceName(t *types.Type) string {
	if strings.HasPrefix(t.BareName, "&") {
		return t.BareName
	}
	return rustName(t.BareName)
}

func (b *builder) rustList(o *Object, text string, elem *types.Type, addr, n uint64, depth int) *Value {
	if n > maxLength {
		return badLength(o.Type, n)
	}
	return b.run(b.counted(b.text(o, text), n), elem, addr, n, depth)
}

// pointer0 reads a pointer inside its wrappers (Unique, NonNull), each of which has one member
// with data.
func (b *builder) pointer0(o *Object) (uint64, bool) {
	at := *o
	for range 8 {
		t := at.Type.Strip()
		if t.Pointer() || t.Members().Variant == nil && !t.Aggregate() && at.Size > 0 {
			v, err := b.uint(&at, false)
			return v, err == nil
		}
		found := false
		for i := range t.Members().Fields {
			f := &t.Members().Fields[i]
			next, err := b.field(&at, f)
			if err == nil && next.Size > 0 && !f.Static {
				at, found = next, true
				break
			}
		}
		if !found {
			return 0, false
		}
	}
	return 0, false
}

// rustBuffer returns the pointer of a Vec or a type built on it: RawVec's, which since 1.80 is in
// RawVecInner.
func (b *builder) rustBuffer(o *Object) (uint64, bool) {
	buf, ok := b.member(o, "buf")
	if !ok {
		return 0, false
	}
	if inner, ok := b.member(&buf, "inner"); ok {
		buf = inner
	}
	ptr, ok := b.member(&buf, "ptr")
	if !ok {
		return 0, false
	}
	return b.pointer0(&ptr)
}

func rustString(b *builder, o *Object, t *types.Type, depth int) *Value {
	vec, ok := b.member(o, "vec")
	if !ok {
		return nil
	}
	addr, ok := b.rustBuffer(&vec)
	n, ok2 := b.num(&vec, "len")
	if !ok || !ok2 {
		return nil
	}
	return b.utf8(o, addr, n)
}

func rustVec(b *builder, o *Object, t *types.Type, depth int) *Value {
	addr, ok := b.rustBuffer(o)
	n, ok2 := b.num(o, "len")
	elem := t.TypeArg(0)
	if !ok || !ok2 || elem == nil {
		return nil
	}
	v := b.rustList(o, fmt.Sprintf("Vec(size=%d)", n), elem, addr, n, depth)
	if room := b.rustCapacity(o); room >= n && v.Err == nil {
		v = b.roomy(v, n, room)
	}
	return v
}

func rustVecDeque(b *builder, o *Object, t *types.Type, depth int) *Value {
	addr, ok := b.rustBuffer(o)
	n, ok2 := b.num(o, "len")
	head, ok3 := b.num(o, "head")
	elem := t.TypeArg(0)
	if !ok || !ok2 || !ok3 || elem == nil {
		return nil
	}
	size, err := b.sizeOf(elem)
	room := b.rustCapacity(o)
	if err != nil || room == 0 || n > room {
		return nil
	}
	v := b.roomy(b.text(o, fmt.Sprintf("VecDeque(size=%d)", n)), n, room)
	i := uint64(0)
	return b.sequence(v, elem, n, depth, func() (uint64, bool) {
		at := addr + (head+i)%room*size
		i++
		return at, true
	})
}

func (b *builder) rustCapacity(o *Object) uint64 {
	buf, _ := b.member(o, "buf")
	if inner, ok := b.member(&buf, "inner"); ok {
		buf = inner
	}
	c, ok := b.member(&buf, "cap")
	if !ok {
		return 0
	}
	n, _ := b.pointer0(&c)
	return n
}

// rustBoxed prints boxed slices and strings, which are fat pointers.
func rustBoxed(b *builder, o *Object, t *types.Type, depth int) *Value {
	switch {
	case strings.Contains(t.BareName, "Box<str"):
		return rustStr(b, o, t, depth)
	case strings.Contains(t.BareName, "Box<["):
		return rustSlice(b, o, t, depth)
	}
	return rustStruct(b, o, t, depth)
}

// rustReference reports whether the name is that of a reference or a Box, which always point to a
// value.
func rustReference(name string) bool {
	return strings.HasPrefix(name, "&") || strings.HasPrefix(name, "alloc::boxed::Box<")
}

// rustRc prints Rc and Arc with their counts. All owners together count as one weak reference.
func rustRc(b *builder, o *Object, t *types.Type, depth int) *Value {
	ptr, ok := b.path(o, "ptr", "pointer")
	fat := ptr
	if ok && !ptr.Type.Strip().Pointer() { // to a slice or a string
		ptr, ok = b.member(&fat, "data_ptr")
	}
	if !ok || !ptr.Type.Strip().Pointer() {
		return nil
	}
	addr, err := b.uint(&ptr, false)
	if err != nil {
		return Failed(o.Type, err)
	}
	weakly := rustName(t.BareName) == "Weak"
	if weakly && b.p.Arch.Truncate(addr+1) == 0 { // Weak::new
		return b.text(o, "Weak(dangling)")
	}
	inner, err := b.inMemory(ptr.Type.Strip().Target(), addr)
	if err != nil {
		return Failed(o.Type, err)
	}
	strong, ok1 := b.member(&inner, "strong")
	weak, ok2 := b.member(&inner, "weak")
	value, ok3 := b.member(&inner, "value")
	if !ok3 {
		value, ok3 = b.member(&inner, "data")
	}
	if !ok1 || !ok2 || !ok3 {
		return nil
	}
	s, ok1 := b.pointer0(&strong)
	w, ok2 := b.pointer0(&weak)
	if !ok1 || !ok2 {
		return Failed(o.Type, &unknown.Memory{Addr: addr})
	}
	v := b.text(o, fmt.Sprintf("%s(strong=%d, weak=%d)", rustName(t.BareName), s, max(w, 1)-min(s, 1)))
	if weakly && s == 0 {
		return v // the value was dropped
	}
	v.Compound = true
	v.Parts = []Part{{Name: "value", Value: b.rustShared(t, &value, &fat, depth)}}
	return v
}

// rustShared reads what an Rc points to. Of a slice or a string, fat is the pointer that has the
// length, and the member is described as the first element.
func (b *builder) rustShared(t *types.Type, value, fat *Object, depth int) *Value {
	n, ok := b.num(fat, "length")
	switch {
	case !ok:
		return b.value(value, depth+1)
	case strings.HasPrefix(t.BareName, "Rc<str") || strings.HasPrefix(t.BareName, "Arc<str"):
		return b.utf8(value, value.Addr, n)
	}
	return b.rustList(value, fmt.Sprintf("(size=%d)", n), value.Type, value.Addr, n, depth+1)
}
