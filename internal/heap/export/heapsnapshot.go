package export

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/corewalk/corewalk/internal/heap/graph"
)

// Limits of a snapshot. DevTools takes some hundred bytes for each node.
const (
	maxSnapshotNodes = 2_000_000
	maxSnapshotEdges = 8_000_000 // of a snapshot whose objects are put together
	maxFieldNames    = 20_000
	maxNamedSize     = 4096 // bytes of objects whose pointers have names
)

// WriteHeapSnapshot writes the heap as V8 writes its own, for the Memory panel of Chrome's DevTools. Objects are "object", those without a type are
// "native"; below the root is a synthetic node for each name of roots, and one for objects that no root reaches. Of a heap with more than two
// million objects the small ones of one class that have the same dominator are one node; the name of the root node says so.
func WriteHeapSnapshot(ctx context.Context, w io.Writer, h *Heap) error {
	return writeHeapSnapshot(ctx, w, h, maxSnapshotNodes, maxSnapshotEdges)
}

// Numbers of types, in the lists of snapshotMeta.
const (
	nodeObject    = 3
	nodeNative    = 8
	nodeSynthetic = 9

	edgeElement  = 1
	edgeProperty = 2
)

const snapshotMeta = `{"node_fields":["type","name","id","self_size","edge_count","trace_node_id","detachedness"],` +
	`"node_types":[["hidden","array","string","object","code","closure","regexp","number","native","synthetic","concatenated string","sliced string","symbol","bigint","object shape"],"string","number","number","number","number","number"],` +
	`"edge_fields":["type","name_or_index","to_node"],` +
	`"edge_types":[["context","element","property","internal","hidden","shortcut","weak"],"string_or_number","node"],` +
	`"trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],` +
	`"trace_node_fields":["id","function_info_index","count","size","children"],` +
	`"sample_fields":["timestamp_us","last_assigned_id"],` +
	`"location_fields":["object_index","script_id","line","column"]}`

const nodeFields = 7

// A snapshot is one that is being written: nodes, then edges, then strings. String 0 is the root's name, then come those of classes.
type snapshot struct {
	*classes
	ctx     context.Context
	w       *bufio.Writer
	buf     []byte
	nodes   int
	edges   int
	fields  map[uint64]uint32 // name of an edge by kind and offset: its string, plus 1
	more    []string          // names of edges
	numbers map[string]uint32
	large   int // nodes whose size does not fit
}

func writeHeapSnapshot(ctx context.Context, w io.Writer, h *Heap, maxNodes, maxEdges int) error {
	s := &snapshot{classes: newClasses(h), ctx: ctx, w: bufio.NewWriterSize(w, 64<<10), fields: map[uint64]uint32{}, numbers: map[string]uint32{}}
	var err error
	if h.Graph.Len() <= maxNodes {
		err = s.whole()
	} else {
		err = s.together(maxNodes, maxEdges)
	}
	if err != nil {
		return err
	}
	return s.w.Flush()
}

func (s *snapshot) begin(nodes, edges int) {
	fmt.Fprintf(s.w, `{"snapshot":{"meta":%s,"node_count":%d,"edge_count":%d,"trace_function_count":0},`+"\n\"nodes\":[", snapshotMeta, nodes, edges)
}

// line writes numbers between commas.
func (s *snapshot) line(first bool, numbers ...uint64) {
	b := s.buf[:0]
	if !first {
		b = append(b, ',')
	}
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, n, 10)
	}
	b = append(b, '\n')
	s.w.Write(b) // Flush returns its error
	s.buf = b
}

func (s *snapshot) node(typ int, name uint32, size uint64, edges uint32) {
	// DevTools keeps numbers of 32 bits. Numbers of objects are odd, as V8's.
	s.line(s.nodes == 0, uint64(typ), uint64(name), uint64(2*s.nodes+1), min(size, math.MaxUint32), uint64(edges), 0, 0)
	s.nodes++
}

func (s *snapshot) edge(typ int, name uint32, to int) {
	s.line(s.edges == 0, uint64(typ), uint64(name), uint64(to*nodeFields))
	s.edges++
}

func (s *snapshot) between() { s.w.WriteString("],\n\"edges\":[") }

