package values

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Classes of Microsoft's C++ library since Visual Studio 2015, which all have the same ABI
// (https://github.com/microsoft/STL, stl/inc). A PDB has no template arguments, so the types of
// elements come from members.

// msvcClass returns the printer for a class by its name in std.
func msvcClass(name string) printer {
	switch name {
	case "basic_string":
		return msvcString
	case "basic_string_view":
		return msvcStringView
	case "vector":
		return msvcVector
	case "array":
		return msvcArray
	case "deque":
		return msvcDeque
	case "list":
		return msvcList
	case "forward_list":
		return msvcForwardList
	case "map", "multimap", "set", "multiset":
		return msvcTree
	case "unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset":
		return msvcHash
	case "initializer_list":
		return msvcInitializerList
	case "span":
		return msvcSpan
	case "optional":
		return msvcOptional
	case "tuple":
		return msvcTuple
	case "unique_ptr":
		return msvcUniquePtr
	case "shared_ptr", "weak_ptr":
		return msvcSharedPtr
	}
	return nil
}

// either returns a printer that tries the second one if the first returns nil.
func either(first, second printer) printer {
	if first == nil {
		return second
	}
	return func(b *builder, o *Object, t *types.Type, depth int) *Value {
		if v := first(b, o, t, depth); v != nil {
			return v
		}
		return second(b, o, t, depth)
	}
}

// msvcValue returns the value in a _Compressed_pair.
func (b *builder) msvcValue(o *Object) (Object, bool) { return b.path(o, "_Mypair", "_Myval2") }

// msvcString prints a string. Strings of up to 16 bytes are in the object itself.
func msvcString(b *builder, o *Object, t *types.Type, depth int) *Value {
	val, ok := b.msvcValue(o)
	n, ok1 := b.num(&val, "_Mysize")
	room, ok2 := b.num(&val, "_Myres")
	elem, size, ok3 := b.elem(&val, "_Bx", "_Ptr")
	if !ok || !ok1 || !ok2 || !ok3 || size == 0 || n > room {
		return nil
	}
	const inside = 16
	if room >= inside/size {
		addr, ok := b.num(&val, "_Bx", "_Ptr")
		if !ok {
			return nil
		}
		return b.lengthText(o, elem, addr, n)
	}
	buf, ok := b.path(&val, "_Bx", "_Buf")
	if !ok || n*size > buf.Size {
		return nil
	}
	raw, err := b.p.Bytes(&buf, 0, n*size)
	if err != nil {
		return Failed(o.Type, err)
	}
	limit := uint64(b.opts.MaxString)
	return b.stringValue(o, elem, raw[:min(n, limit)*size], n > limit)
}

func msvcStringView(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, _, ok := b.elem(o, "_Mydata")
	addr, ok1 := b.num(o, "_Mydata")
	n, ok2 := b.num(o, "_Mysize")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	return b.lengthText(o, elem, addr, n)
}

func msvcVector(b *builder, o *Object, t *types.Type, depth int) *Value {
	if words, ok := b.member(o, "_Myvec"); ok {
		return msvcBits(b, o, &words)
	}
	val, ok := b.msvcValue(o)
	elem, size, ok1 := b.elem(&val, "_Myfirst")
	first, ok2 := b.num(&val, "_Myfirst")
	last, ok3 := b.num(&val, "_Mylast")
	end, ok4 := b.num(&val, "_Myend")
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || size == 0 {
		return nil
	}
	return b.vector(o, elem, size, first, last, end, depth)
}

// msvcBits prints std::vector<bool>, which packs its elements into words.
func msvcBits(b *builder, o, words *Object) *Value {
	val, ok := b.msvcValue(words)
	n, ok1 := b.num(o, "_Mysize")
	first, ok2 := b.num(&val, "_Myfirst")
	end, ok3 := b.num(&val, "_Myend")
	if !ok || !ok1 || !ok2 || !ok3 || end < first {
		return nil
	}
	return b.bits(o, first, n, 8*(end-first))
}

func msvcArray(b *builder, o *Object, t *types.Type, depth int) *Value {
	return b.inner(o, "_Elems", depth)
}

