package typing

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// A shape is what an object looks like, or each of its elements: which pointers are where.
type shape struct {
	name   string
	of     *types.Type // nil for what no type describes: the node of a container
	size   uint64      // bytes of an element
	text   bool
	single bool       // an object is one of it, whatever its size
	one    graph.Kind // of objects that are one of it, and of those that are several; Unknown until there are some
	many   graph.Kind
	found  []slot
	find   func(s *shape) []slot // until it was asked
}

// A slot is a pointer in a shape.
type slot struct {
	off uint64
	to  *types.Type // what it points to
	at  *shape      // the same, where it is known
	t   *Typer
	// held is the type of the interface that it is the second word of: what it points to is told by the first.
	held *types.Type
	// low and high are where in the shape pointers are to the part of the object that is in use; 0 for all of it. What is behind is what was there
	// before.
	low, high uint64
	past      uint64 // bytes in use behind high
	// room is where the shape says how much of the object is for elements that are not there yet; nil where it does not.
	room *room
	// counted says that only as many elements as room says are in use.
	counted bool
}

// A room is where a container has how much it may hold, and how much it holds: two pointers, or two numbers of elements. Offsets are in the shape.
type room struct {
	whole, used uint64
	element     uint64 // bytes of one; 0 of pointers
}

func (p *slot) shape() *shape {
	if p.at == nil {
		p.at = p.t.shapeOf(p.to)
		if p.at == nil {
			p.at = &shape{}
		}
	}
	return p.at
}

// slots are its pointers.
func (s *shape) slots() []slot {
	if s.find != nil {
		find := s.find
		s.find = nil
		s.found = find(s)
	}
	return s.found
}

// shapeKey is a type, or what a container makes of it.
type shapeKey struct {
	of   types.Ref
	node string
}

const (
	maxSlots = 1 << 12 // of one shape
	maxDepth = 16      // of members in members
	maxSteps = 1 << 16 // members that are looked at for one shape: types within types multiply
	maxArray = 1 << 10 // elements of an array in an object that are followed
)

// shapeOf is the shape of objects of a type; nil where nothing can be said: void, functions, what is only declared.
func (t *Typer) shapeOf(typ *types.Type) *shape {
	d := typ.Defined()
	if d == nil || !d.Ref.Valid() {
		return nil
	}
	key := shapeKey{of: d.Ref}
	if s, ok := t.shapes[key]; ok {
		return s
	}
	t.shapes[key] = nil // of a type that asks for itself meanwhile
	if d.Tag == dwarf.TagSubroutineType || nodeBase(d) {
		return nil
	}
	s := &shape{of: typ, size: d.Whole()}
	if s.size == 0 {
		return nil
	}
	switch {
	case isText(d):
		s.name, s.text = d.BareName, true
		if d.Encoding.Char() || strings.HasSuffix(d.BareName, " char") { // signed or not
			s.name = "char"
		}
	default:
		if s.name = d.Name(); d.BareName == "" {
			s.name = typ.Name()
		}
		s.find = func(s *shape) []slot {
			t.steps = maxSteps
			return t.flatten(nil, d, 0, 0)
		}
	}
	t.shapes[key] = s
	return s
}

// isText reports whether a type is that of a byte of text or of raw memory.
func isText(t *types.Type) bool {
	if t.Tag != dwarf.TagBaseType || t.ByteSize != 1 {
		return false
	}
	return t.Encoding.Char() || t.BareName == "char" || strings.HasSuffix(t.BareName, " char") || t.BareName == "u8" || t.BareName == "uint8"
}

// nodeBase reports whether a type is what the nodes of containers begin with: what follows is not described by it.
func nodeBase(t *types.Type) bool {
	name, _, _ := strings.Cut(t.BareName, "<")
	return strings.HasSuffix(name, "_node_base") || name == "__tree_end_node" || name == "__hash_node_base"
}

