package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

// TestAlikeWithin: where several calls of one function were joined, that function is the same at all places, and only its callers' lines differ.
func TestAlikeWithin(t *testing.T) {
	at := func(name string, line int) unwind.Call { return unwind.Call{Name: name, File: "j.c", Line: line} }
	calls := []unwind.Call{at("stop", 5), at("frame", 11)}
	for _, c := range []struct {
		name   string
		chains [][]unwind.Call
		want   int
	}{
		{"two calls of it", [][]unwind.Call{{at("stop", 4), at("frame", 9)}, {at("stop", 4), at("frame", 11)}}, 1},
		{"and a place that does not count", [][]unwind.Call{{at("stop", 4), at("frame", 9)}, nil, {at("stop", 4), at("frame", 11)}}, 1},
		{"two places in it", [][]unwind.Call{{at("stop", 4), at("frame", 9)}, {at("stop", 6), at("frame", 11)}}, 0},
		{"two functions", [][]unwind.Call{{at("stop", 4), at("frame", 9)}, {at("halt", 4), at("frame", 11)}}, 0},
		{"not those of the call", [][]unwind.Call{{at("halt", 4), at("frame", 9)}, {at("halt", 4), at("frame", 11)}}, 0},
		{"the function itself", [][]unwind.Call{{at("frame", 9)}, {at("frame", 9)}}, 0},
		{"none counts", [][]unwind.Call{nil, nil}, 0},
	} {
		if got := alikeWithin(c.chains, calls); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	deep := []unwind.Call{at("stop", 5), at("check", 7), at("frame", 11)}
	if got := alikeWithin([][]unwind.Call{{at("stop", 4), at("check", 7), at("frame", 9)}, {at("stop", 4), at("check", 7), at("frame", 11)}}, deep); got != 2 {
		t.Errorf("two calls of one that calls it: %d", got)
	}
	if got := alikeWithin([][]unwind.Call{{at("stop", 4), at("frame", 9)}, {at("stop", 4), at("frame", 11)}}, []unwind.Call{at("stop", 5)}); got != 0 {
		t.Errorf("of a call that is the function's own: %d", got)
	}
}
