package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// A printer shows an object of a library's class as what it means. It returns nil if the members
// are not those that it expects; then the object is shown like any other.
type printer func(b *builder, o *Object, t *types.Type, depth int) *Value

// print calls the printer for type t. It returns nil if there is none.
func (b *builder) print(o *Object, t *types.Type, depth int) *Value {
	var p printer
	switch {
	case types.IsCXX(t.Language):
		if p = crystalPrinter(t.BareName); p == nil {
			p = cxxPrinter(t)
		}
	case types.IsC(t.Language) && t.Tag == dwarf.TagStructureType:
		if p = nimPrinter(t.BareName); p == nil {
			p = zigPrinter(t)
		}
	case t.Language == dwarf.LangRust:
		p = rustPrinter(t)
	case t.Language == dwarf.LangGo:
		p = goPrinter(t)
	case t.Language == dwarf.LangD:
		p = dPrinter(t)
	case isAda(t.Language):
		p = adaUnconstrained
	case t.Language == dwarf.LangPascal83 && t.BareName == "ShortString":
		p = pascalShort
	}
	if p == nil {
		return nil
	}
	v := p(b, o, t, depth)
	if v == nil && t.Language == dwarf.LangRust {
		return rustStruct(b, o, t, depth)
	}
	return v
}

// cxxPrinter returns the printer for a class of the C++ library or of another library; nil if
// there is none.
func cxxPrinter(t *types.Type) printer {
	if t.BareName == "" || t.Tag == dwarf.TagUnionType {
		return nil
	}
	full := plainName(t)
	rest, ok := strings.CutPrefix(full, "std::")
	if !ok {
		return libraryPrinter(full)
	}
	for _, inline := range [...]string{"__cxx11::", "__debug::", "__1::", "__ndk1::"} {
		if in, ok := strings.CutPrefix(rest, inline); ok {
			rest = in
			if inline == "__1::" || inline == "__ndk1::" {
				return libcxxClass(rest)
			}
		}
	}
	p, _ := stdClass(strings.Replace(rest, "::__cxx11::", "::", 1)) // filesystem::__cxx11::path
	if t.Ref.DB != nil {
		return either(msvcClass(rest), p)
	}
	return p
}

// num reads the number at the end of a chain of members.
func (b *builder) num(o *Object, names ...string) (uint64, bool) {
	p, ok := b.path(o, names...)
	if !ok || p.Size > 8 || p.Size == 0 {
		return 0, false
	}
	t := p.Type.Strip()
	if t.Aggregate() {
		return 0, false
	}
	v, err := b.uint(&p, false)
	return v, err == nil
}

// elem returns the type that the pointer at the end of a chain of members points to, and its
// size.
func (b *builder) elem(o *Object, names ...string) (*types.Type, uint64, bool) {
	p, ok := b.path(o, names...)
	if !ok {
		return nil, 0, false
	}
	t := p.Type.Strip()
	if !t.Pointer() {
		return nil, 0, false
	}
	size, err := b.sizeOf(t.Target())
	return t.Target(), size, err == nil
}

// inMemory returns the object of type t at an address.
func (b *builder) inMemory(t *types.Type, addr uint64) (Object, error) {
	if t.Dynamic() {
		return b.inMemoryOf(t, addr)
	}
	size, err := b.sizeOf(t)
	return Object{Type: t, Mem: true, Addr: addr, Size: size}, err
}

// inMemoryOf is inMemory for a type whose size depends on the object.
func (b *builder) inMemoryOf(t *types.Type, addr uint64) (Object, error) {
	o := Object{Type: t, Mem: true, Addr: addr}
	size, err := t.SizeIn(b.in(&o))
	o.Size = size
	return o, err
}

// read reads the object of type t at an address.
func (b *builder) read(t *types.Type, addr uint64, depth int) *Value {
	o, err := b.inMemory(t, addr)
	if err != nil {
		return Failed(t, err)
	}
	return b.value(&o, depth)
}