// flatten appends the pointers of a type that lies at an offset.
func (t *Typer) flatten(out []slot, typ *types.Type, off uint64, depth int) []slot {
	if t.steps--; t.steps < 0 || depth > maxDepth || len(out) >= maxSlots {
		return out
	}
	d := typ.Defined()
	switch {
	case d.Pointer() || d.Reference():
		if d.Whole() == t.word {
			out = append(out, slot{off: off, to: d.Target(), t: t})
		}
	case d.Tag == dwarf.TagUnionType:
		// Which of its members it holds is not known.
	case d.Aggregate():
		if nodes, ok := t.container(d, off); ok {
			return append(out, nodes...)
		}
		if isInterface(d) {
			return append(out, slot{off: off + t.word, held: d, t: t})
		}
		fields := d.Members().Fields
		if p, ok := t.rowOf(d, fields, off); ok {
			return append(out, p)
		}
		for i := range fields {
			f := &fields[i]
			if f.Static || f.Expr.Present() || f.Bits != 0 || f.Virtual {
				continue
			}
			out = t.flatten(out, d.MemberType(f), off+f.Off, depth+1)
		}
	case d.Tag == dwarf.TagArrayType && !d.Vector:
		elem := d.Target()
		size, whole := elem.Whole(), d.Whole()
		if size == 0 {
			return out
		}
		for i := uint64(0); i < min(whole/size, maxArray); i++ {
			before := len(out)
			if out = t.flatten(out, elem, off+i*size, depth+1); len(out) == before {
				break // elements without pointers
			}
		}
	}
	return out
}

// isInterface reports whether a type is an interface of Go.
func isInterface(t *types.Type) bool {
	return t.Language == dwarf.LangGo && (t.GoKind == types.GoInterface || t.BareName == "runtime.iface" || t.BareName == "runtime.eface")
}

const maxHeld = 1 << 16 // kinds of values in interfaces

// heldIn is the shape of what an interface holds, by its first word: the type's descriptor, or a table that begins with those of the interface and
// of the type.
func (t *Typer) heldIn(of *types.Type, first uint64) *shape {
	s, ok := t.held[first]
	if ok || first == 0 || len(t.held) >= maxHeld {
		return s
	}
	descriptor := first
	if of.BareName != "runtime.eface" {
		if v, ok := t.mem.LookupWord(first + t.word); ok {
			if typ, ok := t.source.GoType(of, v); ok {
				s = t.heldAs(typ)
			}
		}
	}
	if s == nil {
		if typ, ok := t.source.GoType(of, descriptor); ok {
			s = t.heldAs(typ)
		}
	}
	t.held[first] = s
	return s
}

// heldAs is the shape of what the second word of an interface points to: of types that are pointers the word is the value.
func (t *Typer) heldAs(typ *types.Type) *shape {
	d := typ.Defined()
	if d.Pointer() {
		return t.shapeOf(d.Target())
	}
	if d.GoKind == types.GoMap || d.GoKind == types.GoChan {
		return nil
	}
	s := t.shapeOf(typ)
	if s != nil && s.size == t.word && len(s.slots()) == 1 { // a structure that is one pointer is the word, too
		return s.slots()[0].shape()
	}
	return s
}

// rowOf returns the pointer of a vector to its elements, of which not all may be in use.
func (t *Typer) rowOf(d *types.Type, fields []types.Field, off uint64) (p slot, ok bool) {
	first, past, end := -1, -1, -1
	text, length, local := -1, -1, -1
	for i := range fields {
		switch fields[i].Name {
		case "_M_start", "__begin_":
			first = i
		case "_M_finish", "__end_":
			past = i
		case "_M_end_of_storage", "__end_cap_", "__cap_":
			end = i
		case "_M_dataplus":
			text = i
		case "_M_string_length":
			length = i
		case "": // short text, or how much there is room for
			local = i
		}
	}
	if text >= 0 && length >= 0 && local >= 0 {
		return t.textOf(d, &fields[text], off, room{whole: off + fields[local].Off, used: off + fields[length].Off})
	}
	if first < 0 || past < 0 {
		return p, false
	}
	of := d.MemberType(&fields[first]).Defined()
	if !of.Pointer() || !d.MemberType(&fields[past]).Defined().Pointer() {
		return p, false
	}
	p = slot{off: off + fields[first].Off, to: of.Target(), t: t, low: off + fields[first].Off, high: off + fields[past].Off}
	if end >= 0 {
		p.room = &room{whole: off + fields[end].Off, used: p.high}
	}
	return p, true
}

