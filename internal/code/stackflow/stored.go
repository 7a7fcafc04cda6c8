package stackflow

import (
	"math/bits"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A stored is a state in compact form.
type stored struct {
	known, inRows arch.RegMask
	vals          []value // of the known registers, in ascending order
	frame
	soft bool
}

// take sets t to s. They share the slots.
func (t *stored) take(s *state) {
	t.known, t.inRows, t.soft = s.known, s.inRows, s.soft
	if t.vals = t.vals[:0]; cap(t.vals) < s.known.Count() {
		t.vals = s.heap.values(s.known.Count())
	}
	for m := s.known; m != 0; m &= m - 1 {
		t.vals = append(t.vals, s.regs[m.First()&(arch.MaxRegs-1)])
	}
	s.shared = true
	t.frame = s.frame
}

// load sets s to t. They share the slots.
func (s *state) load(t *stored) {
	s.known, s.inRows, s.soft = t.known, t.inRows, t.soft
	n := 0
	for m := t.known; m != 0; m &= m - 1 {
		s.regs[m.First()&(arch.MaxRegs-1)] = t.vals[n]
		n++
	}
	t.shared = true
	s.frame = t.frame
}

// get returns the content of register r.
func (t *stored) get(r arch.Reg) value {
	if !t.known.Has(r) {
		return value{}
	}
	return t.vals[bits.OnesCount64(uint64(t.known)&(1<<r-1))]
}

// lose makes the registers in mask unknown.
func (t *stored) lose(mask arch.RegMask) {
	kept := t.vals[:0]
	for i, m := 0, t.known; m != 0; i, m = i+1, m&(m-1) {
		if !mask.Has(m.First()) {
			kept = append(kept, t.vals[i])
		}
	}
	t.vals = kept
	t.known &^= mask
	t.inRows &^= mask
}

// join merges into t the state s of another path, and reports whether that changed t. A
// doubtful path does not count if there is a certain one.
func (t *stored) join(s *state) bool {
	switch {
	case s.soft && !t.soft:
		return false
	case t.soft && !s.soft:
		t.take(s)
		return true
	}
	return t.merge(s)
}

// merge reduces t to what holds in both t and s, and reports whether that changed t.
func (t *stored) merge(s *state) bool {
	lost := t.known &^ s.known
	for i, m := 0, t.known; m != 0; i, m = i+1, m&(m-1) {
		if r := m.First() & (arch.MaxRegs - 1); t.vals[i] != s.regs[r] {
			lost |= 1 << r
		}
	}
	if lost != 0 {
		t.lose(lost)
	}
	t.soft = t.soft && s.soft
	return t.intersect(&s.frame) || lost != 0
}
