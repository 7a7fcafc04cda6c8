// Package graph holds what lies in a heap and who points at whom, in few bytes for each object: where blocks are, which others their words point at,
// from where all of them are reached, and how much each one alone keeps alive.
//
// Whoever knows the blocks adds them to a Builder; who points at whom is read from the process's memory. All numbers come from there: an object's
// words that happen to look like a pointer count as one (it is conservative), and what cannot be read points nowhere.
package graph

import (
	"cmp"
	"math/bits"
	"slices"
)

// A Node is the number of an object: from 0, by address.
type Node = uint32

// None is no Node.
const None = ^Node(0)

const (
	granule  = 8          // bytes: objects begin at multiples
	coarse   = 16         // nearly all do at multiples of this
	perWord  = 64         // objects that may begin in what one word of bits describes
	perRank  = 8          // words of bits for one sum
	maxNodes = 1<<31 - 16 // the rest are names of roots
)

// A span is memory in which objects are: one bit for each place where one may begin.
type span struct {
	start, end uint64
	base       uint64 // of the first place
	shift      uint8  // places are so many bits of an address apart
	first      Node   // number of the first object
	count      int
	bits       []uint64
	ranks      []uint32 // objects before each perRank words
}

// An index finds objects by their addresses.
type index struct {
	spans []span // by address
	nodes int
	words int // of bits
	room  int // for them
	most  int // of them
}

// add adds memory in which objects may be. It is false where that overlaps what was added before.
func (x *index) add(start, end uint64) bool {
	start &^= granule - 1
	i, found := slices.BinarySearchFunc(x.spans, start, func(s span, a uint64) int { return cmp.Compare(s.start, a) })
	if found || end <= start || i > 0 && x.spans[i-1].end > start || i < len(x.spans) && end > x.spans[i].start {
		return false
	}
	x.spans = slices.Insert(x.spans, i, span{start: start, end: end, base: start &^ (coarse - 1), shift: 4})
	return true
}

