package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/heap/typing"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// How well places name what they point at.
const (
	rankLanguage = iota // variables of a language with objects
	rankData            // variables of modules
	rankStack           // frames of threads
	rankRegister        // of threads
	rankOther           // memory of which nothing is known
)

const (
	maxGlobalNames   = 1 << 20 // variables of all modules
	maxStackNames    = 1 << 12 // words on stacks whose variables are looked for
	maxCallNames     = 256     // frames of a thread whose calls' variables are named
	maxFieldNames    = 1 << 12 // objects of a path whose references are named
	maxThreadNames   = 256     // threads whose frames are walked for names
	maxPathNames     = 12      // objects of a path that are written
	registerNames    = 64      // of one thread
	firstRegister    = 1       // no root in memory has a number as small as those of registers
	maxRegisterRoots = 1 << 16
	firstLanguage    = 1 << 63 // nor one as large as those of a language's variables
)

// calling is a language whose calls are frames of the threads' stacks.
type calling interface {
	// Locals calls yield for what the variables of the calls refer to, until it returns false.
	Locals(frames []*unwind.Frame, yield func(name string, value uint64) bool)
}

// A stackPointer is where the stack of a thread is in use.
type stackPointer struct {
	id unwind.ThreadID
	sp unwind.Address
}

// stackPointers are those of all threads.
func (e *Engine) stackPointers() (list []stackPointer) {
	if e.Walker == nil {
		return nil
	}
	threads, _ := e.Walker.AvailableThreads()
	for _, id := range threads {
		if top, err := e.Walker.InitialFrame(id); err == nil {
			list = append(list, stackPointer{id, top.SP()})
		}
	}
	return list
}

// roots finds what points into the heap from outside.
func (c *census) roots(ctx context.Context) {
	stacks := c.stackPointers()
	for _, m := range c.Proc.Mappings() {
		if m.Perm&libstate.Write == 0 {
			continue
		}
		start, end, rank := uint64(m.Start), uint64(m.End), uint8(rankOther)
		if c.isOfModule(m.Start) {
			rank = rankData
		}
		for _, s := range stacks {
			if m.Start <= s.sp && s.sp < m.End && (rank != rankStack || uint64(s.sp) < start) {
				start, rank = uint64(s.sp), rankStack // what is below is no longer used
			}
		}
		c.search(start, end, rank)
		for _, p := range c.pointing {
			if rank == rankStack {
				c.g.AddNarrow(start, end, rank, p.Widened)
			}
		}
	}
	for _, h := range c.all {
		if s, ok := h.(heap.Stacked); ok {
			for _, r := range s.Stacks() {
				c.g.AddRoots(r[0], r[1], rankOther)
			}
		}
	}
	for _, o := range c.objects {
		o.Variables(func(name string, value uint64) bool {
			c.g.AddRoot(firstLanguage+uint64(len(c.variables)), value, rankLanguage)
			c.variables = append(c.variables, name)
			return true
		})
		if l, ok := o.(calling); ok {
			for _, s := range stacks[:min(len(stacks), maxThreadNames)] {
				l.Locals(c.stacks.walk(ctx, s.id, maxCallNames).Frames, func(name string, value uint64) bool {
					c.g.AddRoot(firstLanguage+uint64(len(c.variables)), value, rankLanguage)
					c.variables = append(c.variables, name)
					return len(c.variables) < maxGlobalNames
				})
			}
		}
	}
	n := uint64(firstRegister)
	for _, s := range stacks[:min(len(stacks), maxRegisterRoots/registerNames)] {
		if top, err := c.Walker.InitialFrame(s.id); err == nil {
			regs := top.Registers()
			for m := regs.Valid; m != 0; m &= m - 1 {
				r := m.First()
				if v, ok := regs.Get(r); ok && int(r) < registerNames {
					c.g.AddRoot(n+uint64(r), v, rankRegister)
					for _, p := range c.pointing {
						c.g.AddRoot(n+uint64(r), p.Widened(uint32(v)), rankRegister)
					}
				}
			}
		}
		n += registerNames
	}
}

