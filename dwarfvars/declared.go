package dwarfvars

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind/arch"
)

// In Go the scope of a local variable begins after its declaration, but the blocks of Go's debugging information
// begin where the source's blocks do. A variable that lies in the frame has a place in the whole block, and before
// its declaration has run, what an earlier call left there.
//
// The compiler writes a variable when its declaration runs, also with zero, and keeps the order of the source. So a
// declaration has run if an instruction before the frame's own writes to the variable's place and is of the
// declaration's line or a later one; what is written before is the function's entry, where pointers become nil. Of
// a variable on the heap, "&x", the place has the address, which is written before the value is computed: there
// the first use of the address counts.

// maxDeclCode is how many bytes of a function are decoded for this.
const maxDeclCode = 1 << 18

// A stackUse is an instruction that writes, reads or takes the address of a part of its function's frame.
type stackUse struct {
	pc        uint64
	off, size int64 // from the stack pointer
	writes    bool  // or takes the address
}

// declared reports whether the declaration of a variable has run at the frame's address, a.e.pc. It is true where nothing tells.
func (a *Activation) declared(v *LocalVar) bool {
	if v.Param && !v.onHeap || v.fn.rec != nil || v.fn.fn.Unit == nil || v.fn.fn.Unit.Language != dwarf.LangGo || v.attrs.line <= 0 || a.e.virtual {
		return true
	}
	slot, ok := a.slotOf(v)
	if !ok {
		return true
	}
	if slot < 0 { // the function has not made its frame yet: it asks for a larger stack
		return false
	}
	at := a.Function.sourceAt(a.e.pc)
	size := int64(a.r.arch.WordSize)
	if n, err := a.sizeOf(a.r.types.Of(v.attrs.typ)); err == nil && !v.onHeap {
		size = int64(min(n, maxDeclCode))
	}
	var first *stackUse
	uses := a.Function.stackUses(a.r)
	for i := range uses {
		u := &uses[i]
		if !u.writes || u.off >= slot+size || u.off+u.size <= slot {
			continue
		}
		if row, ok := v.fn.fn.Unit.Line(u.pc); !ok || row.Line < v.attrs.line {
			continue
		}
		first = u
		uses = uses[i+1:]
		break
	}
	known := !v.inlined && at.Line > 0 && !at.ApproxLine
	if first == nil { // a variable without a size
		return !known || at.Line >= v.attrs.line || at.File != a.Function.sourceAt(v.fn.fn.Entry).File
	}
	if first.pc >= a.e.pc {
		return false
	}
	if !v.onHeap {
		return true
	}
	for i := range uses {
		u := &uses[i]
		if u.writes || u.off != slot {
			continue
		}
		if u.pc < a.e.pc {
			return true
		}
		row, ok := v.fn.fn.Unit.Line(u.pc)
		return ok && known && row.File == at.File && row.Line > at.Line
	}
	return !known || at.Line > v.attrs.line
}

// slotOf returns where a variable lies in the frame, from the stack pointer; false if it does not, or not in the whole block. It is negative
// where the frame is not made.
func (a *Activation) slotOf(v *LocalVar) (int64, bool) {
	loc := &v.attrs.loc
	if v.attrs.locIn == nil || loc.Form.Class() != dwarf.ClassExprloc && loc.Form.Class() != dwarf.ClassBlock || len(loc.B) == 0 {
		return 0, false
	}
	base, hasBase := a.Frame().CFA()
	sp := a.Frame().SP()
	off := int64(0)
	switch c := binbuf.New(loc.B, 0, a.r.arch.Big()); op.Op(c.U8()) {
	case op.Fbreg: // Go's frame base is the CFA
		if off = c.SLEB(); c.Error != nil || c.More() {
			return 0, false
		}
	case op.CallFrameCFA:
		if c.More() {
			return 0, false
		}
	default:
		return 0, false
	}
	slot := int64(base-sp) + off
	return slot, hasBase && base > sp
}

// sourceAt returns the line of the function itself at an address of its file, not of what is inlined there.
func (f *Function) sourceAt(pc uint64) dwarf.Call {
	if v, ok := f.sources.Load(pc); ok {
		return *v.(*dwarf.Call)
	}
	var c dwarf.Call
	if calls, err := f.im.DWARF().Frames(pc, nil); err == nil && len(calls) > 0 {
		c = calls[len(calls)-1]
	}
	f.sources.Store(pc, &c)
	return c
}

// stackUses returns what the function's instructions do to its frame, in the order of their addresses; nothing if its
// code is not known.
func (f *Function) stackUses(r *Reader) []stackUse {
	f.usesOnce.Do(func() {
		low, high := f.fn.Low, min(f.fn.High, f.fn.Low+maxDeclCode)
		c, ok := r.codeAt(low + f.bias)
		if !ok || high <= low {
			return
		}
		code := c.CodeAt(low)
		code = code[:min(uint64(len(code)), high-low)]
		for pc := low; len(code) > 0; {
			inst, err := disasm.Decode(r.arch, code, pc)
			n := inst.Len
			if err != nil || n <= 0 {
				n = min(max(1, r.arch.PCAlign), len(code))
				pc, code = pc+uint64(n), code[n:]
				continue
			}
			for _, m := range inst.Mems() {
				if m.Base == r.arch.SP && m.Index == arch.NoReg && !m.Implicit {
					f.uses = append(f.uses, stackUse{pc, m.Disp, max(1, int64(m.Size)), m.Write || !m.Read})
				}
			}
			pc, code = pc+uint64(n), code[n:]
		}
		f.uses = slices.Clip(f.uses)
		r.work.Add(int64(high-low) / 4)
	})
	return f.uses
}
