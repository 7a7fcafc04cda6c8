package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// Languages are looked for in every stack that differs from those before: in an address, or in who found a frame.
func TestSearchedBefore(t *testing.T) {
	in := &Engine{}
	stack := func(stepper string, lookups ...report.Addr) []report.Frame {
		var list []report.Frame
		for _, a := range lookups {
			list = append(list, report.Frame{Lookup: a, Stepper: stepper})
		}
		return list
	}
	for i, tt := range []struct {
		entries []report.Frame
		want    bool
	}{
		{stack("cfi", 1, 2), false}, {stack("cfi", 1, 2), true}, {stack("cfi", 1, 3), false}, {stack("cfi", 1), false},
		{stack("jit", 1, 2), false}, {stack("cfi", 1, 2, 2), false}, {stack("cfi", 1, 3), true}, {nil, false},
		{make([]report.Frame, maxSearched+1), false}, {make([]report.Frame, maxSearched+1), false},
	} {
		if got := in.searchedBefore(tt.entries); got != tt.want {
			t.Errorf("%d: %v, want %v", i, got, tt.want)
		}
	}
	for i := range report.Addr(2 * maxSearchedStacks) {
		in.searchedBefore(stack("cfi", 100+i))
	}
	if n := len(in.searchedStacks); n != maxSearchedStacks {
		t.Errorf("%d stacks are remembered, want %d", n, maxSearchedStacks)
	}
}
