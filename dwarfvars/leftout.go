package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// In Fortran a caller makes a descriptor of an array that it passes: where its elements are, its bounds and strides. A compiler that sees the called function
// leaves out what that does not read. What lies there then is what an earlier call left.

// leftOut returns an error if an expression reads a part of the descriptor at an address that the function in whose frame it lies did not store when it made it: a
// Span if that is what only pointers need.
func (e *evaluator) leftOut(object arch.Address, expr []byte) error {
	k := e.index + 1
	for ; k < len(e.frames); k++ {
		if cfa, ok := e.frames[k].CFA(); !ok {
			return nil
		} else if object < cfa {
			break
		}
	}
	if k >= len(e.frames) || object < e.frames[k].SP() {
		return nil
	}
	cfa, _ := e.frames[k].CFA()
	list := wordsRead(expr)
	if len(list) == 0 {
		return nil
	}
	code, call := e.r.calling(e, k)
	if code == nil {
		return nil
	}
	word := e.r.arch.WordSize
	span, known := false, uint64(0)
	for _, at := range list {
		switch {
		case !code.Omits(call, int64(object-cfa), int64(object+at-cfa), word):
			known = at
		case at == uint64(spanWord*word) && len(list) == 2:
			span = true
		default:
			return unknown.ErrOptimisedOut
		}
	}
	if !span {
		return nil
	}
	var buf [8]byte
	if err := e.r.mem.Read(e.r.arch.Truncate(object+known), buf[:word]); err != nil {
		return unknown.Reason(err)
	}
	return &unknown.Span{Times: types.Uint(buf[:word], e.r.arch.Big())}
}

// spanWord is which word of gfortran's descriptors has the distance of elements of stride 1: that of pointers to components of derived types is larger than these.
const spanWord = 4

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
