package provenance

import "github.com/corewalk/corewalk/internal/code/disasm"

// OneWayOut reports whether both instructions are of one loop that control leaves at one place only, and that calls nothing but functions that may be called;
// nil for none. Their addresses are those in the code.
func (f *Func) OneWayOut(a, b uint64, may func(called uint64) bool) bool {
	i, ok := f.index(a)
	j, ok2 := f.index(b)
	if !ok || !ok2 || f.opaque {
		return false
	}
	next := make([][]int32, len(f.steps))
	for n, from := range f.preds {
		for _, p := range from {
			next[p] = append(next[p], int32(n))
		}
	}
	// The loop is what leads to the first instruction, of what that leads to.
	after, before := reached(next, i), reached(f.preds, i)
	within := func(n int) bool { return after[n] && before[n] }
	if !within(j) {
		return false
	}
	out := 0
	for n := range f.steps {
		if !within(n) {
			continue
		}
		in := f.inst(n)
		if in == nil || in.Kind.IsCall() && (may == nil || !may(in.Target)) {
			return false
		}
		if in.Kind == disasm.Ret { // under a condition
			out++
		}
		for _, to := range next[n] {
			if !within(int(to)) {
				out++
			}
		}
	}
	return out == 1
}

// reached are the instructions to which edges lead from instruction i, in at least one step.
func reached(edges [][]int32, i int) []bool {
	seen := make([]bool, len(edges))
	todo := []int32{int32(i)}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range edges[n] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}
