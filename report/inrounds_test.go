package report

import (
	"slices"
	"testing"
)

// Of a recursion the first and last 64 frames keep their variables; what is around it is not counted, and a short one is whole.
func TestInRounds(t *testing.T) {
	frame := func(name string) Frame { return Frame{Function: name, Source: Source{File: "a.c", Line: 1}} }
	var frames []Frame
	add := func(n int, names ...string) {
		for range n {
			for _, name := range names {
				frames = append(frames, frame(name))
			}
		}
	}
	add(1, "crash", "check")
	add(200, "walk", "visit") // from 2 to 401
	add(1, "between")
	add(128, "short") // from 403 to 530: as long as what is kept
	add(1, "gap")
	add(129, "long") // from 532 to 660
	add(1, "main")
	var want []int
	for i := 2 + 64; i <= 401-64; i++ {
		want = append(want, i)
	}
	want = append(want, 532+64)
	if got := slices.Collect(InRounds(frames)); !slices.Equal(got, want) {
		t.Errorf("%d frames, want %d: %v", len(got), len(want), got)
	}
	for i := range InRounds(frames) { // may stop
		if i != want[0] {
			t.Errorf("the first is %d", i)
		}
		break
	}
}