// textOf returns the pointer of a string of the GNU C++ library to its text: the first member of one of its members.
func (t *Typer) textOf(d *types.Type, f *types.Field, off uint64, r room) (p slot, ok bool) {
	members := d.MemberType(f).Defined().Members().Fields
	for i := range members {
		m := &members[i]
		of := d.MemberType(f).Defined().MemberType(m).Defined()
		if m.Name == "_M_p" && of.Pointer() && of.Target().Whole() != 0 {
			r.element = of.Target().Whole()
			return slot{off: off + f.Off + m.Off, to: of.Target(), t: t, room: &r}, true
		}
	}
	return p, false
}

// container returns the pointers of a container of the C++ libraries of GNU and LLVM whose nodes are not described by the pointers' types.
func (t *Typer) container(d *types.Type, off uint64) ([]slot, bool) {
	name, _, templ := strings.Cut(d.BareName, "<")
	if !templ {
		return nil, false
	}
	if d.Language == dwarf.LangRust {
		if name != "Vec" {
			return nil, false
		}
		p, ok := t.vecOf(d, off)
		return []slot{p}, ok
	}
	w := t.word
	node := func(what string, value int, head uint64, links ...uint64) *shape {
		return t.node(d, what, d.TypeArg(value), head, links...)
	}
	switch name {
	case "__aligned_buffer", "__aligned_membuf": // memory for an object that may be there
		if of := d.TypeArg(0); of != nil {
			return t.flatten(nil, of, off, 1), true
		}
	case "_List_base": // a ring of nodes, of which the first is in the container
		n := node("list node", 0, 2*w, 0, w)
		return []slot{{off: off, at: n, t: t}, {off: off + w, at: n, t: t}}, n != nil
	case "_Fwd_list_base":
		n := node("list node", 0, w, 0)
		return []slot{{off: off, at: n, t: t}}, n != nil
	case "_Deque_base": // a row of pointers to rows of elements; two iterators, of which each ends with where in the first row it is
		element := d.TypeArg(0)
		if element == nil {
			return nil, false
		}
		elements := t.shapeOf(element)
		if elements == nil {
			return nil, false
		}
		rows := &shape{name: element.Name() + " *", size: w, found: []slot{{at: elements, t: t}}}
		return []slot{{off: off, at: rows, t: t, low: off + 5*w, high: off + 9*w, past: w}}, true
	case "_Rb_tree": // the order, then a node without a value: color, parent, left, right
		n := node("tree node", 1, 4*w, w, 2*w, 3*w)
		return []slot{{off: off + 2*w, at: n, t: t}, {off: off + 3*w, at: n, t: t}, {off: off + 4*w, at: n, t: t}}, n != nil
	case "_Hashtable":
		n := node("hash node", 1, w, 0)
		if n == nil {
			return nil, false
		}
		buckets := &shape{name: n.name + "*", size: w, found: []slot{{off: 0, at: n, t: t}}}
		return []slot{{off: off, at: buckets, t: t}, {off: off + 2*w, at: n, t: t}}, true
	}
	return t.llvmContainer(d, name, off)
}

// llvmContainer is container of LLVM's library.
func (t *Typer) llvmContainer(d *types.Type, name string, off uint64) (out []slot, ok bool) {
	w := t.word
	value := d.TypeArg(0)
	if value == nil {
		return nil, false
	}
	if pair := memberOf(value, "__cc", "__cc_"); pair != nil { // of maps: a union of a pair that may be moved, or the pair
		value = pair.Defined()
	}
	at := func(n *shape, names ...string) {
		fields := d.Members().Fields
		for i := range fields {
			if n != nil && slices.Contains(names, fields[i].Name) {
				out = append(out, slot{off: off + fields[i].Off, at: n, t: t})
			}
		}
	}
	switch name {
	case "__tree": // left, right, parent, color
		head := (3*w + t.alignment(value, 0)) &^ (t.alignment(value, 0) - 1)
		at(t.node(d, "tree node", value, head, 0, w, 2*w), "__begin_node_", "__pair1_", "__end_node_")
	case "__hash_table": // next, hash
		n := t.node(d, "hash node", value, 2*w, 0)
		if n != nil {
			at(&shape{name: n.name + "*", size: w, found: []slot{{off: 0, at: n, t: t}}}, "__bucket_list_")
		}
		at(n, "__p1_", "__first_node_")
	case "__list_imp": // a ring: the one before, the next
		if at(t.node(d, "list node", value, 2*w, 0, w), "__end_"); len(out) == 1 {
			next := out[0]
			next.off += w
			out = append(out, next)
		}
	case "__forward_list_base":
		at(t.node(d, "list node", value, (w+t.alignment(value, 0)-1)&^(t.alignment(value, 0)-1), 0), "__before_begin_")
	}
	return out, len(out) > 0
}

