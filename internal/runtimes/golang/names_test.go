package golang_test

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/golang"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// namesOnce counts how many times the name at each address is asked for.
type namesOnce struct {
	unwind.SymbolLookup
	asked map[unwind.Address]int
}

func (n *namesOnce) LookupAtAddr(at unwind.Address) (string, any, error) {
	n.asked[at]++
	return n.SymbolLookup.LookupAtAddr(at)
}

// TestNamesOnce: what goroutines have in common is looked up once.
func TestNamesOnce(t *testing.T) {
	c := fixture.Get(t, "amd64-go-stripped")
	target, err := corewalk.Open(context.Background(), c.Core(t), corewalk.WithExecutable(c.Binary(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	n := &namesOnce{asked: map[unwind.Address]int{}}
	goroutines := 0
	for _, err := range target.Tasks(context.Background(), func(p *tasks.Process) (tasks.Runtime, error) {
		n.SymbolLookup = p.Names
		return golang.Find(&tasks.Process{State: p.State, Files: p.Files, Modules: p.Modules, Symbols: p.Symbols, Names: n, Budget: p.Budget})
	}) {
		if err != nil {
			t.Fatal(err)
		}
		goroutines++
	}
	if goroutines < 2 || len(n.asked) == 0 || len(n.asked) >= 2*goroutines {
		t.Errorf("%d goroutines, %d addresses: this shows nothing", goroutines, len(n.asked))
	}
	for at, times := range n.asked {
		if times > 1 {
			t.Errorf("%#x: asked for %d times", uint64(at), times)
		}
	}
}
