package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Optionals, variants, tuples, smart pointers and functions of libstdc++.

func stdOptional(b *builder, o *Object, t *types.Type, depth int) *Value {
	payload, ok := b.member(o, "_M_payload")
	if !ok {
		return nil
	}
	engaged, ok := b.num(&payload, "_M_engaged")
	if !ok {
		return nil
	}
	elem := t.TypeArg(0)
	if elem == nil {
		return nil
	}
	name := "std::optional<" + elem.Name() + ">"
	if engaged == 0 {
		return b.text(o, name+" [no contained value]")
	}
	size, err := b.sizeOf(elem)
	if err != nil {
		return Failed(o.Type, err)
	}
	part := payload.part(elem, 0, size) // the value comes first
	return b.holding(o, name, &part, depth)
}

// holding returns the value of a container with one element.
func (b *builder) holding(o *Object, text string, part *Object, depth int) *Value {
	v := b.text(o, text)
	v.Compound = true
	v.Parts = []Part{{Name: "[contained value]", Value: b.value(part, depth+1)}}
	return v
}

func stdVariant(b *builder, o *Object, t *types.Type, depth int) *Value {
	index, ok := b.member(o, "_M_index")
	u, ok2 := b.member(o, "_M_u")
	if !ok || !ok2 {
		return nil
	}
	return b.alternativeOf(o, t, &index, &u, depth)
}

// tupleHeads returns the elements of a tuple, which is a chain of base classes.
func (b *builder) tupleHeads(o *Object) []Object {
	var heads []Object
	at := *o
	for len(heads) < 256 {
		var next Object
		found := false
		m := at.Type.Strip().Members()
		for i := range m.Fields {
			f := &m.Fields[i]
			if !f.Base {
				continue
			}
			base, err := b.field(&at, f)
			if err != nil {
				return heads
			}
			switch name := base.Type.Strip().BareName; {
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

func stdTuple(b *builder, o *Object, t *types.Type, depth int) *Value {
	heads := b.tupleHeads(o)
	if len(heads) == 0 && t.Ref.DB != nil && len(t.Members().Fields) > 0 {
		return nil // of an unknown library
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

func stdUniquePtr(b *builder, o *Object, t *types.Type, depth int) *Value {
	tuple, ok := b.path(o, "_M_t", "_M_t")
	if !ok {
		if tuple, ok = b.member(o, "_M_t"); !ok {
			return nil
		}
	}
	heads := b.tupleHeads(&tuple)
	if len(heads) == 0 || t.TypeArg(0) == nil {
		return nil
	}
	return b.pointing(o, "std::unique_ptr<"+t.TypeArg(0).Name()+">", &heads[0], depth)
}

// pointing returns the value of a class that wraps a pointer.
func (b *builder) pointing(o *Object, text string, ptr *Object, depth int) *Value {
	v := b.text(o, text)
	v.Compound = true
	v.Parts = []Part{{Name: "get()", Value: b.value(ptr, depth+1)}}
	return v
}

func stdSharedPtr(b *builder, o *Object, t *types.Type, depth int) *Value {
	ptr, ok := b.member(o, "_M_ptr")
	block, ok2 := b.num(o, "_M_refcount", "_M_pi")
	if !ok || !ok2 || t.TypeArg(0) == nil {
		return nil
	}
	return b.pointing(o, title(t)+"<"+t.TypeArg(0).Name()+"> "+b.counts(block), &ptr, depth)
}

func (b *builder) counts(block uint64) string {
	if block == 0 {
		return "(empty)"
	}
	// The control block has the address of a virtual table and two counters of 4 bytes. All
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

// stdFunction prints a std::function by the function that the library generated to call it.
func stdFunction(b *builder, o *Object, t *types.Type, depth int) *Value {
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
