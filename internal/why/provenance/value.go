package provenance

import "github.com/corewalk/corewalk/unwind/arch"

// A Kind says how code came by a value.
type Kind uint8

// The kinds.
const (
	Unknown   Kind = iota // in a way that is not followed
	Entry                 // Reg held it when the function was called
	EntrySlot             // the Size bytes at CFA+K held it when the function was called, and nothing was stored there since
	Const                 // it is K
	StackAddr             // it is CFA+K
	Load                  // read from memory: Size bytes at Base + Index*Scale + K
	Slot                  // read from the frame: the Size bytes at CFA+K
	Sum                   // it is Base + Index*Scale + K
	Cut                   // it is what the Size low bytes of Base are
	Result                // a call returned it
	Join                  // it depends on the path: one of Alternatives
)

func (k Kind) String() string {
	return [...]string{"unknown", "entry", "entry-slot", "const", "stack-address", "load", "slot", "sum", "cut", "result", "join"}[k]
}

// A Value is what an instruction made. The registers Base and Index are as they were
// before that instruction: Func.Before(v.At, Reg(v.Base)) tells what they held.
type Value struct {
	Kind Kind
	// At is the instruction that made it; of a Join where paths meet, of Entry and
	// EntrySlot the function's first.
	At          uint64
	Reg         arch.Reg // of Entry
	Base, Index arch.Reg // NoReg for none
	Scale       uint8
	K           int64
	Size        int    // bytes
	Signed      bool   // a Load or Cut extends the sign
	Target      uint64 // of Result: what was called, 0 where that is not known

	alts []*Value // of Join
	same *Value   // a Join that turned out to be none stands for it
}

// resolve is the value that v stands for.
func (v *Value) resolve() *Value {
	for n := 0; v.same != nil && n < maxJoins; n++ {
		v = v.same
	}
	return v
}

// Alternatives are the values that a Join may be: none of them a Join.
func (v *Value) Alternatives() []*Value { return v.alternatives(maxJoins) }

// maxMeet bounds the joins that are looked through for whether they are one value.
const maxMeet = 32

// alternatives looks through most joins and values; nil where there are more.
func (v *Value) alternatives(most int) []*Value {
	var out []*Value
	seen := map[*Value]bool{}
	todo := []*Value{v}
	for len(todo) > 0 {
		w := todo[len(todo)-1].resolve()
		todo = todo[:len(todo)-1]
		if seen[w] {
			continue
		}
		seen[w] = true
		if len(seen) > most {
			return nil
		}
		if w.Kind == Join {
			todo = append(todo, w.alts...)
			continue
		}
		out = append(out, w)
	}
	return out
}

// A Place is a register or some bytes of the frame.
type Place struct {
	reg  arch.Reg
	off  int64 // from the CFA
	size int   // 0 for a register
}

// Reg is the place that is register r.
func Reg(r arch.Reg) Place { return Place{reg: r} }

// Frame is the place that is size bytes at CFA+off.
func Frame(off int64, size int) Place { return Place{reg: arch.NoReg, off: off, size: size} }
