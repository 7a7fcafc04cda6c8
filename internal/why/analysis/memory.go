package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/heap/typing"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// Limits of what a report of the memory lists.
const (
	maxMemoryTypes  = 1000
	maxMemoryBlocks = 20
	maxMemoryRoots  = 50
	maxMemorySteps  = 1 << 20 // of one path
)

// MemoryOptions say how much is done to tell what fills the memory.
type MemoryOptions struct {
	// Limit is how much memory the graph of all blocks may take, in bytes; 0 means 460 MiB.
	Limit int
	// Progress is told what is done next, and at the end "". It may be nil.
	Progress func(what string)
}

// A HeapGraph is all blocks in use of a process, with their types and what leads to them.
type HeapGraph struct {
	*graph.Graph
	Kinds    []typing.Kind
	Retained []uint64     // by node; nil if it was not found out
	By       []graph.Node // what alone keeps each; nil likewise
	names    *rootNames
}

// census is one question of what fills the memory.
type census struct {
	*Engine
	o         MemoryOptions
	out       *report.Memory
	all       []heap.Allocator
	objects   []heap.Objects
	pointing  []heap.Pointing         // allocators that know the references in their blocks
	variables []string                // of languages, by the numbers of their roots
	inHeap    map[unwind.Address]bool // mappings with blocks, by their beginnings
	foreign   [][2]uint64             // where blocks and allocators' records are, by address
	g         *graph.Graph
	types     *typing.Typer
	names     *rootNames
	HeapGraph
}

