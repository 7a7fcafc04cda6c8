package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Classes of libc++ from LLVM 14 to 20, with the layouts of its ABI version 1. Until LLVM 20,
// members that may be empty are in a __compressed_pair.

// libcxxClass returns the printer for a class of libc++.
func libcxxClass(name string) printer {
	switch name {
	case "basic_string":
		return cxxString
	case "basic_string_view", "initializer_list", "span":
		return cxxView
	case "vector":
		return cxxVector
	case "array":
		return cxxArray
	case "deque":
		return cxxDeque
	case "list":
		return cxxList
	case "forward_list":
		return cxxForwardList
	case "map", "multimap", "set", "multiset":
		return cxxTree
	case "unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset":
		return cxxHash
	case "optional":
		return cxxOptional
	case "variant":
		return cxxVariant
	case "tuple":
		return cxxTuple
	case "unique_ptr":
		return cxxUniquePtr
	case "shared_ptr", "weak_ptr":
		return cxxSharedPtr
	case "function":
		return cxxFunction
	case "stack", "queue", "priority_queue":
		return stdAdapter
	case "any":
		return cxxAny
	case "__fs::filesystem::path":
		return stdPath
	}
	p, _ := wrapperClass(name)
	return p
}

// first returns the first member of o that has one of the names, taken out of its compressed
// pair.
func (b *builder) first(o *Object, names ...string) (Object, bool) {
	for _, n := range names {
		p, ok := b.member(o, n)
		if !ok {
			continue
		}
		if strings.HasPrefix(p.Type.Strip().BareName, "__compressed_pair") {
			return b.member(&p, "__value_")
		}
		return p, true
	}
	return Object{}, false
}

// firstNum reads the number in the first member of o that has one of the names.
func (b *builder) firstNum(o *Object, names ...string) (uint64, bool) {
	p, ok := b.first(o, names...)
	if !ok || p.Size == 0 || p.Size > 8 || p.Type.Strip().Aggregate() {
		return 0, false
	}
	v, err := b.uint(&p, false)
	return v, err == nil
}

// cxxString prints a string. Short strings are in the object itself.
func cxxString(b *builder, o *Object, t *types.Type, depth int) *Value {
	rep, ok := b.first(o, "__r_", "__rep_")
	elem := t.TypeArg(0)
	if !ok || elem == nil {
		return nil
	}
	long, ok := b.num(&rep, "__s", "__is_long_")
	inByte := uint64(0) // how far the length of a short string is from the least bit
	if !ok {
		if long, inByte, ok = b.cxxMarked(&rep); !ok {
			return nil
		}
	}
	if long != 0 {
		n, ok := b.num(&rep, "__l", "__size_")
		addr, ok2 := b.num(&rep, "__l", "__data_")
		if !ok || !ok2 {
			return nil
		}
		return b.lengthText(o, elem, addr, n)
	}
	n, ok := b.num(&rep, "__s", "__size_")
	data, ok2 := b.path(&rep, "__s", "__data_")
	size, _ := elem.Char()
	n >>= inByte
	if !ok || !ok2 || n*size > data.Size {
		return nil
	}
	shown := min(n, uint64(b.opts.MaxString))
	raw, err := b.p.Bytes(&data, 0, shown*size)
	if err != nil {
		return Failed(o.Type, err)
	}
	return b.stringValue(o, elem, raw, shown < n)
}

// cxxMarked reports of a string of LLVM 14 whether it is long, which a bit in its first byte says, and from which bit of that
// byte on it has the length of a short one. The other layout and other byte order are not known.
func (b *builder) cxxMarked(rep *Object) (long, shift uint64, ok bool) {
	short, ok := b.member(rep, "__s")
	size, ok2 := b.member(&short, "__size_")
	if !ok || !ok2 || b.p.Arch.Big() || size.Size != 1 || size.bits != 0 {
		return 0, 0, false
	}
	first, err := b.p.Bytes(&short, 0, 1)
	data, ok := b.member(&short, "__data_")
	if err != nil || !ok || data.Size >= short.Size && short.Size > 0 || short.Type.Strip().Members().Fields[0].Name == "__data_" {
		return 0, 0, false
	}
	return uint64(first[0] & 1), 1, true
}

