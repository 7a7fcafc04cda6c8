// Package replayed reads kept dumps of runtimes as if no file of theirs were on this machine.
package replayed

import (
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A Dump is a kept dump, without a budget.
type Dump struct {
	Process *tasks.Process
	Died    unwind.ThreadID
	Stack   []*unwind.Frame // of the thread that died
}

// Open reads a dump.
func Open(tb testing.TB, path string) *Dump {
	tb.Helper()
	target, err := corewalk.Open(tb.Context(), path, corewalk.WithSysroot(tb.TempDir()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { target.Close() })
	out := &Dump{}
	facts, err := target.Facts(corewalk.FactsOptions{Runtimes: []tasks.Finder{func(p *tasks.Process) (tasks.Runtime, error) {
		out.Process = p
		return nil, nil
	}}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(facts.Close)
	out.Process.Budget = nil
	if out.Died, err = out.Process.State.DefaultThread(); err != nil {
		tb.Fatal(err)
	}
	w, err := target.NewWalker()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { w.Close() })
	s, err := w.WalkStack(out.Died)
	if err != nil && (s == nil || len(s.Frames) == 0) { // a stack may end early without the files
		tb.Fatal(err)
	}
	out.Stack = s.Frames
	return out
}
