package values

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Trees of Rust (BTreeMap, BTreeSet). A node has up to eleven keys and values; an inner node has
// the addresses of its children after them.

const maxRustTree = 32 // levels

// A rustNodes collects the addresses of the elements of a tree in order.
type rustNodes struct {
	p                      *Process
	length, keys, vals     uint64 // offsets in a node
	keySize, valSize, edge uint64
	found                  [][2]uint64
	limit                  int
}

func (n *rustNodes) walk(node, height uint64) error {
	count, err := n.p.Int(node+n.length, 2, false)
	if err != nil {
		return err
	}
	if count > 11 || height > maxRustTree {
		return &unknown.Corrupt{Err: unknown.Length(count)}
	}
	for i := range count + 1 {
		if height > 0 {
			child, err := n.p.Memory.ReadWord(node + n.edge + 8*i)
			if err != nil {
				return unknown.Reason(err)
			}
			if err := n.walk(child, height-1); err != nil {
				return err
			}
		}
		if len(n.found) >= n.limit {
			return nil
		}
		if i < count {
			n.found = append(n.found, [2]uint64{node + n.keys + i*n.keySize, node + n.vals + i*n.valSize})
		}
	}
	return nil
}

func rustTree(b *builder, o *Object, t *types.Type, depth int) *Value {
	tree := *o
	set := rustName(t.BareName) == "BTreeSet"
	if set {
		var ok bool
		if tree, ok = b.member(o, "map"); !ok {
			return nil
		}
	}
	n, ok := b.num(&tree, "length")
	switch {
	case !ok:
		return nil
	case n > maxLength:
		return badLength(o.Type, n)
	}
	key, val := tree.Type.Strip().TypeArg(0), tree.Type.Strip().TypeArg(1)
	v := b.counted(b.text(o, fmt.Sprintf("%s(size=%d)", rustName(t.BareName), n)), n)
	v.Compound = true
	if n == 0 || key == nil || val == nil || depth >= b.opts.MaxDepth {
		v.More = n > 0
		return v
	}
	nodes, node, height, ok := b.rustRoot(&tree)
	if !ok {
		return nil
	}
	nodes.keySize, _ = b.sizeOf(key)
	nodes.valSize, _ = b.sizeOf(val)
	nodes.limit = b.opts.MaxElements
	if err := nodes.walk(node, height); err != nil {
		return Failed(o.Type, err)
	}
	for _, at := range nodes.found {
		if !b.take() {
			break
		}
		p := Part{Value: b.read(key, at[0], depth+1)}
		if !set {
			p.Key, p.Value = p.Value, b.read(val, at[1], depth+1)
		}
		v.Parts = append(v.Parts, p)
	}
	v.More = uint64(len(v.Parts)) < n
	return v
}

// rustRoot finds the root of a tree and the layout of its nodes.
func (b *builder) rustRoot(tree *Object) (nodes *rustNodes, node, height uint64, ok bool) {
	root, ok := b.member(tree, "root")
	if !ok || root.Type.Strip().Members().Variant == nil {
		return nil, 0, 0, false
	}
	chosen, err := b.alternative(&root, root.Type.Strip().Members().Variant)
	if err != nil || chosen == nil || len(chosen.Fields) == 0 {
		return nil, 0, 0, false
	}
	some, err := b.field(&root, &chosen.Fields[0])
	if err != nil {
		return nil, 0, 0, false
	}
	height, ok1 := b.num(&some, "__0", "height")
	leaf, _, ok2 := b.elem(&some, "__0", "node", "pointer")
	node, ok3 := b.num(&some, "__0", "node", "pointer")
	if !ok1 || !ok2 || !ok3 {
		return nil, 0, 0, false
	}
	leaf = leaf.Strip()
	nodes = &rustNodes{p: b.p, edge: AlignUp(leaf.ByteSize, 8)}
	for name, at := range map[string]*uint64{"len": &nodes.length, "keys": &nodes.keys, "vals": &nodes.vals} {
		f, ok := fieldNamed(leaf, name)
		if !ok {
			return nil, 0, 0, false
		}
		*at = f.Off
	}
	return nodes, node, height, true
}
