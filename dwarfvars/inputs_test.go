package dwarfvars_test

import (
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind"
)

// TestInputs: a variable whose inputs are the same in two stacks at the same instructions has the same value in both. The
// stacks are threads, and pieces of recursions.
func TestInputs(t *testing.T) {
	t.Parallel()
	same, differ := 0, 0
	for i, c := range fixture.Cases(t) {
		if i%2 != 0 && !fixture.IsLong(t) {
			continue
		}
		target := openCase(t, c)
		w, err := target.NewWalker()
		if err != nil {
			continue
		}
		ids, _ := w.AvailableThreads()
		first := map[string]map[string]*inputsOf{}
		for _, id := range ids {
			stack, _ := w.WalkStack(id)
			for _, frames := range pieces(stack.Frames) {
				key := instructions(frames)
				got := readInputs(target.Variables(), frames)
				if first[key] == nil {
					first[key] = got
					continue
				}
				for name, want := range first[key] {
					switch {
					case !where.ProcessOf(target.Variables()).SameInputs(&want.inputs, frames):
						differ++
					case want.value != got[name].value:
						t.Errorf("%s, thread %d, %s: %s, in another stack %s from the same %+v", c.Name, id, name, want.value, got[name].value, want.inputs)
					default:
						same++
					}
				}
			}
		}
		w.Close()
	}
	if same < 3000 || differ < 1000 {
		t.Errorf("%d values from the same inputs, %d from others: too few", same, differ)
	}
}

// pieces returns a stack, and pieces of one that is deeper.
func pieces(frames []*unwind.Frame) (list [][]*unwind.Frame) {
	const length, most = 6, 100
	list = append(list, frames[:min(len(frames), length)])
	for i := 1; i+length < min(len(frames), most); i++ {
		list = append(list, frames[i:i+length])
	}
	return list
}

func instructions(frames []*unwind.Frame) string {
	s := ""
	for _, f := range frames {
		s += fmt.Sprintf("%x %x %v %v %v ", f.RA(), f.LookupAddr(), f.NonCall(), f.Trust(), f.IsTrampoline())
	}
	return s
}

type inputsOf struct {
	value  string
	inputs where.Inputs
}

// readInputs reads the variables of a stack, by their places.
func readInputs(r *dwarfvars.Reader, frames []*unwind.Frame) map[string]*inputsOf {
	out := map[string]*inputsOf{}
	for i := range frames {
		a, err := r.At(frames, i)
		if err != nil {
			continue
		}
		for j, s := range a.Live() {
			for k, v := range append(s.Params[:len(s.Params):len(s.Params)], s.Locals...) {
				read := func(what string, value func() string) {
					n := new(inputsOf)
					where.FrameOf(a).Record(&n.inputs)
					n.value = value()
					where.FrameOf(a).Record(nil)
					out[fmt.Sprint(what, i, j, k, v.Name)] = n
				}
				read("value", func() string {
					val := a.Read(v, dwarfvars.Options{})
					return fmt.Sprint(val, val.Err())
				})
				read("entry", func() string {
					val, ok := a.ReadEntry(v, dwarfvars.Options{})
					return fmt.Sprint(val, ok)
				})
			}
		}
		a.Close()
	}
	where.ProcessOf(r).Forget(frames)
	return out
}