// Memory says what fills the memory of the process. The graph is nil if it has no allocator that is known.
func (e *Engine) Memory(ctx context.Context, o MemoryOptions) (*report.Memory, *HeapGraph, error) {
	if o.Limit == 0 {
		o.Limit = 460 << 20
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	c := &census{Engine: e, o: o, out: &report.Memory{Dump: e.Dump}, inHeap: map[unwind.Address]bool{}}
	defer o.Progress("")
	o.Progress("looking for heaps")
	var unknown []string
	c.all, c.objects, unknown = c.heaps(c.Proc, heapBounds{blocks: math.MaxInt32})
	for _, why := range unknown {
		c.warn(report.WarnObjects, "types of a language's objects are not known: %s", why)
	}
	c.withoutFiles()
	err := c.blocks(ctx)
	c.areas()
	c.absent(ctx)
	if c.ReadsLate {
		c.warn(report.WarnLate, "the process ran on while its heap was read: counts may be of different moments, and pointers on their way are not seen; --hold keeps it stopped")
	}
	if err != nil || c.g == nil || c.g.Len() == 0 {
		return c.out, nil, err
	}
	if err = c.typed(ctx); err == nil {
		err = c.reached(ctx)
	}
	if err != nil {
		return c.out, nil, err
	}
	c.rows()
	c.HeapGraph.Graph, c.HeapGraph.Kinds, c.HeapGraph.names = c.g, c.types.Kinds, c.names
	return c.out, &c.HeapGraph, nil
}

// warn says what the report lacks.
func (c *census) warn(code, format string, args ...any) {
	c.out.Warnings = append(c.out.Warnings, report.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
}

// withoutFiles warns of modules that may have variables, of which no file is known: the program first, as it may be a language's interpreter, whose objects are
// known by its symbols.
func (c *census) withoutFiles() {
	var first string
	more := 0
	for _, m := range Modules(c.Parts) {
		switch {
		case m.Status != report.ModuleMissing && m.Status != report.ModuleMismatched || m.Path == "" || m.Path[0] == '[':
		case first == "":
			first = find.BaseName(m.Path)
		default:
			more++
		}
	}
	switch {
	case first == "":
		return
	case more > 0:
		first += fmt.Sprintf(" and %d other modules", more)
	}
	language := ", and, if it runs a language, neither are the heap and the objects of that"
	if len(c.objects) > 0 {
		language = ""
	}
	c.warn(report.WarnObjects, "no file found of %s: its variables and their types are not known%s; name its directory with --search or --sysroot", first, language)
}

// blocks counts the blocks of all allocators, and makes the graph of those in use.
func (c *census) blocks(ctx context.Context) error {
	build := graph.NewBuilder(c.mem, c.o.Limit)
	at := map[unwind.Address]*[2]uint64{} // where blocks are, for each mapping by its beginning
	var extent *[2]uint64
	var m libstate.Mapping
	for _, h := range c.all {
		_, stacked := h.(heap.Stacked)
		ranged, isRanged := h.(heap.Ranged)
		if isRanged {
			c.foreign = append(c.foreign, ranged.Ranges()...)
		}
		if p, ok := h.(heap.Pointing); ok {
			tag := uint64(0)
			if t, ok := h.(heap.Tagged); ok {
				tag = t.Tag()
			}
			for _, r := range p.Ranges() {
				build.Tell(r[0], r[1], tag, p.References)
			}
			c.pointing = append(c.pointing, p)
		}
		c.o.Progress("counting the blocks of " + h.Name())
		a := report.MemoryAllocator{Name: h.Name()}
		lists := map[string]*report.MemoryList{}
		var sizes [65]report.MemorySize
		n := 0
		h.Blocks(func(b heap.Block) bool {
			if n++; n%(1<<16) == 0 && ctx.Err() != nil {
				return false
			}
			start := unwind.Address(b.Start)
			if extent == nil || start-m.Start >= m.End-m.Start {
				m, _ = c.Proc.MappingAt(start)
				if extent = at[m.Start]; extent == nil {
					extent = &[2]uint64{math.MaxUint64, 0}
					at[m.Start] = extent
					build.Range(uint64(m.Start), uint64(m.End))
				}
			}
			switch {
			case b.Own:
				a.Own.Count++
				a.Own.Bytes += b.Size
			case b.Free:
				a.Free.Count++
				a.Free.Bytes += b.Size
				a.LargestFree = max(a.LargestFree, b.Size)
				l := lists[b.List]
				if l == nil {
					l = &report.MemoryList{Name: b.List}
					lists[b.List] = l
				}
				l.Count++
				l.Bytes += b.Size
			default:
				a.Used.Count++
				a.Used.Bytes += b.Size
				s := &sizes[bits.Len64(max(b.Size, 1)-1)]
				s.Size = max(s.Size, b.Size)
				s.Count++
				s.Bytes += b.Size
				build.Add(b.Start, b.Size)
			}
			switch {
			case isRanged:
			case b.Mapped && !stacked: // what is between two such blocks in one mapping may be anything
				const page = 4096
				c.foreign = append(c.foreign, [2]uint64{b.Start &^ (page - 1), b.End()}) // with its record
			default:
				extent[0], extent[1] = min(extent[0], b.Start), max(extent[1], b.End())
			}
			return true
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a.Lists = []report.MemoryList{}
		for _, l := range lists {
			a.Lists = append(a.Lists, *l)
		}
		slices.SortFunc(a.Lists, func(x, y report.MemoryList) int {
			return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name))
		})
		a.Sizes = slices.DeleteFunc(slices.Clone(sizes[:]), func(s report.MemorySize) bool { return s.Count == 0 })
		for _, d := range h.Damages() {
			a.Damages = append(a.Damages, fmt.Sprintf("%#x: %s", d.At, d.Why))
		}
		c.out.Allocators = append(c.out.Allocators, a)
	}
	for start, x := range at {
		c.inHeap[start] = true
		if x[0] < x[1] {
			c.foreign = append(c.foreign, *x)
		}
	}
	if len(at) == 0 {
		return nil
	}
	again := build.Counted()
	for _, h := range c.all {
		c.foreign = append(c.foreign, h.Records()...)
		if !again {
			continue
		}
		h.Blocks(func(x heap.Block) bool {
			if !x.Free && !x.Own {
				build.Add(x.Start, x.Size)
			}
			return ctx.Err() == nil
		})
	}
	c.foreign = apart(c.foreign)
	c.g = build.Graph()
	return nil
}

// apart joins ranges that overlap.
func apart(ranges [][2]uint64) (out [][2]uint64) {
	slices.SortFunc(ranges, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	for _, r := range ranges {
		if n := len(out); n > 0 && r[0] < out[n-1][1]+16 {
			out[n-1][1] = max(out[n-1][1], r[1])
			continue
		}
		out = append(out, r)
	}
	return out
}

// areas counts mappings by what they are for.
func (c *census) areas() {
	sums := map[string]*report.MemoryPart{}
	stacks := c.stackPointers()
	for _, m := range c.Proc.Mappings() {
		kind := c.area(&m, stacks)
		a := sums[kind]
		if a == nil {
			a = &report.MemoryPart{Kind: kind}
			sums[kind] = a
		}
		a.Mappings++
		a.Bytes += uint64(m.End - m.Start)
		c.out.Mapped += uint64(m.End - m.Start)
	}
	c.out.Areas = []report.MemoryPart{}
	for _, a := range sums {
		c.out.Areas = append(c.out.Areas, *a)
	}
	slices.SortFunc(c.out.Areas, func(a, b report.MemoryPart) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Kind, b.Kind))
	})
}

