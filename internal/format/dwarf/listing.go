package dwarf

import (
	"slices"
	"sort"
	"strings"
	"sync"
)

// What the indexes of a file, .debug_names and .gdb_index, say of a name. They save a search of all units, most of all
// where the name is in none. Nothing is taken from them that the units do not confirm: an entry must have the name and the
// tag, and an index is believed about what a unit lacks if it has the first type that the unit defines. So units that were
// compiled without names for an index, which the index lists nevertheless, are searched.

// A NameQuery is what is looked up.
type NameQuery struct {
	Name   string   // DW_AT_name
	Scopes []string // the names around it, outermost first, if Scoped
	Scoped bool     // the scopes are known
	Spaces bool     // and all are namespaces
	Fits   func(Tag) bool
}

// A Listing is what the indexes say of a name. It is used for one search, by one goroutine. Nil is that of a file
// without an index.
type Listing struct {
	d      *Data
	q      *NameQuery
	names  bool // .debug_names was asked, and contradicts itself nowhere
	gdb    bool // .gdb_index was
	hits   []hit
	other  []hit   // entries that have the name, and are something else by .debug_names
	passed []*Unit // that Try passed over
}

// A hit is a unit that has the name by an index.
type hit struct {
	unit uint64
	off  uint64 // of the entry in the unit; 0 if only the unit is known
	tag  Tag
	sure bool // the scopes fit, too
}

// Limits on the entries of one unit that are looked at: those that may be what is wanted, and those that are something
// else, for instance each inlined call of the constructor.
const (
	maxHitsInUnit = 8
	maxOther      = 1 << 8
)

// Listing looks a name up in the file's indexes. It returns nil if there are none that can help.
func (d *Data) Listing(q *NameQuery) *Listing {
	if d == nil || d.dwo || q == nil || q.Name == "" {
		return nil
	}
	l := &Listing{d: d, q: q}
	if hash, ok := nameHash(q.Name); ok && len(d.names.all(d)) > 0 {
		l.names = true
		for _, x := range d.names.indexes {
			if l.names = l.inIndex(x, hash); !l.names {
				l.hits, l.other = nil, nil
				break
			}
		}
	}
	if q.Scoped && q.Spaces {
		l.gdb = l.inGDB()
	}
	if !l.names && !l.gdb {
		return nil
	}
	for _, list := range [...][]hit{l.hits, l.other} {
		slices.SortStableFunc(list, func(a, b hit) int { return compare(a.unit, b.unit) })
	}
	return l
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// inIndex adds what an index of .debug_names lists. It returns false if the index contradicts itself.
func (l *Listing) inIndex(x *nameIndex, hash uint32) bool {
	n, ok, err := x.find(l.d, l.q.Name, hash)
	if err != nil || !ok {
		return err == nil
	}
	var scopes map[uint64]bool // the entries of the scopes around, once they are needed
	bad, entries := false, 0
	err = x.each(l.d, n, func(e *nameEntry) bool {
		if entries++; entries > maxNameEntries {
			bad = true
			return false
		}
		if e.elsewhere {
			return true
		}
		h := hit{unit: e.unit, off: e.off, tag: e.tag}
		if !l.q.Fits(e.tag) {
			l.other = append(l.other, h)
			return true
		}
		switch {
		case !l.q.Scoped:
		case e.inScope:
			if scopes == nil {
				if scopes, err = l.scopesIn(x, l.q.Scopes); err != nil {
					bad = true
					return false
				}
			}
			if !scopes[e.parent] {
				l.other = append(l.other, h)
				return true
			}
			h.sure = l.q.Spaces
		case e.noParent:
			// What is inside a namespace has a parent; what is inside a class that is only declared has none.
			if len(l.q.Scopes) > 0 && l.q.Spaces {
				l.other = append(l.other, h)
				return true
			}
			h.sure = len(l.q.Scopes) == 0
		}
		l.hits = append(l.hits, h)
		return true
	})
	return err == nil && !bad
}

// scopesIn returns the entries of an index, by their places in its pool, that are a scope of these names.
func (l *Listing) scopesIn(x *nameIndex, names []string) (map[uint64]bool, error) {
	var around map[uint64]bool
	for i, name := range names {
		hash, ok := nameHash(name)
		if !ok {
			return nil, errNames
		}
		n, ok, err := x.find(l.d, name, hash)
		if err != nil || !ok {
			return nil, err
		}
		inner := map[uint64]bool{}
		entries := 0
		err = x.each(l.d, n, func(e *nameEntry) bool {
			entries++
			if isScope(e.tag) && (!e.inScope && (i == 0 || !l.q.Spaces) || e.inScope && around[e.parent]) {
				inner[e.at] = true
			}
			return entries <= maxNameEntries
		})
		if err == nil && entries > maxNameEntries {
			err = errNames
		}
		if err != nil {
			return nil, err
		}
		around = inner
	}
	return around, nil
}

// inGDB adds the units that .gdb_index lists. It returns false if it has no symbols, or contradicts itself.
func (l *Listing) inGDB() bool {
	x := &l.d.gdb
	s := x.symbols(l.d)
	full := l.q.full()
	if s == nil || !s.exact(full) {
		return false
	}
	list, err := s.find(full)
	if err != nil {
		return false
	}
	bad := false
	s.each(list, func(n uint64) {
		if off, _, ok := x.listed(n); ok {
			l.hits = append(l.hits, hit{unit: off, sure: true})
		} else {
			bad = bad || n >= x.all()
		}
	})
	return !bad
}

// full returns the name with its scopes.
func (q *NameQuery) full() string { return strings.Join(append(slices.Clone(q.Scopes), q.Name), "::") }

// in returns what of a list is in a unit.
func (l *Listing) in(list []hit, u *Unit) []hit {
	if u.Data != l.d || u.Sec != SecInfo {
		return nil
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].unit >= u.Off })
	n := i
	for n < len(list) && list[n].unit == u.Off {
		n++
	}
	return list[i:n]
}

