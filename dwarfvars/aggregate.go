package dwarfvars

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// aggregate reads a struct, union or class; t is o's type, stripped.
func (b *builder) aggregate(o *object, t *Type, depth int) *Value {
	if t.decl {
		full, ok := b.p.Types.complete(t)
		if !ok {
			return fail(o.typ, &IncompleteType{t.Name()})
		}
		if t = full; o.size == 0 {
			o.size = t.size
		}
	}
	if !b.opts.Raw {
		if v := b.print(o, t, depth); v != nil {
			if v.typ == nil {
				v.typ = o.typ
			}
			v.printed = true
			return v
		}
	}
	v := b.text(o, "")
	v.Compound = true
	b.members(v, o, t, depth)
	return v
}

// members adds the bases and members of t to v.
func (b *builder) members(v *Value, o *object, t *Type, depth int) {
	m := t.all()
	if depth >= b.opts.MaxDepth {
		v.More = len(m.fields) > 0
		return
	}
	for i := range m.fields {
		f := &m.fields[i]
		if !b.take() {
			v.More = true
			return
		}
		if part, ok := b.part(o, f, depth); ok {
			v.Parts = append(v.Parts, part)
		}
	}
}

// part reads a member or base; false when there is nothing to show of it: a
// static member that cannot be found, an empty base, or a virtual base that was
// shown already.
func (b *builder) part(o *object, f *field, depth int) (Part, bool) {
	t := b.p.Types.typeOf(f.typ)
	if f.static {
		at, ok := b.static(o, f)
		if !ok {
			return Part{}, false
		}
		return Part{Name: "static " + f.name, Value: b.value(&at, depth+1)}, true
	}
	at, err := b.field(o, f)
	if !f.base {
		if err != nil {
			return Part{Name: f.name, Value: fail(t, err)}, true
		}
		return Part{Name: f.name, Value: b.value(&at, depth+1)}, true
	}
	p := Part{Name: "<" + t.Name() + ">"}
	if err != nil {
		p.Value = fail(t, err)
		return p, true
	}
	if f.virtual && at.mem {
		key := place{t.ref, at.addr}
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
	typ  typeRef
	addr uint64
}

// field is the object of a member or base of o.
func (b *builder) field(o *object, f *field) (object, error) {
	t := b.p.Types.typeOf(f.typ)
	size, err := b.sizeOf(t)
	if err != nil {
		return object{}, err
	}
	switch {
	case f.expr.Present():
		return b.computed(o, f, t, size)
	case f.table != nil:
		return b.tabled(o, f.table, t, size)
	}
	if f.bits == 0 {
		p := o.part(t, f.off, size)
		return p, nil
	}
	first := f.bitOff / 8
	p := o.part(t, first, (f.bitOff%8+f.bits+7)/8)
	p.size, p.bits, p.bitOff = size, f.bits, f.bitOff%8
	return p, nil
}

// computed is a member whose place an expression tells from the address of the
// whole: a virtual base.
func (b *builder) computed(o *object, f *field, t *Type, size uint64) (object, error) {
	if !o.mem {
		return object{}, ErrOptimisedOut
	}
	addr, err := b.f.Address(f.die.Unit, f.expr.B, o.addr)
	if err != nil {
		return object{}, err
	}
	return object{typ: t, mem: true, addr: addr, size: size}, nil
}

// static finds a static member of o's class: by its constant, or by its symbol
// in the function's file.
func (b *builder) static(o *object, f *field) (object, bool) {
	t := b.p.Types.typeOf(f.typ)
	size, err := b.sizeOf(t)
	if err != nil {
		return object{}, false
	}
	if f.constant.Present() {
		o, err := b.f.Constant(f.die.Unit, &f.constant, t)
		return o, err == nil
	}
	if db := o.typ.strip().ref.db; db != nil {
		return b.global(db, o.typ.strip().fullName()+"::"+f.name, t, size)
	}
	link := f.die.Unit.Value(f.die.Off, dwarf.AttrLinkageName)
	name := f.die.Unit.Text(&link)
	if name == "" {
		name = mangleMember(o.typ.strip().fullName(), f.name)
	}
	if name == "" {
		return object{}, false
	}
	addr, ok := b.f.Symbol(name)
	return object{typ: t, mem: true, addr: addr, size: size}, ok
}

// mangleMember is the linkage name of a static member (Itanium C++ ABI, 5.1.2),
// which clang leaves out of declarations; "" for members of templates and the
// like.
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

// member finds a data member by name, also in bases and nameless members.
func (b *builder) member(o *object, name string) (object, bool) {
	left := maxMembers
	return b.memberIn(o, name, &left, 0)
}

// memberIn looks at no more than left types: hostile ones may hold themselves.
func (b *builder) memberIn(o *object, name string, left *int, depth int) (object, bool) {
	t := o.typ.strip()
	*left--
	if t.decl {
		if full, ok := b.p.Types.complete(t); ok {
			t = full
		}
	}
	if !t.aggregate() || depth > 16 || *left < 0 {
		return object{}, false
	}
	m := t.all()
	for i := range m.fields {
		if f := &m.fields[i]; !f.base && !f.static && f.name == name {
			p, err := b.field(o, f)
			return p, err == nil
		}
	}
	for i := range m.fields {
		if f := &m.fields[i]; f.base || f.name == "" && !f.static {
			if p, err := b.field(o, f); err == nil {
				if q, ok := b.memberIn(&p, name, left, depth+1); ok {
					return q, true
				}
			}
		}
	}
	return object{}, false
}

// path follows members by name.
func (b *builder) path(o *object, names ...string) (object, bool) {
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
