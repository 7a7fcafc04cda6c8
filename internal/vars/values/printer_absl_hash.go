package values

import (
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Hash tables and B-trees of Abseil.

// abslHash prints a table with open addressing: an array of control bytes, of which those of
// slots in use are not negative, and an array of slots. After the bytes of all slots there is
// one of -1. The slots of node_hash_map and node_hash_set are pointers to the elements.
func abslHash(b *builder, o *Object, t *types.Type, depth int) *Value {
	control, ctrl, ok := b.eitherElem(o, "ctrl_", "control_")
	slots, ok1 := b.num(o, "slots_")
	n, ok2 := b.num(o, "size_")
	capacity, ok3 := b.num(o, "capacity_")
	elem := b.mapped(t)
	if !ok || !ok1 || !ok2 || !ok3 || elem == nil {
		return nil
	}
	size, err := b.sizeOf(elem)
	nodes := t.BareName[0] == 'n'
	if nodes {
		size = b.word()
	}
	if err != nil {
		return nil
	}
	if typed, slot, ok := b.elem(o, "slots_"); ok && typed.Tag != 0 && slot != size {
		return nil
	}
	if n>>1 > capacity || n > 1 && capacity == 0 || capacity&(capacity+1) != 0 || capacity > maxLength {
		return badLength(o.Type, max(n, capacity))
	}
	if capacity > 0 {
		used, v := b.slotsInUse(o, control, ctrl, capacity)
		if v != nil {
			return v
		}
		// Since 2023, when the bytes got another name, the lowest bit of the size is a flag.
		if _, old := b.member(o, "ctrl_"); used != n && (old || used != n>>1) {
			return badLength(o.Type, n)
		}
		n = used
	}
	n = min(n, capacity)
	s := scan{b: b, at: ctrl, left: capacity, size: 1}
	i := uint64(0)
	v := b.sequence(b.elementsText(o, title(t), n), elem, n, depth, func() (uint64, bool) {
		for {
			c, ok := s.next()
			if !ok {
				return 0, false
			}
			slot := slots + i*size
			i++
			if int8(c[0]) < 0 {
				continue
			}
			if nodes {
				if slot, err = b.p.Memory.ReadWord(slot); err != nil {
					return 0, false
				}
			}
			return slot, true
		}
	})
	return pairs(v, t)
}

// slotsInUse counts the control bytes that are not negative. If they are not those of a table it
// returns what to show instead.
func (b *builder) slotsInUse(o *Object, control *types.Type, ctrl, capacity uint64) (uint64, *Value) {
	used := uint64(0)
	s := scan{b: b, at: ctrl, left: capacity + 1, size: 1}
	for i := range capacity + 1 {
		c, ok := s.next()
		switch {
		case !ok && b.scanned > maxScan:
			return 0, Failed(o.Type, unknown.ErrLimit)
		case !ok:
			v := b.read(control, ctrl+i, 0)
			v.typ = o.Type
			return 0, v
		case i == capacity && c[0] != 0xff:
			return 0, badLength(o.Type, capacity)
		case int8(c[0]) >= 0:
			used++
		}
	}
	return used, nil
}

// A btree is the layout of the nodes of a B-tree: the address of the parent; the position in
// the parent, 0, the number of elements and the room for them, which is 0 in nodes with
// children; elements; and the addresses of children.
type btree struct {
	b        *builder
	field    int    // size of the four numbers
	values   uint64 // offset of the elements
	size     uint64 // of an element
	slots    uint64 // elements in a node with children
	children uint64 // offset of the first child

	most  int      // elements to find
	found []uint64 // their addresses
}

// abslBTree prints a B-tree in order.
func abslBTree(b *builder, o *Object, t *types.Type, depth int) *Value {
	node, _, ok := b.elem(o, "tree_", "root_")
	root, ok1 := b.num(o, "tree_", "root_")
	n, ok2 := b.num(o, "tree_", "size_")
	elem := b.mapped(t)
	if !ok || !ok1 || !ok2 || elem == nil {
		return nil
	}
	params := node.Strip().TypeArg(0)
	size, err := b.sizeOf(elem)
	if params == nil || err != nil || size == 0 {
		return nil
	}
	target := uint64(0)
	for _, a := range params.Strip().Members().Templates {
		if a.Has && target == 0 {
			target = a.Val.U
		}
	}
	tree := btree{b: b, field: 1, size: size, most: b.opts.MaxElements + 1}
	w := b.word()
	if target <= 2*w || target > maxLength {
		return nil
	}
	if (target-2*w)/size > 255 {
		tree.field = 2
	}
	tree.values = AlignUp(w+4*uint64(tree.field), b.align(elem))
	tree.slots = 4
	if target > tree.values {
		tree.slots = max(4, (target-tree.values)/size)
	}
	tree.children = AlignUp(tree.values+tree.slots*size, w)
	if n > maxLength {
		return badLength(o.Type, n)
	}
	if n > 0 {
		tree.walk(root, 0)
	}
	i := 0
	v := b.sequence(b.elementsText(o, title(t), n), elem, n, depth, func() (uint64, bool) {
		if i++; i > len(tree.found) {
			return 0, false
		}
		return tree.found[i-1], true
	})
	return pairs(v, t)
}

// walk finds the elements in the node at an address and below it. It returns false where it
// finds no node, and when it has found enough.
func (t *btree) walk(node uint64, depth int) bool {
	w := t.b.word()
	var head [4]uint64 // position, start, finish, room
	for i := range head {
		var err error
		if head[i], err = t.b.p.Int(node+w+uint64(i*t.field), t.field, false); err != nil {
			return false
		}
	}
	n, leaf := head[2], head[3] != 0
	if head[1] != 0 || n == 0 || n > t.slots || leaf && n > head[3] || depth > 64 {
		return false
	}
	for i := range n + 1 {
		if !leaf && !t.child(node, i, depth) {
			return false
		}
		if i < n {
			if len(t.found) >= t.most {
				return false
			}
			t.found = append(t.found, node+t.values+i*t.size)
		}
	}
	return true
}

// child walks below child i of a node, which must name the node and its position in it.
func (t *btree) child(node, i uint64, depth int) bool {
	w := t.b.word()
	at, err := t.b.p.Memory.ReadWord(node + t.children + i*w)
	if err != nil {
		return false
	}
	parent, err := t.b.p.Memory.ReadWord(at)
	position, err1 := t.b.p.Int(at+w, t.field, false)
	return err == nil && err1 == nil && parent == node && position == i && t.walk(at, depth+1)
}
