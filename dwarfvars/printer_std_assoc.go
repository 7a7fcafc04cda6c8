package dwarfvars

import (
	"fmt"
	"strings"
)

// Maps and sets of libstdc++.

// title is the name of a container without its template arguments.
func title(t *Type) string {
	name, _, _ := strings.Cut(t.name, "<")
	return "std::" + name
}

// Layout of a node of a red-black tree: colour, parent, left, right, element.
const (
	treeParent = 8
	treeLeft   = 16
	treeRight  = 24
	treeValue  = 32
)

func stdTree(b *builder, o *object, t *Type, depth int) *Value {
	tree, ok := b.member(o, "_M_t")
	if !ok {
		return nil
	}
	impl, ok := b.member(&tree, "_M_impl")
	elem := tree.typ.strip().typeArg(1)
	n, ok2 := b.num(&impl, "_M_node_count")
	at, ok3 := b.num(&impl, "_M_header", "_M_left")
	if !ok || !ok2 || !ok3 || elem == nil {
		return nil
	}
	v := b.text(o, fmt.Sprintf("%s with %d element%s", title(t), n, plural(n)))
	off := up(treeValue, b.align(elem))
	first := true
	b.sequence(v, elem, n, depth, func() (uint64, bool) {
		if !first {
			var ok bool
			if at, ok = b.following(at, treeLeft, treeRight, treeParent); !ok {
				return 0, false
			}
		}
		first = false
		return at + off, true
	})
	pairs(v, t)
	return v
}

// maxTreeDepth bounds the way from one node of a tree to the next.
const maxTreeDepth = 128

// following goes from one node of a tree to the next in order; the offsets are
// those of its neighbours' addresses.
func (b *builder) following(at, toLeft, toRight, toParent uint64) (uint64, bool) {
	right, err := b.r.proc.ReadWord(at + toRight)
	if err != nil {
		return 0, false
	}
	if right != 0 {
		for range maxTreeDepth {
			left, err := b.r.proc.ReadWord(right + toLeft)
			if err != nil {
				return 0, false
			}
			if left == 0 {
				return right, true
			}
			right = left
		}
		return 0, false
	}
	for range maxTreeDepth {
		up, err := b.r.proc.ReadWord(at + toParent)
		if err != nil {
			return 0, false
		}
		left, err := b.r.proc.ReadWord(up + toLeft)
		if err != nil {
			return 0, false
		}
		if left == at {
			return up, true
		}
		at = up
	}
	return 0, false
}

// pairs makes the elements of a map into keys and values.
func pairs(v *Value, t *Type) {
	if !strings.Contains(t.name, "map") {
		return
	}
	for i := range v.Parts {
		if el := v.Parts[i].Value; el.Compound && len(el.Parts) >= 2 && el.Err == nil {
			n := len(el.Parts)
			v.Parts[i].Key, v.Parts[i].Value = el.Parts[n-2].Value, el.Parts[n-1].Value
		}
	}
}

func stdHash(b *builder, o *object, t *Type, depth int) *Value {
	table, ok := b.member(o, "_M_h")
	if !ok {
		return nil
	}
	elem := table.typ.strip().typeArg(1)
	n, ok := b.num(&table, "_M_element_count")
	at, ok2 := b.num(&table, "_M_before_begin", "_M_nxt")
	if elem == nil || !ok || !ok2 {
		return nil
	}
	v := b.text(o, fmt.Sprintf("%s with %d element%s", title(t), n, plural(n)))
	off := up(8, b.align(elem))
	b.sequence(v, elem, n, depth, func() (uint64, bool) {
		if at == 0 {
			return 0, false
		}
		here := at
		at, _ = b.r.proc.ReadWord(at)
		return here + off, true
	})
	pairs(v, t)
	return v
}
