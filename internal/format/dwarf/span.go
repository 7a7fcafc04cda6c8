package dwarf

import (
	"cmp"
	"slices"
	"sort"
)

// A span says that the addresses [low, high) belong to something.
type span struct{ low, high, id uint64 }

// spanIndex finds the spans around an address. Spans may overlap and nest: the
// one that begins last is found first, and of those the shortest.
type spanIndex struct {
	spans []span
	// reach[i] is the highest end among spans[:i+1], or nil when no two spans
	// overlap, which is the rule.
	reach []uint64
}

// byLow orders spans so that of those around an address the one to find first is
// last.
func byLow(a, b span) int {
	if c := cmp.Compare(a.low, b.low); c != 0 {
		return c
	}
	if c := cmp.Compare(b.high, a.high); c != 0 {
		return c
	}
	return cmp.Compare(b.id, a.id) // of twins (identical code folded) the first is found
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

// find returns the span around pc after passing over *skip others, which it
// counts down.
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