func (s *snapshot) end(notes string) {
	s.w.WriteString("],\n\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],\n\"locations\":[],\n\"strings\":[")
	title := s.h.title() + notes
	if s.large > 0 {
		title += fmt.Sprintf("; %d of more than 4 GiB, shown as 4 GiB", s.large)
	}
	put := func(before, name string) {
		s.buf = appendString(append(s.buf[:0], before...), name)
		s.w.Write(s.buf)
	}
	put("", title)
	for _, list := range [][]string{s.names, s.more} {
		for _, name := range list {
			put(",\n", name)
		}
	}
	s.w.WriteString("]}\n")
}

// class is the string of a class.
func (s *snapshot) class(c class) uint32 { return c + 1 }

func (s *snapshot) object(c class, size uint64, edges uint32) {
	typ := nodeNative
	if s.typed[c] {
		typ = nodeObject
	}
	if size > math.MaxUint32 {
		s.large++
	}
	s.node(typ, s.class(c), size, edges)
}

// whole writes a node for each object.
func (s *snapshot) whole() error {
	g := s.h.Graph
	// Classes have their numbers before the first string is referred to.
	counts := make([]uint32, g.Len())
	total, leaks := 0, 0
	for i := range counts {
		if err := stopped(s.ctx, i); err != nil {
			return err
		}
		n := graph.Node(i)
		s.of(n)
		s.out(n, func(uint64, graph.Node, bool) bool {
			counts[i]++
			return counts[i] < math.MaxUint32
		})
		total += int(counts[i])
		if !g.Reached(n) {
			leaks++
		}
	}
	names, roots, err := s.groupRoots()
	if err != nil {
		return err
	}
	first := 1 + len(names) // node of the first object
	if leaks > 0 {
		first++
	}
	s.begin(first+g.Len(), first-1+len(g.Roots)+leaks+total)
	s.node(nodeSynthetic, 0, 0, uint32(first-1))
	for i, c := range names {
		s.node(nodeSynthetic, s.class(c), 0, uint32(len(roots[i])))
	}
	if leaks > 0 {
		s.node(nodeSynthetic, s.class(s.number(unreached, true, false)), 0, uint32(leaks))
	}
	for i, edges := range counts {
		if err := stopped(s.ctx, i); err != nil {
			return err
		}
		s.object(s.of(graph.Node(i)), g.Size(graph.Node(i)), edges)
	}
	s.between()
	for i := 1; i < first; i++ {
		s.edge(edgeElement, uint32(i), i)
	}
	for _, list := range roots {
		for i, r := range list {
			s.edge(edgeElement, uint32(i), first+int(g.Roots[r].To))
		}
	}
	for i := range counts {
		if n := graph.Node(i); !g.Reached(n) {
			s.edge(edgeElement, uint32(i), first+i)
		}
	}
	for i, edges := range counts {
		if err := stopped(s.ctx, i); err != nil {
			return err
		}
		n := graph.Node(i)
		k := uint32(0)
		s.out(n, func(off uint64, to graph.Node, known bool) bool {
			if k == edges { // memory that changed
				return false
			}
			typ, name := edgeElement, k
			if known {
				if f := s.field(n, off); f != 0 {
					typ, name = edgeProperty, f-1
				}
			}
			s.edge(typ, name, first+int(to))
			k++
			return true
		})
		for ; k < edges; k++ {
			s.edge(edgeElement, k, first+i)
		}
	}
	s.end("")
	return nil
}

// out calls yield for each pointer of an object, with its offset where that may have a name.
func (s *snapshot) out(n graph.Node, yield func(off uint64, to graph.Node, known bool) bool) {
	g := s.h.Graph
	if s.h.Field != nil && g.Size(n) <= maxNamedSize && s.typed[s.of(n)] {
		g.Words(n, func(off uint64, to graph.Node) bool { return yield(off, to, true) })
		return
	}
	g.Out(n, func(to graph.Node) bool { return yield(0, to, false) })
}

// field is the string of the name of a pointer, plus 1; 0 if it has none. Objects of one kind have the same.
func (s *snapshot) field(n graph.Node, off uint64) uint32 {
	k := uint64(s.h.Graph.Kinds[n])<<32 | off
	f, ok := s.fields[k]
	if ok || len(s.fields) >= maxFieldNames {
		return f
	}
	if name := s.h.text(s.h.Field(n, off)); name != "" {
		if f = s.numbers[name]; f == 0 {
			s.more = append(s.more, name)
			f = uint32(len(s.names)+len(s.more)) + 1
			s.numbers[name] = f
		}
	}
	s.fields[k] = f
	return f
}