// search looks for roots in memory, but for what blocks and the records of allocators have.
func (c *census) search(start, end uint64, rank uint8) {
	for _, x := range c.foreign {
		if x[1] <= start || x[0] >= end {
			continue
		}
		if x[0] > start {
			c.g.AddRoots(start, x[0], rank)
		}
		start = min(x[1], end)
	}
	c.g.AddRoots(start, end, rank)
}

// rootNames name what leads into the heap from outside.
type rootNames struct {
	c       *census
	globals []where.Global // by address
	stacks  []stackPointer
	owners  map[unwind.ThreadID]*owners
	left    int // words on stacks that are still named
	known   map[uint64]rootName
}

// A rootName is the variable, or the part of one, that holds a root. The type is nil where it is not known.
type rootName struct {
	variable string // the whole
	name     string
	t        *types.Type
}

// rootNames finds the variables of the modules that have roots.
func (c *census) rootNames() *rootNames {
	r := &rootNames{c: c, stacks: c.stackPointers(), owners: map[unwind.ThreadID]*owners{}, left: maxStackNames, known: map[uint64]rootName{}}
	libs := c.Proc.LibraryTracker()
	if libs == nil || c.Variables == nil {
		return r
	}
	seen := map[*libstate.Library]bool{}
	for _, root := range c.g.Roots {
		if root.Rank != rankData {
			continue
		}
		lib, ok := libs.LibraryAt(root.At)
		if !ok || seen[lib] {
			continue
		}
		seen[lib] = true
		where.ProcessOf(c.Variables).Globals(lib, func(g where.Global) bool {
			r.globals = append(r.globals, g)
			return len(r.globals) < maxGlobalNames
		})
	}
	slices.SortStableFunc(r.globals, func(a, b where.Global) int { return cmp.Compare(a.Low, b.Low) })
	return r
}

// follow tells the types what variables lead to.
func (r *rootNames) follow(ctx context.Context, t *typing.Typer) {
	last := -1
	for _, root := range r.c.g.Roots {
		if ctx.Err() != nil {
			return
		}
		switch root.Rank {
		case rankData:
			if i := r.global(root.At); i >= 0 && i != last { // one for all of its roots
				last = i
				t.Variable(r.globals[i].Type, r.globals[i].Low)
			}
		case rankStack:
			if r.left <= 0 {
				continue
			}
			if n := r.of(root); n.t != nil {
				if v, ok := r.c.mem.LookupWord(root.At); ok {
					t.Root(n.t, v)
				}
			}
		}
	}
}

// global is the variable of a module that has an address; -1 if none is known.
func (r *rootNames) global(addr uint64) int {
	i, _ := slices.BinarySearchFunc(r.globals, addr, func(g where.Global, a uint64) int {
		if g.Low <= a {
			return -1
		}
		return 1
	})
	if i--; i >= 0 && addr-r.globals[i].Low < r.globals[i].Size {
		return i
	}
	return -1
}

// variable names the variable that a root is in.
func (r *rootNames) variable(root graph.Root) string { return r.of(root).variable }

func (r *rootNames) of(root graph.Root) rootName {
	n, ok := r.known[root.At]
	if !ok {
		n = r.find(root)
		if n.name == "" {
			n.name = n.variable
		}
		r.known[root.At] = n
	}
	return n
}

