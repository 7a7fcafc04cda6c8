package beam

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// An element is a part of a value.
type element struct{ key, value uint64 }

// elements lists the parts of a list, a tuple or a map, at most limit, and the rest of a list that does not end with []. It is not whole if there are more.
func (r *runtime) elements(t term, limit int) (list []element, rest uint64, whole bool) {
	switch t.shape {
	case shapeList:
		for t.shape == shapeList {
			words, ok := r.Words(t.at, 2)
			if !ok || len(list) >= limit {
				return list, tagNil, false
			}
			list = append(list, element{value: words[0]})
			rest = words[1]
			t = r.term(rest)
		}
		return list, rest, t.shape != shapeNone
	case shapeTuple:
		n := min(t.size(), uint64(limit))
		words, ok := r.Words(t.at+8, int(n))
		for _, w := range words {
			list = append(list, element{value: w})
		}
		return list, tagNil, ok && n == t.size()
	case shapeMap:
		return r.pairs(t, limit)
	}
	return nil, tagNil, true
}

// Types of maps and of the parts of large ones: the lowest bits of the size that their header has.
const (
	mapFlat    = 0
	mapNode    = 1 // a part: a word for each bit
	mapArray   = 2 // the first part, with 16 words
	mapBitmap  = 3 // the first part, with a word for each bit
	mapFull    = 16
	mapBits    = 10 // of the size, behind which the bits are
	maxMapSize = 1 << 28
	maxNodes   = 1 << 12 // parts of a map that are looked at
)

// pairs lists keys and values of a map.
func (r *runtime) pairs(t term, limit int) (list []element, rest uint64, whole bool) {
	rest = tagNil
	if t.size()&3 == mapFlat {
		head, ok := r.Words(t.at+8, 2)
		if !ok || head[0] > maxMapSize {
			return nil, rest, false
		}
		keys := r.term(head[1])
		n := min(head[0], uint64(limit))
		if head[0] > 0 && (keys.shape != shapeTuple || keys.size() != head[0]) {
			return nil, rest, false
		}
		names, ok1 := r.Words(keys.at+8, int(n))
		values, ok2 := r.Words(t.at+24, int(n))
		if n > 0 && (!ok1 || !ok2) {
			return nil, rest, false
		}
		for i := range int(n) {
			list = append(list, element{names[i], values[i]})
		}
		return list, rest, n == head[0]
	}
	nodes := []term{t}
	for n := 0; len(nodes) > 0; n++ {
		if n > maxNodes {
			return list, rest, false
		}
		node := nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
		from, count := node.at+8, uint64(0)
		switch {
		case node.shape == shapeTuple: // of pairs whose keys look alike
			count = min(node.size(), mapFull)
		case node.size()&3 == mapArray:
			from, count = from+8, mapFull
		default:
			count = uint64(bits.OnesCount16(uint16(node.size() >> mapBits)))
			if node.size()&3 == mapBitmap {
				from += 8
			}
		}
		words, ok := r.Words(from, int(count))
		if !ok || r.p.Spend(4) != nil {
			return list, rest, false
		}
		for _, w := range slices.Backward(words) {
			switch c := r.term(w); c.shape {
			case shapeList:
				pair, ok := r.Words(c.at, 2)
				if !ok || len(list) >= limit {
					return list, rest, false
				}
				list = append(list, element{pair[0], pair[1]})
			case shapeMap, shapeTuple:
				if len(nodes) > mapFull*mapFull || c.shape == shapeMap && c.size()&3 != mapNode {
					return list, rest, false
				}
				nodes = append(nodes, c)
			default:
				return list, rest, false
			}
		}
	}
	return list, rest, true
}

// A treeBuilder makes the tree of a value.
type treeBuilder struct {
	r     *runtime
	most  tasks.Limits
	all   int
	parts int
	seen  []uint64
}

// tree reads a value with its parts.
func (r *runtime) tree(v uint64, limits tasks.Limits) report.Data {
	b := treeBuilder{r: r, most: limits.Or(tasks.Limits{Elements: remote.TreeElements, String: maxText, Depth: remote.TreeDepth}), all: limits.Parts(remote.TreeParts)}
	return b.value(v)
}

