package dwarf

import (
	"math"
	"slices"
	"sort"
	"sync"
)

// The outline of a unit: its functions with code, and the scopes around its entries. Entries do
// not refer to their parents, and no table says which entry has the code at an address, so both
// need a pass over the unit. There is one pass for both. It goes only as far as the questions
// so far needed, and continues where it stopped.
//
// Entries whose contents are skipped, because they say where they end (gcc's do, clang's do
// not), get a pass of their own, a segment, when something inside them is wanted.

// An outline is what the passes over a unit have found so far. Its mutex is held during a pass.
type outline struct {
	mu       sync.Mutex
	segments map[uint64]*segment // by the entry that they are the contents of
	// queue has the segments that functions are looked for in: that of the first entry, then
	// those of namespaces. queue[:finished] were passed to their ends.
	queue    []*segment
	finished int
	inner    spanSet // the functions of queue[1:finished]
	// skipped says that a segment in the queue skipped contents that may have functions.
	skipped bool
	known   map[uint64]span // functions by addresses that were asked for, where answers are kept
	budget  int             // how many ranges of functions may still be read

	deepOnce sync.Once
	deep     spanIndex
}

// A segment is an entry with its contents, except contents that were skipped.
type segment struct {
	entry     uint64
	depth     int  // how many segments it is inside of
	functions bool // it is, or will be, in the queue
	at        place
	done      bool       // at is the end
	marks     []place    // places at or before at, from which a pass may start again
	funcs     spanSet    // functions before at
	inner     []*segment // namespaces that were skipped before at
}

// A place is where a pass is, before an entry.
type place struct {
	off    uint64
	level  int     // depth of the next entry in the segment
	scopes []scope // around it, outermost first
}

// A scope is an entry that qualifies the names inside it.
type scope struct {
	off   uint64
	level int  // of the entry in the segment whose pass goes through it; -1 outside
	fn    bool // a function
}

// markStep is about how many bytes are between two places from which a pass may start again.
const markStep = 8 << 10

// minNamespace is the size in bytes of a namespace that gets a segment.
const minNamespace = 512

// maxSegments limits how deep segments nest. Inside the last, nothing is skipped.
const maxSegments = 32

// first returns the segment of the whole unit. The caller holds the lock.
func (o *outline) first(u *Unit) *segment {
	if len(o.queue) == 0 {
		o.budget = 1 << 16
		g := o.segment(u.entries, nil, 0)
		g.functions = true
		o.queue = append(o.queue, g)
	}
	return o.queue[0]
}

// segment returns the segment of an entry that is inside scopes.
func (o *outline) segment(entry uint64, scopes []scope, depth int) *segment {
	if g := o.segments[entry]; g != nil {
		return g
	}
	g := &segment{entry: entry, depth: depth}
	g.at = place{off: entry, scopes: slices.Clone(scopes)}
	for i := range g.at.scopes {
		g.at.scopes[i].level = -1
	}
	g.mark()
	if o.segments == nil {
		o.segments = make(map[uint64]*segment)
	}
	o.segments[entry] = g
	return g
}

// mark records the current place.
func (g *segment) mark() {
	p := g.at
	p.scopes = slices.Clone(p.scopes)
	g.marks = append(g.marks, p)
}

// before returns the last recorded place that is not after off.
func (g *segment) before(off uint64) place {
	i := max(1, sort.Search(len(g.marks), func(i int) bool { return g.marks[i].off > off }))
	p := g.marks[i-1]
	p.scopes = slices.Clone(p.scopes)
	return p
}

// A pass goes through a segment. If it goes on where none has been, it records what it finds.
type pass struct {
	u      *Unit
	g      *segment
	p      *place
	record bool

	target uint64 // the pass ends before the entry at or after it
	inside uint64 // the skipped entry that contains target; 0 if none
	pc     uint64 // the pass ends after a function with this address in it
	find   bool   // pc is wanted
	found  bool
}

// run moves p on, up to target, or to a function with pc.
func (w *pass) run() {
	g, p := w.g, w.p
	c := w.u.Cursor(p.off)
	c.level = p.level
	mark := uint64(math.MaxUint64)
	if w.record {
		mark = g.marks[len(g.marks)-1].off + markStep
	}
	var e Entry
	for {
		c.skipLeaves(min(w.target, mark))
		p.off, p.level = uint64(c.in.Off), c.level
		if p.off >= mark {
			g.mark()
			mark = p.off + markStep
		}
		if p.off >= w.target || w.inside != 0 || w.found {
			return
		}
		if !c.Next(&e) {
			break
		}
		if c.ab == nil { // the end of a list of children
			if n := len(p.scopes); n > 0 && p.scopes[n-1].level == c.level {
				p.scopes = p.scopes[:n-1]
			}
			if c.level <= 0 {
				break
			}
			continue
		}
		if w.record && g.functions && e.Tag == TagSubprogram && c.ab.hasPC {
			w.function(&c, &e)
		}
		switch {
		case !e.HasChildren:
		case e.Off != g.entry && g.depth < maxSegments && w.skip(&c, &e):
		default:
			if isScope(e.Tag) && !(e.Tag == TagSubprogram && c.ab.declared) && len(p.scopes) < maxScopeDepth {
				p.scopes = append(p.scopes, scope{e.Off, e.Depth, e.Tag == TagSubprogram})
			}
		}
		c.skipRest()
		if !e.HasChildren && c.level <= 0 {
			break
		}
	}
	if w.record {
		g.done = true
	}
}

