package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// In Fortran a caller makes a descriptor of an array that it passes: where its elements are, its bounds and strides. A compiler that sees the called function
// leaves out what that does not read. What lies there then is what an earlier call left.

// leftOut reports whether an expression reads a part of the descriptor at an address that the function in whose frame it lies did not store when it made it.
func (e *evaluator) leftOut(object arch.Address, expr []byte) bool {
	k := e.index + 1
	for ; k < len(e.frames); k++ {
		if cfa, ok := e.frames[k].CFA(); !ok {
			return false
		} else if object < cfa {
			break
		}
	}
	if k >= len(e.frames) || e.isGo() || object < e.frames[k].SP() {
		return false
	}
	cfa, _ := e.frames[k].CFA()
	var code *provenance.Func
	var call uint64
	for _, at := range wordsRead(expr) {
		if code == nil {
			if code, call = e.r.calling(e, k); code == nil {
				return false
			}
		}
		if at != 0 && code.Omits(call, int64(object-cfa), int64(object+at-cfa), e.r.arch.WordSize) {
			return true
		}
	}
	return false
}

// wordsRead lists at which offsets of an object an expression reads words.
func wordsRead(expr []byte) (list []uint64) {
	c := binbuf.New(expr, 0, false)
	at, inside := uint64(0), false
	for c.Error == nil && c.More() {
		switch o := op.Op(c.U8()); {
		case o == op.PushObjectAddress:
			at, inside = 0, true
		case o == op.PlusUconst:
			at += c.ULEB()
		case o == op.Deref:
			if inside {
				list = append(list, at)
			}
			inside = false
		case o >= op.Lit0 && o < op.Lit0+32, o == op.Mul, o == op.Plus, o == op.Minus:
			inside = false
		default:
			return list
		}
	}
	return list
}

// calling returns the code of the function of a frame that made a call, and the address of the call.
func (r *Reader) calling(e *evaluator, k int) (*provenance.Func, uint64) {
	f := e.frames[k]
	c, ok := r.codeAt(f.LookupAddr())
	if !ok || f.NonCall() {
		return nil, 0
	}
	t := c.im.EHFrame()
	if t == nil {
		return nil, 0
	}
	low, high, ok := t.FDEForPC(f.LookupAddr() - c.bias)
	if !ok {
		return nil, 0
	}
	windows := c.lib.Module != nil && c.lib.Module.Format == libstate.FormatPE
	code := provenance.New(r.arch, provenance.ABIOf(r.arch, windows), c.Code, low|r.mode(f), high)
	if code == nil {
		return nil, 0
	}
	r.work.Add(int64(high-low) / 4)
	call, ok := code.CallBefore(f.RA() - c.bias)
	if !ok {
		return nil, 0
	}
	return code, call
}

// describes reports whether a unit's language passes arrays with descriptors that the caller makes.
func describes(u *dwarf.Unit) bool {
	switch u.Language {
	case dwarf.LangFortran77, dwarf.LangFortran90, dwarf.LangFortran95, dwarf.LangFortran03, dwarf.LangFortran08:
		return true
	}
	return false
}