func (b *treeBuilder) value(v uint64) report.Data {
	r := b.r
	if b.parts++; b.parts > b.all || r.p.Spend(4) != nil {
		b.parts = b.all // nothing more is read
		return report.Data{Kind: "text", Text: "...", Truncated: true}
	}
	t := r.term(v)
	kind, typ := t.kind()
	out := report.Data{Kind: kind, Type: typ}
	if t.at != 0 {
		out.Address = report.Addr(t.at)
	}
	if s, ok := r.scalar(t, b.most.String); ok {
		out.Text = s
		if t.shape == shapeList {
			out.Kind = "string"
		}
		out.Truncated = strings.HasSuffix(strings.TrimSuffix(s, ">>"), "...")
		return out
	}
	if len(b.seen) >= b.most.Depth || slices.Contains(b.seen, v) {
		out.Text, out.Truncated = "...", true
		return out
	}
	b.seen = append(b.seen, v)
	list, rest, whole := r.elements(t, b.most.At(len(b.seen)-1))
	if rest != tagNil {
		list = append(list, element{value: rest})
	}
	for i, e := range list {
		if b.parts >= b.all {
			whole = false
			break
		}
		part := report.Child{}
		switch {
		case t.shape == shapeMap:
			kind, typ := r.term(e.key).kind()
			part.Key = &report.Data{Kind: kind, Type: typ, Text: r.show(e.key, tasks.Limits{Elements: 3, String: maxText, Depth: 1})}
		case rest != tagNil && i == len(list)-1:
			part.Name = "tail"
		}
		part.Data = b.value(e.value)
		out.Children = append(out.Children, part)
	}
	out.Truncated = !whole
	b.seen = b.seen[:len(b.seen)-1]
	return out
}

// A printer writes a value in one line.
type printer struct {
	strings.Builder
	r     *runtime
	most  tasks.Limits
	all   int
	parts int
	depth int
}

// show writes a value in one line, as Erlang does.
func (r *runtime) show(v uint64, limits tasks.Limits) string {
	w := printer{r: r, most: limits.Or(tasks.Limits{Elements: maxElements, String: maxText, Depth: maxNested}), all: limits.Parts(maxParts)}
	w.value(v)
	return w.String()
}

func (w *printer) value(v uint64) {
	if w.parts++; w.parts > w.all || w.r.p.Spend(2) != nil {
		w.parts = w.all
		w.WriteString("...")
		return
	}
	t := w.r.term(v)
	if s, ok := w.r.scalar(t, w.most.String); ok {
		w.WriteString(s)
		return
	}
	opens, closes := "[", "]"
	switch t.shape {
	case shapeTuple:
		opens, closes = "{", "}"
	case shapeMap:
		opens, closes = "#{", "}"
	}
	w.WriteString(opens)
	defer w.WriteString(closes)
	if w.depth >= w.most.Depth {
		w.WriteString("...")
		return
	}
	w.depth++
	list, rest, whole := w.r.elements(t, w.most.At(w.depth-1))
	for i, e := range list {
		if i > 0 {
			w.WriteByte(',')
		}
		if w.parts >= w.all {
			whole, rest = false, tagNil
			break
		}
		if t.shape == shapeMap {
			w.value(e.key)
			w.WriteString(" => ")
		}
		w.value(e.value)
	}
	switch {
	case !whole && len(list) > 0 && w.parts < w.all:
		w.WriteString(",...")
	case !whole:
		w.WriteString("...")
	case rest != tagNil:
		w.WriteByte('|')
		w.value(rest)
	}
	w.depth--
}

// ValueAt implements tasks.Valuer: the list, tuple, map or binary at an address.
func (r *runtime) ValueAt(at uint64, limits tasks.Limits) (report.Data, bool) {
	if t := r.term(at | tagBoxed); at%8 == 0 && t.shape != shapeNone {
		return r.tree(at|tagBoxed, limits), true
	}
	return report.Data{}, false
}
