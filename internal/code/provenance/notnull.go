package provenance

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits of NotNull.
const (
	maxStep   = 4096 // bytes that a loop adds to a pointer: of what is one step before null, nothing is ever mapped
	maxGuards = 64   // instructions on the way to where paths meet
	maxWithin = 8    // joins within joins
)

// A Denial says why a Join that was null was not one of its alternatives.
type Denial uint8

// The denials.
const (
	Possible Denial = iota // it may have been
	Compared               // it was compared with null on the way
	Reread                 // what it was read from was, and was read again: another thread may have changed it between
	Advanced               // it would have been used a round before, as an address next to null
)

// NotNull reports whether a Join cannot have been null because of one of its alternatives: if that is what it was in the round of a loop before, through which
// the instruction at used read, and some bytes more; or if all paths that bring the alternative have compared it with null and found it another value. The Join
// must be a pointer: an index may well become 0.
func (f *Func) NotNull(v, alternative *Value, used uint64) Denial {
	switch {
	case alternative.Kind == Unknown:
		return Possible
	case f.advanced(v, alternative, used):
		return Advanced
	}
	return f.guarded(v, alternative, maxWithin)
}

// advanced reports whether an alternative of a Join is the Join itself, or what the frame keeps of it, and some bytes more, and each round of the loop comes
// through the instruction at used.
func (f *Func) advanced(v, a *Value, used uint64) bool {
	if a.K <= 0 || a.K > maxStep || v.At != used && f.Reaches(v.At, a.At, func(addr uint64) bool { return addr == used }) {
		return false
	}
	switch {
	case a.Kind == Sum && a.Index == arch.NoReg:
		base := f.Before(a.At, Reg(a.Base))
		return base == v || base.Kind == Slot && f.Stored(base) == v
	case a.Kind == Added:
		return f.addedTo(a) == v
	}
	return false
}

// addedTo returns what the frame held before the instruction that made v, which is Added.
func (f *Func) addedTo(v *Value) *Value {
	if i, ok := f.index(v.At); ok {
		return f.Stored(f.memory(i))
	}
	return unknown
}

// place returns the place that a Join is of; false if it is that of a conditional move.
func (f *Func) place(v *Value) (Place, bool) {
	for k, w := range f.known {
		if w == v {
			return k.place, true
		}
	}
	return Place{}, false
}

// guarded reports how all paths to a Join that bring an alternative found that it is not null.
func (f *Func) guarded(v, a *Value, left int) Denial {
	at, ok := f.index(v.At)
	if !ok || left == 0 {
		return Possible
	}
	p, ok := f.place(v)
	if !ok {
		return f.passedOver(v, a, at)
	}
	all := Possible
	for _, n := range f.preds[at] {
		w := f.after(int(n), p)
		if w == nil {
			w = f.before(int(n), p)
		}
		w = w.resolve()
		if w == v || w != a && !slices.Contains(w.Alternatives(), a) {
			continue
		}
		found := f.found(int(n), at, w)
		if found == Possible && w != a {
			found = f.guarded(w, a, left-1)
		}
		if found == Possible {
			return Possible
		}
		all = max(all, found)
	}
	return all
}

// found reports how the code that leads to instruction to through instruction i, straight or by conditional jumps, found that a value is not null.
func (f *Func) found(i, to int, v *Value) Denial {
	computed := false // on the way: what is compared before it was may be what it was read from
	for range maxGuards {
		in := f.inst(i)
		if in == nil {
			return Possible
		}
		if in.Kind == disasm.CondJump {
			switch x := f.denied(*in, i, to); {
			case x == v:
				return Compared
			case x != nil && computed && f.again(x, v):
				return Reread
			}
		}
		if f.steps[i].Addr == v.At {
			computed = true
		} else if computed && f.writesElsewhere(i) {
			return Possible
		}
		if i == f.entry || len(f.preds[i]) != 1 {
			return Possible
		}
		i, to = int(f.preds[i][0]), i
	}
	return Possible
}

// denied returns the value that cannot have been null where the conditional jump that is instruction i went on at instruction to; nil for none.
func (f *Func) denied(jump disasm.Inst, i, to int) *Value {
	addr := f.steps[to].Addr
	taken := jump.Target == addr
	if taken == (jump.Next() == addr) {
		return nil
	}
	return f.nonzero(jump, i, taken)
}