// msvcDeque prints a deque: a ring of blocks of at most 16 bytes, or of one element.
func msvcDeque(b *builder, o *Object, t *types.Type, depth int) *Value {
	val, ok := b.msvcValue(o)
	block, word, ok1 := b.elem(&val, "_Map")
	blocks, ok2 := b.num(&val, "_Map")
	ring, ok3 := b.num(&val, "_Mapsize")
	off, ok4 := b.num(&val, "_Myoff")
	n, ok5 := b.num(&val, "_Mysize")
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !block.Strip().Pointer() || n > 0 && ring == 0 {
		return nil
	}
	elem := block.Strip().Target()
	size, err := b.sizeOf(elem)
	if err != nil || size == 0 || n > maxLength {
		return nil
	}
	const bytes = 16
	per := max(bytes/size, 1)
	for per&(per-1) != 0 { // the next lower power of 2
		per &= per - 1
	}
	at := off
	return b.sequence(b.elementsText(o, "std::deque", n), elem, n, depth, func() (uint64, bool) {
		addr, err := b.p.Memory.ReadWord(blocks + at/per%ring*word)
		here := addr + at%per*size
		at++
		return here, err == nil
	})
}

// msvcNode returns the type of a container's nodes, from the member that points to them, with the
// type and offset of the element.
func (b *builder) msvcNode(val *Object) (elem *types.Type, off uint64, ok bool) {
	node, _, ok := b.elem(val, "_Myhead")
	if !ok {
		return nil, 0, false
	}
	f, ok := b.fieldOf(node, "_Myval")
	if !ok {
		return nil, 0, false
	}
	return b.p.Types.Of(f.Type), f.Off, true
}

// fieldOf returns a member of a class by its name.
func (b *builder) fieldOf(t *types.Type, name string) (*types.Field, bool) {
	fields := t.Strip().Members().Fields
	for i := range fields {
		if f := &fields[i]; f.Name == name && !f.Static && !f.Base {
			return f, true
		}
	}
	return nil, false
}

func msvcList(b *builder, o *Object, t *types.Type, depth int) *Value {
	val, ok := b.msvcValue(o)
	elem, off, ok1 := b.msvcNode(&val)
	head, ok2 := b.num(&val, "_Myhead")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	first, err := b.p.Memory.ReadWord(head)
	if err != nil {
		return Failed(o.Type, unknown.Reason(err))
	}
	return b.chain(o, "std::list", elem, first, head, 0, off, depth)
}

func msvcForwardList(b *builder, o *Object, t *types.Type, depth int) *Value {
	val, ok := b.msvcValue(o)
	elem, off, ok1 := b.msvcNode(&val)
	first, ok2 := b.num(&val, "_Myhead")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	return b.chain(o, "std::forward_list", elem, first, 0, 0, off, depth)
}

// msvcTree prints maps and sets. The head is also a node. A node without a child has the address
// of the head instead, and the left child of the head is the first node.
func msvcTree(b *builder, o *Object, t *types.Type, depth int) *Value {
	val, ok := b.path(o, "_Mypair", "_Myval2", "_Myval2")
	elem, off, ok1 := b.msvcNode(&val)
	n, ok2 := b.num(&val, "_Mysize")
	head, ok3 := b.num(&val, "_Myhead")
	if !ok || !ok1 || !ok2 || !ok3 {
		return nil
	}
	at, begun := uint64(0), false
	v := b.sequence(b.elementsText(o, title(t), n), elem, n, depth, func() (uint64, bool) {
		var err error
		if !begun {
			at, err = b.p.Memory.ReadWord(head)
		} else {
			at, err = b.msvcFollowing(at, head)
		}
		begun = true
		return at + off, err == nil && at != head
	})
	return pairs(v, t)
}

// msvcFollowing returns the next node of a tree in order. A node begins with the addresses of its
// left child, its parent and its right child.
func (b *builder) msvcFollowing(at, head uint64) (uint64, error) {
	w := b.word()
	next, err := b.p.Memory.ReadWord(at + 2*w)
	if err != nil {
		return 0, err
	}
	if next != head {
		for range maxTreeDepth {
			left, err := b.p.Memory.ReadWord(next)
			if err != nil || left == head {
				return next, err
			}
			next = left
		}
		return 0, unknown.ErrLimit
	}
	for range maxTreeDepth {
		up, err := b.p.Memory.ReadWord(at + w)
		if err != nil || up == head {
			return up, err
		}
		right, err := b.p.Memory.ReadWord(up + 2*w)
		if err != nil || right != at {
			return up, err
		}
		at = up
	}
	return 0, unknown.ErrLimit
}

