package provenance

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
)

// maxAround is how many loops around a loop are told apart.
const maxAround = 8

// OneWayOut reports whether both instructions are of one loop that control leaves at one place only, and that calls nothing but functions that may be called;
// nil for none. Of loops in each other the innermost counts that has both, if they differ. Their addresses are those in the code.
func (f *Func) OneWayOut(a, b uint64, may func(call *disasm.Inst) bool) bool {
	i, ok := f.index(a)
	j, ok2 := f.index(b)
	if !ok || !ok2 || f.opaque || !f.comes(i, i, nil) || i != j && (!f.comes(i, j, nil) || !f.comes(j, i, nil)) {
		return false
	}
	loop := f.loop(i, nil)
	for n := 0; n < maxAround && i != j; n++ {
		within := slices.Clone(loop)
		for k := range loop {
			if loop[k] && (k == 0 || slices.ContainsFunc(f.preds[k], func(p int32) bool { return !loop[p] })) {
				within[k] = false // where control comes into the outer loop: each of its rounds does
			}
		}
		if !within[i] || !within[j] {
			break
		}
		if within = f.loop(i, within); !within[i] || !within[j] {
			break
		}
		loop = within
	}
	out := 0
	for n := range f.steps {
		if !loop[n] {
			continue
		}
		in := f.inst(n)
		if in == nil || in.Kind.IsCall() && (may == nil || !may(in)) {
			return false
		}
		if in.Kind == disasm.Ret { // under a condition
			out++
		}
		f.each(n, func(k int) {
			if k < 0 || !loop[k] {
				out++
			}
		})
	}
	return out == 1
}

// loop returns what leads to instruction i, of what it leads to, through some instructions; nil for any.
func (f *Func) loop(i int, through []bool) []bool {
	after := make([]bool, len(f.steps))
	todo := []int{i}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		f.each(n, func(k int) {
			if k >= 0 && !after[k] && (through == nil || through[k]) {
				after[k] = true
				todo = append(todo, k)
			}
		})
	}
	loop := make([]bool, len(f.steps))
	todo = append(todo, i)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range f.preds[n] {
			if after[p] && !loop[p] {
				loop[p] = true
				todo = append(todo, int(p))
			}
		}
	}
	return loop
}

// each yields where control can go on from instruction n; -1 for outside of the function.
func (f *Func) each(n int, yield func(int)) {
	for _, to := range f.steps[n].To {
		if k, ok := f.index(to); ok {
			yield(k)
		} else {
			yield(-1)
		}
	}
	if f.steps[n].Next {
		if k, ok := f.following(n); ok {
			yield(k)
		} else {
			yield(-1)
		}
	}
}
