package values

import (
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Strings and sequences of libstdc++.

// stdString prints std::string and other basic_strings, of the C++11 ABI and of the one before,
// which has the length in front of the characters.
func stdString(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, _, ok := b.elem(o, "_M_dataplus", "_M_p")
	if !ok {
		return b.undescribedString(o, t)
	}
	addr, ok := b.num(o, "_M_dataplus", "_M_p")
	if !ok {
		return nil
	}
	n, ok := b.num(o, "_M_string_length")
	if !ok {
		if o.Size != b.word() {
			return nil // not of the ABI before, in which the pointer is all of it
		}
		// In front of the characters: length, capacity, reference count.
		var err error
		if n, err = b.p.Memory.ReadWord(addr - 3*b.word()); err != nil {
			return Failed(o.Type, unknown.Reason(err))
		}
	}
	return b.lengthText(o, elem, addr, n)
}

// undescribedString prints a string whose first member has a type that is only declared, as clang
// has it: that member is the address of the characters (the C++11 ABI of libstdc++). They are in
// the object, or there is a capacity for them.
func (b *builder) undescribedString(o *Object, t *types.Type) *Value {
	elem := t.TypeArg(0)
	n, ok := b.num(o, "_M_string_length")
	local, ok1 := b.member(o, "_M_local_buf")
	room, ok2 := b.num(o, "_M_allocated_capacity")
	w := b.word()
	fields := t.Members().Fields
	i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == "_M_dataplus" })
	if elem == nil || !ok || !ok1 || !ok2 || i < 0 || fields[i].Off != 0 || !b.p.Types.Of(fields[i].Type).Strip().Declared {
		return nil
	}
	hider := o.part(nil, 0, w)
	addr, err := b.uint(&hider, false)
	size, isChar := elem.Char()
	if err != nil || !isChar {
		return nil
	}
	if local.Mem && addr == local.Addr {
		room = local.Size/size - 1
	}
	if n > room || room > maxLength {
		return nil
	}
	return b.lengthText(o, elem, addr, n)
}

func stdStringView(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, _, ok := b.elem(o, "_M_str")
	addr, ok2 := b.num(o, "_M_str")
	n, ok3 := b.num(o, "_M_len")
	if !ok || !ok2 || !ok3 {
		return nil
	}
	return b.lengthText(o, elem, addr, n)
}

func stdVector(b *builder, o *Object, t *types.Type, depth int) *Value {
	impl, ok := b.member(o, "_M_impl")
	if !ok {
		return nil
	}
	if _, ok := b.path(&impl, "_M_start", "_M_p"); ok {
		return stdBitVector(b, o, &impl, depth)
	}
	elem, size, ok := b.elem(&impl, "_M_start")
	first, ok1 := b.num(&impl, "_M_start")
	last, ok2 := b.num(&impl, "_M_finish")
	end, ok3 := b.num(&impl, "_M_end_of_storage")
	if !ok || !ok1 || !ok2 || !ok3 || size == 0 {
		return nil
	}
	return b.vector(o, elem, size, first, last, end, depth)
}

// stdBitVector prints std::vector<bool>, which packs its elements.
func stdBitVector(b *builder, o, impl *Object, depth int) *Value {
	first, ok1 := b.num(impl, "_M_start", "_M_p")
	last, ok2 := b.num(impl, "_M_finish", "_M_p")
	bit, ok3 := b.num(impl, "_M_finish", "_M_offset")
	end, ok4 := b.num(impl, "_M_end_of_storage")
	if !ok1 || !ok2 || !ok3 || !ok4 || last < first {
		return nil
	}
	if bit >= 64 {
		return badLength(o.Type, bit)
	}
	return b.bits(o, first, 8*(last-first)+bit, 8*(end-first))
}

func stdArray(b *builder, o *Object, t *types.Type, depth int) *Value {
	return b.inner(o, "_M_elems", depth)
}

