package ruby_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/runtimes/ruby"
)

// TestRecordedHeap: a real heap of 3.1, of a program that kept 100 nodes, a table of 30 lists, and one object of each of some classes.
func TestRecordedHeap(t *testing.T) {
	f := heaptest.Recorded(t, "ruby").Objects(t, ruby.Find, nil)
	f.Golden(t, "testdata/objects.txt")
	f.Wants(t, map[string]int{"Node": 100, "Hash": 4, "Integer": 3, "object of a class without a name": 1, "Ruby's instruction sequence": 218, "included module": 27})
	if names := slices.Sorted(maps.Keys(f.Names)); !slices.Equal(names, []string{"$kept", "$table", "many of Object#hold"}) {
		t.Errorf("%q", names)
	}
}
