package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Classes of Boost, of the versions from 1.74 on.

// boostClass returns the printer for a class of Boost by its name in boost; nil if there is none.
func boostClass(name string) printer {
	switch name {
	case "container::vector", "container::small_vector", "container::small_vector_base", "container::static_vector":
		return boostVector
	case "container::flat_map", "container::flat_multimap", "container::flat_set", "container::flat_multiset":
		return boostFlat
	case "container::basic_string":
		return boostString
	case "optional":
		return boostOptional
	case "variant":
		return boostVariant
	case "variant2::variant":
		return boostVariant2
	case "shared_ptr", "weak_ptr":
		return boostSharedPtr
	case "scoped_ptr", "intrusive_ptr", "scoped_array":
		return boostPtr
	case "circular_buffer":
		return boostRing
	case "array":
		return boostArray
	case "dynamic_bitset":
		return boostBits
	case "unordered::unordered_map", "unordered::unordered_multimap", "unordered::unordered_set", "unordered::unordered_multiset":
		return either(boostHash, boostGroupedHash)
	case "unordered::unordered_flat_map", "unordered::unordered_flat_set":
		return boostFlatHash
	}
	return nil
}

func boostVector(b *builder, o *Object, t *types.Type, depth int) *Value {
	holder, ok := b.member(o, "m_holder")
	n, ok1 := b.num(&holder, "m_size")
	if !ok || !ok1 {
		return nil
	}
	if elem, _, ok := b.elem(&holder, "m_start"); ok {
		first, ok := b.num(&holder, "m_start")
		room, ok1 := b.num(&holder, "m_capacity")
		if !ok || !ok1 {
			return nil
		}
		return b.filled(o, elem, first, n, room, depth)
	}
	// The elements are in the object.
	elem := t.TypeArg(0)
	storage, ok := b.member(&holder, "storage")
	if elem == nil || !ok {
		return nil
	}
	return b.inside(o, elem, &storage, n, depth)
}

// boostFlat prints a sorted sequence.
func boostFlat(b *builder, o *Object, t *types.Type, depth int) *Value {
	tree, ok := b.member(o, "m_flat_tree")
	if !ok {
		tree = *o // a set is derived from the tree
	}
	inner, ok := b.path(&tree, "m_data", "m_seq")
	holder, ok1 := b.member(&inner, "m_holder")
	elem, _, ok2 := b.elem(&holder, "m_start")
	first, ok3 := b.num(&holder, "m_start")
	n, ok4 := b.num(&holder, "m_size")
	room, ok5 := b.num(&holder, "m_capacity")
	switch {
	case !ok || !ok1 || !ok2 || !ok3 || !ok4 || !ok5:
		return nil
	case n > room || room > maxLength:
		return badLength(o.Type, max(n, room))
	}
	return pairs(b.run(b.elementsText(o, title(t), n), elem, first, n, depth), t)
}

// boostString prints a string. Short strings are in the object, which then begins with twice
// their length and 1.
func boostString(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem := t.TypeArg(0)
	repr, ok := b.path(o, "members_", "m_repr")
	short, ok1 := b.num(&repr, "s_aligner", "h", "is_short")
	if elem == nil || !ok || !ok1 {
		return nil
	}
	size, isChar := elem.Char()
	if !isChar {
		return nil
	}
	if short != 0 {
		n, ok := b.num(&repr, "s_aligner", "h", "length")
		data, ok1 := b.path(&repr, "s_aligner", "data")
		switch {
		case !ok || !ok1:
			return nil
		case n >= data.Size/size:
			return badLength(o.Type, n)
		}
		shown := min(n, uint64(b.opts.MaxString))
		raw, err := b.p.Bytes(&data, 0, shown*size)
		if err != nil {
			return Failed(o.Type, err)
		}
		return b.stringValue(o, elem, raw, shown < n)
	}
	// A bit and the length, the capacity, the address.
	w := b.word()
	if repr.Size < 3*w {
		return nil
	}
	raw, err := b.p.Bytes(&repr, 0, 3*w)
	if err != nil {
		return Failed(o.Type, err)
	}
	big := b.p.Arch.Big()
	n, room, addr := types.Uint(raw[:w], big), types.Uint(raw[w:2*w], big), types.Uint(raw[2*w:], big)
	if !big { // the bit is the lowest, else the highest
		n >>= 1
	}
	if n > room {
		return badLength(o.Type, n)
	}
	return b.lengthText(o, elem, addr, n)
}

