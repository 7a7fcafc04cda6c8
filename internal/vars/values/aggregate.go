package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// aggregate reads a struct, a class or a union. t is the stripped type of o.
func (b *builder) aggregate(o *Object, t *types.Type, depth int) *Value {
	if t.Declared {
		full, ok := b.p.Types.Complete(t)
		if !ok {
			return Failed(o.Type, &unknown.Incomplete{Name: t.Name()})
		}
		if t = full; o.Size == 0 {
			o.Size = t.ByteSize
		}
	}
	if !b.opts.Raw {
		if v := b.print(o, t, depth); v != nil {
			if v.typ == nil {
				v.typ = o.Type
			}
			v.printed = true
			return v
		}
	}
	if t.Language == dwarf.LangSwift && o.Size > 0 && len(t.Members().Fields) == 0 {
		return b.ofSwift(o, t)
	}
	v := b.text(o, "")
	v.Compound = true
	b.members(v, o, t, depth)
	return v
}

// ofSwift reads a number of Swift. Its compiler describes no member of any type: what the others have is not known, not nothing.
func (b *builder) ofSwift(o *Object, t *types.Type) *Value {
	enc, ok := map[string]types.Encoding{"Int": types.EncSigned, "UInt": types.EncUnsigned, "Bool": types.EncBoolean, "Double": types.EncFloat, "Float": types.EncFloat}[strings.TrimRight(t.BareName, "0123456789")]
	if scope, _, _ := strings.Cut(t.FullName(), "::"); !ok || scope != "Swift" || o.Size > 8 {
		return Failed(o.Type, &unknown.Incomplete{Name: t.Name()})
	}
	number := *o
	number.Type = b.p.Types.Number(t.BareName, o.Size, enc)
	v := b.scalar(&number, number.Type)
	v.typ = o.Type
	return v
}

// members adds the base classes and members of t to v.
func (b *builder) members(v *Value, o *Object, t *types.Type, depth int) {
	m := t.Members()
	if depth >= b.opts.MaxDepth {
		v.More = len(m.Fields) > 0
		return
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if !b.take() {
			v.More = true
			return
		}
		if part, ok := b.part(o, f, depth); ok {
			v.Parts = append(v.Parts, part)
		}
	}
	fields, err := b.variantFields(o, m.Variant)
	for i := range fields {
		if !b.take() {
			v.More = true
			return
		}
		if part, ok := b.part(o, &fields[i], depth); ok {
			v.Parts = append(v.Parts, part)
		}
	}
	if err != nil {
		v.Parts = append(v.Parts, Part{Value: Failed(nil, err)})
	}
}

// variantFields returns the members of a record that there are for its discriminants, beside those that there always are.
func (b *builder) variantFields(o *Object, p *types.VariantPart) (fields []types.Field, err error) {
	for p != nil {
		chosen, err := b.alternative(o, p)
		if err != nil || chosen == nil {
			return fields, err
		}
		fields, p = append(fields, chosen.Fields...), chosen.Part
	}
	return fields, nil
}

// part reads a member or a base class. It returns false if there is nothing to show: a static
// member that cannot be found, an empty base class, or a virtual base class that was shown
// before.
func (b *builder) part(o *Object, f *types.Field, depth int) (Part, bool) {
	t := b.p.Types.OfField(f)
	if f.Static {
		at, ok := b.static(o, f)
		if !ok {
			return Part{}, false
		}
		return Part{Name: "static " + f.Name, Value: b.value(&at, depth+1)}, true
	}
	at, err := b.field(o, f)
	if !f.Base {
		if err != nil {
			return Part{Name: f.Name, Value: Failed(t, err)}, true
		}
		return Part{Name: f.Name, Value: b.value(&at, depth+1)}, true
	}
	p := Part{Name: "<" + t.Name() + ">"}
	if err != nil {
		p.Value = Failed(t, err)
		return p, true
	}
	if f.Virtual && at.Mem {
		key := place{t.Ref, at.Addr}
		if b.bases[key] {
			return p, false
		}
		if b.bases == nil {
			b.bases = map[place]bool{}
		}
		b.bases[key] = true
	}
	p.Value = b.value(&at, depth+1)
	return p, !p.Value.Compound || p.Value.Text != "" || len(p.Value.Parts) > 0 || p.Value.More || p.Value.Err != nil
}

// A place is an object of a type at an address.
type place struct {
	typ  types.Ref
	addr uint64
}

