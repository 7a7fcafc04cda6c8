package dwarf

import (
	"fmt"
	"sync"
)

// pcIndex finds the unit of an address. It has four levels; each is built only if the
// level before does not know the address:
//
//  1. .debug_aranges, if the compiler wrote it (gcc does, clang does not);
//  2. .gdb_index, if there is one;
//  3. the ranges in the first entries of the units that level 1 does not cover;
//  4. the functions of the units whose first entries have no ranges.
type pcIndex struct {
	aranges aranges

	rootsOnce sync.Once
	roots     spanIndex
	rangeless []uint64 // units for level 4
	rootsErr  error

	funcsOnce sync.Once
	funcs     spanIndex
}

// UnitForPC returns the unit that contains the code at pc, a link-time address. For split
// DWARF it is the skeleton unit. The error wraps ErrNotFound if no unit covers the address.
func (d *Data) UnitForPC(pc uint64) (*Unit, error) { return d.unitForPC(pc, 0) }

// unitForPC skips the first skip candidates: ranges of discarded code can overlap those of
// live code.
func (d *Data) unitForPC(pc uint64, skip int) (*Unit, error) {
	x := &d.index
	first := skip == 0
	s, ok := x.aranges.find(d, pc, &skip)
	if !ok && first {
		if u, ok := d.gdb.unit(d, pc); ok {
			return u, nil
		}
	}
	if !ok {
		x.rootsOnce.Do(d.indexRoots)
		s, ok = x.roots.find(pc, &skip, &d.work)
	}
	if !ok && len(x.rangeless) > 0 {
		x.funcsOnce.Do(d.indexRangeless)
		s, ok = x.funcs.find(pc, &skip, &d.work)
	}
	if ok {
		return d.UnitAt(SecInfo, s.id)
	}
	if x.rootsErr != nil {
		return nil, fmt.Errorf("unit of address %#x: %w (and the units are damaged: %w)", pc, ErrNotFound, x.rootsErr)
	}
	return nil, fmt.Errorf("unit of address %#x: %w", pc, ErrNotFound)
}

// indexRoots reads the first entries of all units that .debug_aranges does not cover.
func (d *Data) indexRoots() {
	x := &d.index
	covered := x.aranges.coveredUnits(d)
	starts, err := d.unitStarts(SecInfo)
	x.rootsErr = err
	// Units do not share lists, so the total number of list entries is at most the
	// sections' size in bytes.
	budget := len(d.bytes(SecRanges)) + len(d.bytes(SecRnglists)) + len(starts)
	var spans []span
	u := new(Unit) // reused for each unit
	for _, off := range starts {
		if _, ok := covered[off]; ok {
			continue
		}
		h, err := d.readHeader(SecInfo, off)
		if err != nil || h.kind != UnitCompile && h.kind != UnitSkeleton {
			continue
		}
		r, err := d.readRoot(&h)
		if err != nil {
			x.rootsErr = err
			continue
		}
		if h.kind != UnitCompile && h.kind != UnitSkeleton {
			continue
		}
		u.set(d, &h, &r)
		p := pcAttrs{r.low, r.high, r.ranges}
		if !p.ranges.Present() && !p.high.Present() {
			if h.kind == UnitCompile && len(x.rangeless) < maxRangeless {
				x.rangeless = append(x.rangeless, off)
			}
			continue
		}
		it := u.rangesOf(&p, budget)
		for {
			r, ok := it.next()
			if !ok {
				break
			}
			spans = append(spans, span{r.Low, r.High, off})
		}
		budget = it.left
	}
	x.roots = newSpanIndex(spans)
}

// maxRangeless is the most units without code ranges that are looked into for functions. Each becomes a Unit, which takes
// a hundred times the bytes that it has at least.
const maxRangeless = 1 << 17

// indexRangeless collects the functions of units without code ranges.
func (d *Data) indexRangeless() {
	x := &d.index
	var spans []span
	for _, off := range x.rangeless {
		u, err := d.UnitAt(SecInfo, off)
		if err != nil {
			continue
		}
		for _, s := range u.allFunctions().spans {
			spans = append(spans, span{s.low, s.high, off})
		}
	}
	x.funcs = newSpanIndex(spans)
}
