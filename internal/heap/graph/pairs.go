package graph

import "encoding/binary"

// pairs finds which objects the words of others point at, many words at once: a word leads anywhere in the index, which is larger than what processors
// keep near, so that they wait for one after the other unless they are asked for together.
type pairs struct {
	g    *Graph
	do   func(from, to Node) bool // until it returns false
	off  bool                     // it did
	n    int
	from [batch]Node
	word [batch]uint64
	sum  uint64 // so that what is read ahead counts as used
	buf  []byte
}

const batch = 512

// whole adds what an object points at. b is as much of its memory as was read already.
func (p *pairs) whole(n Node, start uint64, b []byte) bool {
	g := p.g
	if g.blind(n) {
		return true
	}
	size := min(g.Size(n), maxScan)
	if uint64(len(b)) == size {
		return p.object(n, start, 0, b)
	}
	if p.buf == nil {
		p.buf = make([]byte, windowSize)
	}
	for at := uint64(0); at < size; at += windowSize {
		b := p.buf[:min(windowSize, size-at)]
		if !p.object(n, start, at, g.mem.View(start+at, b)) {
			return false
		}
	}
	return true
}

// object adds what the memory b of an object that begins at start points at, which begins at an offset in it.
func (p *pairs) object(n Node, start, off uint64, b []byte) bool {
	g := p.g
	a := g.mem.Arch
	if skips := g.skips(n); skips != 0 || g.toldAt(start) != nil || a == nil || a.WordSize != 8 || a.Big() || len(g.spans) == 0 {
		return p.flush() && g.within(start, off, b, counts(skips, off, func(_ int, to Node) bool {
			p.off = !p.do(n, to)
			return !p.off
		}))
	}
	low, high := g.spans[0].start, g.spans[len(g.spans)-1].end
	for i := int(-(start + off) & 7); i+8 <= len(b); i += 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		if v-low >= high-low {
			continue
		}
		p.from[p.n], p.word[p.n] = n, v
		if p.n++; p.n == batch && !p.flush() {
			return false
		}
	}
	return true
}

// flush finds what was added.
func (p *pairs) flush() bool {
	g := p.g
	n := p.n
	p.n = 0
	if p.off {
		return false
	}
	var s *span
	for _, v := range p.word[:n] {
		if s == nil || v-s.start >= s.end-s.start {
			if s = g.at(v); s == nil {
				continue
			}
		}
		if i := s.place(v) / perWord; i < uint64(len(s.bits)) {
			p.sum += s.bits[i] + uint64(s.ranks[i/perRank])
		}
	}
	for i, v := range p.word[:n] {
		if to, ok := g.target(v); ok && !p.do(p.from[i], to) {
			p.off = true
			return false
		}
	}
	return true
}