// field returns the object of a member or a base class of o.
func (b *builder) field(o *Object, f *types.Field) (Object, error) {
	t := b.p.Types.OfField(f)
	if t.Dynamic() && !f.Expr.Present() && f.Table == nil {
		return b.dynamic(o, f, t)
	}
	size, err := b.sizeOf(t)
	if err != nil {
		return Object{}, err
	}
	switch {
	case f.Expr.Present():
		return b.computed(o, f, t, size)
	case f.Table != nil:
		return b.tabled(o, f.Table, t, size)
	}
	if f.Bits == 0 {
		p := o.part(t, f.Off, size)
		return p, nil
	}
	p := o.bitPart(t, f.BitOff, f.Bits, size)
	return b.p.bytewise(&p), nil
}

// dynamic returns a member whose size depends on the record.
func (b *builder) dynamic(o *Object, f *types.Field, t *types.Type) (Object, error) {
	p := o.part(t, f.Off, 0)
	p.whole = o
	size, err := t.SizeIn(b.in(&p))
	if err != nil {
		return Object{}, err
	}
	if !o.Mem {
		p = o.part(t, f.Off, size)
		p.whole = o
	}
	p.Size = size
	return p, nil
}

// computed returns a member whose address an expression computes from that of o: a virtual base
// class.
func (b *builder) computed(o *Object, f *types.Field, t *types.Type, size uint64) (Object, error) {
	if !o.Mem {
		return Object{}, unknown.ErrOptimisedOut
	}
	addr, err := b.f.Address(f.DIE.Unit, f.Expr.B, o.Addr)
	if err != nil {
		return Object{}, err
	}
	return Object{Type: t, Mem: true, Addr: addr, Size: size}, nil
}

// static finds a static member of the class of o: by its constant value, or by its symbol in the
// file of the frame's function.
func (b *builder) static(o *Object, f *types.Field) (Object, bool) {
	t := b.p.Types.OfField(f)
	size, err := b.sizeOf(t)
	if err != nil {
		return Object{}, false
	}
	if f.Constant.Present() {
		o, err := b.f.Constant(f.DIE.Unit, &f.Constant, t)
		return o, err == nil
	}
	if db := o.Type.Strip().Ref.DB; db != nil {
		return b.global(db, o.Type.Strip().FullName()+"::"+f.Name, t, size)
	}
	link := f.DIE.Unit.Value(f.DIE.Off, dwarf.AttrLinkageName)
	name := f.DIE.Unit.Text(&link)
	if name == "" {
		name = mangleMember(o.Type.Strip().FullName(), f.Name)
	}
	if name == "" {
		return Object{}, false
	}
	addr, ok := b.f.Symbol(name)
	return Object{Type: t, Mem: true, Addr: addr, Size: size}, ok
}

// mangleMember returns the linkage name of a static member (Itanium C++ ABI, 5.1.2), which clang
// leaves out of declarations; "" for members of templates and local classes.
func mangleMember(class, name string) string {
	if class == "" || strings.ContainsAny(class, "<(") {
		return ""
	}
	var b strings.Builder
	b.WriteString("_ZN")
	for _, part := range append(strings.Split(class, "::"), name) {
		fmt.Fprintf(&b, "%d%s", len(part), part)
	}
	b.WriteByte('E')
	return b.String()
}

// member finds a data member by name, also in base classes and members without a name.
func (b *builder) member(o *Object, name string) (Object, bool) {
	left := types.MaxMembers
	return b.memberIn(o, name, &left, 0)
}

// memberIn looks at no more than left types, since damaged types may contain themselves.
func (b *builder) memberIn(o *Object, name string, left *int, depth int) (Object, bool) {
	if o.Type == nil { // the zero Object, as of a member that was not found
		return Object{}, false
	}
	t := o.Type.Strip()
	*left--
	if t.Declared {
		if full, ok := b.p.Types.Complete(t); ok {
			t = full
		}
	}
	if !t.Aggregate() || depth > 16 || *left < 0 {
		return Object{}, false
	}
	m := t.Members()
	for i := range m.Fields {
		if f := &m.Fields[i]; !f.Base && !f.Static && f.Name == name {
			p, err := b.field(o, f)
			return p, err == nil
		}
	}
	if m.Variant != nil && t.Language != dwarf.LangRust {
		fields, _ := b.variantFields(o, m.Variant)
		for i := range fields {
			if f := &fields[i]; f.Name == name {
				p, err := b.field(o, f)
				return p, err == nil
			}
		}
	}
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Base || f.Name == "" && !f.Static {
			if p, err := b.field(o, f); err == nil {
				if q, ok := b.memberIn(&p, name, left, depth+1); ok {
					return q, true
				}
			}
		}
	}
	return Object{}, false
}

// path follows a chain of members by their names.
func (b *builder) path(o *Object, names ...string) (Object, bool) {
	at := *o
	for _, n := range names {
		next, ok := b.member(&at, n)
		if !ok {
			return at, false
		}
		at = next
	}
	return at, true
}
