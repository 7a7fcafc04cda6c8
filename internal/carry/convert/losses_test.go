package convert

import "testing"

// A damaged dump does not make the list of what was lost long.
func TestLostIsLimited(t *testing.T) {
	var w Written
	w.lose("twice")
	w.lose("twice")
	if len(w.Lost) != 1 {
		t.Errorf("listed %q", w.Lost)
	}
	for i := range 10 * maxLost {
		w.lose("thread %d", i)
	}
	if n := len(w.Lost); n != maxLost+1 || w.Lost[n-1] != "more, which is not listed" {
		t.Errorf("%d lines, the last is %q", n, w.Lost[n-1])
	}
}