// at returns the range that has an address; nil if none has.
func (x *index) at(addr uint64) *span {
	lo, hi := 0, len(x.spans)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if x.spans[m].end <= addr {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(x.spans) && x.spans[lo].start <= addr {
		return &x.spans[lo]
	}
	return nil
}

// mark adds an object that begins at an address. It is false where none may, or one begins there already.
func (x *index) mark(addr uint64) bool {
	s := x.at(addr)
	if s == nil || addr%granule != 0 || x.nodes >= maxNodes || addr%coarse != 0 && s.shift == 4 && !x.refine(s) {
		return false
	}
	i := s.place(addr)
	if n := i/perWord + 1; n > uint64(len(s.bits)) { // as far as there are objects: much of a range may be empty
		if n-uint64(len(s.bits)) > uint64(x.most-x.words) {
			return false
		}
		x.words += int(n) - len(s.bits)
		x.grow(s, int(n))
	}
	if s.bits[i/perWord]&(1<<(i%perWord)) != 0 {
		return false
	}
	s.bits[i/perWord] |= 1 << (i % perWord)
	s.count++
	x.nodes++
	return true
}

// place is the number of the place of an address.
func (s *span) place(addr uint64) uint64 { return (addr - s.base) >> s.shift }

// address is where a place is.
func (s *span) address(place uint64) uint64 { return s.base + place<<s.shift }

// grow makes room for so many words of bits: for the whole range where that is not too much, as what is not written to takes no memory, and to copy
// bits takes twice as much.
func (x *index) grow(s *span, n int) {
	if n <= cap(s.bits) {
		s.bits = s.bits[:n]
		return
	}
	size := 2 * n
	if whole := s.place(s.end-1)/perWord + 1; whole < uint64(size) || whole <= uint64(max(x.most-x.room, 0)) {
		n, size = int(min(uint64(n), whole)), int(whole)
	}
	x.room += size - cap(s.bits)
	bits := make([]uint64, n, size)
	copy(bits, s.bits)
	s.bits = bits
}

// refine has objects of a range begin at multiples of granule. It is false where there is no room.
func (x *index) refine(s *span) bool {
	n := len(s.bits)
	if n > x.most-x.words {
		return false
	}
	old := s.bits
	s.bits, s.shift = nil, 3
	x.room -= cap(old)
	x.grow(s, 2*n)
	x.words += len(s.bits) - n
	for i, w := range old {
		for ; w != 0; w &= w - 1 {
			k := 2 * (i*perWord + bits.TrailingZeros64(w))
			s.bits[k/perWord] |= 1 << (k % perWord)
		}
	}
	return true
}

// number gives the objects their numbers. Nothing is marked after that.
func (x *index) number() {
	x.spans = slices.DeleteFunc(x.spans, func(s span) bool { return s.count == 0 })
	first := Node(0)
	for i := range x.spans {
		s := &x.spans[i]
		s.first = first
		s.ranks = make([]uint32, (len(s.bits)+perRank-1)/perRank)
		n := uint32(0)
		for j, w := range s.bits {
			if j%perRank == 0 {
				s.ranks[j/perRank] = n
			}
			n += uint32(bits.OnesCount64(w))
		}
		first += n
	}
}

// exact is the object that begins at an address.
func (x *index) exact(addr uint64) (Node, bool) {
	s := x.at(addr)
	if s == nil || addr%granule != 0 {
		return None, false
	}
	i := s.place(addr)
	if s.address(i) != addr || i/perWord >= uint64(len(s.bits)) || s.bits[i/perWord]&(1<<(i%perWord)) == 0 {
		return None, false
	}
	return s.before(i), true
}

// last is the last object that begins at an address or before it, in the same range, and where it begins.
func (x *index) last(addr uint64) (n Node, start uint64, ok bool) {
	s := x.at(addr)
	if s == nil {
		return None, 0, false
	}
	i := min(s.place(addr), uint64(len(s.bits))*perWord-1)
	j := int(i / perWord)
	w := s.bits[j] & (^uint64(0) >> (perWord - 1 - i%perWord))
	for w == 0 {
		if j == 0 {
			return None, 0, false
		}
		// Whole words without an object are left out by their sums.
		if j%perRank == 0 {
			r := j / perRank
			for r > 0 && s.ranks[r-1] == s.ranks[r] {
				r--
			}
			if r == 0 {
				return None, 0, false
			}
			j = r * perRank
		}
		j--
		w = s.bits[j]
	}
	i = uint64(j)*perWord + uint64(perWord-1-bits.LeadingZeros64(w))
	return s.before(i), s.address(i), true
}

// before counts the objects before place i of the range, with those of the ranges before it.
func (s *span) before(i uint64) Node {
	j := int(i / perWord)
	n := s.ranks[j/perRank]
	for k := j &^ (perRank - 1); k < j; k++ {
		n += uint32(bits.OnesCount64(s.bits[k]))
	}
	return s.first + n + uint32(bits.OnesCount64(s.bits[j]&(1<<(i%perWord)-1)))
}

// start is where an object begins.
func (x *index) start(n Node) uint64 {
	var p places
	return p.start(x, n)
}

// places says where objects begin, fast where they come by their numbers.
type places struct {
	s    *span
	word int  // of bits
	n    Node // the first object of the word
}

// near is how many words are looked through for the next object before it is looked for by sums.
const near = 4 * perRank

func (p *places) start(x *index, n Node) uint64 {
	if p.s == nil || n < p.n || n-p.s.first >= Node(p.s.count) {
		if !p.seek(x, n) {
			return 0
		}
	}
	for steps := 0; ; steps++ {
		w := p.s.bits[p.word]
		c := Node(bits.OnesCount64(w))
		if left := n - p.n; left < c {
			for ; left > 0; left-- {
				w &= w - 1
			}
			return p.s.address(uint64(p.word)*perWord + uint64(bits.TrailingZeros64(w)))
		}
		if steps == near {
			p.seek(x, n)
			continue
		}
		p.n += c
		p.word++
	}
}

// seek goes to a word shortly before an object, by sums.
func (p *places) seek(x *index, n Node) bool {
	i, found := slices.BinarySearchFunc(x.spans, n, func(s span, n Node) int { return cmp.Compare(s.first, n) })
	if !found {
		i--
	}
	if i < 0 || n-x.spans[i].first >= Node(x.spans[i].count) {
		return false
	}
	s := &x.spans[i]
	r, found := slices.BinarySearch(s.ranks, n-s.first)
	if !found {
		r--
	}
	for r+1 < len(s.ranks) && s.ranks[r+1] == s.ranks[r] {
		r++ // the last of those with the same sum has the object
	}
	*p = places{s, r * perRank, s.first + s.ranks[r]}
	return true
}