// skip skips the contents of the entry that c has just read, if it says where they end. Those of
// a short namespace are not worth a segment.
func (w *pass) skip(c *Cursor, e *Entry) bool {
	o, g := &w.u.outline, w.g
	end := c.childrenEnd()
	if end == 0 {
		return false
	}
	switch e.Tag {
	case TagNamespace, TagModule, TagCompileUnit, TagPartialUnit:
		if end-e.Off < minNamespace {
			return false
		}
		if w.record && g.functions {
			in := o.segment(e.Off, w.p.scopes, g.depth+1)
			in.functions = true
			g.inner = append(g.inner, in)
		}
	default:
		o.skipped = o.skipped || w.record && g.functions
	}
	if w.target > e.Off && w.target < end {
		w.inside = e.Off
	}
	c.SkipChildren()
	return true
}

// maxFuncRanges limits the average number of ranges per function, so that a few may have
// many.
const maxFuncRanges = 64

// function records the ranges of the function that c has just read.
func (w *pass) function(c *Cursor, e *Entry) {
	o := &w.u.outline
	o.budget += maxFuncRanges
	top := e.Depth == 1 && w.g == o.queue[0]
	w.u.eachFuncSpan(c, funcID(e.Off-w.u.Off, top), &o.budget, func(s span) {
		w.g.funcs.add(s)
		w.found = w.found || w.find && s.holds(w.pc) && !s.leftover()
	})
}

// eachFuncSpan calls yield for each range of the function that c has just read, as far as
// budget allows.
func (u *Unit) eachFuncSpan(c *Cursor, id uint64, budget *int, yield func(span)) {
	var v Value
	var p pcAttrs
	for c.Attr(&v) {
		p.take(&v)
	}
	it := u.rangesOf(&p, *budget)
	defer func() { *budget = it.left }()
	for {
		r, ok := it.next()
		if !ok {
			return
		}
		yield(span{r.Low, r.High, id | ifLeftover(r.Low)})
	}
}

// function returns the first function whose code contains pc. Those in the first entry come
// before those in namespaces that were skipped. Functions are not looked for in other contents
// that were skipped.
func (o *outline) function(u *Unit, pc uint64) (span, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	g := o.first(u)
	s, ok := g.funcs.find(pc, &u.Data.work)
	if !g.done && (!ok || s.leftover()) {
		w := pass{u: u, g: g, p: &g.at, record: true, target: math.MaxUint64, pc: pc, find: true}
		w.run()
		s, ok = g.funcs.find(pc, &u.Data.work)
	}
	if ok && !s.leftover() {
		return s, true
	}
	o.finish(u)
	if in, inner := o.inner.find(pc, &u.Data.work); inner && (!ok || !in.leftover()) {
		return in, true
	}
	return s, ok
}

// finish passes over what is left of the segments that functions are looked for in.
func (o *outline) finish(u *Unit) {
	o.first(u)
	for ; o.finished < len(o.queue); o.finished++ {
		g := o.queue[o.finished]
		if !g.done {
			w := pass{u: u, g: g, p: &g.at, record: true, target: math.MaxUint64}
			w.run()
		}
		if o.finished > 0 {
			o.inner.spans = append(o.inner.spans, g.funcs.spans...)
			g.funcs = spanSet{}
		}
		o.queue = append(o.queue, g.inner...)
		g.inner = nil
	}
}

// skips reports whether contents that may have functions were skipped.
func (o *outline) skips() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.skipped
}

// all returns the functions that function finds, by address.
func (o *outline) all(u *Unit) []span {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finish(u)
	all := slices.Concat(o.queue[0].funcs.spans, o.inner.spans)
	slices.SortFunc(all, byLow)
	return all
}

// scopes returns the scopes around the entry at off, outermost first.
func (o *outline) scopes(u *Unit, off uint64) []scope {
	o.mu.Lock()
	defer o.mu.Unlock()
	for g := o.first(u); ; {
		p := &g.at
		if g.done || off < p.off {
			again := g.before(off)
			p = &again
		}
		w := pass{u: u, g: g, p: p, record: p == &g.at, target: off}
		w.run()
		if w.inside == 0 {
			return slices.Clone(p.scopes)
		}
		g = o.segment(w.inside, p.scopes, g.depth+1)
	}
}