// passedOver reports whether a conditional move would have put something else in the place of an alternative if that were null.
func (f *Func) passedOver(v, a *Value, at int) Denial {
	in := f.inst(at)
	if in == nil {
		return Possible
	}
	move := *in
	if a == v.alts[0].resolve() && f.nonzero(move, at, false) == a || a == v.alts[1].resolve() && f.nonzero(move, at, true) == a {
		return Compared
	}
	return Possible
}

// nonzero returns the value that cannot have been 0 if the conditional jump or move, instruction i, was taken, or was not; nil for none.
func (f *Func) nonzero(conditional disasm.Inst, i int, taken bool) *Value {
	v, jumps := f.withZero(conditional, i)
	if v == nil || v.size != f.arch.WordSize || jumps[0] == taken {
		return nil
	}
	return v.value
}

// A tested is a value that was compared with 0.
type tested struct {
	value *Value
	reg   arch.Reg // that held it; NoReg for memory
	size  int      // in bytes, of what was compared
}

// withZero returns the value that decided whether the conditional jump or move, instruction i, was taken, by a comparison with 0; nil for none.
// jumps says whether it is if the value is 0, 1 or -1.
func (f *Func) withZero(conditional disasm.Inst, i int) (v *tested, jumps [3]bool) {
	if r, size, onZero, ok := conditional.TestsZero(); ok {
		return &tested{f.Before(f.steps[i].Addr, Reg(r)), r, int(size)}, [3]bool{onZero, !onZero, !onZero}
	}
	if r, size, negative, ok := conditional.TestsSign(); ok {
		return &tested{f.Before(f.steps[i].Addr, Reg(r)), r, int(size)}, [3]bool{!negative, !negative, negative}
	}
	i, in, c, ok := f.flagsFrom(i)
	if !ok {
		return nil, jumps
	}
	itself := c.And && c.A == c.B && c.A != arch.NoReg
	zero := !c.And && c.B == arch.NoReg && !c.MemB && c.Imm == 0
	if !itself && !zero {
		return nil, jumps
	}
	size := in.Size
	for n, a := range [...]uint64{0, 1, ^uint64(0)} {
		b := uint64(0)
		if itself {
			b = a
		}
		if jumps[n], ok = conditional.JumpsAfter(&c, size, a, b); !ok {
			return nil, jumps
		}
	}
	v = &tested{size: int(size), reg: c.A}
	if c.MemA {
		v.value, v.reg = f.memory(i).resolve(), arch.NoReg
	} else {
		v.value = f.Before(f.steps[i].Addr, Reg(c.A))
	}
	return v, jumps
}

// flagsFrom is the comparison, instruction at, that set the flags which a conditional instruction i asks for, where one way leads there.
func (f *Func) flagsFrom(i int) (at int, in *disasm.Inst, c disasm.Compare, ok bool) {
	for range maxGuards {
		if i == f.entry || len(f.preds[i]) != 1 {
			break
		}
		i = int(f.preds[i][0])
		in := f.inst(i)
		if in == nil {
			break
		}
		if c, ok := in.Compare(); ok {
			return i, in, c, true
		}
		if !in.KeepsFlags() && !in.Selects() {
			break
		}
	}
	return 0, nil, c, false
}

// again reports whether a value was read from the same place in memory as another.
func (f *Func) again(x, v *Value) bool {
	if x.Kind != Load || v.Kind != x.Kind || x.K != v.K || x.Size != v.Size || x.Index != arch.NoReg || v.Index != arch.NoReg {
		return false
	}
	a, b := f.Before(x.At, Reg(x.Base)), f.Before(v.At, Reg(v.Base))
	return a.Kind != Unknown && (a == b || f.alike(a, b))
}

// writesElsewhere reports whether an instruction may write to memory that is not the function's own frame.
func (f *Func) writesElsewhere(i int) bool {
	in := f.inst(i)
	if in == nil || in.Kind.IsCall() || in.Kind == disasm.Syscall {
		return true
	}
	ms := in.Mems()
	for n := range ms {
		if _, ok := f.frameOffset(i, &ms[n]); ms[n].Write && !ok {
			return true
		}
	}
	return false
}