// maxLength is the largest number of elements that a container may have. Larger ones are damage.
const maxLength = 1 << 40

// badLength returns the value of a container with a length that it cannot have.
func badLength(t *types.Type, n uint64) *Value {
	return Failed(t, &unknown.Corrupt{Err: unknown.Length(n)})
}

// sequence reads n elements. next returns the address of each; false means that the container is
// damaged.
func (b *builder) sequence(v *Value, t *types.Type, n uint64, depth int, next func() (uint64, bool)) *Value {
	if n > maxLength {
		return badLength(v.typ, n)
	}
	v.Compound = true
	for i := range n {
		if i >= uint64(b.opts.MaxElements) || depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			break
		}
		addr, ok := next()
		if !ok {
			v.Parts = append(v.Parts, Part{Value: Failed(t, &unknown.Corrupt{Err: unknown.ErrLimit})})
			break
		}
		el := b.read(t, addr, depth+1)
		v.Parts = append(v.Parts, Part{Value: el})
		if _, gone := el.Err.(*unknown.Memory); gone {
			v.More = i+1 < n
			break
		}
	}
	return v
}

// run reads n elements that follow one another in memory, beginning at addr.
func (b *builder) run(v *Value, t *types.Type, addr, n uint64, depth int) *Value {
	size, err := b.sizeOf(t)
	if err != nil {
		return Failed(v.typ, err)
	}
	return b.runIn(v, &Object{Mem: true, Addr: addr, Size: n * size}, t, n, size, depth)
}

// runIn reads n elements of size bytes from the start of storage.
func (b *builder) runIn(v *Value, storage *Object, t *types.Type, n, size uint64, depth int) *Value {
	o := *storage
	o.Type = t
	e := types.Extent{Count: n, Known: true, Stride: int64(8 * size), Size: 8 * size}
	return b.extentIn(v, &o, t, &e, depth)
}

// extentIn reads the elements of a dimension of storage.
func (b *builder) extentIn(v *Value, o *Object, t *types.Type, e *types.Extent, depth int) *Value {
	at := b.elements(o, e, depth, func(part *Object) *Value {
		b.retype(part, t)
		return b.value(part, depth+1)
	})
	v.Compound, v.Parts, v.More, v.style = true, at.Parts, at.More, at.style
	return v
}

// align returns the alignment of a type in bytes by the platform's ABI.
func (b *builder) align(t *types.Type) uint64 {
	left := types.MaxMembers
	return b.alignOf(t, &left, 0)
}

// alignOf looks at no more than left types, since damaged types may contain themselves.
func (b *builder) alignOf(t *types.Type, left *int, depth int) uint64 {
	s := t.Strip()
	*left--
	switch {
	case depth > types.MaxChain || *left < 0:
		return 1
	case s.Tag == dwarf.TagArrayType:
		return b.alignOf(s.Target(), left, depth+1)
	case s.Aggregate():
		if s.Declared {
			if full, ok := b.p.Types.Complete(s); ok {
				s = full
			}
		}
		most := uint64(1)
		for _, f := range s.Members().Fields {
			if f.Static {
				continue
			}
			most = max(most, b.alignOf(b.p.Types.OfField(&f), left, depth+1))
		}
		return most
	}
	size, err := b.sizeOf(s)
	if err != nil || size == 0 {
		return 1
	}
	return min(size, b.p.MaxAlign)
}

// lengthText reads a string of n characters at addr.
func (b *builder) lengthText(o *Object, elem *types.Type, addr, n uint64) *Value {
	size, _ := elem.Char()
	size = max(size, 1)
	limit := min(n, uint64(b.opts.MaxString))
	raw := make([]byte, limit*size)
	if n > maxLength {
		return badLength(o.Type, n)
	}
	if err := b.p.Read(addr, raw); err != nil {
		return Failed(o.Type, err)
	}
	return b.placed(b.stringValue(o, elem, raw, limit < n), addr, n)
}