func stdDeque(b *builder, o *Object, t *types.Type, depth int) *Value {
	impl, ok := b.member(o, "_M_impl")
	if !ok {
		return nil
	}
	elem, size, ok := b.elem(&impl, "_M_start", "_M_cur")
	if !ok || size == 0 {
		return nil
	}
	var it, end struct{ cur, first, last, node uint64 }
	good := true
	get := func(dst *uint64, side, name string) {
		v, ok := b.num(&impl, side, name)
		*dst, good = v, good && ok
	}
	get(&it.cur, "_M_start", "_M_cur")
	get(&it.last, "_M_start", "_M_last")
	get(&it.node, "_M_start", "_M_node")
	get(&end.cur, "_M_finish", "_M_cur")
	get(&end.first, "_M_finish", "_M_first")
	get(&end.node, "_M_finish", "_M_node")
	if !good {
		return nil
	}
	per := max(512/size, 1) // elements in a block
	n := (it.last - it.cur) / size
	if it.node == end.node {
		n = (end.cur - it.cur) / size
	} else {
		n += ((end.node-it.node)/b.word()-1)*per + (end.cur-end.first)/size
	}
	if n > maxLength || end.node < it.node {
		return badLength(o.Type, n)
	}
	return b.sequence(b.elementsText(o, "std::deque", n), elem, n, depth, func() (uint64, bool) {
		if it.cur == it.last {
			it.node += b.word()
			first, err := b.p.Memory.ReadWord(it.node)
			if err != nil {
				return 0, false
			}
			it.cur, it.last = first, first+per*size
		}
		at := it.cur
		it.cur += size
		return at, true
	})
}

func stdList(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem := t.TypeArg(0)
	head, ok := b.path(o, "_M_impl", "_M_node")
	if elem == nil || !ok || !head.Mem {
		return nil
	}
	first, ok := b.num(&head, "_M_next")
	if !ok {
		return nil
	}
	return b.chain(o, "std::list", elem, first, head.Addr, 0, AlignUp(2*b.word(), b.align(elem)), depth)
}

func stdForwardList(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem := t.TypeArg(0)
	first, ok := b.num(o, "_M_impl", "_M_head", "_M_next")
	if elem == nil || !ok {
		return nil
	}
	return b.chain(o, "std::forward_list", elem, first, 0, 0, AlignUp(b.word(), b.align(elem)), depth)
}

func stdInitializerList(b *builder, o *Object, t *types.Type, depth int) *Value {
	return b.slice(o, "std::initializer_list", depth, []string{"_M_array"}, []string{"_M_len"})
}

func stdSpan(b *builder, o *Object, t *types.Type, depth int) *Value {
	if v := b.slice(o, "std::span", depth, []string{"_M_ptr"}, []string{"_M_extent", "_M_extent_value"}); v != nil {
		return v
	}
	for _, a := range t.Members().Templates {
		if elem, _, ok := b.elem(o, "_M_ptr"); ok && a.Has {
			if extent, ok := b.path(o, "_M_extent", "_M_extent_value"); ok { // of std::dynamic_extent
				if _, err := b.uint(&extent, false); err != nil {
					return &Value{typ: o.Type, Text: "std::span", Err: &unknown.Bound{Err: err}}
				}
			}
			first, ok := b.num(o, "_M_ptr")
			if !ok {
				return nil
			}
			return b.run(b.counted(b.text(o, fmt.Sprintf("std::span of length %d", a.Val.U)), a.Val.U), elem, first, a.Val.U, depth)
		}
	}
	return nil
}

// slice prints a class that has a pointer and a length.
func (b *builder) slice(o *Object, name string, depth int, pointer, length []string) *Value {
	elem, _, ok := b.elem(o, pointer...)
	first, ok1 := b.num(o, pointer...)
	n, ok2 := b.num(o, length...)
	if !ok || !ok1 || !ok2 {
		return nil
	}
	if n > maxLength {
		return badLength(o.Type, n)
	}
	return b.run(b.counted(b.text(o, fmt.Sprintf("%s of length %d", name, n)), n), elem, first, n, depth)
}
