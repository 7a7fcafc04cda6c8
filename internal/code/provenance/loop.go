package provenance

// OneWayOut reports whether both instructions are of one loop that control leaves at one place only, and that calls nothing but functions that may be called;
// nil for none. Their addresses are those in the code.
func (f *Func) OneWayOut(a, b uint64, may func(called uint64) bool) bool {
	i, ok := f.index(a)
	j, ok2 := f.index(b)
	if !ok || !ok2 || f.opaque || !f.comes(i, i, nil) || i != j && (!f.comes(i, j, nil) || !f.comes(j, i, nil)) {
		return false
	}
	// The loop is what leads to the instruction, of what it leads to.
	after := make([]bool, len(f.steps))
	todo := []int{i}
	each := func(n int, yield func(int)) {
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
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		each(n, func(k int) {
			if k >= 0 && !after[k] {
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
	out := 0
	for n := range f.steps {
		if !loop[n] {
			continue
		}
		if in := f.inst(n); in == nil || in.Kind.IsCall() && (may == nil || !may(in.Target)) {
			return false
		}
		each(n, func(k int) {
			if k < 0 || !loop[k] {
				out++
			}
		})
	}
	return out == 1
}
