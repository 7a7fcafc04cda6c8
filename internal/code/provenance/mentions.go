package provenance

import "github.com/corewalk/corewalk/unwind/arch"

// Mentions reports whether an instruction of the function has an address of a range as its operand: low and so many
// bytes on. A displacement beside a register is none.
func (f *Func) Mentions(low, size uint64) bool {
	for i := range f.steps {
		in := f.inst(i)
		if in == nil {
			continue
		}
		if uint64(in.Imm)-low < size {
			return true
		}
		for _, m := range in.Mems() {
			if m.Base == arch.NoReg && uint64(m.Disp)-low < size {
				return true
			}
		}
	}
	return false
}
