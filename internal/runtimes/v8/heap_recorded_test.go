package v8_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/runtimes/v8"
)

// TestRecordedHeap: a real heap, of a program that kept 300 objects of a class, with an array of one number each, in an array.
func TestRecordedHeap(t *testing.T) {
	f := heaptest.Recorded(t, "node").Objects(t, v8.Find, nil)
	f.Wants(t, map[string]int{"Leak": 300})
	if f.Types["Array"] < 301 || f.Types["(array)"] < 300 || f.Types["(string)"] == 0 || f.Types["(closure)"] == 0 {
		t.Errorf("%v", f.Types)
	}
	if f.Names["global.kept"] == 0 {
		t.Errorf("%v", f.Names)
	}
}
