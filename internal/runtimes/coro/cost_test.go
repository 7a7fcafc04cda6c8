package coro

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// noFiles has no files.
type noFiles struct{}

func (noFiles) Image(*libstate.Library) *modules.Image { return nil }

// A counted process counts what is asked of it.
type counted struct {
	process
	memory, threads, files int
}

func (c *counted) ReadMem(at arch.Address, buf []byte) (int, error) {
	c.memory++
	return c.process.ReadMem(at, buf)
}

func (c *counted) ReadWord(at arch.Address) (uint64, error) {
	c.memory++
	return c.process.ReadWord(at)
}

func (c *counted) ThreadIDs() ([]unwind.ThreadID, error) {
	c.threads++
	return c.process.ThreadIDs()
}

func (c *counted) Registers(id unwind.ThreadID) (arch.RegSet, error) {
	c.threads++
	return c.process.Registers(id)
}

func (c *counted) Image(*libstate.Library) *modules.Image {
	c.files++
	return nil
}

// TestAsksNothing: of a program of C, however many libraries are mapped, no memory and no thread is read to find that it has no
// coroutines, and no file but those of the modules that stacks began in.
func TestAsksNothing(t *testing.T) {
	for _, n := range []int{1, 100, 1000} {
		var libs []*libstate.Library
		for i := range uint64(n) {
			at := codeAt + i*0x10000
			libs = append(libs, &libstate.Library{Path: "/lib/plugin.so", Start: at, End: at + 0x1000})
		}
		c := &counted{process: process{libs: libstate.NewTable(libs, 0)}}
		p := &tasks.Process{State: c, Files: c, Modules: libs[:1], Symbols: symbols{}}
		for _, find := range []tasks.Finder{Find, FindRust} {
			if r, err := find(p); r != nil || err != nil {
				t.Errorf("%d libraries: found %v, %v", n, r, err)
			}
		}
		if c.memory != 0 || c.threads != 0 || c.files > 2 {
			t.Errorf("%d libraries: %d reads of memory, %d of threads, %d files", n, c.memory, c.threads, c.files)
		}
	}
}

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
