package dwarf

import (
	"cmp"
	"slices"
	"sort"
	"sync/atomic"
)

// A span says that the addresses [low, high) belong to something.
type span struct{ low, high, id uint64 }

// spanIndex finds the spans that contain an address. Spans may overlap and nest: the one
// that begins last is found first, and among those with the same start the shortest.
type spanIndex struct {
	spans []span
	// reach[i] is the highest end in spans[:i+1]. It is nil if no two spans overlap, which
	// is normal.
	reach []uint64
}

// byLow orders spans so that, of those that contain an address, the one to find first is
// last.
func byLow(a, b span) int {
	if c := cmp.Compare(a.low, b.low); c != 0 {
		return c
	}
	if c := cmp.Compare(b.high, a.high); c != 0 {
		return c
	}
	return cmp.Compare(b.id, a.id) // of identical spans (identical code folding) the first is found
}

func newSpanIndex(spans []span) spanIndex {
	if !slices.IsSortedFunc(spans, byLow) {
		slices.SortFunc(spans, byLow)
	}
	x := spanIndex{spans: spans}
	for i := 1; i < len(spans); i++ {
		if spans[i].low < spans[i-1].high {
			x.addReach()
			break
		}
	}
	return x
}

func (x *spanIndex) addReach() {
	x.reach = make([]uint64, len(x.spans))
	var top uint64
	for i := range x.spans {
		top = max(top, x.spans[i].high)
		x.reach[i] = top
	}
}

// Where spans overlap, a look-up may pass over many that end before the address. Below longSearch that is part of what it costs; else spansPerUnit of
// them are one unit of what Work counts.
const longSearch, spansPerUnit = 1024, 8

// find returns the span that contains pc after skipping *skip others; it decreases *skip
// for each. A long search is added to work.
func (x *spanIndex) find(pc uint64, skip *int, work *atomic.Int64) (span, bool) {
	first := sort.Search(len(x.spans), func(i int) bool { return x.spans[i].low > pc }) - 1
	i := first
	defer func() { countSearch(work, first-i) }()
	for ; i >= 0; i-- {
		if x.reach != nil && x.reach[i] <= pc {
			break
		}
		if pc < x.spans[i].high {
			if *skip == 0 {
				return x.spans[i], true
			}
			*skip--
		}
		if x.reach == nil {
			break
		}
	}
	return span{}, false
}

func countSearch(work *atomic.Int64, n int) {
	if n >= longSearch {
		work.Add(int64(n / spansPerUnit))
	}
}

// A spanSet is a list of spans that grows between look-ups. Of those that contain an address it
// finds the one with the lowest id.
type spanSet struct {
	spans  []span
	reach  []uint64 // as in spanIndex, for the spans that are sorted
	sorted int      // spans[:sorted] are
}

// minUnsorted is the number of spans that are searched one by one.
const minUnsorted = 64

func (x *spanSet) add(s span) { x.spans = append(x.spans, s) }

func (x *spanSet) find(pc uint64, work *atomic.Int64) (hit span, ok bool) {
	if n := len(x.spans) - x.sorted; n > minUnsorted && n > x.sorted/4 {
		index := newSpanIndex(x.spans)
		x.reach, x.sorted = index.reach, len(x.spans)
	}
	take := func(s span) {
		if s.holds(pc) && (!ok || s.id < hit.id) {
			hit, ok = s, true
		}
	}
	low, seen := x.spans[:x.sorted], len(x.spans)-x.sorted
	for i := sort.Search(len(low), func(i int) bool { return low[i].low > pc }) - 1; i >= 0; i-- {
		if x.reach != nil && x.reach[i] <= pc {
			break
		}
		take(low[i])
		seen++
		if x.reach == nil {
			break
		}
	}
	for _, s := range x.spans[x.sorted:] {
		take(s)
	}
	countSearch(work, seen)
	return hit, ok
}

// holds reports whether pc is in s.
func (s span) holds(pc uint64) bool { return s.low <= pc && pc < s.high }

// leftover in the id of a span says that its code may have been discarded: linkers move that to
// the start of the address space, where it may cover code that is not.
const leftover = 1 << 63

// leftover reports whether the code of s may have been discarded.
func (s span) leftover() bool { return s.id&leftover != 0 }

// ifLeftover returns the flag of a span for what begins at low.
func ifLeftover(low uint64) uint64 {
	if low <= 1 {
		return leftover
	}
	return 0
}
