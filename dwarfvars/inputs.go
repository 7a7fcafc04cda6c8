package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind"
)

// What values depend on. Two threads at the same instructions of the same functions have the same
// value of a variable if the registers, and so on, are the same from which it was computed: memory
// is the same for both. Then only the first has to evaluate anything.

// Record implements where.Frame.
func (f *frameWhere) Record(in *where.Inputs) { f.e.inputs = in }

// numberOnStack reads a number or pointer at a fixed offset from the frame's canonical frame address. Its text depends on
// what it is, not on where: it is an input of its own, in place of the address. False means that v is something else, or
// cannot be read.
func (a *Activation) numberOnStack(v *LocalVar) (in where.Input, ok bool) {
	at := &v.attrs
	if a.e.virtual || v.rec != nil || at.locIn == nil || !a.e.countsFromCFA() {
		return in, false
	}
	expr, _, err := at.locIn.Location(&at.loc, a.e.pc, a.e.frame())
	if err != nil || len(expr) == 0 || op.Op(expr[0]) != op.Fbreg {
		return in, false
	}
	t := a.r.types.Of(at.typ).Strip()
	switch t.Tag {
	case dwarf.TagBaseType, dwarf.TagEnumerationType, dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
	default:
		return in, false
	}
	c := binbuf.New(expr, 1, a.r.arch.Big())
	in.Off = c.SLEB()
	if c.Error != nil || c.More() || t.ByteSize == 0 || t.ByteSize > 8 {
		return in, false
	}
	in.Kind, in.Known, in.Frame, in.Size = where.InputMemory, true, int32(a.e.index), uint8(t.ByteSize)
	in.Value, ok = a.r.numberAt(a.e.frame(), &in)
	return in, ok
}

// numberAt reads the number in a frame's memory that an input is of.
func (r *Reader) numberAt(f *unwind.Frame, in *where.Input) (uint64, bool) {
	var buf [8]byte
	cfa, ok := f.CFA()
	if !ok || r.mem.Read(r.arch.Truncate(cfa+uint64(in.Off)), buf[:in.Size]) != nil {
		return 0, false
	}
	return types.Uint(buf[:in.Size], r.arch.Big()), true
}

// recorded returns the inputs that ask uses, which are also added to the evaluator's; nil if the
// evaluator records none.
func (e *evaluator) recorded(ask func()) *where.Inputs {
	outer := e.inputs
	if outer == nil {
		ask()
		return nil
	}
	own := new(where.Inputs)
	e.inputs = own
	ask()
	e.inputs = outer
	outer.AddAll(own)
	return own
}

// SameInputs implements where.Process.
func (r *readerWhere) SameInputs(in *where.Inputs, frames []*unwind.Frame) bool {
	if in == nil || in.More {
		return false
	}
	for i := range in.List {
		want := &in.List[i]
		if int(want.Frame) >= len(frames) {
			return false
		}
		f := frames[want.Frame]
		if f.RALocation().Doubtful || f.CFADoubtful() {
			return false
		}
		var v uint64
		known := true
		switch want.Kind {
		case where.InputReg:
			var at unwind.Location
			if v, at, known = f.Reg(want.Reg); at.Doubtful {
				return false
			}
		case where.InputCFA:
			v, known = f.CFA()
		case where.InputMemory:
			v, known = (*Reader)(r).numberAt(f, want)
		case where.InputTarget:
			if int(want.Frame)+1 >= len(frames) {
				return false
			}
			v = (*Reader)(r).calledAt(frames, int(want.Frame))
		}
		if known != want.Known || v != want.Value {
			return false
		}
	}
	return true
}