func (r *rootNames) find(root graph.Root) (n rootName) {
	word := uint64(r.c.arch.WordSize)
	switch root.Rank {
	case rankLanguage:
		n.variable = r.c.variables[root.At-firstLanguage]
	case rankRegister:
		i := root.At - firstRegister
		id := r.stacks[i/registerNames].id
		n.variable = fmt.Sprintf("%s of thread %d", r.c.arch.RegName(arch.Reg(i%registerNames)), id)
	case rankStack:
		id, ok := r.threadOf(root.At)
		if !ok {
			break
		}
		n.variable = fmt.Sprintf("stack of thread %d", id)
		if r.left--; r.left < 0 || len(r.owners) >= maxThreadNames && r.owners[id] == nil {
			break
		}
		o := r.owners[id]
		if o == nil {
			o = &owners{Engine: r.c.Engine, stack: r.c.stacks.walk(context.Background(), id, maxNameFrames).Frames}
			r.owners[id] = o
		}
		if name, t := o.variableAt(root.At, word); t != nil {
			n.name, n.t = name, t
			n.variable, _, _ = strings.Cut(name, ".")
			n.variable, _, _ = strings.Cut(n.variable, "[")
		}
	case rankData:
		if i := r.global(root.At); i >= 0 {
			g := &r.globals[i]
			n.variable, n.name = g.Name, g.Name
			if path, part, ok := g.Type.Part(root.At-g.Low, word); ok {
				n.name, n.t = g.Name+path, part
			}
			break
		}
		symbol, _ := r.c.ownersIn(r.c.died()).variableAt(root.At, word)
		n.name = symbol
		n.variable, _, _ = strings.Cut(symbol, "+")
		if lib, ok := r.c.Proc.LibraryTracker().LibraryAt(root.At); ok && symbol == "" {
			n.variable = "data of " + report.Base(lib.Path)
			n.name = fmt.Sprintf("%s+%#x", report.Base(lib.Path), root.At-uint64(lib.LoadBias))
		}
	default:
		n.variable, n.name = "memory of no allocator that is known", fmt.Sprintf("memory at %#x", root.At)
	}
	return n
}

// threadOf is the thread whose stack has an address.
func (r *rootNames) threadOf(addr uint64) (id unwind.ThreadID, ok bool) {
	m, mapped := r.c.Proc.MappingAt(addr)
	for _, s := range r.stacks {
		if mapped && m.Start <= s.sp && s.sp < m.End && uint64(s.sp) <= addr {
			id, ok = s.id, true
		}
	}
	return id, ok
}

// path names the way to an object, "cache->items[3]", and from where types do not lead on "cache->items[3] → Order+24 → char[]"; "" if nothing leads
// there.
func (r *rootNames) path(n graph.Node) string {
	g := r.c.g
	root, way, ok := g.Path(n, maxMemorySteps)
	if !ok {
		if i, ok := g.RootOf(n); ok {
			return r.variable(g.Roots[i]) + " → …"
		}
		return ""
	}
	from := r.of(root)
	if root.Rank == rankLanguage {
		if fields, ok := r.fields(way); ok {
			return from.variable + fields
		}
		return from.variable + r.steps(way)
	}
	name, t := from.name, from.t
	for i, to := range way[1:] {
		if k := g.Kinds[way[i]]; k != typing.Unknown && r.c.types.Kinds[k].Elem == nil && !r.c.types.Kinds[k].ByTable {
			return from.variable + r.steps(way[i:]) // a container's own: its members name nothing that the source does
		}
		if t == nil || i >= maxPathNames {
			return plainPath(name) + r.steps(way[i:])
		}
		off, ok := g.Pointer(way[i], to)
		if !ok {
			return plainPath(name) + r.steps(way[i:])
		}
		expr, part, ok := t.Follow(name, int64(off), uint64(r.c.arch.WordSize))
		if !ok {
			return plainPath(name) + r.steps(way[i:])
		}
		name, t = expr, part
	}
	return plainPath(name)
}

// fields writes a way by the names of the references from object to object: false if one has none. One name that follows itself is written once.
func (r *rootNames) fields(way []graph.Node) (string, bool) {
	var b strings.Builder
	written := 0
	for i := 0; i+1 < len(way); {
		name := r.field(way, i)
		if name == "" {
			return "", false
		}
		j := i + 1
		for j+1 < len(way) && j < maxFieldNames && r.field(way, j) == name {
			j++
		}
		if written++; written > maxPathNames || i >= maxFieldNames {
			fmt.Fprintf(&b, " → %d more", len(way)-1-i)
			break
		}
		b.WriteString(" → " + name)
		if j-i > 1 {
			fmt.Fprintf(&b, " × %d", j-i)
		}
		i = j
	}
	return b.String(), true
}

// field is the name of the reference from an object of a way to the next; "" if it has none.
func (r *rootNames) field(way []graph.Node, i int) string {
	off, ok := r.c.g.Pointer(way[i], way[i+1])
	if !ok {
		return ""
	}
	return r.fieldAt(way[i], off)
}

