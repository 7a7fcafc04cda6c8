package stackflow

import "github.com/corewalk/corewalk/unwind/arch"

// A valueKind says what is known of a word.
type valueKind uint8

const (
	unknown valueKind = iota
	// entry: the value that register reg had at the function's entry, plus k.
	entry
	// aligned: the stack pointer that the alignment at address id made, plus k.
	aligned
	// constant: k.
	constant
	// tableEntry: a signed word of the table of jumps at k, whose entries take
	// size bytes; tableTarget: the address that such an entry makes, when it is
	// added to the address id.
	tableEntry
	tableTarget
)

// A value is what is known of a word. Values are equal when they are the same
// word: unknown ones are never asked.
type value struct {
	kind valueKind
	reg  arch.Reg
	size uint8
	id   uint64
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
	regs  []value // by arch.Reg
	slots []slot
	// soft: a call that may never return lies on every path here.
	soft bool
}

func (s *state) copyFrom(t *state) {
	s.regs = append(s.regs[:0], t.regs...)
	s.slots = append(s.slots[:0], t.slots...)
	s.soft = t.soft
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

// overwrite forgets the words that [addr, addr+size) touches, and answers
// whether there were any.
func (s *state) overwrite(addr value, size, word int64) bool {
	kept := s.slots[:0]
	for _, x := range s.slots {
		if x.at.sameBase(addr) && x.at.k < addr.k+size && addr.k < x.at.k+word {
			continue
		}
		kept = append(kept, x)
	}
	changed := len(kept) != len(s.slots)
	s.slots = kept
	return changed
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
	s.slots = kept
}

// merge makes s what holds in both s and t, and answers whether that changed s.
func (s *state) merge(t *state) bool {
	changed := false
	for i := range s.regs {
		if s.regs[i].kind != unknown && s.regs[i] != t.regs[i] {
			s.regs[i] = value{}
			changed = true
		}
	}
	kept := s.slots[:0]
	for _, x := range s.slots {
		if t.slotAt(x.at) == x.val {
			kept = append(kept, x)
		}
	}
	if len(kept) != len(s.slots) {
		s.slots = kept
		changed = true
	}
	if s.soft && !t.soft {
		s.soft = false
		changed = true
	}
	return changed
}