// groupRoots are the names of roots, and the numbers of the roots that have each.
func (s *snapshot) groupRoots() (names []class, roots [][]uint32, err error) {
	at := map[class]int{}
	for i, r := range s.h.Graph.Roots {
		if err := stopped(s.ctx, i); err != nil {
			return nil, nil, err
		}
		c := s.ofRoot(r)
		j, ok := at[c]
		if !ok {
			j = len(names)
			at[c] = j
			names, roots = append(names, c), append(roots, nil)
		}
		roots[j] = append(roots[j], uint32(i))
	}
	s.number(unreached, true, false) // no string comes after the first field's
	return names, roots, nil
}

// together writes one node for the objects of each entry. Half of the nodes are the objects that keep the most alive, or are the largest.
func (s *snapshot) together(maxNodes, maxEdges int) error {
	single, err := largest(s.ctx, s.h, maxNodes/2)
	if err != nil {
		return err
	}
	o, err := owners(s.ctx, s.h, maxNodes, false, single)
	if err != nil {
		return err
	}
	s.classes = o.classes
	keys, cut, err := o.pairs(s.ctx, maxEdges)
	if err != nil {
		return err
	}
	counts := make([]uint32, len(o.entries))
	for _, k := range keys {
		counts[k>>32]++
	}
	s.begin(len(counts), len(keys))
	grouped := uint64(0)
	for i, edges := range counts {
		e := &o.entries[i]
		switch {
		case i == 0:
			s.node(nodeSynthetic, 0, 0, edges)
		case s.rooted[e.class]:
			s.node(nodeSynthetic, s.class(e.class), 0, edges)
		default:
			s.object(e.class, e.bytes, edges)
			if e.count > 1 {
				grouped += e.count
			}
		}
	}
	s.between()
	for i, k := range keys {
		if err := stopped(s.ctx, i); err != nil {
			return err
		}
		s.edge(edgeElement, uint32(i), int(uint32(k)))
	}
	notes := fmt.Sprintf(" (of %d objects, %d small ones are put together by their class and what keeps them alive", s.h.Graph.Len(), grouped)
	if cut {
		notes += "; pointers are left out"
	}
	s.end(notes + ")")
	return nil
}

// pairs are who points at whom among entries, and who is below whom: the entry in the high half points at that in the low one. They are in order.
// Of more pointers than limit some are left out.
func (o *ownership) pairs(ctx context.Context, limit int) (keys []uint64, cut bool, err error) {
	for i := 1; i < len(o.entries); i++ {
		keys = append(keys, uint64(o.entries[i].parent)<<32|uint64(i))
	}
	limit += len(keys)
	tidy := func() {
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	next := 2 * limit // when to tidy
	for i := range o.at {
		if err := stopped(ctx, i); err != nil {
			return nil, false, err
		}
		if cut {
			break
		}
		from := o.at[i]
		o.h.Graph.Out(graph.Node(i), func(to graph.Node) bool {
			if b := o.at[to]; b != from {
				keys = append(keys, uint64(from)<<32|uint64(b))
			}
			if len(keys) >= next {
				tidy()
				cut = len(keys) > limit
			}
			return !cut
		})
	}
	tidy()
	return keys, cut, nil
}

// largest finds the objects that keep the most alive, or are the largest if that is not known: at most limit.
func largest(ctx context.Context, h *Heap, limit int) (func(graph.Node) bool, error) {
	weight := h.weight()
	const steps = 8 // of each power of two
	step := func(v uint64) int { return int(math.Log2(float64(max(v, 1))) * steps) }
	var counts [64*steps + 1]int
	for i := range h.Graph.Len() {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		counts[step(weight(graph.Node(i)))]++
	}
	least, sum := len(counts), 0
	for least > 0 && sum+counts[least-1] <= limit {
		least--
		sum += counts[least]
	}
	return func(n graph.Node) bool { return step(weight(n)) >= least }, nil
}

// weight is how many bytes an object keeps alive, or how large it is.
func (h *Heap) weight() func(graph.Node) uint64 {
	if len(h.Retained) == h.Graph.Len() {
		return func(n graph.Node) uint64 { return h.Retained[n] }
	}
	return h.Graph.Size
}
