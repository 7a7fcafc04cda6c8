package dwarf

import (
	"encoding/binary"
	"hash/fnv"
	"io"
)

// What look-ups find in a unit may be kept from one run to the next, by whoever knows where. To find the function with an address,
// or a call by its return address, the unit is read up to there. What was kept is checked with the entry to which it leads.

// A Question is what is asked of a unit.
type Question struct {
	Kind uint32
	Unit uint64 // its offset
	Addr uint64
	Of   uint64 // the offset of an entry
}

// Kinds of questions.
const (
	// AskedFunc asks for the function with the code at Addr.
	AskedFunc uint32 = 1
	// AskedSite asks for the call site in the function Of that returns to Addr.
	AskedSite uint32 = 2
	// AskedName asks where what has a name is, whose hash is Addr; see Data.Remember.
	AskedName uint32 = 3
)

// WithAnswers sets the function that returns what find returns, or what it returned in an earlier run, for the same question
// about the same file with the same WithText. What find returns as nil is not to be kept.
func WithAnswers(answer func(q Question, find func() []byte) []byte) Option {
	return func(d *Data) { d.answers = answer }
}

// Remember returns what find returns for a name and the unit that asks, or what it returned before. The answer must depend
// on the name and the file alone. It is not to be modified. Nil is not remembered.
func (d *Data) Remember(u *Unit, name string, find func() []byte) []byte {
	if d.answers == nil || u.Sec != SecInfo {
		return find()
	}
	h := fnv.New64a()
	io.WriteString(h, name)
	return d.answers(Question{Kind: AskedName, Unit: u.Off, Addr: h.Sum64()}, find)
}

// minKeptUnit is the size in bytes of a unit of which answers are kept. A smaller one is read at once.
const minKeptUnit = 2 << 10

// keeps reports whether answers about the unit are kept.
func (u *Unit) keeps() bool {
	return u.Data.answers != nil && u.Sec == SecInfo && u.End-u.Off >= minKeptUnit
}

// functionAt returns the span of the function with the code at pc.
func (u *Unit) functionAt(pc uint64) (span, bool) {
	if !u.keeps() {
		return u.findFunction(pc)
	}
	o := &u.outline
	o.mu.Lock()
	s, ok := o.known[pc]
	o.mu.Unlock()
	if ok {
		return s, true
	}
	if s, ok = u.askFunction(pc); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.known == nil || len(o.known) >= maxKnown {
			o.known = map[uint64]span{}
		}
		o.known[pc] = s
	}
	return s, ok
}

// maxKnown is how many addresses a unit knows the functions of, when answers are kept, before it forgets them.
const maxKnown = 256

// askFunction implements functionAt with an answer that was kept.
func (u *Unit) askFunction(pc uint64) (s span, ok bool) {
	found := false
	b := u.Data.answers(Question{Kind: AskedFunc, Unit: u.Off, Addr: pc}, func() []byte {
		found = true
		if s, ok = u.findFunction(pc); !ok {
			return nil
		}
		return packNumbers(s.id, s.low, s.high)
	})
	if found {
		return s, ok
	}
	if n, ok := unpackNumbers(b, 3); ok {
		if s := (span{low: n[1], high: n[2], id: n[0]}); s.holds(pc) && u.hasSpan(s) {
			return s, true
		}
	}
	return u.findFunction(pc)
}

// hasSpan reports whether the entry that a span names is a function with that range.
func (u *Unit) hasSpan(s span) (has bool) {
	var e Entry
	c := u.Cursor(u.Off + s.id&^leftover>>1)
	if !c.Next(&e) || e.Tag != TagSubprogram {
		return false
	}
	budget := maxFuncRanges
	u.eachFuncSpan(&c, s.id&^leftover, &budget, func(o span) { has = has || o == s })
	return has
}

// CallSiteAt returns the call site of the function at off that returns to pc.
func (u *Unit) CallSiteAt(off, pc uint64) (site CallSite, ok bool) {
	if !u.keeps() {
		return u.findCallSite(off, pc)
	}
	found := false
	b := u.Data.answers(Question{Kind: AskedSite, Unit: u.Off, Addr: pc, Of: off}, func() []byte {
		found = true
		if site, ok = u.findCallSite(off, pc); !ok {
			return nil
		}
		return packNumbers(site.Off)
	})
	if found {
		return site, ok
	}
	if n, ok := unpackNumbers(b, 1); ok && n[0] > off { // before it are those of others
		var e Entry
		c := u.Cursor(n[0])
		if c.Next(&e) && (e.Tag == TagCallSite || e.Tag == TagGNUCallSite) {
			if site, ok := u.callSite(&c, &e, pc); ok && site.ReturnPC == pc && !site.Tail {
				return site, true
			}
		}
	}
	return u.findCallSite(off, pc)
}

func packNumbers(numbers ...uint64) []byte {
	var b []byte
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// unpackNumbers is the reverse of packNumbers for n numbers.
func unpackNumbers(b []byte, n int) ([]uint64, bool) {
	numbers := make([]uint64, n)
	for i := range numbers {
		v, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, false
		}
		numbers[i], b = v, b[size:]
	}
	return numbers, len(b) == 0
}