// vecOf returns the pointer of a Vec of Rust, which is that of a byte, somewhere in a member beside which the length is.
func (t *Typer) vecOf(d *types.Type, off uint64) (p slot, ok bool) {
	of := d.TypeArg(0)
	if of == nil || of.Whole() == 0 {
		return p, false
	}
	length, first := t.within(d, 0, 0, func(name string, _ *types.Type) bool { return name == "len" })
	whole, second := t.within(d, 0, 0, func(name string, _ *types.Type) bool { return name == "cap" })
	at, third := t.within(d, 0, 0, func(_ string, m *types.Type) bool { return m.Pointer() && m.Whole() == t.word })
	if s := t.shapeOf(of); s != nil && first && second && third {
		return slot{off: off + at, at: s, t: t, room: &room{whole: off + whole, used: off + length, element: of.Whole()}, counted: true}, true
	}
	return p, false
}

// within is where in a type the first member, or member of a member, is that matches.
func (t *Typer) within(d *types.Type, off uint64, depth int, match func(name string, of *types.Type) bool) (at uint64, ok bool) {
	if !d.Aggregate() || depth > maxDepth/2 {
		return 0, false
	}
	fields := d.Members().Fields
	for i := range fields {
		f := &fields[i]
		if of := d.MemberType(f).Defined(); !f.Static && match(f.Name, of) {
			return off + f.Off, true
		} else if at, ok = t.within(of, off+f.Off, depth+1, match); ok {
			return at, true
		}
	}
	return 0, false
}

// memberOf is the type of the member of a type that has one of some names; nil if none has.
func memberOf(of *types.Type, names ...string) *types.Type {
	d := of.Defined()
	if !d.Aggregate() {
		return nil
	}
	fields := d.Members().Fields
	for i := range fields {
		if slices.Contains(names, fields[i].Name) {
			return d.MemberType(&fields[i])
		}
	}
	return nil
}

// alignment is what the addresses of objects of a type are multiples of, as compilers have it where nothing else is said.
func (t *Typer) alignment(of *types.Type, depth int) uint64 {
	d := of.Defined()
	switch {
	case d.Pointer() || d.Reference():
		return t.word
	case depth > maxDepth:
	case d.Tag == dwarf.TagArrayType:
		return t.alignment(d.Target(), depth+1)
	case d.Aggregate():
		most := uint64(1)
		fields := d.Members().Fields
		for i := range fields[:min(len(fields), maxArray)] {
			if f := &fields[i]; !f.Static {
				most = max(most, t.alignment(d.MemberType(f), depth+1))
			}
		}
		return most
	}
	switch n := d.Whole(); n {
	case 1, 2, 4, 8, 16:
		return n
	}
	return t.word
}

// node is the shape of a container's nodes: links to other nodes, and a value behind them.
func (t *Typer) node(of *types.Type, what string, value *types.Type, head uint64, links ...uint64) *shape {
	if value == nil {
		return nil
	}
	key := shapeKey{of.Ref, "node"}
	if s, ok := t.shapes[key]; ok {
		return s
	}
	size := value.Whole()
	if size == 0 {
		return nil
	}
	s := &shape{name: what + " of " + value.Name(), size: head + size, single: true}
	s.find = func(s *shape) (out []slot) {
		t.steps = maxSteps
		for _, l := range links {
			out = append(out, slot{off: l, at: s, t: t})
		}
		return t.flatten(out, value, head, 1)
	}
	t.shapes[key] = s
	return s
}