func cxxView(b *builder, o *Object, t *types.Type, depth int) *Value {
	for _, names := range [...][2]string{{"__data_", "__size_"}, {"__data", "__size"}, {"__begin_", "__size_"}} {
		elem, _, ok := b.elem(o, names[0])
		addr, ok1 := b.num(o, names[0])
		n, ok2 := b.num(o, names[1])
		switch {
		case !ok || !ok1 || !ok2:
		case strings.HasPrefix(t.BareName, "basic_string_view"):
			return b.lengthText(o, elem, addr, n)
		case n < maxLength:
			return b.run(b.counted(b.text(o, fmt.Sprintf("%s of length %d", title(t), n)), n), elem, addr, n, depth)
		}
	}
	return nil
}

func cxxVector(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, size, ok := b.elem(o, "__begin_")
	first, ok1 := b.num(o, "__begin_")
	if !ok || !ok1 || size == 0 {
		return nil
	}
	if n, ok := b.firstNum(o, "__size_"); ok {
		room, _ := b.firstNum(o, "__cap_alloc_", "__cap_")
		return b.bits(o, first, n, room*8*size)
	}
	last, ok1 := b.num(o, "__end_")
	end, ok2 := b.firstNum(o, "__end_cap_", "__cap_")
	if !ok1 || !ok2 {
		return nil
	}
	return b.vector(o, elem, size, first, last, end, depth)
}

func cxxArray(b *builder, o *Object, t *types.Type, depth int) *Value {
	if n, ok := lastNumber(t); ok && n == 0 { // it has padding for an element
		v := b.counted(b.text(o, ""), 0)
		v.Compound = true
		return v
	}
	return b.inner(o, "__elems_", depth)
}

func cxxDeque(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem := t.TypeArg(0)
	blocks, ok := b.num(o, "__map_", "__begin_")
	start, ok1 := b.num(o, "__start_")
	n, ok2 := b.firstNum(o, "__size_")
	if !ok || !ok1 || !ok2 || elem == nil {
		return nil
	}
	size, err := b.sizeOf(elem)
	if err != nil || size == 0 {
		return nil
	}
	per := uint64(16) // elements in a block
	if size < 256 {
		per = 4096 / size
	}
	return b.sequence(b.elementsText(o, "std::deque", n), elem, n, depth, func() (uint64, bool) {
		block, err := b.p.Memory.ReadWord(blocks + start/per*b.word())
		at := block + start%per*size
		start++
		return at, err == nil
	})
}

func cxxList(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem := t.TypeArg(0)
	head, ok := b.member(o, "__end_")
	if elem == nil || !ok || !head.Mem {
		return nil
	}
	first, ok := b.num(&head, "__next_")
	if !ok {
		return nil
	}
	return b.chain(o, "std::list", elem, first, head.Addr, b.word(), AlignUp(2*b.word(), b.align(elem)), depth)
}

func cxxForwardList(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem := t.TypeArg(0)
	head, ok := b.first(o, "__before_begin_")
	if elem == nil || !ok {
		return nil
	}
	first, ok := b.num(&head, "__next_")
	if !ok {
		return nil
	}
	return b.chain(o, "std::forward_list", elem, first, 0, 0, AlignUp(b.word(), b.align(elem)), depth)
}

func cxxTree(b *builder, o *Object, t *types.Type, depth int) *Value {
	tree, ok := b.member(o, "__tree_")
	if !ok {
		return nil
	}
	elem := tree.Type.Strip().TypeArg(0)
	at, ok := b.num(&tree, "__begin_node_")
	n, ok2 := b.firstNum(&tree, "__pair3_", "__size_")
	if !ok || !ok2 || elem == nil {
		return nil
	}
	// A node has the addresses of its neighbours, its colour and the element, which may be in the
	// padding.
	w := b.word()
	node := treeNode{left: 0, right: w, parent: 2 * w, value: AlignUp(3*w+1, b.align(elem))}
	return pairs(b.tree(o, t, elem, n, at, node, depth), t)
}

func cxxHash(b *builder, o *Object, t *types.Type, depth int) *Value {
	table, ok := b.member(o, "__table_")
	if !ok {
		return nil
	}
	elem := table.Type.Strip().TypeArg(0)
	head, ok := b.first(&table, "__p1_", "__first_node_")
	n, ok2 := b.firstNum(&table, "__p2_", "__size_")
	if elem == nil || !ok || !ok2 {
		return nil
	}
	at, ok := b.num(&head, "__next_")
	if !ok {
		return nil
	}
	// A node has the address of the next, the hash and the element.
	return pairs(b.hashed(o, t, elem, n, at, AlignUp(2*b.word(), b.align(elem)), depth), t)
}
