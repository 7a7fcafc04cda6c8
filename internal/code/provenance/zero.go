package provenance

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxWays is how many ways to an instruction Zero looks at.
const maxWays = 8

// Zero returns the value, of so many bytes, that was 0: otherwise control would not have come to the instruction at addr. It is the one that was compared
// last, in the register reg; where ways meet, all must have compared the same register. It is nil for none.
func (f *Func) Zero(addr uint64) (v *Value, reg arch.Reg, size int) { return f.must(addr, 0) }

// Negative is Zero of a value that was below 0.
func (f *Func) Negative(addr uint64) (v *Value, reg arch.Reg, size int) { return f.must(addr, -1) }

// must is Zero for a value that must have been 0, or below.
func (f *Func) must(addr uint64, sign int) (v *Value, reg arch.Reg, size int) {
	i, ok := f.index(addr)
	if !ok || f.opaque {
		return nil, arch.NoReg, 0
	}
	if t := f.tested(&i, sign); t != nil {
		return t.value, t.reg, t.size
	}
	ways := f.preds[i]
	if len(ways) > maxWays || i == f.entry {
		return nil, arch.NoReg, 0
	}
	var found []*Value
	for n, way := range ways {
		t := f.testedBy(int(way), i, sign)
		if t == nil || t.reg == arch.NoReg || n > 0 && (t.reg != reg || t.size != size) {
			return nil, arch.NoReg, 0
		}
		reg, size = t.reg, t.size
		found = append(found, t.value.Alternatives()...)
	}
	v = f.Before(f.steps[i].Addr, Reg(reg))
	all := v.Alternatives() // none if there are too many
	other := func(a *Value) bool { return a.Kind == Unknown || !slices.Contains(found, a) }
	if len(all) == 0 || slices.ContainsFunc(all, other) { // the register does not hold what was compared any more
		return nil, arch.NoReg, 0
	}
	return v, reg, size
}

// tested returns what must have been 0, or below, for control to come to instruction *i. If that is nothing, *i becomes the instruction on the way where ways meet.
func (f *Func) tested(i *int, sign int) *tested {
	for range maxGuards {
		if *i == f.entry || len(f.preds[*i]) != 1 {
			break
		}
		from := int(f.preds[*i][0])
		if t := f.foundSign(from, *i, sign); t != nil {
			return t
		}
		*i = from
	}
	return nil
}

// testedBy is tested for the way through instruction i to instruction to.
func (f *Func) testedBy(i, to, sign int) *tested {
	if t := f.foundSign(i, to, sign); t != nil {
		return t
	}
	return f.tested(&i, sign)
}

// foundSign returns the value that was 0, or below, if control went from instruction i, a conditional jump, to instruction to; nil for none.
func (f *Func) foundSign(i, to, sign int) *tested {
	in := f.inst(i)
	if in == nil || in.Kind != disasm.CondJump {
		return nil
	}
	jump, addr := *in, f.steps[to].Addr
	taken := jump.Target == addr
	if taken == (jump.Next() == addr) {
		return nil
	}
	if t, jumps := f.withZero(jump, i); jumps == [3]bool{taken != (sign < 0), !taken, taken == (sign < 0)} {
		return t
	}
	return nil
}

// Brought reports whether a register holds before the instruction at addr, which is in a part of the function, what it held when control came into the part.
// Of NoReg it reports whether nothing was computed in the part before.
func (f *Func) Brought(addr uint64, r arch.Reg, within func(addr uint64) bool) bool {
	at, ok := f.index(addr)
	if !ok || f.opaque {
		return false
	}
	seen := map[int32]bool{}
	todo := []int32{int32(at)}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(f.preds[i]) == 0 && int(i) != f.entry || len(seen) > maxGuards {
			return false
		}
		for _, p := range f.preds[i] {
			if seen[p] || !within(f.steps[p].Addr) {
				continue
			}
			in := f.inst(int(p))
			if in == nil || in.Kind.IsCall() || in.Writes.Has(r) || r == arch.NoReg && (in.Writes != 0 || in.Mem() != nil) {
				return false
			}
			seen[p] = true
			todo = append(todo, p)
		}
	}
	return true
}
