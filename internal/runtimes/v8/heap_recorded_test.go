package v8_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/runtimes/v8"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// TestRecordedHeap: a real heap, of a program that kept 300 objects of a class, with an array of one number each, in an array.
func TestRecordedHeap(t *testing.T) {
	f := heaptest.Recorded(t, "node").Objects(t, v8.Find, nil)
	f.Golden(t, "testdata/objects.txt")
	f.Wants(t, map[string]int{"Leak": 300})
	if f.Types["Array"] < 301 || f.Types["(array)"] < 300 || f.Types["(string)"] == 0 || f.Types["(closure)"] == 0 {
		t.Errorf("%v", f.Types)
	}
	if f.Names["global.kept"] == 0 {
		t.Errorf("%v", f.Names)
	}
}

// TestWithoutFile: the same heap where Node's file is not there: what it would say is in a table, and which version it is in memory.
func TestWithoutFile(t *testing.T) {
	without := func(version string) *heaptest.Recording {
		rec := heaptest.Recorded(t, "node")
		maps.DeleteFunc(rec.Symbols, func(string, unwind.Symbol) bool { return true })
		for at, page := range rec.Pages {
			rec.Pages[at] = bytes.ReplaceAll(page, []byte("-node."), []byte("-none."))
		}
		for _, m := range rec.Maps {
			if m.Start > rec.Modules[0].Maps[0].Start && m.Perm&libstate.Write != 0 {
				page := append([]byte("9.9-node.1 1..2.3-node.4 "), version...)
				rec.Pages[m.Start] = append(page, make([]byte, heaptest.PageSize-len(page))...)
				return rec
			}
		}
		t.Fatal("no memory after the program that may be written")
		return nil
	}
	want := heaptest.Recorded(t, "node").Objects(t, v8.Find, nil)
	got := without("11.3.244.8-node.23").Objects(t, v8.Find, nil)
	if !maps.Equal(want.Types, got.Types) || got.Names["global.kept"] == 0 || got.Types["Leak"] != 300 {
		t.Errorf("with its file %v, without %v", want.Types, got.Types)
	}
	for version, says := range map[string]string{"": "its version is not in memory", "9.9.1.2-node.3": "not known for V8 9.9"} {
		p := without(version).Process()
		modules, _ := p.LibraryTracker().Libraries(false)
		if r, err := v8.Find(&tasks.Process{State: p, Modules: modules, Symbols: p}); r != nil || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v", version, r, err)
		}
	}
}