func boostOptional(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem := t.TypeArg(0)
	if elem == nil {
		return nil
	}
	if ptr, ok := b.member(o, "ptr_"); ok && elem.Strip().Reference() {
		name := title(t) + "<" + elem.Name() + ">"
		if addr, err := b.uint(&ptr, false); err == nil && addr == 0 {
			return b.text(o, name+" [no contained value]")
		}
		ptr.Type = elem
		return b.holding(o, name, &ptr, depth)
	}
	engaged, ok := b.num(o, "m_initialized")
	storage, ok1 := b.member(o, "m_storage")
	if !ok || !ok1 {
		return nil
	}
	return b.optional(o, t, elem, engaged, &storage, depth)
}

// boostVariant prints a variant. While it is assigned to, the number of the alternative is
// negative, and the storage has a pointer.
func boostVariant(b *builder, o *Object, t *types.Type, depth int) *Value {
	which, ok := b.member(o, "which_")
	storage, ok1 := b.member(o, "storage_")
	if !ok || !ok1 {
		return nil
	}
	i, err := b.uint(&which, true)
	if err != nil {
		return Failed(o.Type, err)
	}
	if int64(i) < 0 {
		return nil
	}
	return b.variantOf(o, t, i, &storage, depth)
}

// boostVariant2 prints a variant2::variant, whose alternatives count from 1. Some have two
// places for them: the index is negative for the second, or has a bit more for the place.
func boostVariant2(b *builder, o *Object, t *types.Type, depth int) *Value {
	index, ok := b.member(o, "ix_")
	if !ok {
		return nil
	}
	u, err := b.uint(&index, true)
	if err != nil {
		return Failed(o.Type, err)
	}
	i := int64(u)
	if i == 0 {
		return b.text(o, t.Name()+" [no contained value]")
	}
	place := "st1_"
	storage, ok := b.member(o, "st_")
	switch {
	case ok && storage.Type.Strip().Tag == dwarf.TagArrayType:
		half := storage.Size / 2
		storage = storage.part(storage.Type.Strip().Target(), uint64(i&1)*half, half)
		i >>= 1
	case !ok && i < 0:
		place, i = "st2_", -i
		fallthrough
	case !ok:
		if storage, ok = b.member(o, place); !ok {
			return nil
		}
	}
	return b.variantOf(o, t, uint64(i-1), &storage, depth)
}

// boostSharedPtr prints a shared pointer with the counts of its control block.
func boostSharedPtr(b *builder, o *Object, t *types.Type, depth int) *Value {
	ptr, ok := b.member(o, "px")
	block, ok1 := b.num(o, "pn", "pi_")
	elem := t.TypeArg(0)
	if !ok || !ok1 || elem == nil {
		return nil
	}
	name := title(t) + "<" + elem.Name() + ">"
	counted, size, known := b.elem(o, "pn", "pi_")
	if block != 0 && !known {
		return b.pointing(o, name, &ptr, depth)
	}
	if block != 0 { // the counts are where counts expects them, unless a mutex is in front of them
		at := Object{Type: counted, Mem: true, Addr: block, Size: size}
		use, ok := b.member(&at, "use_count_")
		weak, ok1 := b.member(&at, "weak_count_")
		if !ok || !ok1 || use.Size != 4 || use.Addr != block+b.word() || weak.Addr != use.Addr+4 {
			return b.pointing(o, name, &ptr, depth)
		}
	}
	return b.pointing(o, name+" "+b.counts(block), &ptr, depth)
}

func boostPtr(b *builder, o *Object, t *types.Type, depth int) *Value {
	ptr, ok := b.member(o, "px")
	if elem := t.TypeArg(0); ok && elem != nil {
		return b.pointing(o, title(t)+"<"+elem.Name()+">", &ptr, depth)
	}
	return nil
}

