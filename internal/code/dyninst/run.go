package dyninst

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/corewalk/corewalk/internal/code/disasm"
)

// A run is the relocated code of one X_dyninst symbol.
type run struct {
	once   sync.Once
	pieces []piece // by start
}

// A piece is one instruction of a run, or one piece of instrumentation.
type piece struct {
	start, end uint64
	orig       uint64 // the instruction's origin; 0 if unknown
	origLen    uint64
	tramp      bool
}

// maxRuns limits what is kept for a malicious file; further runs are not mapped.
const maxRuns = 1 << 16

// runAt returns the mapped run that covers addr, or nil.
func (c *Code) runAt(addr uint64) *run {
	s, x := c.symbol(addr)
	if x == "" {
		return nil
	}
	c.mu.Lock()
	r := c.runs[s.Value]
	if r == nil && len(c.runs) < maxRuns {
		r = &run{}
		c.runs[s.Value] = r
	}
	c.mu.Unlock()
	if r == nil {
		return nil
	}
	r.once.Do(func() { r.pieces = c.mapRun(x, s.Value, min(s.Value+s.Size, c.end)) })
	return r
}

// place looks an address up.
func (r *run) place(addr uint64) (Place, bool) {
	i := sort.Search(len(r.pieces), func(i int) bool { return r.pieces[i].end > addr })
	if i == len(r.pieces) || addr < r.pieces[i].start {
		return Place{}, false
	}
	p := &r.pieces[i]
	switch {
	case p.tramp:
		return Place{Addr: r.point(i), Tramp: true, Start: p.start, End: p.end}, true
	case p.orig == 0:
		return Place{}, false
	}
	return Place{Addr: p.orig + min(addr-p.start, p.origLen-1)}, true
}

// point returns the original address of the instruction after the instrumentation
// pieces[i], or 0 if unknown.
func (r *run) point(i int) uint64 {
	for ; i < len(r.pieces); i++ {
		if !r.pieces[i].tramp {
			return r.pieces[i].orig
		}
	}
	return 0
}

// maxRun limits the instructions of a run that are mapped.
const maxRun = 1 << 14

// mapRun decodes a run and finds the origin of its instructions.
func (c *Code) mapRun(x string, lo, hi uint64) []piece {
	insts := c.decode(lo, hi)
	pieces := make([]piece, 0, len(insts))
	var own []int // indexes of insts that do not look like instrumentation
	at := make([]int, len(insts))
	for i := 0; i < len(insts); {
		n := trampEnd(c.src.Arch, insts, i)
		if n == 0 {
			at[i] = len(pieces)
			own = append(own, i)
			pieces = append(pieces, piece{start: insts[i].PC, end: insts[i].PC + uint64(insts[i].Len)})
			i++
			continue
		}
		last := &insts[n-1]
		pieces = append(pieces, piece{start: insts[i].PC, end: last.PC + uint64(last.Len), tramp: true})
		i = n
	}
	start, end, ok := c.original(x, lo, hi)
	if !ok {
		return pieces
	}
	anchors := c.anchors(start, end, lo, hi)
	al := aligner{c: c, start: start, code: c.code(start, end), lost: c.anchors(start, end, c.start, c.end), decoded: map[uint64]*disasm.Inst{}}
	slices.SortStableFunc(al.lost, func(a, b anchor) int { return cmp.Compare(a.source, b.source) })
	for k, a := range anchors {
		to := hi
		if k+1 < len(anchors) {
			to = anchors[k+1].target
		}
		var seg []*disasm.Inst
		var where []int
		for ; len(own) > 0 && insts[own[0]].PC < to; own = own[1:] {
			if i := own[0]; insts[i].PC >= a.target {
				seg, where = append(seg, &insts[i]), append(where, at[i])
			}
		}
		for i, m := range al.align(seg, a.source) {
			p := &pieces[where[i]]
			p.orig, p.origLen, p.tramp = m.orig, m.len, m.extra
		}
	}
	return merged(pieces)
}

// merged joins consecutive pieces of instrumentation.
func merged(pieces []piece) []piece {
	out := pieces[:0]
	for _, p := range pieces {
		if n := len(out); n > 0 && p.tramp && out[n-1].tramp && out[n-1].end == p.start && p.orig == 0 {
			out[n-1].end = p.end
			continue
		}
		out = append(out, p)
	}
	return out
}

// decode decodes the run from its start up to the first byte that is not an instruction.
func (c *Code) decode(lo, hi uint64) []disasm.Inst {
	code := c.code(lo, hi)
	var insts []disasm.Inst
	for pc := lo; pc < hi && code != nil && len(insts) < maxRun; {
		in, err := disasm.Decode(c.src.Arch, code[pc-lo:], pc)
		if err != nil {
			break
		}
		insts = append(insts, in)
		pc += uint64(in.Len)
	}
	return insts
}