// absent counts the memory that may be written, and so may lead to blocks, but is not in the dump.
func (c *census) absent(ctx context.Context) {
	const page = 4096
	var b [1]byte
	for _, m := range c.Proc.Mappings() {
		if m.Perm&libstate.Write == 0 {
			continue
		}
		for at, end := uint64(m.Start), uint64(m.End); at < end && ctx.Err() == nil; {
			if c.mem.Fill(at, b[:]) == 1 {
				at += page
				continue
			}
			next := c.mem.AbsentTo(at, end)
			c.out.Missing += next - at
			at = next
		}
	}
}

// area is what a mapping is for.
func (c *census) area(m *libstate.Mapping, stacks []stackPointer) string {
	none := libstate.Read | libstate.Write | libstate.Exec | libstate.Unknown
	switch {
	case m.Perm&none == 0:
		return report.AreaReserved
	case c.isOfModule(m.Start):
		switch {
		case m.Perm&libstate.Exec != 0:
			return report.AreaCode
		case m.Perm&libstate.Write != 0:
			return report.AreaData
		}
		return report.AreaConstant
	case c.inHeap[m.Start]:
		return report.AreaHeap
	case slices.ContainsFunc(stacks, func(s stackPointer) bool { return m.Start <= s.sp && s.sp < m.End }):
		return report.AreaStack
	case reason.SharedMemory(m.Path):
		return report.AreaShared
	case m.Path != "" && m.Path[0] != '[':
		return report.AreaFile
	}
	return report.AreaOther
}

// typed finds the types of blocks.
func (c *census) typed(ctx context.Context) error {
	c.o.Progress("finding types")
	c.types = typing.New(c.g, c.mem, (*typeSource)(c.Engine))
	c.types.Zeroed = !slices.ContainsFunc(c.all, func(h heap.Allocator) bool { _, ok := h.(heap.Stacked); return !ok })
	for _, o := range c.objects {
		if err := c.types.Objects(ctx, o); err != nil {
			return err
		}
	}
	if err := c.types.Tables(ctx); err != nil {
		return err
	}
	c.roots(ctx)
	c.names = c.rootNames()
	c.names.follow(ctx, c.types)
	return c.types.Follow(ctx)
}

// reached finds what keeps what alive.
func (c *census) reached(ctx context.Context) error {
	c.o.Progress("following pointers")
	err := c.g.Edges(ctx)
	if errors.Is(err, graph.ErrLarge) {
		err = nil
	}
	if err != nil {
		return err
	}
	c.o.Progress("finding what keeps what alive")
	c.Retained, c.By, err = c.g.Retained(ctx) // before Reach, as what it takes is free after it
	if errors.Is(err, graph.ErrLarge) {
		c.warn(report.WarnLimit, "%d blocks and their pointers do not fit into %d MiB: what blocks keep alive is left out", c.g.Len(), c.o.Limit>>20)
		err = nil
	}
	if err != nil {
		return err
	}
	c.o.Progress("finding what leads where")
	if err = c.g.Reach(ctx); err == nil && !c.g.Ways() {
		c.warn(report.WarnLimit, "%d blocks do not fit into %d MiB with the ways to them: of those only the beginnings are known", c.g.Len(), c.o.Limit>>20)
	}
	return err
}

