package php_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/runtimes/php"
)

// TestRecordedHeap: a real heap of 8.2, of a program that kept 100 nodes with a text each, an ArrayObject, a DateTime and 3 MB of text.
func TestRecordedHeap(t *testing.T) {
	f := heaptest.Recorded(t, "php").Objects(t, php.Find, nil)
	f.Golden(t, "testdata/objects.txt")
	f.Wants(t, map[string]int{"Node": 100, "ArrayObject": 1, "DateTime": 1, "array": 14, "reference": 1, "string": 136})
	for _, name := range []string{"$kept", "$table", "$large", "$n", "$many of hold()"} {
		if f.Names[name] == 0 {
			t.Errorf("no %s: %v", name, f.Names)
		}
	}
	if f.Names["$large"]%(2<<20) != 0 || f.Free != 1602 {
		t.Errorf("%#x, %d blocks are free", f.Names["$large"], f.Free)
	}
}
