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
	none uint8 // always 0: without gaps two values are compared as two words
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

// A state is what is known before an instruction runs.
type state struct {
	known  arch.RegMask // the registers of which something is
	inRows arch.RegMask // those that rows can depend on
	regs   [arch.MaxRegs]value
	frame
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
	bit := arch.RegMask(1) << r
	s.moved = s.moved || s.inRows&bit != 0
	s.known &^= bit
	s.inRows &^= bit
	if v.kind == unknown {
		return
	}
	s.known |= bit
	s.regs[r] = v
	if v.inRows() {
		s.inRows |= bit
		s.moved = true
	}
}

// inRows reports whether rows can depend on a register that holds v.
func (v value) inRows() bool { return v.kind == entry || v.kind == aligned }

// lose makes the registers of mask unknown.
func (s *state) lose(mask arch.RegMask) {
	s.moved = s.moved || mask&s.inRows != 0
	s.known &^= mask
	s.inRows &^= mask
}

// save makes the word at addr hold v, which is known.
func (s *state) save(addr, v value) {
	s.add(slot{addr, v})
	s.moved = true
}

// overwrite forgets the words that [addr, addr+size) touches.
func (s *state) overwrite(addr value, size, word int64) {
	if !s.mayTouch(addr.k, size) {
		return
	}
	n := len(s.slots)
	s.keep(func(x *slot) bool { return !x.at.sameBase(addr) || x.at.k >= addr.k+size || addr.k >= x.at.k+word })
	s.moved = s.moved || n != len(s.slots)
}

// dropBelow forgets the words below addr: a call overwrites them.
func (s *state) dropBelow(addr value) {
	if addr.k <= s.lowest {
		return
	}
	n := len(s.slots)
	s.keep(func(x *slot) bool { return !x.at.sameBase(addr) || x.at.k >= addr.k })
	s.moved = s.moved || n != len(s.slots)
}
