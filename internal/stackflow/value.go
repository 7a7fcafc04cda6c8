package stackflow

import "github.com/corewalk/corewalk/unwind/arch"

// A valueKind says what is known of a word.
type valueKind uint8

const (
	unknown valueKind = iota
	// entry: the value that register reg had at the function's entry, plus k.
	entry
	// aligned: the stack pointer that instruction id made by an alignment, plus k.
	aligned
	// constant: k.
	constant
	// tableEntry: a signed word of the table of jumps at k, whose entries take
	// size bytes; tableTarget: the address that such an entry makes, when it is
	// added to the address k+id.
	tableEntry
	tableTarget
)

// A value is what is known of a word. Values are equal when they are the same
// word: unknown ones are never asked.
type value struct {
	kind valueKind
	reg  arch.Reg
	size uint8
	id   int32
	k    int64
}

func entryOf(r arch.Reg, k int64) value { return value{kind: entry, reg: r, k: k} }

// plus is v + k.
func (v value) plus(k int64) value {
	switch v.kind {
	case entry, aligned, constant:
		v.k += k
		return v
	}
	return value{}
}

// sameBase reports whether the difference of v and w is known.
func (v value) sameBase(w value) bool {
	return v.kind == w.kind && v.kind != unknown && v.reg == w.reg && v.id == w.id
}

// A slot is a word of the stack: at is its address.
type slot struct{ at, val value }

// maxSlots bounds the words of a frame that are remembered.
const maxSlots = 64

// A state is what is known before an instruction runs.
type state struct {
	known arch.RegMask // the registers of which something is
	regs  [arch.MaxRegs]value
	slots []slot
	// soft: every path here is in doubt: it comes from a call that may never
	// return, or from a jump by a table whose length is not known.
	soft bool
	// moved: something has changed that a row tells.
	moved bool
}

// get is what register r holds.
func (s *state) get(r arch.Reg) value {
	if s.known.Has(r) {
		return s.regs[r]
	}
	return value{}
}

// put makes register r hold v.
func (s *state) put(r arch.Reg, v value) {
	if r >= arch.MaxRegs {
		return
	}
	s.moved = s.moved || v.inRows() || s.known.Has(r) && s.regs[r].inRows()
	if s.known &^= 1 << r; v.kind != unknown {
		s.known |= 1 << r
		s.regs[r] = v
	}
}

// inRows reports whether rows can depend on a register that holds v.
func (v value) inRows() bool { return v.kind == entry || v.kind == aligned }

// lose makes the registers of mask unknown.
func (s *state) lose(mask arch.RegMask) {
	if mask &= s.known; mask == 0 {
		return
	}
	for m := mask; m != 0; m &= m - 1 {
		s.moved = s.moved || s.regs[m.First()].inRows()
	}
	s.known &^= mask
}

func (s *state) copyFrom(t *state) {
	s.known = t.known
	for m := t.known; m != 0; m &= m - 1 {
		r := m.First()
		s.regs[r] = t.regs[r]
	}
	s.slots = append(s.slots[:0], t.slots...)
	s.soft, s.moved = t.soft, t.moved
}

// slotAt returns what the word at addr holds.
func (s *state) slotAt(addr value) value {
	for i := range s.slots {
		if s.slots[i].at == addr {
			return s.slots[i].val
		}
	}
	return value{}
}

// overwrite forgets the words that [addr, addr+size) touches.
func (s *state) overwrite(addr value, size, word int64) {
	kept := s.slots[:0]
	for _, x := range s.slots {
		if x.at.sameBase(addr) && x.at.k < addr.k+size && addr.k < x.at.k+word {
			continue
		}
		kept = append(kept, x)
	}
	s.moved = s.moved || len(kept) != len(s.slots)
	s.slots = kept
}

// dropBelow forgets the words below addr: a call overwrites them.
func (s *state) dropBelow(addr value) {
	kept := s.slots[:0]
	for _, x := range s.slots {
		if x.at.sameBase(addr) && x.at.k < addr.k {
			continue
		}
		kept = append(kept, x)
	}
	s.moved = s.moved || len(kept) != len(s.slots)
	s.slots = kept
}

// join takes note in s of another path on which t holds, and answers whether
// that changed s. A path that may not exist does not count beside one that does.
func (s *state) join(t *state) bool {
	switch {
	case t.soft && !s.soft:
		return false
	case s.soft && !t.soft:
		s.copyFrom(t)
		return true
	}
	return s.merge(t)
}

// merge makes s what holds in both s and t, and answers whether that changed s.
func (s *state) merge(t *state) bool {
	lost := s.known &^ t.known
	for m := s.known & t.known; m != 0; m &= m - 1 {
		if r := m.First(); s.regs[r] != t.regs[r] {
			lost |= 1 << r
		}
	}
	changed := lost != 0
	s.known &^= lost
	same := 0
	for same < len(s.slots) && same < len(t.slots) && s.slots[same] == t.slots[same] {
		same++
	}
	kept := s.slots[:same]
	for _, x := range s.slots[same:] {
		if t.slotAt(x.at) == x.val {
			kept = append(kept, x)
		}
	}
	if len(kept) != len(s.slots) {
		s.slots = kept
		changed = true
	}
	s.soft = s.soft && t.soft
	return changed
}
