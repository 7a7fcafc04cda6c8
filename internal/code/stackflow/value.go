package stackflow

import "github.com/corewalk/corewalk/unwind/arch"

// A valueKind says what is known about a word.
type valueKind uint8

const (
	unknown valueKind = iota
	// entry: the value of register reg at the function's entry, plus k.
	entry
	// aligned: the stack pointer produced by the alignment in instruction id, plus k.
	aligned
	// constant: k.
	constant
	// tableEntry: a signed word of the jump table at k, whose entries have size bytes.
	// tableTarget: the address obtained by adding such an entry to the address k+id.
	tableEntry
	tableTarget
)

// A value is what is known about a word. Equal values are the same word; unknown ones are
// never compared.
type value struct {
	kind valueKind
	reg  arch.Reg
	size uint8
	//lint:ignore U1000 it pads
	none uint8 // always 0: without padding, comparing two values takes two words
	id   int32
	k    int64
}

func entryOf(r arch.Reg, k int64) value { return value{kind: entry, reg: r, k: k} }

// plus returns v + k.
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

// A state is what is known before an instruction executes.
type state struct {
	known  arch.RegMask // the registers about which something is known
	inRows arch.RegMask // those on which rows can depend
	regs   [arch.MaxRegs]value
	frame
	// soft: every path to this place is doubtful: it comes from a call that may never
	// return, or from a jump through a table of unknown length.
	soft bool
	// moved: something that rows contain has changed.
	moved bool
}

// get returns the content of register r.
func (s *state) get(r arch.Reg) value {
	if s.known.Has(r) {
		return s.regs[r]
	}
	return value{}
}

// put sets register r to v.
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

// inRows reports whether rows can depend on a register that contains v.
func (v value) inRows() bool { return v.kind == entry || v.kind == aligned }

// lose makes the registers in mask unknown.
func (s *state) lose(mask arch.RegMask) {
	s.moved = s.moved || mask&s.inRows != 0
	s.known &^= mask
	s.inRows &^= mask
}

// save records that the word at addr contains v, which is known.
func (s *state) save(addr, v value) {
	s.add(slot{addr, v})
	s.moved = true
}

// overwrite forgets the words that overlap [addr, addr+size).
func (s *state) overwrite(addr value, size, word int64) {
	if !s.mayTouch(addr.k, size) {
		return
	}
	n := len(s.slots)
	s.keep(func(x *slot) bool { return !x.at.sameBase(addr) || x.at.k >= addr.k+size || addr.k >= x.at.k+word })
	s.moved = s.moved || n != len(s.slots)
}

// dropBelow forgets the words below addr, which a call overwrites.
func (s *state) dropBelow(addr value) {
	if addr.k <= s.lowest {
		return
	}
	n := len(s.slots)
	s.keep(func(x *slot) bool { return !x.at.sameBase(addr) || x.at.k >= addr.k })
	s.moved = s.moved || n != len(s.slots)
}
