package values

import "github.com/corewalk/corewalk/internal/vars/types"

// Maps and sets of libstdc++.

func stdTree(b *builder, o *Object, t *types.Type, depth int) *Value {
	tree, ok := b.member(o, "_M_t")
	if !ok {
		return nil
	}
	impl, ok := b.member(&tree, "_M_impl")
	elem := tree.Type.Strip().TypeArg(1)
	n, ok2 := b.num(&impl, "_M_node_count")
	at, ok3 := b.num(&impl, "_M_header", "_M_left")
	if !ok || !ok2 || !ok3 || elem == nil {
		return nil
	}
	// A node has its colour, the addresses of its neighbours and the element.
	w := b.word()
	node := treeNode{parent: w, left: 2 * w, right: 3 * w, value: AlignUp(4*w, b.align(elem))}
	return pairs(b.tree(o, t, elem, n, at, node, depth), t)
}

func stdHash(b *builder, o *Object, t *types.Type, depth int) *Value {
	table, ok := b.member(o, "_M_h")
	if !ok {
		return nil
	}
	elem := table.Type.Strip().TypeArg(1)
	n, ok := b.num(&table, "_M_element_count")
	at, ok2 := b.num(&table, "_M_before_begin", "_M_nxt")
	if elem == nil || !ok || !ok2 {
		return nil
	}
	return pairs(b.hashed(o, t, elem, n, at, AlignUp(b.word(), b.align(elem)), depth), t)
}
