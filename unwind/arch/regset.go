package arch

import "math/bits"

// A RegMask is a set of registers, one bit for each Reg.
type RegMask uint64

// Has reports whether r is in m.
func (m RegMask) Has(r Reg) bool { return m>>r&1 != 0 }

// Count returns the number of registers in m.
func (m RegMask) Count() int { return bits.OnesCount64(uint64(m)) }

// Mask returns the set of the given registers. NoReg is none.
func Mask(regs ...Reg) RegMask {
	var m RegMask
	for _, r := range regs {
		m |= 1 << r
	}
	return m
}

// A RegSet holds the general registers of one thread or one frame. Registers not in Valid
// are unknown, and their values must not be used. It is a plain value; copy it to keep it.
type RegSet struct {
	Valid RegMask
	vals  [MaxRegs]uint64
}

// Get returns r's value, and false when it is unknown.
func (s *RegSet) Get(r Reg) (uint64, bool) {
	if !s.Valid.Has(r) {
		return 0, false
	}
	return s.vals[r], true
}

// Set makes r known. It ignores a Reg that is not below MaxRegs.
func (s *RegSet) Set(r Reg, v uint64) {
	if r < MaxRegs {
		s.vals[r] = v
		s.Valid |= 1 << r
	}
}

// Clear makes r unknown.
func (s *RegSet) Clear(r Reg) {
	s.Valid &^= 1 << r
}

// First returns the lowest-numbered register of m, or MaxRegs if m is empty.
func (m RegMask) First() Reg { return Reg(bits.TrailingZeros64(uint64(m))) }