func boostArray(b *builder, o *Object, t *types.Type, depth int) *Value {
	return b.inner(o, "elems", depth)
}

// boostRing prints a ring: elements from m_first on, which go on at m_buff after m_end.
func boostRing(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, size, ok := b.elem(o, "m_buff")
	buff, ok1 := b.num(o, "m_buff")
	end, ok2 := b.num(o, "m_end")
	at, ok3 := b.num(o, "m_first")
	n, ok4 := b.num(o, "m_size")
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || size == 0 {
		return nil
	}
	room := (end - buff) / size
	if end < buff || n > room || room > maxLength || n > 0 && (at < buff || at >= end || (at-buff)%size != 0) {
		return badLength(o.Type, n)
	}
	text := fmt.Sprintf("%s of length %d, capacity %d", title(t), n, room)
	return b.sequence(b.roomy(b.text(o, text), n, room), elem, n, depth, func() (uint64, bool) {
		here := at
		if at += size; at >= end {
			at = buff
		}
		return here, true
	})
}

// boostBits prints the bits of a dynamic_bitset, the highest first as to_string does.
func boostBits(b *builder, o *Object, t *types.Type, depth int) *Value {
	blocks, ok := b.path(o, "m_bits", "_M_impl")
	n, ok1 := b.num(o, "m_num_bits")
	_, size, ok2 := b.elem(&blocks, "_M_start")
	first, ok3 := b.num(&blocks, "_M_start")
	last, ok4 := b.num(&blocks, "_M_finish")
	switch {
	case !ok || !ok1 || !ok2 || !ok3 || !ok4 || size == 0 || size > 8:
		return nil
	case last < first || n > maxLength || n > 8*(last-first):
		return badLength(o.Type, n)
	}
	shown := min(n, uint64(b.opts.MaxString))
	text := make([]byte, 0, shown)
	for i := range shown {
		bit := n - 1 - i
		word, err := b.p.Int(first+bit/(8*size)*size, int(size), false)
		if err != nil {
			return Failed(o.Type, err)
		}
		text = append(text, '0'+byte(word>>(bit%(8*size))&1))
	}
	if n == 0 {
		return b.text(o, "empty "+title(t))
	}
	return b.bitText(o, text, n)
}

// mapped returns the type of the elements of a set or a map, the pairs of which its allocator
// names: the last type argument of the class. Compilers may leave the allocator's own argument
// to its base class.
func (b *builder) mapped(t *types.Type) *types.Type {
	if !mapType(t.BareName) {
		return t.TypeArg(0)
	}
	var last *types.Type
	for i := 0; i < 8 && t.TypeArg(i) != nil; i++ {
		last = t.TypeArg(i)
	}
	for range 3 {
		if last == nil {
			break
		}
		at := last.Strip()
		if elem := at.TypeArg(0); elem != nil && strings.HasPrefix(elem.Strip().BareName, "pair<") {
			return elem
		}
		m := at.Members()
		if len(m.Fields) != 1 || !m.Fields[0].Base {
			break
		}
		last = b.p.Types.Of(m.Fields[0].Type)
	}
	return nil
}

// boostHash prints a hash table of Boost before 1.80. All nodes are in one list, which begins in
// the bucket after the last. A node has the address of the next, its bucket and the element.
func boostHash(b *builder, o *Object, t *types.Type, depth int) *Value {
	table, ok := b.member(o, "table_")
	n, ok1 := b.num(&table, "size_")
	count, ok2 := b.num(&table, "bucket_count_")
	bucket, size, ok3 := b.elem(&table, "buckets_")
	buckets, ok4 := b.num(&table, "buckets_")
	elem := b.mapped(t)
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || elem == nil || bucket.Strip().BareName != "ptr_bucket" {
		return nil
	}
	first := uint64(0)
	if n > maxLength || count > maxLength || n > 0 && buckets == 0 {
		return badLength(o.Type, max(n, count))
	}
	if n > 0 {
		var err error
		if first, err = b.p.Memory.ReadWord(buckets + count*size); err != nil {
			return Failed(o.Type, unknown.Reason(err))
		}
	}
	return pairs(b.hashed(o, t, elem, n, first, AlignUp(2*b.word(), b.align(elem)), depth), t)
}

