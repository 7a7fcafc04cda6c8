package provenance

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Kind says how code got a value.
type Kind uint8

// The kinds.
const (
	Unknown   Kind = iota // in a way that is not followed
	Entry                 // Reg held it when the function was called
	EntrySlot             // the Size bytes at CFA+K held it when the function was called, and nothing was stored there since
	Const                 // the constant K
	StackAddr             // the address CFA+K
	Load                  // read from memory: Size bytes at Base + Index*Scale + K
	Slot                  // read from the frame: the Size bytes at CFA+K
	Sum                   // the sum Base + Index*Scale + K
	Cut                   // the Size low bytes of Base
	Result                // the result of a call
	Join                  // it depends on the path: one of Alternatives
	Arith                 // the Size low bytes of Op of Base and Index, of Base and the memory operand of At (Mem), or of Base and K
	Added                 // the sum of K and what the Size bytes of the frame to which At adds it held before
)

func (k Kind) String() string {
	return [...]string{"unknown", "entry", "entry-slot", "const", "stack-address", "load", "slot", "sum", "cut", "result", "join", "arithmetic", "added"}[k]
}

// A Value is what an instruction computed. Base and Index refer to the registers before that instruction:
// Func.Before(v.At, Reg(v.Base)) returns what they held.
type Value struct {
	Kind Kind
	// At is the address of the instruction that computed it; for a Join, where the paths meet; for Entry and
	// EntrySlot, the function's first instruction.
	At          uint64
	Reg         arch.Reg // for Entry
	Base, Index arch.Reg // NoReg if absent
	Scale       uint8
	K           int64
	Size        int  // bytes, of what was read or cut
	Signed      bool // a Load, Slot or Cut may be sign-extended
	Into        int  // of a Load, Slot or Cut that is Signed: it is sign-extended to so many bytes; 0 if that is not certain
	Op          disasm.ArithOp
	Mem         bool   // for Arith
	Target      uint64 // for Result: the function called, 0 if not known

	alts []*Value // for a Join: of paths that meet, or what a conditional move leaves and what it moves
	same *Value   // the value that this Join turned out to be; nil if it is really a Join
}

// resolve returns the value that v stands for.
func (v *Value) resolve() *Value {
	for v.same != nil { // a join that waits for v does not become v: see add in join
		v = v.same
	}
	return v
}

// Alternatives returns the values that a Join may have, none of which is a Join; for other values the value
// itself.
func (v *Value) Alternatives() []*Value { return v.alternatives(maxJoins) }

// maxMeet is how many joins are visited to see whether they all are one value.
const maxMeet = 32

// alternatives visits at most most joins and values; nil if there are more.
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

// A Place is a register, or some bytes of the frame.
type Place struct {
	reg  arch.Reg
	off  int64 // from the CFA, in bytes
	size int   // in bytes; 0 for a register
}

// Reg returns the place that is register r.
func Reg(r arch.Reg) Place { return Place{reg: r} }

// Frame returns the place that is the size bytes at CFA+off.
func Frame(off int64, size int) Place { return Place{reg: arch.NoReg, off: off, size: size} }
