package golang_test

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/golang"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A countedState counts what is asked of a process, of symbols and of names.
type countedState struct {
	unwind.ProcessState
	unwind.SymbolReader
	unwind.SymbolLookup
	reads, symbols, names, threads, spent int
}

func (c *countedState) ReadMem(at unwind.Address, b []byte) (int, error) {
	c.reads++
	return c.ProcessState.ReadMem(at, b)
}

func (c *countedState) ReadWord(at unwind.Address) (unwind.Address, error) {
	c.reads++
	return c.ProcessState.ReadWord(at)
}

func (c *countedState) ThreadIDs() ([]unwind.ThreadID, error) {
	c.threads++
	return c.ProcessState.ThreadIDs()
}

func (c *countedState) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	c.symbols++
	return c.SymbolReader.SymbolByName(lib, name)
}

func (c *countedState) SymbolAt(lib *libstate.Library, at unwind.Address) (unwind.Symbol, bool) {
	c.symbols++
	return c.SymbolReader.SymbolAt(lib, at)
}

func (c *countedState) LookupAtAddr(at unwind.Address) (string, any, error) {
	c.names++
	return c.SymbolLookup.LookupAtAddr(at)
}

func (c *countedState) Spend(n int) error { c.spent += n; return nil }

// TestAsksNothing: of a program of C no memory, no symbol and no name is asked for to find that it has no goroutines.
func TestAsksNothing(t *testing.T) {
	for name, isGo := range map[string]bool{"amd64-threads": false, "amd64-go-stripped": true} {
		c := fixture.Get(t, name)
		target, err := corewalk.Open(context.Background(), c.Core(t), corewalk.WithExecutable(c.Binary(t)))
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		asked := false
		look := func(p *tasks.Process) (tasks.Runtime, error) {
			asked = true
			s := &countedState{ProcessState: p.State, SymbolReader: p.Symbols, SymbolLookup: p.Names}
			r, err := golang.Find(&tasks.Process{State: s, Files: p.Files, Modules: p.Modules, Symbols: s, Names: s, Budget: s})
			all := s.reads + s.symbols + s.names + s.threads + s.spent
			switch {
			case err != nil || (r != nil) != isGo:
				t.Errorf("%s: %v, %v", name, r, err)
			case isGo && (s.reads == 0 || s.symbols == 0): // else this counts nothing
				t.Errorf("%s: %d reads, %d symbols", name, s.reads, s.symbols)
			case !isGo && all != 0:
				t.Errorf("%s: %d reads, %d symbols, %d names, %d lists of threads, %d units of work", name, s.reads, s.symbols, s.names, s.threads, s.spent)
			}
			return nil, nil
		}
		for range target.Tasks(context.Background(), look) {
			break
		}
		if !asked {
			t.Errorf("%s: not looked for", name)
		}
	}
}