// lacks reports whether an index knows what u has, and does not list the name there, or only as something else.
func (l *Listing) lacks(u *Unit) bool {
	if u.Data != l.d || u.Sec != SecInfo || len(l.in(l.hits, u)) > 0 {
		return false
	}
	names, gdb := l.d.covers(u)
	return l.names && names || l.gdb && gdb
}

// mistaken reports whether what is listed of u as something else is what is wanted, or is not what the index says.
func (l *Listing) mistaken(u *Unit) bool {
	other := l.in(l.other, u)
	for _, h := range other[:min(len(other), maxOther)] {
		d, ok := l.entry(u, h)
		if !ok {
			return true
		}
		if !l.q.Fits(h.tag) {
			continue
		}
		// By the index it is in another scope.
		if names, _, ok := d.Scopes(); ok && slices.Equal(names, l.q.Scopes) {
			return true
		}
	}
	return len(other) > maxOther
}

// A Search goes through the units of a file for a name.
type Search struct {
	list *Listing // nil without an index, or once it is not believed any more
	// unit looks through a unit. It returns whether the name is there, and whether that ends the search.
	unit func(*Unit) (found, end bool)
	// entry reports whether an entry of the name is what is wanted; nil if only unit knows.
	entry func(DIE) bool
}

// Search returns a search for what l lists; l may be nil. unit looks through a unit, and returns whether what is wanted is
// there, and whether that ends the search. entry, if it is not nil, reports whether an entry that has the name is what is
// wanted, which then ends the search.
func (l *Listing) Search(unit func(*Unit) (found, end bool), entry func(DIE) bool) *Search {
	return &Search{l, unit, entry}
}

// Try looks through u, unless an index knows what u has, and that it is not what is wanted. It returns whether the search ends.
// Where an index lists what is not there, it is not believed any more: the units that were passed over are looked through,
// and so are all that follow.
func (s *Search) Try(u *Unit) (end bool) {
	l := s.list
	if l == nil {
		_, end = s.unit(u)
		return end
	}
	hits, wrong := l.in(l.hits, u), false
	if l.lacks(u) {
		if !l.mistaken(u) {
			l.passed = append(l.passed, u)
			return false
		}
		wrong = true
	}
	for _, h := range hits[:min(len(hits), maxHitsInUnit)] {
		if h.off == 0 {
			continue
		}
		d, ok := l.entry(u, h)
		if ok && s.entry != nil && s.entry(d) {
			return true
		}
		wrong = wrong || !ok || h.sure && s.entry != nil
	}
	if !wrong {
		found, end := s.unit(u)
		if found || !slices.ContainsFunc(hits, func(h hit) bool { return h.sure }) {
			return end
		}
	}
	s.list = nil
	for _, p := range l.passed {
		if _, end := s.unit(p); end {
			return true
		}
	}
	if wrong {
		_, end = s.unit(u)
	}
	return end
}

// From calls yield for the units from u on that an index lists, until it returns false.
func (s *Search) From(u *Unit, yield func(*Unit) bool) {
	if s.list == nil {
		return
	}
	next := u.Off
	for _, h := range s.list.hits {
		if h.unit < next {
			continue
		}
		next = h.unit + 1
		if u, err := s.list.d.UnitAt(SecInfo, h.unit); err == nil && u.Type == UnitCompile && !yield(u) {
			return
		}
	}
}

// entry returns the entry of a hit. It returns false if that is not what the index says.
func (l *Listing) entry(u *Unit, h hit) (DIE, bool) {
	d := DIE{u, u.Off + h.off}
	if d.Off < u.Off {
		return DIE{}, false
	}
	e, err := u.Entry(d.Off)
	if err != nil || e.Tag != h.tag {
		return DIE{}, false
	}
	v := u.Value(d.Off, AttrName)
	if name, ok := u.Bytes(&v); ok && string(name) == l.q.Name {
		return d, true
	}
	if l.q.Fits(h.tag) && h.tag != TagVariable {
		return DIE{}, false
	}
	// A definition has the name of its declaration, and a function is also listed by its mangled name, and by its name without
	// the arguments of a template.
	f := d.rawInfo()
	return d, f.Name == l.q.Name || f.LinkageName == l.q.Name || strings.HasPrefix(f.Name, l.q.Name+"<")
}

