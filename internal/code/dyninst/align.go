package dyninst

import (
	"maps"
	"slices"
	"sort"

	"github.com/corewalk/corewalk/internal/code/disasm"
)

// An aligner finds the instructions of one original function in a copy with inserted
// instrumentation.
//
// The copy contains all of the original's instructions in order. Among all ways to read it
// as the original plus insertions, the aligner considers those with the fewest inserted
// instructions, and accepts the origin of an instruction only if all of these agree on it.
// Bytes overwritten by a springboard or trap may have been any instruction.
type aligner struct {
	c     *Code
	start uint64   // of the original function
	code  []byte   // its bytes in the file
	lost  []anchor // what overwrote some of them, by address

	decoded map[uint64]*disasm.Inst // by address; nil if not decodable
}

// A match is what is known about an instruction of the copy.
type match struct {
	orig, len uint64 // its origin; 0 if unknown
	extra     bool   // it was inserted
}

const (
	// maxExtra limits the inserted instructions of a segment that do not look like
	// instrumentation.
	maxExtra = 128
	// maxSegment limits the instructions between two anchors.
	maxSegment = 2048
)

// A layer maps original addresses that the copy may have reached before one of its
// instructions to the minimum number of inserted instructions for that.
type layer map[uint64]int

// set keeps the lower cost.
func (l layer) set(o uint64, cost int) {
	if cost > maxExtra {
		return
	}
	if have, ok := l[o]; !ok || cost < have {
		l[o] = cost
	}
}

// align aligns seg with the original from address from on. It returns one match for each
// instruction in seg, or nothing.
func (al *aligner) align(seg []*disasm.Inst, from uint64) []match {
	if len(seg) == 0 || len(seg) > maxSegment {
		return nil
	}
	forward := make([]layer, len(seg)+1)
	forward[0] = layer{from: 0}
	al.close(forward[0])
	for i, in := range seg {
		next := layer{}
		for o, cost := range forward[i] {
			next.set(o, cost+1)
			for _, n := range al.lengths(in, o) {
				next.set(o+n, cost)
			}
		}
		al.close(next)
		if len(next) == 0 || !al.c.spend(len(next)) {
			return nil
		}
		forward[i+1] = next
	}
	back := al.backward(seg, forward)
	best, ok := back[0][from]
	if !ok {
		return nil
	}
	out := make([]match, len(seg))
	for i, in := range seg {
		out[i] = al.settle(in, forward[i], back[i+1], best)
	}
	return out
}

// close adds the positions reached by omitting original instructions that a copy does not
// need: padding, and jumps to what comes next in the copy.
func (al *aligner) close(l layer) {
	for _, o := range slices.Sorted(maps.Keys(l)) {
		cost := l[o]
		for o, ok := al.droppable(o); ok; o, ok = al.droppable(o) {
			if cost++; cost > maxExtra {
				break
			}
			l.set(o, cost)
		}
	}
}

// backward computes the minimum number of inserted instructions from each position to the
// end.
func (al *aligner) backward(seg []*disasm.Inst, forward []layer) []layer {
	back := make([]layer, len(forward))
	for i := len(forward) - 1; i >= 0; i-- {
		l := layer{}
		for _, o := range slices.Backward(slices.Sorted(maps.Keys(forward[i]))) {
			if i == len(seg) {
				l.set(o, 0)
			} else {
				if cost, ok := back[i+1][o]; ok {
					l.set(o, cost+1)
				}
				for _, n := range al.lengths(seg[i], o) {
					if cost, ok := back[i+1][o+n]; ok {
						l.set(o, cost)
					}
				}
			}
			if next, ok := al.droppable(o); ok {
				if cost, ok := l[next]; ok {
					l.set(o, cost+1)
				}
			}
		}
		back[i] = l
	}
	return back
}

