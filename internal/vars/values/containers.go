package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Walks over the containers of the C++ libraries. The printers of each library know where a
// container begins and the layout of its nodes.

// title returns the name of a container without its template arguments, as programs write it:
// "std::map", "boost::unordered_map".
func title(t *types.Type) string {
	name, _, _ := strings.Cut(t.BareName, "<")
	if full := plainName(t); !strings.HasPrefix(full, "std::") {
		return strings.Replace(full, "::unordered::", "::", 1)
	}
	return "std::" + name
}

func plural(n uint64) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// AlignUp rounds n up to a multiple of align.
func AlignUp(n, align uint64) uint64 { return (n + align - 1) / align * align }

// word returns the size of an address in bytes.
func (b *builder) word() uint64 { return uint64(b.p.Arch.WordSize) }

// elementsText returns a value with the text before the elements of a container.
func (b *builder) elementsText(o *Object, name string, n uint64) *Value {
	return b.counted(b.text(o, fmt.Sprintf("%s with %d element%s", name, n, plural(n))), n)
}

// vector reads the elements between the addresses first and last. The vector's storage reaches to
// end.
func (b *builder) vector(o *Object, elem *types.Type, size, first, last, end uint64, depth int) *Value {
	n, room := (last-first)/size, (end-first)/size
	switch {
	case int64(last-first) < 0 || end < last:
		return badLength(o.Type, uint64(int64(last-first)/int64(size)))
	case room > maxLength:
		return badLength(o.Type, room)
	}
	return b.run(b.roomy(b.text(o, fmt.Sprintf("std::vector of length %d, capacity %d", n, room)), n, room), elem, first, n, depth)
}

// bits reads the n packed elements of a std::vector<bool> whose storage begins at first.
func (b *builder) bits(o *Object, first, n, room uint64) *Value {
	if n > room || room > maxLength {
		return badLength(o.Type, max(n, room))
	}
	v := b.roomy(b.text(o, fmt.Sprintf("std::vector<bool> of length %d, capacity %d", n, room)), n, room)
	v.Compound = true
	for i := range min(n, uint64(b.opts.MaxElements)) {
		word, err := b.p.Int(first+i/8, 1, false)
		if err != nil {
			return Failed(v.typ, err)
		}
		v.Parts = append(v.Parts, Part{Value: &Value{Text: fmt.Sprint(word>>(i%8)&1 == 1)}})
	}
	v.More = n > uint64(len(v.Parts))
	return v
}

// inner reads the one member that has all elements, such as the array of a std::array.
func (b *builder) inner(o *Object, name string, depth int) *Value {
	p, ok := b.member(o, name)
	if !ok {
		return nil
	}
	v := b.value(&p, depth)
	v.typ = o.Type
	return v
}

// chain walks a linked list from the node first to end, the address of a node or 0. A node has
// the address of the next at offset link, and its element at offset off.
func (b *builder) chain(o *Object, name string, elem *types.Type, first, end, link, off uint64, depth int) *Value {
	var nodes []uint64
	more := false
	for at := first; at != end && at != 0; {
		if len(nodes) > b.opts.MaxElements {
			more = true
			break
		}
		nodes = append(nodes, at)
		next, err := b.p.Memory.ReadWord(at + link)
		if more = err != nil || next == 0 && end != 0; more { // lost, or damaged
			break
		}
		at = next
	}
	if len(nodes) == 0 {
		return b.counted(b.text(o, "empty "+name), 0)
	}
	text := fmt.Sprintf("%s of length %d", name, len(nodes))
	if more {
		text = fmt.Sprintf("%s of length %d or more", name, len(nodes))
	}
	i := 0
	v := b.text(o, text)
	if !more {
		b.counted(v, uint64(len(nodes)))
	}
	return b.sequence(v, elem, uint64(len(nodes)), depth, func() (uint64, bool) {
		i++
		return nodes[i-1] + off, true
	})
}

// hashed walks the n nodes of a hash table. Each node begins with the address of the next, and
// has its element at offset off.
func (b *builder) hashed(o *Object, t, elem *types.Type, n, first, off uint64, depth int) *Value {
	at := first
	return b.sequence(b.elementsText(o, title(t), n), elem, n, depth, func() (uint64, bool) {
		if at == 0 {
			return 0, false
		}
		here := at
		at, _ = b.p.Memory.ReadWord(at)
		return here + off, true
	})
}

// A treeNode is the layout of a node of a binary tree: the offsets of the addresses of its
// neighbours, and of the element.
type treeNode struct{ left, right, parent, value uint64 }

// tree walks n nodes of a binary tree in order, beginning with the node at first.
func (b *builder) tree(o *Object, t, elem *types.Type, n, first uint64, node treeNode, depth int) *Value {
	at, begun := first, false
	return b.sequence(b.elementsText(o, title(t), n), elem, n, depth, func() (uint64, bool) {
		if begun {
			var ok bool
			if at, ok = b.following(at, &node); !ok {
				return 0, false
			}
		}
		begun = true
		return at + node.value, true
	})
}

// maxTreeDepth is the largest number of steps from one node of a tree to the next.
const maxTreeDepth = 128

// following returns the next node of a tree in order.
func (b *builder) following(at uint64, node *treeNode) (uint64, bool) {
	right, err := b.p.Memory.ReadWord(at + node.right)
	if err != nil {
		return 0, false
	}
	if right != 0 {
		for range maxTreeDepth {
			left, err := b.p.Memory.ReadWord(right + node.left)
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
		up, err := b.p.Memory.ReadWord(at + node.parent)
		if err != nil {
			return 0, false
		}
		left, err := b.p.Memory.ReadWord(up + node.left)
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

// pairs splits the elements of a map into keys and values. Some libraries wrap each pair in a
// class.
func pairs(v *Value, t *types.Type) *Value {
	if v == nil || !mapType(t.BareName) {
		return v
	}
	for i := range v.Parts {
		p := &v.Parts[i]
		if el := p.Value; el.Compound && len(el.Parts) == 1 && el.Err == nil {
			p.Value = el.Parts[0].Value
		}
		if el := p.Value; el.Compound && len(el.Parts) >= 2 && el.Err == nil {
			n := len(el.Parts)
			p.Key, p.Value = el.Parts[n-2].Value, el.Parts[n-1].Value
		}
	}
	return v
}

// stdAdapter prints a stack or a queue of libstdc++ or libc++.
func stdAdapter(b *builder, o *Object, t *types.Type, depth int) *Value {
	v := b.inner(o, "c", depth)
	if v != nil {
		v.Text = title(t) + " wrapping: " + v.Text
	}
	return v
}
