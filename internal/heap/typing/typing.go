// Package typing finds the types of the objects in a heap: those that say it themselves, by the table of virtual functions that they begin with, and
// those to which pointers of a known type lead, from variables through members, elements and the nodes of containers.
//
// A type by its table is what the program made there, or made there before, if nothing was written since. A type by a pointer is what the program takes the object for: it fits in size, and of several that
// lead to one object the first counts, on the shortest way from a variable.
package typing

import (
	"context"

	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Unknown is the kind of objects whose type is not known.
const Unknown graph.Kind = 0

const (
	maxKinds    = 1<<16 - 1
	maxElements = 1 << 24 // of one object that are followed
	maxTables   = 1 << 14
	// maxVariables is how many bytes of variables are read. Objects are read once each.
	maxVariables = 1 << 30
	maxLookups   = 512 // classes whose members are looked for by their names
	piece        = 64 << 10
)

// A Kind is a type of objects.
type Kind struct {
	Name string
	// ByTable says that objects name it themselves, by their table of virtual functions.
	ByTable bool
	// ByObject says that they are objects of a runtime, which name their type, or belong to one.
	ByObject bool
	// Freed says that the program has given them back.
	Freed bool
	// Idle is how many bytes of them containers have for elements that they do not hold.
	Idle  uint64
	Elem  *types.Type // of the object, or of each of its elements; nil where it is not described
	shape *shape
}

// Source is what the program's files say of types.
type Source interface {
	// Class names the class of a table of virtual functions that an object begins with; "" for what is none.
	Class(table uint64) string
	// GoType is the type that a Go program's descriptor at an address is of. like is another type of the program.
	GoType(like *types.Type, descriptor uint64) (*types.Type, bool)
	// TypeNamed is the type with a name.
	TypeNamed(name string) (*types.Type, bool)
}

// A Typer gives the objects of a graph their kinds.
type Typer struct {
	Kinds []Kind // by graph.Kind; the first is not known
	// Zeroed says that what an allocator adds to a request is zero: what an object holds behind the first of its kind is another one, or nothing.
	Zeroed bool
	g      *graph.Graph
	mem    procmem.Reader
	source Source
	word   uint64

	byName  map[string]graph.Kind
	objects map[objectKey]graph.Kind
	tables  map[uint64]graph.Kind
	lookups int
	shapes  map[shapeKey]*shape
	queue   graph.Frontier
	buf     []byte
	steps   int                      // that may still be taken for one shape
	left    uint64                   // bytes that may still be read
	held    map[uint64]*shape        // in interfaces, by their first words
	used    map[graph.Node][2]uint64 // which bytes of an object are in use, where that is not all
}

// New returns a Typer for a graph.
func New(g *graph.Graph, mem procmem.Reader, source Source) *Typer {
	return &Typer{Kinds: make([]Kind, 1), g: g, mem: mem, source: source, word: uint64(mem.Arch.WordSize), byName: map[string]graph.Kind{}, tables: map[uint64]graph.Kind{},
		shapes: map[shapeKey]*shape{}, used: map[graph.Node][2]uint64{}, held: map[uint64]*shape{},
		left: 2*g.Total() + maxVariables}
}

// kind is the number of a type with a name.
func (t *Typer) kind(name string, byTable bool, s *shape) graph.Kind {
	if k, ok := t.byName[name]; ok {
		if known := &t.Kinds[k]; known.shape == nil && s != nil {
			known.shape, known.Elem = s, s.of
		}
		return k
	}
	if len(t.Kinds) >= maxKinds {
		return Unknown
	}
	k := graph.Kind(len(t.Kinds))
	t.byName[name] = k
	t.Kinds = append(t.Kinds, Kind{Name: name, ByTable: byTable, shape: s})
	if s != nil {
		t.Kinds[k].Elem = s.of
	}
	return k
}

// Tables gives objects that begin with a table of virtual functions the type of that.
func (t *Typer) Tables(ctx context.Context) error {
	var err error
	t.g.Each(int(t.word), func(n graph.Node, start uint64, b []byte) bool {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			err = context.Cause(ctx)
			return false
		}
		if uint64(len(b)) < t.word || t.g.Kinds[n] != Unknown {
			return true
		}
		table := t.mem.Arch.Word(b)
		if table == 0 || table%t.word != 0 {
			return true
		}
		k, ok := t.tables[table]
		if !ok {
			if len(t.tables) >= maxTables {
				return true
			}
			k = t.class(table)
			t.tables[table] = k
		}
		if s := t.Kinds[k].shape; k != Unknown && (s == nil || t.g.Size(n) >= s.size) { // what is too small is of something else
			t.g.Kinds[n] = k
			if t.Kinds[k].shape != nil {
				t.queue.Add(t.g, n)
			}
		}
		return true
	})
	return err
}

// class is the kind of what begins with a table.
func (t *Typer) class(table uint64) graph.Kind {
	name := t.source.Class(table)
	if name == "" {
		return Unknown
	}
	var s *shape
	if t.lookups < maxLookups {
		t.lookups++
		if typ, ok := t.source.TypeNamed(name); ok {
			s = t.shapeOf(typ)
		}
	}
	if s != nil { // as pointers to it are named
		return t.kind(s.name, true, s)
	}
	return t.kind(name, true, nil)
}

