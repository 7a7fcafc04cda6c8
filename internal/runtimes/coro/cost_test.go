package coro

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/tasks"
)

// noFiles has no files.
type noFiles struct{}

func (noFiles) Image(*libstate.Library) *modules.Image { return nil }

// TestNothingThere: in a program of C, looking for coroutines allocates nothing worth a word and finds nothing.
func TestNothingThere(t *testing.T) {
	exe := &libstate.Library{Path: "/x/prog", Start: codeAt, End: codeAt + 0x1000}
	libc := &libstate.Library{Path: "/lib/libc.so.6", Start: codeAt + 0x10000, End: codeAt + 0x20000}
	p := &tasks.Process{State: &process{libs: libstate.NewTable([]*libstate.Library{exe, libc}, 0)}, Files: noFiles{}, Modules: []*libstate.Library{exe}, Symbols: symbols{}}
	for name, find := range map[string]tasks.Finder{"C++": Find, "Rust": FindRust} {
		if r, err := find(p); r != nil || err != nil {
			t.Errorf("%s: found %v, %v", name, r, err)
		}
		if n := testing.AllocsPerRun(100, func() { find(p) }); n > 0 && name == "Rust" || n > 2 {
			t.Errorf("%s: %v allocations", name, n)
		}
		p.Modules = nil
		if n := testing.AllocsPerRun(100, func() { find(p) }); n > 0 {
			t.Errorf("%s: %v allocations before any module is known", name, n)
		}
		p.Modules = []*libstate.Library{exe}
	}
}
