package dwarfvars

import (
	"fmt"
	"strings"
)

// Values that may be absent, one of several, or owned, of libstdc++.

func stdOptional(b *builder, o *object, t *Type, depth int) *Value {
	payload, ok := b.member(o, "_M_payload")
	if !ok {
		return nil
	}
	engaged, ok := b.num(&payload, "_M_engaged")
	if !ok {
		return nil
	}
	elem := t.typeArg(0)
	if elem == nil {
		return nil
	}
	name := "std::optional<" + elem.Name() + ">"
	if engaged == 0 {
		return b.text(o, name+" [no contained value]")
	}
	size, err := b.sizeOf(elem)
	if err != nil {
		return fail(o.typ, err)
	}
	part := payload.part(elem, 0, size) // the value comes first
	return b.holding(o, name, &part, depth)
}

// holding is a container of one value.
func (b *builder) holding(o *object, text string, part *object, depth int) *Value {
	v := b.text(o, text)
	v.Compound = true
	v.Parts = []Part{{Name: "[contained value]", Value: b.value(part, depth+1)}}
	return v
}

func stdVariant(b *builder, o *object, t *Type, depth int) *Value {
	index, ok := b.member(o, "_M_index")
	u, ok2 := b.member(o, "_M_u")
	if !ok || !ok2 {
		return nil
	}
	return b.alternativeOf(o, t, &index, &u, depth)
}

// tupleHeads are the elements of a tuple, which is a chain of bases.
func (b *builder) tupleHeads(o *object) []object {
	var heads []object
	at := *o
	for len(heads) < 256 {
		var next object
		found := false
		m := at.typ.strip().all()
		for i := range m.fields {
			f := &m.fields[i]
			if !f.base {
				continue
			}
			base, err := b.field(&at, f)
			if err != nil {
				return heads
			}
			switch name := base.typ.strip().name; {
			case strings.HasPrefix(name, "_Tuple_impl<"):
				next, found = base, true
			case strings.HasPrefix(name, "_Head_base<"):
				if h, ok := b.member(&base, "_M_head_impl"); ok {
					heads = append(heads, h)
				} else {
					heads = append(heads, base)
				}
			}
		}
		if !found {
			return heads
		}
		at = next
	}
	return heads
}

func stdTuple(b *builder, o *object, t *Type, depth int) *Value {
	heads := b.tupleHeads(o)
	if len(heads) == 0 && t.ref.db != nil && len(t.all().fields) > 0 {
		return nil // of a library not known
	}
	if len(heads) == 0 {
		return b.text(o, "empty std::tuple")
	}
	v := b.text(o, "std::tuple containing")
	v.Compound = true
	if depth >= b.opts.MaxDepth {
		v.More = true
		return v
	}
	for i := range heads {
		v.Parts = append(v.Parts, Part{Name: fmt.Sprintf("[%d]", i), Value: b.value(&heads[i], depth+1)})
	}
	return v
}

func stdUniquePtr(b *builder, o *object, t *Type, depth int) *Value {
	tuple, ok := b.path(o, "_M_t", "_M_t")
	if !ok {
		if tuple, ok = b.member(o, "_M_t"); !ok {
			return nil
		}
	}
	heads := b.tupleHeads(&tuple)
	if len(heads) == 0 || t.typeArg(0) == nil {
		return nil
	}
	return b.pointing(o, "std::unique_ptr<"+t.typeArg(0).Name()+">", &heads[0], depth)
}

// pointing is a pointer in a class.
func (b *builder) pointing(o *object, text string, ptr *object, depth int) *Value {
	v := b.text(o, text)
	v.Compound = true
	v.Parts = []Part{{Name: "get()", Value: b.value(ptr, depth+1)}}
	return v
}

func stdSharedPtr(b *builder, o *object, t *Type, depth int) *Value {
	ptr, ok := b.member(o, "_M_ptr")
	block, ok2 := b.num(o, "_M_refcount", "_M_pi")
	if !ok || !ok2 || t.typeArg(0) == nil {
		return nil
	}
	return b.pointing(o, title(t)+"<"+t.typeArg(0).Name()+"> "+b.counts(block), &ptr, depth)
}

func (b *builder) counts(block uint64) string {
	if block == 0 {
		return "(empty)"
	}
	// The block is the address of a virtual table and two counters of 4 bytes. The
	// owners together count as one weak reference.
	use, err := b.p.Int(block+b.word(), 4, true)
	weak, err2 := b.p.Int(block+b.word()+4, 4, true)
	switch {
	case err != nil:
		return "<" + err.Error() + ">"
	case err2 != nil:
		return "<" + err2.Error() + ">"
	case use == 0:
		return fmt.Sprintf("(expired, weak count %d)", int64(weak))
	}
	return fmt.Sprintf("(use count %d, weak count %d)", int64(use), int64(weak)-1)
}

// stdFunction tells what a std::function calls, by the function that the library
// made to call it.
func stdFunction(b *builder, o *object, t *Type, depth int) *Value {
	manager, ok := b.num(o, "_M_manager")
	invoker, ok2 := b.num(o, "_M_invoker")
	if !ok || !ok2 {
		return nil
	}
	if manager == 0 {
		return b.text(o, t.Name()+" (empty)")
	}
	return b.text(o, t.Name()+" calling "+b.p.addressText(invoker))
}
