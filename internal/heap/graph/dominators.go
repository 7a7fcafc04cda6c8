package graph

import "context"

// perNode and perEdge are how many bytes Retained takes.
const (
	perNode = 24
	perEdge = 4
)

// Retained computes how many bytes each object keeps alive: its own and those of all objects that are reached through it only (of which it is the
// dominator), and who does that for it: its immediate dominator, None for what several roots reach. It needs Edges. Objects that no root reaches keep
// themselves.
//
// The algorithm is the semi-NCA of Georgiadis: linear but for paths that it compresses.
func (g *Graph) Retained(ctx context.Context) (bytes []uint64, by []Node, err error) {
	if g.outAt == nil {
		return nil, nil, ErrLarge
	}
	if g.bytes()+g.nodes*perNode+g.out.n*perEdge > g.limit {
		return nil, nil, ErrLarge
	}
	n := g.nodes
	// Everything below is by the order in which a search in depth finds objects; number 0 is what stands for all roots.
	vertex := make([]Node, 1, n+1)
	number := make([]uint32, n, n+1) // 0: not reached
	parent := make([]uint32, 1, n+1)
	type frame struct {
		n Node
		e uint32 // its next edge
	}
	var stack []frame
	enter := func(v Node, from uint32) {
		number[v] = uint32(len(vertex))
		vertex = append(vertex, v)
		parent = append(parent, from)
		stack = append(stack, frame{v, g.outAt[v]})
	}
	for _, r := range g.Roots {
		if number[r.To] != 0 {
			continue
		}
		enter(r.To, 0)
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.e == g.outAt[f.n+1] {
				stack = stack[:len(stack)-1]
				continue
			}
			to := g.out.at(f.e)
			f.e++
			if number[to] == 0 {
				enter(to, number[f.n])
			}
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
	}
	stack = nil
	m := len(vertex)
	// Who points at each object, by numbers.
	predAt := make([]uint32, m+1)
	for _, v := range vertex[1:] {
		for i := g.outAt[v]; i < g.outAt[v+1]; i++ {
			predAt[number[g.out.at(i)]]++
		}
	}
	sum := uint32(0)
	for i := range predAt {
		sum, predAt[i] = sum+predAt[i], sum
	}
	pred := make([]uint32, sum)
	for i, v := range vertex[1:] {
		for j := g.outAt[v]; j < g.outAt[v+1]; j++ {
			w := number[g.out.at(j)]
			pred[predAt[w]] = uint32(i + 1)
			predAt[w]++
		}
	}
	for i := m; i > 0; i-- { // each was moved to where the next begins
		predAt[i] = predAt[i-1]
	}
	predAt[0] = 0
	direct := make([]uint64, m/64+1) // that a root points at
	for _, r := range g.Roots {
		w := number[r.To]
		direct[w/64] |= 1 << (w % 64)
	}

	semi := make([]uint32, m)
	label := append(number, 0)[:m] // which is no longer needed
	ancestor := make([]uint32, m)  // parent; compressed
	for i := range semi {
		semi[i], label[i], ancestor[i] = uint32(i), uint32(i), parent[i]
	}
	var path []uint32
	// eval is the object with the least semidominator on the way up from v to last, without it.
	eval := func(v, last uint32) uint32 {
		if ancestor[v] <= last {
			return label[v]
		}
		path = path[:0]
		for u := v; ancestor[u] > last; u = ancestor[u] {
			path = append(path, u)
		}
		for i := len(path) - 1; i >= 0; i-- {
			u := path[i]
			a := ancestor[u]
			if semi[label[a]] < semi[label[u]] {
				label[u] = label[a]
			}
			ancestor[u] = ancestor[a]
		}
		return label[v]
	}
	for w := uint32(m - 1); w > 0; w-- {
		if w%(1<<16) == 0 && ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		s := parent[w]
		if direct[w/64]&(1<<(w%64)) != 0 {
			s = 0
		}
		for _, v := range pred[predAt[w]:predAt[w+1]] {
			if v > w {
				v = semi[eval(v, w)]
			}
			s = min(s, v)
		}
		semi[w] = s
	}
	// The immediate dominator is the first on the way up that is not past the semidominator.
	dom := ancestor
	copy(dom, parent)
	for w := uint32(1); w < uint32(m); w++ {
		d := dom[w]
		for d > semi[w] {
			d = dom[d]
		}
		dom[w] = d
	}
	dropped := 4 * (len(pred) + len(predAt) + len(semi) + len(label) + len(parent))
	pred, predAt, semi, label, number, parent = nil, nil, nil, nil, nil, nil
	collect(dropped)
	bytes, by = make([]uint64, n), make([]Node, n)
	for i := range bytes {
		bytes[i], by[i] = g.Size(Node(i)), None
	}
	for w := uint32(m - 1); w > 0; w-- {
		if d := dom[w]; d != 0 {
			bytes[vertex[d]] += bytes[vertex[w]]
			by[vertex[w]] = vertex[d]
		}
	}
	return bytes, by, nil
}

// RetainedByKind is how many bytes the objects of each kind keep alive together. One that another of its kind keeps alive is in that one's bytes.
// bytes and by are from Retained.
func (g *Graph) RetainedByKind(bytes []uint64, by []Node, kinds int) []uint64 {
	out, _ := g.RetainedBy(context.Background(), bytes, by, kinds, func(n Node) uint32 { return uint32(g.Kinds[n]) })
	return out
}

// RetainedBy is RetainedByKind for kinds that the caller tells: numbers below kinds.
func (g *Graph) RetainedBy(ctx context.Context, bytes []uint64, by []Node, kinds int, kind func(n Node) uint32) ([]uint64, error) {
	// The children of each object in the tree of dominators, one behind the other.
	at := make([]uint32, g.nodes+1)
	for _, d := range by {
		if d != None {
			at[d+1]++
		}
	}
	for i := range g.nodes {
		at[i+1] += at[i]
	}
	children := make([]Node, at[g.nodes])
	next := append([]uint32(nil), at...)
	for n, d := range by {
		if d != None {
			children[next[d]] = Node(n)
			next[d]++
		}
	}
	out := make([]uint64, kinds)
	open := make([]uint32, kinds) // objects of each kind on the way
	copy(next, at)
	var way []Node
	enter := func(n Node) {
		k := kind(n)
		if open[k] == 0 {
			out[k] += bytes[n]
		}
		open[k]++
		way = append(way, n)
	}
	for n, d := range by {
		if d != None {
			continue
		}
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		enter(Node(n))
		for len(way) > 0 {
			n := way[len(way)-1]
			if next[n] == at[n+1] {
				open[kind(n)]--
				way = way[:len(way)-1]
				continue
			}
			child := children[next[n]]
			next[n]++
			enter(child)
		}
	}
	return out, nil
}
