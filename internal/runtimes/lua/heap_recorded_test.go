package lua_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/glibc"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/runtimes/lua"
)

// TestRecordedHeap: a real heap of 5.4, of a program that kept 100 tables, each with a text and a function that has a variable of its own, a file and a
// coroutine.
func TestRecordedHeap(t *testing.T) {
	f := heaptest.Recorded(t, "lua").Objects(t, lua.Find, func(p heap.Process) heap.Allocator { return glibc.Find(p, glibc.Options{}) })
	f.Golden(t, "testdata/objects.txt")
	f.Wants(t, map[string]int{"table": 121, "function": 108, "function prototype": 2, "upvalue": 101, "userdata FILE*": 4, "userdata": 1, "string": 346, "thread": 1,
		"main thread, with what all threads share": 1})
	names := slices.Sorted(maps.Keys(f.Names))
	if !slices.Equal(names, []string{"_G", "_VERSION", "arg", "file", "kept", "loaded modules", "other", "registry"}) {
		t.Errorf("%q", names)
	}
}