// settle returns the origin of in if all optimal ways agree.
func (al *aligner) settle(in *disasm.Inst, before, after layer, best int) match {
	var m match
	ways := 0
	inserted := false
	for o, cost := range before {
		if rest, ok := after[o]; ok && cost+1+rest == best {
			inserted = true
		}
		for _, n := range al.lengths(in, o) {
			if rest, ok := after[o+n]; ok && cost+rest == best {
				if ways == 0 || o != m.orig {
					ways++
				}
				m.orig, m.len = o, n
			}
		}
	}
	switch {
	case ways == 1 && !inserted:
		return m
	case ways == 0 && inserted:
		return match{extra: true}
	}
	return match{}
}

// droppable returns the address after the original instruction at o if a copy may omit that
// instruction.
func (al *aligner) droppable(o uint64) (uint64, bool) {
	in := al.decode(o)
	if in == nil {
		return 0, false
	}
	switch in.Kind {
	case disasm.Nop, disasm.Endbr, disasm.Int3, disasm.Jump:
		return in.Next(), true
	}
	return 0, false
}

// decode decodes the original instruction at o, or returns nil if it is not available or
// was overwritten.
func (al *aligner) decode(o uint64) *disasm.Inst {
	if in, ok := al.decoded[o]; ok {
		return in
	}
	var out *disasm.Inst
	if o >= al.start && o-al.start < uint64(len(al.code)) {
		in, err := disasm.Decode(al.c.src.Arch, al.code[o-al.start:], o)
		if err == nil && al.lostUntil(o, uint64(in.Len)) == 0 {
			out = &in
		}
	}
	al.decoded[o] = out
	return out
}

// lostUntil returns the end of the overwritten bytes that overlap [o, o+n), or 0 if none
// do.
func (al *aligner) lostUntil(o, n uint64) uint64 {
	i := sort.Search(len(al.lost), func(i int) bool { return al.lost[i].source+al.lost[i].size > o })
	if i < len(al.lost) && al.lost[i].source < o+n {
		return al.lost[i].source + al.lost[i].size
	}
	return 0
}

// lengths lists the possible lengths at o of the original of in; none if it cannot have
// been there.
func (al *aligner) lengths(in *disasm.Inst, o uint64) []uint64 {
	if o < al.start || o-al.start >= uint64(len(al.code)) {
		return nil
	}
	n := uint64(in.Len)
	end := al.lostUntil(o, n)
	if end == 0 {
		orig := al.decode(o)
		if orig == nil || !al.same(in, orig) {
			return nil
		}
		return []uint64{uint64(orig.Len)}
	}
	if in.Kind == disasm.Jump || in.Kind == disasm.CondJump {
		return []uint64{2, n} // a short jump becomes a long one
	}
	if tail := o + n; tail > end && !relative(in) {
		if tail-al.start > uint64(len(al.code)) || string(al.code[end-al.start:tail-al.start]) != string(in.Bytes()[end-o:]) {
			return nil
		}
	}
	return []uint64{n}
}

// same reports whether in may be the copy of orig: they are equal except for addresses
// relative to the instruction.
func (al *aligner) same(in, orig *disasm.Inst) bool {
	if in.Kind != orig.Kind {
		return false
	}
	switch in.Kind {
	case disasm.Call:
		return in.Target == orig.Target || al.c.Contains(in.Target)
	case disasm.Jump:
		return true
	case disasm.CondJump:
		return condition(in) == condition(orig)
	}
	a, b := in.Mem(), orig.Mem()
	if a == nil || b == nil || !a.RIPRelative || !b.RIPRelative {
		return string(in.Bytes()) == string(orig.Bytes())
	}
	return a.Disp == b.Disp && in.Dst == orig.Dst && in.Src == orig.Src && in.Imm == orig.Imm && in.Size == orig.Size
}

// relative reports whether in's bytes depend on its address.
func relative(in *disasm.Inst) bool {
	m := in.Mem()
	return in.Kind == disasm.Call || m != nil && m.RIPRelative
}

// condition returns the condition of an x86 conditional jump: the low bits of 7x, or of 8x
// after 0f.
func condition(in *disasm.Inst) byte {
	b := in.Bytes()
	if len(b) > 1 && b[0] == 0x0f {
		return b[1] & 15
	}
	return b[0] & 15
}