// coverage remembers which units the indexes know.
type coverage struct {
	mu    sync.Mutex
	known map[uint64]covered
}

type covered struct{ names, gdb bool }

// covers reports whether .debug_names and .gdb_index know what u has: they list u, and of the names in it the
// first type that it defines.
func (d *Data) covers(u *Unit) (names, gdb bool) {
	d.coverage.mu.Lock()
	c, ok := d.coverage.known[u.Off]
	d.coverage.mu.Unlock()
	if ok {
		return c.names, c.gdb
	}
	c = d.askIndexes(u)
	d.coverage.mu.Lock()
	defer d.coverage.mu.Unlock()
	if d.coverage.known == nil {
		d.coverage.known = map[uint64]covered{}
	}
	d.coverage.known[u.Off] = c
	return c.names, c.gdb
}

// askIndexes looks the first type of u up.
func (d *Data) askIndexes(u *Unit) (c covered) {
	if !u.Language.indexed() {
		return c
	}
	x := d.names.of(d, u.Off)
	listed := d.gdb.lists(d, u)
	if x == nil && !listed {
		return c
	}
	q, die, ok := u.firstType()
	if !ok {
		return c
	}
	if hash, plain := nameHash(q.Name); x != nil && plain {
		l := Listing{d: d, q: q}
		c.names = l.inIndex(x, hash) && slices.ContainsFunc(l.hits, func(h hit) bool { return h.unit == u.Off && h.off == die.Off-u.Off })
	}
	if listed {
		l := Listing{d: d, q: q}
		c.gdb = l.inGDB() && slices.ContainsFunc(l.hits, func(h hit) bool { return h.unit == u.Off })
	}
	return c
}

// indexed reports whether compilers list all types of a unit in the language: those of C and C++ do.
func (l Language) indexed() bool {
	switch l {
	case LangC89, LangC, LangC99, LangC11, LangC17, LangC23, LangCPlusPlus, LangCPlus03, LangCPlus11, LangCPlus14, LangCPlus17, LangCPlus20:
		return true
	}
	return false
}

// maxFirst is how many entries are read for the first type of a unit.
const maxFirst = 1 << 10

// firstType returns the first type that a unit defines outside functions and classes: a class or an enumeration if there is
// one, otherwise a number. Names of templates, and names that are written in several ways, do not count.
func (u *Unit) firstType() (*NameQuery, DIE, bool) {
	var e Entry
	var v Value
	var scopes []string
	var number DIE
	var numberName string
	c := u.Cursor(u.entries)
	if !c.Next(&e) {
		return nil, DIE{}, false
	}
	for n := 0; n < maxFirst && c.Level() > 0 && c.Next(&e); n++ {
		if e.Depth != len(scopes)+1 {
			continue
		}
		name, declared := "", false
		switch e.Tag {
		case 0: // the end of a namespace
			scopes = scopes[:max(0, len(scopes)-1)]
			continue
		case TagNamespace, TagStructureType, TagClassType, TagUnionType, TagEnumerationType, TagBaseType:
			for c.Attr(&v) {
				switch v.Attr {
				case AttrName:
					name = u.Text(&v)
				case AttrDeclaration:
					declared = v.Flag()
				}
			}
		default:
			if c.hasSibling() {
				c.SkipChildren()
			}
			continue
		}
		switch {
		case e.Tag == TagNamespace:
			if name == "" {
				name = "(anonymous namespace)"
			}
			if e.HasChildren {
				scopes = append(scopes, name)
			}
		case declared || name == "" || strings.HasPrefix(name, "_") || strings.ContainsAny(name, "< "):
		case e.Tag != TagBaseType:
			return typeQuery(name, scopes), DIE{u, e.Off}, true
		case !number.Valid() && !strings.HasPrefix(name, "DW_") && len(scopes) == 0:
			number, numberName = DIE{u, e.Off}, name
		}
	}
	return typeQuery(numberName, nil), number, number.Valid()
}

func typeQuery(name string, scopes []string) *NameQuery {
	return &NameQuery{Name: name, Scopes: scopes, Scoped: true, Spaces: true, Fits: func(t Tag) bool {
		switch t {
		case TagStructureType, TagClassType, TagUnionType, TagEnumerationType, TagBaseType:
			return true
		}
		return false
	}}
}

// Scopes returns the names around an entry, outermost first, and whether all are namespaces. It returns false if a
// function is among them.
func (d DIE) Scopes() (names []string, spaces, ok bool) {
	u := d.Unit
	spaces = true
	for _, s := range u.outline.scopes(u, d.Off) {
		if s.fn {
			return nil, false, false
		}
		e, err := u.Entry(s.off)
		if err != nil {
			return nil, false, false
		}
		spaces = spaces && e.Tag == TagNamespace
		names = append(names, u.scopePart(s.off))
	}
	return names, spaces, true
}
