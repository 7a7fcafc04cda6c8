package dwarfvars

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// A printer shows a class of a library as what it means. It answers nil when the
// object's members are not what they should be: the object is then shown as any
// other.
type printer func(b *builder, o *object, t *Type, depth int) *Value

// print asks the printer of the type, if there is one.
func (b *builder) print(o *object, t *Type, depth int) *Value {
	var p printer
	switch {
	case isCXX(t.lang):
		p = cxxPrinter(t)
	case t.lang == dwarf.LangRust:
		p = rustPrinter(t)
	case t.lang == dwarf.LangGo:
		p = goPrinter(t)
	}
	if p == nil {
		return nil
	}
	v := p(b, o, t, depth)
	if v == nil && t.lang == dwarf.LangRust {
		return rustStruct(b, o, t, depth)
	}
	return v
}

// cxxPrinter finds the printer of a class of the C++ library.
func cxxPrinter(t *Type) printer {
	if t.name == "" || t.tag == dwarf.TagUnionType {
		return nil
	}
	class, _, _ := strings.Cut(t.name, "<")
	if _, known := stdClass(class); !known {
		return nil
	}
	full, _, _ := strings.Cut(t.fullName(), "<")
	rest, ok := strings.CutPrefix(full, "std::")
	if !ok {
		return nil
	}
	for _, inline := range [...]string{"__cxx11::", "__debug::", "__1::", "__ndk1::"} {
		if in, ok := strings.CutPrefix(rest, inline); ok {
			rest = in
			if inline == "__1::" || inline == "__ndk1::" {
				return libcxxClass(rest)
			}
		}
	}
	p, _ := stdClass(rest)
	if t.ref.db != nil {
		return either(msvcClass(rest), p)
	}
	return p
}

// num reads a number that is a member of a member.
func (b *builder) num(o *object, names ...string) (uint64, bool) {
	p, ok := b.path(o, names...)
	if !ok || p.size > 8 || p.size == 0 {
		return 0, false
	}
	t := p.typ.strip()
	if t.aggregate() {
		return 0, false
	}
	v, err := b.uint(&p, false)
	return v, err == nil
}

// elem is the type that the pointer member points to.
func (b *builder) elem(o *object, names ...string) (*Type, uint64, bool) {
	p, ok := b.path(o, names...)
	if !ok {
		return nil, 0, false
	}
	t := p.typ.strip()
	if !t.pointer() {
		return nil, 0, false
	}
	size, err := b.sizeOf(t.target())
	return t.target(), size, err == nil
}

// inMemory is the object of type t at an address.
func (b *builder) inMemory(t *Type, addr uint64) (object, error) {
	size, err := b.sizeOf(t)
	return object{typ: t, mem: true, addr: addr, size: size}, err
}

// read reads the object of type t at an address.
func (b *builder) read(t *Type, addr uint64, depth int) *Value {
	o, err := b.inMemory(t, addr)
	if err != nil {
		return fail(t, err)
	}
	return b.value(&o, depth)
}

// sequence reads n elements, whose addresses next gives one after the other; it
// answers false where there is no further one, which is an error.
func (b *builder) sequence(v *Value, t *Type, n uint64, depth int, next func() (uint64, bool)) *Value {
	v.Compound = true
	for i := range n {
		if i >= uint64(b.opts.MaxElements) || depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			break
		}
		addr, ok := next()
		if !ok {
			v.Parts = append(v.Parts, Part{Value: fail(t, &CorruptExpression{ErrLimit})})
			break
		}
		el := b.read(t, addr, depth+1)
		v.Parts = append(v.Parts, Part{Value: el})
		if _, gone := el.Err.(*MemoryNotInDump); gone {
			v.More = i+1 < n
			break
		}
	}
	return v
}

// run reads n elements that lie one after the other from addr on.
func (b *builder) run(v *Value, t *Type, addr, n uint64, depth int) *Value {
	size, err := b.sizeOf(t)
	if err != nil {
		return fail(v.typ, err)
	}
	o := object{typ: t, mem: true, addr: addr, size: n * size}
	at := b.elements(&o, n, size, depth, func(part *object) *Value {
		part.typ = t
		return b.value(part, depth+1)
	})
	v.Compound, v.Parts, v.More, v.style = true, at.Parts, at.More, at.style
	return v
}

// align is the alignment of a type in bytes, as the platform's ABI has it.
func (b *builder) align(t *Type) uint64 {
	left := maxMembers
	return b.alignOf(t, &left, 0)
}

// alignOf looks at no more than left types: hostile ones may hold themselves.
func (b *builder) alignOf(t *Type, left *int, depth int) uint64 {
	s := t.strip()
	*left--
	switch {
	case depth > maxTypeChain || *left < 0:
		return 1
	case s.tag == dwarf.TagArrayType:
		return b.alignOf(s.target(), left, depth+1)
	case s.aggregate():
		if s.decl {
			if full, ok := b.p.Types.complete(s); ok {
				s = full
			}
		}
		most := uint64(1)
		for _, f := range s.all().fields {
			if f.static {
				continue
			}
			most = max(most, b.alignOf(b.p.Types.typeOf(f.typ), left, depth+1))
		}
		return most
	}
	size, err := b.sizeOf(s)
	if err != nil || size == 0 {
		return 1
	}
	return min(size, b.p.MaxAlign)
}

// lengthText is a string of n characters at addr, or what is wrong with it.
func (b *builder) lengthText(o *object, elem *Type, addr, n uint64) *Value {
	size, _ := elem.isChar()
	size = max(size, 1)
	limit := min(n, uint64(b.opts.MaxString))
	raw := make([]byte, limit*size)
	if n > 1<<40 {
		return fail(o.typ, &CorruptExpression{errLength(n)})
	}
	if err := b.p.Read(addr, raw); err != nil {
		return fail(o.typ, err)
	}
	return b.stringValue(o, elem, raw, limit < n)
}