// boostGroupedHash prints a hash table of Boost from 1.80 on: an array of buckets, each the
// address of a chain of nodes.
func boostGroupedHash(b *builder, o *Object, t *types.Type, depth int) *Value {
	table, ok := b.member(o, "table_")
	n, ok1 := b.num(&table, "size_")
	array, ok2 := b.member(&table, "buckets_")
	count, ok3 := b.num(&array, "size_")
	bucket, size, ok4 := b.elem(&array, "buckets")
	buckets, ok5 := b.num(&array, "buckets")
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || size != b.word() {
		return nil
	}
	if n > maxLength || count > maxLength {
		return badLength(o.Type, max(n, count))
	}
	first := Object{Type: bucket, Mem: true, Addr: buckets, Size: size}
	node, _, ok := b.elem(&first, "next")
	if !ok {
		return nil
	}
	elem := node.Strip().TypeArg(0)
	at, err := b.inMemory(node, 0)
	buf, ok1 := b.member(&at, "buf")
	link, ok2 := b.member(&at, "next")
	if elem == nil || err != nil || !ok1 || !ok2 || link.Addr != 0 {
		return nil
	}
	s := scan{b: b, at: buckets, left: count, size: size}
	here := uint64(0)
	v := b.sequence(b.elementsText(o, title(t), n), elem, n, depth, func() (uint64, bool) {
		if here != 0 {
			here, _ = b.p.Memory.ReadWord(here)
		}
		for here == 0 {
			slot, ok := s.next()
			if !ok {
				return 0, false
			}
			here = types.Uint(slot, b.p.Arch.Big())
		}
		return here + buf.Addr, true
	})
	return pairs(v, t)
}

// boostFlatHash prints a table with open addressing (from 1.81 on): groups of 15 elements, each
// with 16 bytes that say which of them are in use. A byte of 0 is free, 1 is the end of the
// table. Processors without vectors have other groups, which are not read.
func boostFlatHash(b *builder, o *Object, t *types.Type, depth int) *Value {
	table, ok := b.member(o, "table_")
	if !ok {
		return nil
	}
	arrays, ok := b.member(&table, "arrays")
	n, ok1 := b.num(&table, "size_")
	if !ok1 { // from 1.84 on
		n, ok1 = b.num(&table, "size_ctrl", "size")
	}
	mask, ok2 := b.num(&arrays, "groups_size_mask")
	group, groups, ok3 := b.eitherElem(&arrays, "groups", "groups_")
	elem, elements, ok4 := b.eitherElem(&arrays, "elements", "elements_")
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 {
		return nil
	}
	at, err := b.inMemory(group, 0)
	m, ok := b.member(&at, "m")
	size, err1 := b.sizeOf(elem)
	switch {
	case err != nil || err1 != nil || !ok || at.Size != 16 || m.Size != 16 || size == 0:
		return nil
	case !m.Type.Strip().Vector && m.Type.Strip().Target().Size() != 1:
		return nil
	case n > maxLength || mask > maxLength:
		return badLength(o.Type, max(n, mask))
	}
	s := scan{b: b, at: groups, left: 16 * (mask + 1), size: 1}
	i := uint64(0)
	v := b.sequence(b.elementsText(o, title(t), n), elem, n, depth, func() (uint64, bool) {
		for {
			slot, ok := s.next()
			if !ok {
				return 0, false
			}
			here := i
			i++
			if here%16 != 15 && slot[0] > 1 {
				return elements + (here/16*15+here%16)*size, true
			}
		}
	})
	return pairs(v, t)
}

// eitherElem returns the type and the address in the first member with one of the names, a
// pointer.
func (b *builder) eitherElem(o *Object, names ...string) (*types.Type, uint64, bool) {
	for _, name := range names {
		if elem, _, ok := b.elem(o, name); ok {
			addr, ok := b.num(o, name)
			return elem, addr, ok
		}
	}
	return nil, 0, false
}
