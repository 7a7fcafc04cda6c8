package stackflow

import "github.com/corewalk/corewalk/internal/code/disasm"

// Code of a function to which no path was found is reached by an indirect jump that is not
// understood, or by the unwinder when an exception is caught. The frame is then as at the
// jump, or as after a call.

// maxGapCode limits the size in bytes of functions whose gaps are analysed.
const maxGapCode = 1 << 20

// exploreGaps decodes the unreached code between the function's start and end, and records
// in a.gaps where pieces of it begin that are not the target of a jump.
func (a *analysis) exploreGaps() {
	a.gaps = a.gaps[:0]
	if a.end <= a.start || a.end-a.start > maxGapCode {
		return
	}
	a.gapped = true
	step := uint64(max(a.machine.arch.PCAlign, 1))
	for addr := a.start; addr < a.end && !a.full; {
		if i, ok := a.find(addr); ok {
			if i < len(a.blockOf) { // reached before: the rest of its block is known, too
				i = int(a.blocks[a.blockOf[i]].last)
			}
			addr = a.ops[i].next()
			continue
		}
		if a.decode(addr) != nil {
			addr += step
			continue
		}
		if a.in.Kind == disasm.Nop || a.in.Kind == disasm.Int3 {
			addr += uint64(a.in.Len)
			continue
		}
		n := len(a.ops)
		a.work.push(addr)
		a.explore()
		if n == len(a.ops) {
			return
		}
		a.gaps = append(a.gaps, int32(n))
		addr = a.ops[n].next()
	}
	a.dropTargets()
}

// dropTargets removes jump targets from a.gaps.
func (a *analysis) dropTargets() {
	if len(a.gaps) == 0 {
		return
	}
	hit := map[uint64]bool{}
	for i := range a.ops {
		if o := &a.ops[i]; o.flow == flowJump || o.flow == flowCond {
			hit[o.target] = true
		}
	}
	kept := a.gaps[:0]
	for _, n := range a.gaps {
		if !hit[a.ops[n].addr] {
			kept = append(kept, n)
		}
	}
	a.gaps = kept
}

// solveGaps runs the code of the gaps, with the facts that hold at all places from which
// control may get there.
func (a *analysis) solveGaps() bool {
	sp := a.machine.arch.SP
	opaque := func(o *op, n int32) bool {
		return o.flow == flowIndirect && (a.jumps[n].guessed || len(a.jumps[n].to) == 0)
	}
	inFrame := func(o *op, n int32) bool { return opaque(o, n) && a.cur.get(sp) != entryOf(sp, 0) }
	calls := func(o *op, _ int32) bool { return o.isCall }
	// An indirect jump with an empty frame is usually a tail call.
	if !a.donate(inFrame) && !a.donate(calls) && !a.donate(opaque) {
		return true
	}
	a.cur.load(&a.donor)
	a.cur.soft = true
	for _, n := range a.gaps {
		a.arrive(int(a.blockOf[n]), &a.cur)
	}
	return a.settle()
}

// donate merges into a.donor the states after the chosen instructions; it returns false if
// there are none.
func (a *analysis) donate(chosen func(*op, int32) bool) bool {
	found := false
	for i := range a.blocks {
		b := &a.blocks[i]
		for _, v := range b.in {
			a.cur.load(&a.states[v])
			for n := b.first; n <= b.last; n++ {
				o := &a.ops[n]
				a.step(o)
				switch {
				case !chosen(o, n) || a.cur.soft:
				case !found:
					a.donor.take(&a.cur)
					found = true
				default:
					a.donor.merge(&a.cur)
				}
			}
		}
	}
	return found
}
