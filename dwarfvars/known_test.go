package dwarfvars_test

import (
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// Known says of every variable of every fixture what Read says.
func TestKnown(t *testing.T) {
	all, unknown := 0, 0
	for _, c := range fixture.Cases(t) {
		target := openCase(t, c)
		w, err := target.NewWalker()
		if err != nil {
			continue
		}
		stack, _ := w.WalkStack(unwind.NullThread)
		n, bad := compareKnown(t, c.Name, target.Variables(), stack.Frames)
		all, unknown = all+n, unknown+bad
		w.Close()
	}
	for _, c := range fixture.Minidumps(t) {
		target, frames := openMinidump(t, c)
		n, bad := compareKnown(t, c.Name, target.Variables(), frames)
		all, unknown = all+n, unknown+bad
	}
	if all < 5000 || unknown < 500 {
		t.Errorf("%d variables, %d of them not known: too few", all, unknown)
	}
}

// maxCompared is how many frames of a stack are compared.
const maxCompared = 300

func compareKnown(t *testing.T, name string, r *dwarfvars.Reader, frames []*unwind.Frame) (all, unknown int) {
	t.Helper()
	for i := range frames[:min(len(frames), maxCompared)] {
		a, err := r.At(frames, i)
		if err != nil {
			continue
		}
		for _, s := range a.Live() {
			for _, list := range [][]*dwarfvars.LocalVar{s.Params, s.Locals} {
				for _, v := range list {
					want := a.Read(v, dwarfvars.Options{}).Err()
					all++
					if want != nil {
						unknown++
					}
					for range 2 { // the second time its placement is known
						if got := a.Known(v, dwarfvars.Options{}); fmt.Sprint(got) != fmt.Sprint(want) {
							t.Errorf("%s, frame %d, %s of %s: %v, Read says %v", name, i, v.Name, s.Function, got, want)
						}
					}
				}
			}
		}
		a.Close()
	}
	return all, unknown
}
