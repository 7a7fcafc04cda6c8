package slim

import (
	"slices"
	"unicode/utf8"

	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Steps is where walking needs memory that looks like values: saved addresses that are not at multiples of a
// word's size or as low as characters, status registers that a signal saved, and code outside of modules that returns
// from a signal's handler.
type Steps struct {
	Arch  *arch.Arch
	saved spots // a word each
	code  spots // around program counters; of it, what was read
	info  spots // unwind information of code made at run time
}

// beforeCode and afterCode are how much code around a program counter is read to tell what it does, in bytes.
const beforeCode, afterCode = 16, 64

// Add adds the frames of a stack.
func (s *Steps) Add(frames []*unwind.Frame) {
	word := arch.Address(s.Arch.WordSize)
	for i, f := range frames {
		if i+1 < len(frames) && frames[i+1].Trust() == unwind.TrustPEUnwind {
			for _, x := range steppers.RegisteredInfo(f) {
				s.info = append(s.info, run{x.Start, x.End})
			}
		}
		for _, reg := range []arch.Reg{s.Arch.PC, s.Arch.SP, s.Arch.FP} {
			v, l, ok := f.Reg(reg)
			if ok && l.Kind == unwind.LocAddress && (l.Addr%word != 0 || v <= utf8.MaxRune) && !wild(f.Walker(), v) {
				s.saved = append(s.saved, run{l.Addr, l.Addr + word})
			}
		}
		if i > 0 && frames[i-1].IsTrampoline() && s.Arch.Mode != arch.NoReg { // the status register
			if _, l, ok := f.Reg(s.Arch.Mode); ok && l.Kind == unwind.LocAddress {
				s.saved = append(s.saved, run{l.Addr, l.Addr + word})
			}
		}
		if i > 0 && f.IsTrampoline() {
			s.code = append(s.code, run{f.RA() - min(f.RA(), beforeCode), f.RA() + min(^f.RA(), afterCode)})
		}
	}
}

// inPage reports whether code is needed of the page that an address is in.
func (s *Steps) inPage(a arch.Address) bool {
	a &^= page - 1
	return s != nil && slices.ContainsFunc(s.code, func(r run) bool { return r.lo < a+page && a < r.hi })
}
