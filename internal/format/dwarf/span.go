package dwarf

import (
	"cmp"
	"slices"
	"sort"
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

// find returns the span that contains pc after skipping *skip others; it decreases *skip
// for each.
func (x *spanIndex) find(pc uint64, skip *int) (span, bool) {
	i := sort.Search(len(x.spans), func(i int) bool { return x.spans[i].low > pc }) - 1
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