// rows writes the lists of the report.
func (c *census) rows() {
	g := c.g
	used, lost := newTypeRows(c), newTypeRows(c)
	largest, keepers, heads := newTop(maxMemoryBlocks), newTop(maxMemoryBlocks), newTop(maxMemoryBlocks)
	c.out.Unreached = &report.MemoryUnreached{}
	pointed := make([]uint64, (g.Len()+63)/64)
	for n := range graph.Node(g.Len()) {
		if !g.Reached(n) {
			g.Out(n, func(to graph.Node) bool {
				pointed[to/64] |= 1 << (to % 64)
				return true
			})
		}
	}
	u := c.out.Unreached
	for n := range graph.Node(g.Len()) {
		size := g.Size(n)
		used.add(n, size)
		largest.add(n, size)
		if g.Reached(n) {
			// What keeps only little more than itself is in the list of the largest.
			if c.Retained != nil && c.Retained[n] > size+size/2 {
				keepers.add(n, c.Retained[n])
			}
			continue
		}
		if c.types.Kinds[c.g.Kinds[n]].Freed {
			continue
		}
		u.Count++
		u.Bytes += size
		lost.add(n, size)
		if pointed[n/64]&(1<<(n%64)) == 0 {
			u.Heads.Count++
			u.Heads.Bytes += size
			heads.add(n, size)
		}
	}
	c.out.Types, u.Types = used.list(c.byKind(), true), lost.list(nil, false)
	c.out.Largest, c.out.Keepers, u.Blocks = c.described(largest), c.described(c.outermost(keepers)), c.described(heads)
	c.byRoots()
}

// byKind is how much the blocks of each type keep alive together.
func (c *census) byKind() []uint64 {
	if c.Retained == nil {
		return nil
	}
	return c.g.RetainedByKind(c.Retained, c.By, len(c.types.Kinds))
}

// outermost leaves out what another in the list keeps alive nearly as well: the nodes of a long list.
func (c *census) outermost(t *top) *top {
	kept := newTop(t.most)
	in := map[graph.Node]uint64{}
	for _, x := range t.sorted() {
		in[x.n] = x.key
	}
	for _, x := range t.sorted() {
		inner := false
		for d, steps := c.By[x.n], 0; d != graph.None && steps < maxMemorySteps && !inner; d, steps = c.By[d], steps+1 {
			if of, ok := in[d]; ok && x.key > of-of/8 {
				inner = true
			}
		}
		if !inner {
			kept.add(x.n, x.key)
		}
	}
	return kept
}

// described are blocks with their types and paths.
func (c *census) described(t *top) []report.MemoryBlock {
	out := []report.MemoryBlock{}
	for _, x := range t.sorted() {
		b := report.MemoryBlock{Address: report.Addr(c.g.Start(x.n)), Size: c.g.Size(x.n), Type: c.types.Kinds[c.g.Kinds[x.n]].Name, Path: c.names.path(x.n)}
		if c.Retained != nil && c.g.Reached(x.n) {
			b.Retained = c.Retained[x.n]
		}
		out = append(out, b)
	}
	return out
}

// byRoots sums what is reached from each variable.
func (c *census) byRoots() {
	sums := make([]report.MemoryCount, len(c.g.Roots))
	for n := range graph.Node(c.g.Len()) {
		if r, ok := c.g.RootOf(n); ok {
			sums[r].Count++
			sums[r].Bytes += c.g.Size(n)
		}
	}
	order := make([]int, 0, len(sums))
	for r, s := range sums {
		if s.Count > 0 {
			order = append(order, r)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(sums[b].Bytes, sums[a].Bytes), cmp.Compare(a, b)) })
	byName := map[string]*report.MemoryRoot{}
	for _, r := range order[:min(len(order), 100*maxMemoryRoots)] { // names cost
		name := c.names.variable(c.g.Roots[r])
		if byName[name] == nil {
			byName[name] = &report.MemoryRoot{Name: name}
		}
		byName[name].Bytes += sums[r].Bytes
		byName[name].Count += sums[r].Count
	}
	for _, r := range byName {
		c.out.Roots = append(c.out.Roots, *r)
	}
	slices.SortFunc(c.out.Roots, func(a, b report.MemoryRoot) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	c.out.Roots = c.out.Roots[:min(len(c.out.Roots), maxMemoryRoots)]
}
