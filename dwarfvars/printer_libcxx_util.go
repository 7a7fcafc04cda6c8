package dwarfvars

import (
	"fmt"
	"strings"
)

// Values that may be absent, one of several, or owned, of libc++.

func cxxOptional(b *builder, o *object, t *Type, depth int) *Value {
	engaged, ok := b.num(o, "__engaged_")
	elem := t.typeArg(0)
	if !ok || elem == nil {
		return nil
	}
	name := "std::optional<" + elem.Name() + ">"
	if engaged == 0 {
		return b.text(o, name+" [no contained value]")
	}
	part, ok := b.member(o, "__val_")
	if !ok {
		return nil
	}
	return b.holding(o, name, &part, depth)
}

func cxxVariant(b *builder, o *object, t *Type, depth int) *Value {
	impl, ok := b.first(o, "__impl_", "__impl")
	if !ok {
		return nil
	}
	index, ok := b.first(&impl, "__index", "__index_")
	data, ok2 := b.first(&impl, "__data", "__data_")
	if !ok || !ok2 {
		return nil
	}
	return b.alternativeOf(o, t, &index, &data, depth)
}

// alternativeOf prints a variant, whose alternatives all lie at the start of
// data.
func (b *builder) alternativeOf(o *object, t *Type, index, data *object, depth int) *Value {
	i, err := b.uint(index, true)
	if err != nil {
		return fail(o.typ, err)
	}
	if int64(i) < 0 || i == resize(^uint64(0), int(index.size), false) {
		return b.text(o, t.Name()+" [no contained value]")
	}
	elem := t.typeArg(int(i))
	if elem == nil && t.ref.db != nil {
		return nil // a PDB has no template arguments
	}
	if elem == nil {
		return fail(o.typ, &CorruptExpression{fmt.Errorf("alternative number %d", i)})
	}
	size, err := b.sizeOf(elem)
	if err != nil {
		return fail(o.typ, err)
	}
	part := data.part(elem, 0, size)
	v := b.text(o, fmt.Sprintf("%s [index %d]", t.Name(), i))
	v.Compound = true
	v.Parts = []Part{{Value: b.value(&part, depth+1)}}
	return v
}

func cxxTuple(b *builder, o *object, t *Type, depth int) *Value {
	base, ok := b.member(o, "__base_")
	if !ok {
		return b.text(o, "empty std::tuple")
	}
	v := b.text(o, "std::tuple containing")
	v.Compound = true
	fields := base.typ.strip().all().fields
	for i := range fields {
		if depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			break
		}
		leaf, err := b.field(&base, &fields[i])
		if err != nil || !fields[i].base {
			continue
		}
		if val, ok := b.member(&leaf, "__value_"); ok {
			leaf = val
		}
		v.Parts = append(v.Parts, Part{Name: fmt.Sprintf("[%d]", i), Value: b.value(&leaf, depth+1)})
	}
	return v
}

func cxxUniquePtr(b *builder, o *object, t *Type, depth int) *Value {
	ptr, ok := b.first(o, "__ptr_")
	if !ok || t.typeArg(0) == nil {
		return nil
	}
	return b.pointing(o, "std::unique_ptr<"+t.typeArg(0).Name()+">", &ptr, depth)
}

// cxxSharedPtr prints a pointer and the counters of its block: owners, of which
// the first is not counted, and weak references.
func cxxSharedPtr(b *builder, o *object, t *Type, depth int) *Value {
	ptr, ok := b.member(o, "__ptr_")
	block, ok2 := b.num(o, "__cntrl_")
	if !ok || !ok2 || t.typeArg(0) == nil {
		return nil
	}
	text := "(empty)"
	if block != 0 {
		use, err := b.p.Memory.ReadWord(block + b.word())
		weak, err2 := b.p.Memory.ReadWord(block + 2*b.word())
		switch {
		case err != nil:
			text = "<" + reason(err).Error() + ">"
		case err2 != nil:
			text = "<" + reason(err2).Error() + ">"
		case b.p.Arch.Truncate(use+1) == 0:
			text = fmt.Sprintf("(expired, weak count %d)", int64(weak))
		default:
			text = fmt.Sprintf("(use count %d, weak count %d)", int64(use)+1, int64(weak))
		}
	}
	return b.pointing(o, title(t)+"<"+t.typeArg(0).Name()+"> "+text, &ptr, depth)
}

// cxxFunction tells what a std::function calls, by the virtual table of what it
// holds.
func cxxFunction(b *builder, o *object, t *Type, depth int) *Value {
	held, ok := b.num(o, "__f_", "__f_")
	if !ok {
		return nil
	}
	if held == 0 {
		return b.text(o, t.Name()+" (empty)")
	}
	table, err := b.p.Memory.ReadWord(held)
	if err != nil {
		return fail(o.typ, reason(err))
	}
	name, _, _ := strings.Cut(b.p.symbolText(table), "+")
	return b.text(o, t.Name()+" calling "+strings.TrimPrefix(name, "vtable for "))
}
