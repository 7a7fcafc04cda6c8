package provenance

import "slices"

// Leading returns where control comes from to the code that ends with the instruction at addr, which several jumps
// may lead to: for each way, the nearest instruction that stands for a place in the source, in ascending order. It
// is nil if that is not known, because the target of a jump is not, and if there are more than most ways. If no
// ways meet there, it has one instruction at most. Control does not come from an instruction that ends the program, for which ends returns true; nil for none.
func (f *Func) Leading(addr uint64, most int, stands, ends func(uint64) bool) []uint64 {
	at, ok := f.index(addr)
	if !ok || f.opaque {
		return nil
	}
	for n := 0; n < len(f.steps) && len(f.preds[at]) == 1 && !f.branches(f.preds[at][0]); n++ {
		at = int(f.preds[at][0])
	}
	seen := map[int32]bool{int32(at): true}
	todo := slices.Clone(f.preds[at])
	var out []uint64
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch {
		case seen[i], ends != nil && ends(f.steps[i].Addr):
		case stands(f.steps[i].Addr):
			if len(out) == most {
				return nil
			}
			out = append(out, f.steps[i].Addr)
		case len(f.preds[i]) == 0 || f.branches(i):
			return nil
		default:
			todo = append(todo, f.preds[i]...)
		}
		seen[i] = true
	}
	slices.Sort(out)
	return out
}

// branches reports whether control can go on from instruction i in more than one way.
func (f *Func) branches(i int32) bool {
	s := &f.steps[i]
	return len(s.To) > 1 || len(s.To) == 1 && s.Next
}