// Root follows a pointer with a type that lies outside of the objects.
func (t *Typer) Root(typ *types.Type, value uint64) {
	s := typ.Strip()
	if s.Pointer() || s.Reference() {
		t.assign(value, t.shapeOf(s.Target()), nil)
	}
}

// Variable follows all pointers in a variable that lies outside of the objects.
func (t *Typer) Variable(typ *types.Type, at uint64) {
	s := t.shapeOf(typ)
	if s == nil {
		return
	}
	t.follow(s, at, s.size)
}

// assign says that an object begins with a shape, if that fits and nothing better is known, and returns the kind that it has now, if so. used is where the part of it is that is in use; nil
// for all of it.
func (t *Typer) assign(at uint64, s *shape, used *[2]uint64) graph.Kind {
	if s == nil || s.name == "" {
		return Unknown
	}
	n, ok := t.g.Exact(at)
	if !ok || t.g.Kinds[n] != Unknown {
		return Unknown
	}
	size := t.g.Size(n)
	if size < s.size {
		return Unknown
	}
	k := t.kindOf(s, t.many(s, size))
	if k == Unknown {
		return Unknown
	}
	t.g.Kinds[n] = k
	if len(s.slots()) > 0 {
		t.queue.Add(t.g, n)
		if used != nil && used[0] >= at && used[1]-at <= size {
			t.used[n] = *used
		}
	}
	return k
}

// idle adds what a container that leads to an object of a kind has no elements in yet. What it says is not more than the object has, nor less than nothing.
func (t *Typer) idle(k graph.Kind, at uint64, whole, used, element uint64) {
	if element == 0 {
		element = 1
	}
	n, ok := t.g.Exact(at)
	if k == Unknown || !ok || whole-used > t.g.Size(n)/element {
		return
	}
	t.Kinds[k].Idle += (whole - used) * element
}

// kindOf is the kind of objects of a shape, one or many.
func (t *Typer) kindOf(s *shape, many bool) graph.Kind {
	if many {
		if s.many == Unknown {
			s.many = t.kind(s.name+"[]", false, s)
		}
		return s.many
	}
	if s.one == Unknown {
		s.one = t.kind(s.name, false, s)
	}
	return s.one
}

// many reports whether an object of a size has several elements of a shape, or is text: what an allocator adds to a request is less.
func (t *Typer) many(s *shape, size uint64) bool {
	if s.single {
		return false
	}
	return s.text || size >= 2*s.size && (t.Zeroed || size-s.size > 4*t.word)
}

// Follow follows the pointers of the objects with types to others, until no more are found.
func (t *Typer) Follow(ctx context.Context) error {
	var now graph.Frontier
	for steps := 0; t.queue.Len() > 0; {
		for n, start := range now.Take(t.g, &t.queue) {
			if steps++; steps%(1<<12) == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			s := t.Kinds[t.g.Kinds[n]].shape
			if s == nil {
				continue
			}
			size := s.size
			if whole := t.g.Size(n); t.many(s, whole) {
				size = whole
			}
			if used, ok := t.used[n]; ok {
				delete(t.used, n)
				start, size = used[0], used[1]-used[0]
			}
			t.follow(s, start, size)
		}
	}
	return nil
}

// follow follows the pointers of elements of a shape that lie in memory, one behind the other.
func (t *Typer) follow(s *shape, at, size uint64) {
	slots := s.slots()
	if len(slots) == 0 || s.size == 0 {
		return
	}
	n := min(size/s.size, maxElements)
	per := max(piece/s.size, 1)
	for i := uint64(0); i < n; i += per {
		k := min(per, n-i)
		cost := k*s.size + 64
		if cost > t.left {
			return
		}
		t.left -= cost
		b := t.read(at+i*s.size, int(min(k*s.size, procmem.MaxBytes)))
		for j := uint64(0); j < k; j++ {
			for i := range slots {
				p := &slots[i]
				v := t.wordAt(b, j*s.size+p.off)
				if v == 0 {
					continue
				}
				if p.held != nil {
					t.assign(v, t.heldIn(p.held, t.wordAt(b, j*s.size+p.off-t.word)), nil)
					continue
				}
				var used *[2]uint64
				if p.high != 0 {
					if used = (&[2]uint64{t.wordAt(b, j*s.size+p.low), t.wordAt(b, j*s.size+p.high) + p.past}); used[0] > used[1] {
						continue
					}
				} else if p.counted {
					if n := t.wordAt(b, j*s.size+p.room.used); n <= maxElements { // more are nonsense, and assign leaves out what is longer than the object
						used = &[2]uint64{v, v + n*p.room.element}
					}
				}
				if k := t.assign(v, p.shape(), used); k != Unknown && p.room != nil {
					t.idle(k, v, t.wordAt(b, j*s.size+p.room.whole), t.wordAt(b, j*s.size+p.room.used), p.room.element)
				}
			}
		}
	}
}

// read is memory, as much as is there of it, until the next read.
func (t *Typer) read(at uint64, n int) []byte {
	if n > len(t.buf) {
		t.buf = make([]byte, max(n, piece))
	}
	return t.mem.View(at, t.buf[:n])
}

// wordAt is a word in memory that was read; 0 past its end.
func (t *Typer) wordAt(b []byte, off uint64) uint64 {
	if off+t.word > uint64(len(b)) {
		return 0
	}
	return t.mem.Arch.Word(b[off:])
}
