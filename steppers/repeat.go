package steppers

import (
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A recursion comes back to the same rows thousands of times. What a row says is then put into a form that only has to be
// added up and read. It finds what the row finds; where it cannot, the row is applied as usual.

// maxRepeated is the largest number of registers that a repeated row restores besides the return address.
const maxRepeated = 8

// A repeatedRow is a row in which the CFA is a register and a number and everything else is saved at a distance from it.
type repeatedRow struct {
	state  repeatState
	base   arch.Reg
	offset arch.Address // of the CFA from base
	ra     arch.Address // of the return address from the CFA
	n      int
	saved  [maxRepeated]struct {
		reg    arch.Reg
		offset arch.Address
	}
}

type repeatState uint8

const (
	repeatUnknown repeatState = iota
	repeatNever               // the row has another form
	repeatable
)

// repeated returns the row that was found for a second frame in the form to repeat it; nil if it has none.
func (s *DebugStepper) repeated(f *foundRow) *repeatedRow {
	if f.repeat.state == repeatUnknown {
		f.repeat.state = repeatNever
		if f.fn == image.GoOther && !f.pe && s.repeat(&f.repeat, f) {
			f.repeat.state = repeatable
		}
	}
	if f.repeat.state == repeatNever {
		return nil
	}
	return &f.repeat
}

// repeat fills in r; false if the row of f has another form.
func (s *DebugStepper) repeat(r *repeatedRow, f *foundRow) bool {
	a := s.arch
	p, ok := f.row.Plain()
	if !ok || a.WordSize != 8 || a.RegSize != 8 {
		return false
	}
	if r.base, ok = a.FromDWARF(p.Base); !ok {
		return false
	}
	r.offset, r.ra, r.n = p.Offset, p.RA, 0
	for _, rule := range p.Saved {
		reg, known := a.FromDWARF(rule.Reg)
		switch {
		case !known:
			continue
		case reg == a.SP || reg == a.PC || r.n == maxRepeated:
			return false
		}
		r.saved[r.n].reg, r.saved[r.n].offset = reg, rule.Offset
		r.n++
	}
	return true
}

// stepRepeated finds the caller of in. It returns false, and has not changed out, if the row must be applied as usual.
func (s *DebugStepper) stepRepeated(r *repeatedRow, in, out *unwind.Frame) bool {
	a, w := s.arch, in.Walker()
	base, loc, ok := in.Reg(r.base)
	if !ok {
		return false
	}
	mem := w.ProcessState()
	cfa := base + r.offset
	ra, err := mem.ReadWord(cfa + r.ra)
	if err != nil || w.CodeAddress(ra) == 0 {
		return false
	}
	var values [maxRepeated]uint64
	for i := range r.saved[:r.n] {
		if values[i], err = mem.ReadWord(cfa + r.saved[i].offset); err != nil {
			return false
		}
	}
	out.SetSP(cfa - a.CFAOffset - a.StackBias)
	for i := range r.saved[:r.n] {
		out.SetReg(r.saved[i].reg, values[i], unwind.AtAddress(cfa+r.saved[i].offset))
	}
	out.SetPC(ra+a.ReturnOffset, unwind.AtAddress(cfa+r.ra))
	out.SetCalleeCFA(cfa)
	out.SetDoubtful(loc.Doubtful)
	out.SetTrust(unwind.TrustCFI)
	return true
}
