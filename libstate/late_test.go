package libstate

import (
	"slices"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestLateLibraries: they are looked for once, when a suspect address is asked for;
// they do not take what others have; and Refresh looks again.
func TestLateLibraries(t *testing.T) {
	prog := &Library{Path: "/bin/prog", Kind: Executable, Start: 0x1000, End: 0x2000, Mappings: []Mapping{{Start: 0x1000, End: 0x2000}}}
	table := NewTable([]*Library{prog}, 0)
	runs := 0
	var news []string
	table.Subscribe(func(l *Library, c Change) { news = append(news, c.String()+" "+l.Path) })
	table.SetLate(func(addr arch.Address) bool { return addr >= 0x5000 }, func() []*Library {
		runs++
		late := func(path string, start, end arch.Address) *Library {
			return &Library{Path: path, Kind: JIT, Start: start, End: end, Mappings: []Mapping{{Start: start, End: end}}}
		}
		return []*Library{late("late", 0x5000, 0x5100), late("thief", 0x1800, 0x1900), late("again", 0x5080, 0x5090)}[:min(1+runs, 3)]
	})
	for _, addr := range []arch.Address{0x1800, 0x3000} {
		if table.LibraryAt(addr); runs != 0 {
			t.Fatalf("late libraries looked for at %#x", addr)
		}
	}
	if l, ok := table.Known(0x5010); ok {
		t.Errorf("%s known", l.Path)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if l, ok := table.LibraryAt(0x5010); !ok || l.Path != "late" {
				t.Errorf("%v", l)
			}
		})
	}
	wg.Wait()
	if l, _ := table.LibraryAt(0x1800); l != prog {
		t.Errorf("%s has the program's code", l.Path)
	}
	if _, ok := table.LibraryAt(0x6000); ok || runs != 1 || !slices.Equal(news, []string{"library_load late"}) {
		t.Errorf("%d runs, %v", runs, news)
	}
	if libc, _ := table.Libc(); libc != prog {
		t.Error("a static program is its own C library, whatever it compiles")
	}
	table.Refresh()
	if table.LibraryAt(0x6000); runs != 2 {
		t.Errorf("%d runs after Refresh", runs)
	}
	if l, _ := table.LibraryAt(0x5085); l.Path != "late" {
		t.Errorf("%s took what late had", l.Path)
	}
	table.Replace([]*Library{prog}, 0)
	if l, ok := table.LibraryAt(0x5010); !ok || l.Path != "late" || runs != 3 {
		t.Errorf("%v after Replace, %d runs", l, runs)
	}
}
