package mono

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	// longestGetter is how much of a function is looked at, in bytes.
	longestGetter = 48
	// largestField is more than the offset of a field that is asked for, in bytes.
	largestField = 1 << 10
	// longestSearch is how much of a function is searched for the variables that it uses, in bytes.
	longestSearch = 256
)

// loaded returns the memory that a function returns that does nothing else.
func (r *runtime) loaded(name string) (disasm.MemOperand, bool) {
	at, ok := r.symbol(name)
	if !ok {
		return disasm.MemOperand{}, false
	}
	var found *disasm.MemOperand
	page := int64(-1) // AArch64 computes the address of a variable in two steps
	code := r.Some(at, longestGetter)
	for len(code) > 0 {
		in, err := disasm.Decode(r.Arch, code, at)
		if err != nil || in.Len <= 0 {
			break
		}
		switch m := in.Mem(); {
		case in.Kind == disasm.Nop, in.Kind == disasm.Endbr:
		case in.Kind == disasm.MovImm && found == nil && page < 0 && in.Imm >= 0:
			page = in.Imm
		case in.Kind == disasm.Lea && found == nil && page < 0 && m != nil && m.RIPRelative:
			page = m.Disp
		case in.Kind == disasm.Load && found == nil && m != nil && m.Index == arch.NoReg && m.Segment == arch.NoReg:
			found = new(disasm.MemOperand)
			if *found = *m; page >= 0 && m.Base != arch.NoReg {
				found.Base, found.RIPRelative, found.Disp = arch.NoReg, true, page+m.Disp
			}
		case in.Kind == disasm.Ret && found != nil:
			return *found, true
		default:
			return disasm.MemOperand{}, false
		}
		code, at = code[in.Len:], at+uint64(in.Len)
	}
	return disasm.MemOperand{}, false
}

// field returns the offset of the field that a function returns of its argument.
func (r *runtime) field(name string) (uint64, bool) {
	m, ok := r.loaded(name)
	return uint64(m.Disp), ok && !m.RIPRelative && m.Base != arch.NoReg && m.Disp >= 0 && m.Disp < largestField
}

// variable returns the value of the variable that a function returns.
func (r *runtime) variable(name string) (uint64, bool) {
	m, ok := r.loaded(name)
	if !ok || !m.RIPRelative {
		return 0, false
	}
	return r.LookupWord(uint64(m.Disp))
}

// uses calls f with each variable that a function refers to, until f returns false.
func (r *runtime) uses(name string, f func(at uint64) bool) {
	at, ok := r.symbol(name)
	if !ok {
		return
	}
	code := r.Some(at, longestSearch)
	for len(code) > 0 {
		in, err := disasm.Decode(r.Arch, code, at)
		if err != nil || in.Len <= 0 {
			return
		}
		if m := in.Mem(); m != nil && m.RIPRelative && !f(uint64(m.Disp)) {
			return
		}
		code, at = code[in.Len:], at+uint64(in.Len)
	}
}
