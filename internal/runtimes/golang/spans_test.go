package golang

import "testing"

// TestApart: spans that overlap are no spans, and what many claim to have in all is bounded.
func TestApart(t *testing.T) {
	got := apart([]span{{start: 0x6000, end: 0x8000, count: 1}, {start: 0x2000, end: 0x6000, count: 1}, {start: 0x4000, end: 0x8000, count: 1}})
	if len(got) != 1 || got[0].start != 0x2000 { // the third of them reaches into the first
		t.Errorf("%+v", got)
	}
	var many []span
	for i := range uint64(4096) {
		many = append(many, span{start: i * 8 << 20, end: (i + 1) * 8 << 20, size: 8, count: maxObjects})
	}
	if got := apart(many); len(got)*maxObjects != maxAllObjects {
		t.Errorf("%d spans of %d objects", len(got), maxObjects)
	}
}