// fieldAt is what a language calls the reference at an offset of an object; "" if it has no name.
func (r *rootNames) fieldAt(n graph.Node, off uint64) string {
	for _, o := range r.c.objects {
		if f, ok := o.(heap.Fielded); ok {
			if name := f.FieldAt(r.c.g.Start(n), off); name != "" {
				return name
			}
		}
	}
	return ""
}

// steps writes a way by the types of its objects. Those of one type that follow one another are written once.
func (r *rootNames) steps(way []graph.Node) string {
	var b strings.Builder
	written := 0
	for i := 0; i < len(way); {
		k := r.c.g.Kinds[way[i]]
		j := i + 1
		for j < len(way) && r.c.g.Kinds[way[j]] == k {
			j++
		}
		if written++; written > maxPathNames {
			fmt.Fprintf(&b, " → %d more", len(way)-i)
			break
		}
		name := r.c.types.Kinds[k].Name
		if name == "" {
			name = fmt.Sprintf("%d bytes", r.c.g.Size(way[i]))
			if j-i > 1 {
				name = "untyped"
			}
		}
		b.WriteString(" → " + name)
		if j-i > 1 {
			fmt.Fprintf(&b, " × %d", j-i)
		}
		i = j
	}
	return b.String()
}

// A typeSource is an Engine that says what the program's files say of types.
type typeSource Engine

// TypeNamed implements typing.Source.
func (s *typeSource) TypeNamed(name string) (*types.Type, bool) {
	if s.Variables == nil {
		return nil, false
	}
	return where.ProcessOf(s.Variables).TypeNamed(name)
}

// GoType implements typing.Source.
func (s *typeSource) GoType(like *types.Type, descriptor uint64) (*types.Type, bool) {
	libs := s.Proc.LibraryTracker()
	if s.Variables == nil || libs == nil {
		return nil, false
	}
	lib, ok := libs.LibraryAt(descriptor)
	if !ok {
		return nil, false
	}
	return where.ProcessOf(s.Variables).GoType(lib, like, descriptor)
}

// Class implements typing.Source: by the type information in front of the table (Itanium C++ ABI, 2.5.2), or by the table's own symbol. Tables lie in
// memory of modules that the program does not write to.
func (s *typeSource) Class(table uint64) string {
	e := (*Engine)(s)
	if !e.isOfModule(table) {
		return ""
	}
	w := uint64(e.arch.WordSize)
	if front, ok := e.mem.Words(table-2*w, 2); ok && front[0] == 0 && front[1] != 0 && e.isOfModule(front[1]) {
		if info, ok := e.mem.Words(front[1], 2); ok && e.isOfModule(info[0]) {
			const most = 4096
			if name, ended := e.mem.CString(info[1], most); ended && len(name) > 0 {
				linkage := "_ZTS" + strings.TrimPrefix(string(name), "*")
				if full := demangle.Name(linkage); full != linkage {
					return strings.TrimPrefix(full, "typeinfo name for ")
				}
			}
		}
	}
	symbol, _ := e.ownersIn(e.died()).variableAt(table, w)
	if name, ok := strings.CutPrefix(symbol, "vtable for "); ok {
		if name, ok := strings.CutSuffix(name, fmt.Sprintf("+%d", 2*w)); ok {
			return name
		}
	}
	return ""
}

// TypeName is the name of a kind of blocks; "" if their type is not known.
func (h *HeapGraph) TypeName(k graph.Kind) string { return h.Kinds[k].Name }

// RootName is the variable, the register or the stack that a root is in.
func (h *HeapGraph) RootName(r graph.Root) string { return h.names.variable(r) }

// FieldName is the name of the pointer at an offset of a block, "next", "[3].name"; "" if it is not known.
func (h *HeapGraph) FieldName(n graph.Node, off uint64) string {
	t := h.Kinds[h.Graph.Kinds[n]].Elem
	if t == nil {
		return h.names.fieldAt(n, off)
	}
	whole := t.Whole()
	if whole == 0 {
		return ""
	}
	path, _, ok := t.Part(off%whole, uint64(h.names.c.arch.WordSize))
	if !ok {
		return ""
	}
	if off >= whole {
		path = fmt.Sprintf("[%d]%s", off/whole, path)
	}
	return plainPath(strings.TrimPrefix(path, "."))
}
