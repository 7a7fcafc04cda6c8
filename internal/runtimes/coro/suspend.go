package coro

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A place is where a coroutine is suspended.
type place struct {
	pc   unwind.Address // 0 if unknown
	file string
	line int
}

// maxCode limits the code of one function that is searched.
const maxCode = 1 << 18

// placeOf finds the suspension point with a number: the code that stores the number in the
// frame before it returns. Neither compiler describes the points in debugging information.
func (r *runtime) placeOf(f *function, index uint64) place {
	if f.layout == nil || f.indexBytes == 0 {
		return place{}
	}
	r.lock.Lock()
	p, ok := f.suspend[index]
	r.lock.Unlock()
	if !ok {
		p = r.search(f, index)
		r.lock.Lock()
		f.suspend[index] = p
		r.lock.Unlock()
	}
	return p
}

func (r *runtime) search(f *function, index uint64) (found place) {
	low, high := f.code[0], f.code[1]
	if high <= low || high-low > maxCode || r.p.Spend(int(high-low)/8) != nil {
		return place{}
	}
	code := r.Bytes(low, int(high-low))
	lookup, _ := r.p.Names.(unwind.CallLookup)
	known := map[arch.Reg]int64{} // registers with a constant
	for at := uint64(0); at < uint64(len(code)); {
		in, err := disasm.Decode(r.Arch, code[at:], low+at)
		if err != nil || in.Len == 0 {
			return place{}
		}
		at += uint64(in.Len)
		if v, ok := stored(&in, known, f.index, f.indexBytes); !ok || v != index {
			continue
		}
		if found.pc != 0 {
			if found.line != r.lineOf(lookup, in.PC).line {
				return place{} // two places store the number
			}
			continue
		}
		found = r.lineOf(lookup, in.PC)
	}
	return found
}

// lineOf is the line of the function itself at an address of its code, not that of calls inlined there.
func (r *runtime) lineOf(lookup unwind.CallLookup, pc unwind.Address) place {
	p := place{pc: pc}
	if lookup == nil {
		return p
	}
	calls, err := lookup.LookupCalls(pc, nil)
	if err != nil || len(calls) == 0 {
		return p
	}
	c := &calls[len(calls)-1]
	if !c.Approximate {
		p.file, p.line = c.File, c.Line
	}
	return p
}

// stored returns the number that an instruction stores in size bytes at an offset from a register. known are the
// registers with a constant, which it keeps up to date.
func stored(in *disasm.Inst, known map[arch.Reg]int64, off, size uint64) (v uint64, ok bool) {
	m := in.Mem()
	if in.Kind == disasm.Store && m != nil && !m.RIPRelative && m.Index == arch.NoReg && m.Disp >= 0 && size <= 8 {
		low, n := uint64(m.Disp), uint64(m.Size)
		imm := in.Imm
		ok = low <= off && off+size <= low+n
		if in.Src != arch.NoReg {
			var is bool
			imm, is = known[in.Src]
			ok = ok && is
		}
		if ok { // compilers may write the members around it with one store
			v = uint64(imm) >> (8 * (off - low)) & (1<<(8*size) - 1)
		}
	}
	for r := range known {
		if in.Writes.Has(r) {
			delete(known, r)
		}
	}
	switch {
	case in.Kind.EndsBlock(), in.Kind.IsCall():
		clear(known)
	case in.Kind == disasm.MovImm && in.Dst != arch.NoReg:
		known[in.Dst] = in.Imm
	}
	return v, ok
}

// guessIndex finds the number of the suspension point in frames that nothing describes: in Clang's functions that
// resume, the first byte that is read from the frame, which is in the register of the first argument.
func (r *runtime) guessIndex(l *layout) {
	low, high := l.code[0], min(l.code[1], l.code[0]+maxGuess)
	code := r.Bytes(low, int(high-low))
	if r.Arch != arch.AMD64 {
		return
	}
	for at := uint64(0); at < uint64(len(code)); {
		in, err := disasm.Decode(r.Arch, code[at:], low+at)
		if err != nil || in.Kind.IsCall() || in.Writes.Has(arch.RDI) {
			return
		}
		at += uint64(in.Len)
		if m := in.Mem(); m != nil && m.Read && m.Base == arch.RDI && m.Index == arch.NoReg && m.Size == 1 && m.Disp >= 2*8 {
			l.index, l.indexBytes = uint64(m.Disp), 1
			return
		}
	}
}

// maxGuess is how much code guessIndex looks at, in bytes.
const maxGuess = 64
