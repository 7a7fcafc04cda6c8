package dwarfvars

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Floating-point and vector registers of x86-64, which only a thread's youngest
// frame has: the ABI lets every call change them.

// Layout of the FXSAVE area and of what XSAVE adds (Intel SDM 1, 10.5 and 13.4).
const (
	fxST   = 32 // 16 bytes each, 10 of them used
	fxXMM  = 160
	avxYMM = 576 // upper halves, 16 bytes each
)

// DWARF numbers (System V ABI, AMD64 supplement, figure 3.36).
const (
	dwarfXMM0 = 17
	dwarfST0  = 33
	dwarfMM0  = 41
)

// vector returns the bytes of a vector or floating-point register: 32 or 16 of
// an SSE register, 10 of an x87 one, 8 of an MMX one.
func (e *evaluator) vector(n uint64) ([]byte, bool) {
	if e.r.arch != arch.AMD64 || !e.frame().IsTopFrame() || e.virtual {
		return nil, false
	}
	fp, ok := e.r.proc.(FPState)
	if !ok || n < dwarfXMM0 || n >= dwarfMM0+8 {
		return nil, false
	}
	tid := e.frame().Thread()
	area, ok := fp.FPRegs(tid)
	x, okX := fp.XState(tid)
	if !ok {
		if area, ok = x, okX; !ok {
			return nil, false
		}
	}
	switch {
	case n < dwarfST0:
		i := int(n - dwarfXMM0)
		low, ok := slice(area, fxXMM+16*i, 16)
		if !ok {
			return nil, false
		}
		if high, ok := slice(x, avxYMM+16*i, 16); okX && ok && hasAVX(x) {
			return append(append(make([]byte, 0, 32), low...), high...), true
		}
		return low, true
	case n < dwarfMM0:
		return slice(area, fxST+16*int(n-dwarfST0), 10)
	}
	return slice(area, fxST+16*int(n-dwarfMM0), 8)
}

// hasAVX reports whether XSTATE_BV says that the upper halves were in use; they
// are zero when not.
func hasAVX(x []byte) bool { return len(x) > 512 && x[512]&4 != 0 }

func slice(b []byte, off, n int) ([]byte, bool) {
	if off+n > len(b) {
		return nil, false
	}
	return b[off : off+n : off+n], true
}

// regName names a register by its DWARF number.
func (r *Reader) regName(n uint64) string {
	if reg, ok := r.arch.FromDWARF(n); ok {
		return r.arch.RegName(reg)
	}
	if r.arch == arch.AMD64 {
		switch {
		case n >= dwarfXMM0 && n < dwarfST0:
			return fmt.Sprintf("xmm%d", n-dwarfXMM0)
		case n >= dwarfST0 && n < dwarfMM0:
			return fmt.Sprintf("st%d", n-dwarfST0)
		case n >= dwarfMM0 && n < dwarfMM0+8:
			return fmt.Sprintf("mm%d", n-dwarfMM0)
		case n >= 67 && n < 83:
			return fmt.Sprintf("xmm%d", n-67+16)
		}
	}
	return fmt.Sprintf("register %d", n)
}
