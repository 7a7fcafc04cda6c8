package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Optionals, variants, tuples, smart pointers and functions of libc++.

func cxxOptional(b *builder, o *Object, t *types.Type, depth int) *Value {
	engaged, ok := b.num(o, "__engaged_")
	elem := t.TypeArg(0)
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

func cxxVariant(b *builder, o *Object, t *types.Type, depth int) *Value {
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

// alternativeOf prints a variant, whose alternatives all begin at the start of data.
func (b *builder) alternativeOf(o *Object, t *types.Type, index, data *Object, depth int) *Value {
	i, err := b.uint(index, true)
	if err != nil {
		return Failed(o.Type, err)
	}
	if int64(i) < 0 || i == types.Resize(^uint64(0), int(index.Size), false) {
		return b.text(o, t.Name()+" [no contained value]")
	}
	return b.variantOf(o, t, i, data, depth)
}

// variantOf prints alternative number i of a variant.
func (b *builder) variantOf(o *Object, t *types.Type, i uint64, data *Object, depth int) *Value {
	elem := t.TypeArg(int(i))
	if elem == nil && t.Ref.DB != nil {
		return nil // a PDB has no template arguments
	}
	if elem == nil {
		return Failed(o.Type, &unknown.Corrupt{Err: fmt.Errorf("alternative number %d", i)})
	}
	size, err := b.sizeOf(elem)
	if err != nil {
		return Failed(o.Type, err)
	}
	part := data.part(elem, 0, size)
	v := b.text(o, fmt.Sprintf("%s [index %d]", t.Name(), i))
	v.Compound = true
	v.Parts = []Part{{Value: b.value(&part, depth+1)}}
	return v
}

func cxxTuple(b *builder, o *Object, t *types.Type, depth int) *Value {
	base, ok := b.member(o, "__base_")
	if !ok {
		return b.text(o, "empty std::tuple")
	}
	v := b.text(o, "std::tuple containing")
	v.Compound = true
	fields := base.Type.Strip().Members().Fields
	for i := range fields {
		if depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			break
		}
		leaf, err := b.field(&base, &fields[i])
		if err != nil || !fields[i].Base {
			continue
		}
		if val, ok := b.member(&leaf, "__value_"); ok {
			leaf = val
		}
		v.Parts = append(v.Parts, Part{Name: fmt.Sprintf("[%d]", i), Value: b.value(&leaf, depth+1)})
	}
	return v
}

func cxxUniquePtr(b *builder, o *Object, t *types.Type, depth int) *Value {
	ptr, ok := b.first(o, "__ptr_")
	if !ok || t.TypeArg(0) == nil {
		return nil
	}
	return b.pointing(o, "std::unique_ptr<"+t.TypeArg(0).Name()+">", &ptr, depth)
}

// cxxSharedPtr prints a pointer and the two counters of its control block: owners less one, and
// weak references.
func cxxSharedPtr(b *builder, o *Object, t *types.Type, depth int) *Value {
	ptr, ok := b.member(o, "__ptr_")
	block, ok2 := b.num(o, "__cntrl_")
	if !ok || !ok2 || t.TypeArg(0) == nil {
		return nil
	}
	text := "(empty)"
	if block != 0 {
		use, err := b.p.Memory.ReadWord(block + b.word())
		weak, err2 := b.p.Memory.ReadWord(block + 2*b.word())
		switch {
		case err != nil:
			text = "<" + unknown.Reason(err).Error() + ">"
		case err2 != nil:
			text = "<" + unknown.Reason(err2).Error() + ">"
		case b.p.Arch.Truncate(use+1) == 0:
			text = fmt.Sprintf("(expired, weak count %d)", int64(weak))
		default:
			text = fmt.Sprintf("(use count %d, weak count %d)", int64(use)+1, int64(weak))
		}
	}
	return b.pointing(o, title(t)+"<"+t.TypeArg(0).Name()+"> "+text, &ptr, depth)
}

// cxxFunction prints a std::function by the virtual table of the callable in it.
func cxxFunction(b *builder, o *Object, t *types.Type, depth int) *Value {
	held, ok := b.num(o, "__f_", "__f_")
	if !ok {
		return nil
	}
	if held == 0 {
		return b.text(o, t.Name()+" (empty)")
	}
	table, err := b.p.Memory.ReadWord(held)
	if err != nil {
		return Failed(o.Type, unknown.Reason(err))
	}
	name, _, _ := strings.Cut(b.p.SymbolText(table), "+")
	return b.text(o, t.Name()+" calling "+strings.TrimPrefix(name, "vtable for "))
}

// cxxAny prints a std::any by the function that handles the object in it, which is a static one of a class that has its type:
// __any_imp::_SmallHandler<int>::__handle.
func cxxAny(b *builder, o *Object, t *types.Type, depth int) *Value {
	handler, ok := b.num(o, "__h_")
	store, ok2 := b.member(o, "__s_")
	if !ok || !ok2 {
		handler, ok = b.num(o, "__h")
		store, ok2 = b.member(o, "__s")
	}
	if !ok || !ok2 {
		return nil
	}
	if handler == 0 {
		return b.text(o, "std::any [no contained value]")
	}
	name := b.p.SymbolText(handler)
	if _, held, ok := strings.Cut(name, "__any_imp::_SmallHandler<"); ok {
		return b.anyValueOf(o, held, &store, depth)
	}
	if _, held, ok := strings.Cut(name, "__any_imp::_LargeHandler<"); ok {
		return b.anyPointed(o, held, &store, depth)
	}
	return nil
}

// anyPointed is anyValueOf for an object that the first word of store has the address of.
func (b *builder) anyPointed(o *Object, held string, store *Object, depth int) *Value {
	word := store.part(b.p.Types.Integer(b.word(), false), 0, b.word())
	addr, err := b.uint(&word, false)
	if err != nil {
		return Failed(o.Type, err)
	}
	return b.anyValueOf(o, held, &Object{Mem: true, Addr: addr, Size: MaxObject}, depth)
}

// anyValueOf prints the object that a std::any has at the start of store. held begins with the name of its type, as in the
// name of a class that has it as its argument.
func (b *builder) anyValueOf(o *Object, held string, store *Object, depth int) *Value {
	name, ok := cutArgument(held)
	if !ok {
		return nil
	}
	text := "std::any containing " + types.Shorten(name)
	elem, ok := b.p.Types.Lookup(b.f.Unit(), name, b.word())
	if !ok || b.f.Unit() == nil {
		return b.text(o, text)
	}
	size, err := b.sizeOf(elem)
	if err != nil || size > store.Size {
		return b.text(o, text)
	}
	part := store.part(elem, 0, size)
	return b.holding(o, text, &part, depth)
}

// cutArgument returns what is before the bracket that closes a list of template arguments.
func cutArgument(s string) (string, bool) {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '<', '(':
			depth++
		case '>', ')':
			if depth--; depth == 0 {
				return strings.TrimSpace(s[:i]), true
			}
		}
	}
	return "", false
}