// msvcHash prints hash tables, which keep their elements in a list.
func msvcHash(b *builder, o *Object, t *types.Type, depth int) *Value {
	list, ok := b.member(o, "_List")
	if !ok {
		return nil
	}
	val, ok := b.msvcValue(&list)
	elem, off, ok1 := b.msvcNode(&val)
	n, ok2 := b.num(&val, "_Mysize")
	head, ok3 := b.num(&val, "_Myhead")
	if !ok || !ok1 || !ok2 || !ok3 {
		return nil
	}
	first, err := b.p.Memory.ReadWord(head)
	if err != nil {
		return Failed(o.Type, unknown.Reason(err))
	}
	return pairs(b.hashed(o, t, elem, n, first, off, depth), t)
}

func msvcInitializerList(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, size, ok := b.elem(o, "_First")
	first, ok1 := b.num(o, "_First")
	last, ok2 := b.num(o, "_Last")
	if !ok || !ok1 || !ok2 || size == 0 || last < first || (last-first)/size > maxLength {
		return nil
	}
	n := (last - first) / size
	return b.run(b.counted(b.text(o, fmt.Sprintf("std::initializer_list of length %d", n)), n), elem, first, n, depth)
}

func msvcSpan(b *builder, o *Object, t *types.Type, depth int) *Value {
	return b.slice(o, "std::span", depth, []string{"_Mydata"}, []string{"_Mysize"})
}

func msvcOptional(b *builder, o *Object, t *types.Type, depth int) *Value {
	has, ok := b.num(o, "_Has_value")
	val, ok1 := b.member(o, "_Value")
	if !ok || !ok1 {
		return nil
	}
	name := "std::optional<" + val.Type.Name() + ">"
	if has == 0 {
		return b.text(o, name+" [no contained value]")
	}
	return b.holding(o, name, &val, depth)
}

// msvcTuple prints a tuple: a member with the first element, and a base class with the others.
func msvcTuple(b *builder, o *Object, t *types.Type, depth int) *Value {
	v := b.text(o, "std::tuple containing")
	v.Compound = true
	at := *o
	for i := 0; i < types.MaxMembers && b.take(); i++ {
		f, ok := b.fieldOf(at.Type, "_Myfirst")
		if !ok {
			if i == 0 {
				return nil
			}
			return v
		}
		first, err := b.field(&at, f)
		if err != nil {
			return nil
		}
		val, ok := b.member(&first, "_Val")
		if !ok {
			return nil
		}
		v.Parts = append(v.Parts, Part{Name: fmt.Sprintf("[%d]", i), Value: b.value(&val, depth+1)})
		rest := at.Type.Strip().Members().Fields
		if !rest[0].Base {
			return v
		}
		if at, err = b.field(&at, &rest[0]); err != nil {
			return v
		}
	}
	v.More = true
	return v
}

func msvcUniquePtr(b *builder, o *Object, t *types.Type, depth int) *Value {
	ptr, ok := b.msvcValue(o)
	if !ok || !ptr.Type.Strip().Pointer() {
		return nil
	}
	return b.pointing(o, "std::unique_ptr<"+ptr.Type.Strip().Target().Name()+">", &ptr, depth)
}

// msvcSharedPtr prints shared and weak pointers. All owners together count as one weak reference.
func msvcSharedPtr(b *builder, o *Object, t *types.Type, depth int) *Value {
	ptr, ok := b.member(o, "_Ptr")
	block, ok1 := b.num(o, "_Rep")
	if !ok || !ok1 || !ptr.Type.Strip().Pointer() {
		return nil
	}
	name := title(t) + "<" + ptr.Type.Strip().Target().Name() + "> "
	return b.pointing(o, name+b.counts(block), &ptr, depth)
}
