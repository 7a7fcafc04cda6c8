package cfi

import "iter"

// A Row is how the caller's registers are found at one address. The zero Row is
// ready for use; keep and reuse it, since its scratch space is what makes
// lookups free of allocation. It must not be copied, nor used by two goroutines
// at once. Its expressions are parts of the section.
type Row struct {
	FDE        FDE
	Start, End uint64 // the addresses [Start, End) have this row
	RetAddrReg uint64 // DWARF number of the column that holds the return address
	ArgsSize   uint64 // bytes of arguments pushed (DW_CFA_GNU_args_size)
	Signal     bool   // the frame was interrupted, not called ('S')
	// RASigned says that the saved return address carries an AArch64 pointer
	// authentication code; BKey, that the B key signed it.
	RASigned, BKey bool
	Source         Source

	// Bias is added to addresses in expressions (DW_OP_addr). Lookups leave it.
	Bias uint64

	data     []byte
	big      bool
	addrSize uint8
	cfa      rule

	set    ruleSet
	saved  []rule // of the remembered states, one after the other
	states []state
	last   lastCIE
}

// A lastCIE keeps the CIE of a Row's last lookup and what its instructions gave:
// the frames of a stack lie mostly in few files, and nearly all FDEs of a file
// share a CIE.
type lastCIE struct {
	t       *Table // that cie is of; nil for none
	off     int
	cie     cie
	ran     bool    // initial and state are the outcome of the instructions
	initial ruleSet // for DW_CFA_restore
	state   state   // without the rules
}

// A ruleSet is the rules of a row in the order in which registers were first
// mentioned.
type ruleSet struct {
	rules []rule
	low   [2]uint64 // which registers below 128 have an entry in rules
}

// A state is what DW_CFA_remember_state keeps; its rules are the last of saved.
type state struct {
	n        int // of rules
	low      [2]uint64
	cfa      rule
	raSigned bool
}

// find returns the place of register reg's rule, -1 when it has none.
func (s *ruleSet) find(reg uint16) int {
	if reg < 128 && s.low[reg/64]>>(reg%64)&1 == 0 {
		return -1
	}
	for i := range s.rules {
		if s.rules[i].reg == reg {
			return i
		}
	}
	return -1
}

// put sets a rule, and answers false when the set is full.
func (s *ruleSet) put(r rule) bool {
	if i := s.find(r.reg); i >= 0 {
		s.rules[i] = r
		return true
	}
	if len(s.rules) >= maxRules {
		return false
	}
	s.rules = append(s.rules, r)
	if r.reg < 128 {
		s.low[r.reg/64] |= 1 << (r.reg % 64)
	}
	return true
}

func (s *ruleSet) copy(from *ruleSet) {
	s.rules = append(s.rules[:0], from.rules...)
	s.low = from.low
}

func (s *ruleSet) reset() {
	s.rules = s.rules[:0]
	s.low = [2]uint64{}
}

// CFA is the rule for the canonical frame address: Register, Expression, or
// Unspecified when the program never gave one.
func (r *Row) CFA() Rule { return r.public(r.cfa) }

// Rule returns the rule for the register with DWARF number reg.
func (r *Row) Rule(reg uint64) Rule {
	if reg > maxRegister {
		return Rule{}
	}
	if i := r.set.find(uint16(reg)); i >= 0 {
		return r.public(r.set.rules[i])
	}
	return Rule{}
}

// Rules iterates over the registers that have a rule, in the order in which the
// program first mentioned them.
func (r *Row) Rules() iter.Seq2[uint64, Rule] {
	return func(yield func(uint64, Rule) bool) {
		for _, e := range r.set.rules {
			if e.kind != Unspecified && !yield(uint64(e.reg), r.public(e)) {
				return
			}
		}
	}
}

// Row fills row with the rules at pc, the lookup address: the pc itself for a
// frame that was interrupted, the byte before for one that made a call. It
// answers ErrNoFDE when nothing covers pc. After an error the row means nothing.
// It allocates nothing once row's scratch space has grown, and the index, if
// one is needed, is built.
func (t *Table) Row(pc uint64, row *Row) error {
	f, err := t.find(pc, &row.last)
	if err != nil {
		return err
	}
	p := program{t: t, row: row, f: f}
	if err := p.start(); err != nil {
		return err
	}
	return p.run(pc)
}

// Rows iterates over the rows of an FDE by rising address, which may be empty
// ranges where the program gives an address several. It uses row for all of
// them, and ends with an error where the program makes no sense.
func (t *Table) Rows(d FDE, row *Row) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if d.Off > uint64(len(t.data)) {
			yield(nil, malformed(len(t.data), "FDE wanted at offset %#x", d.Off))
			return
		}
		f, err := t.fdeAt(int(d.Off), &row.last)
		p := program{t: t, row: row, f: f}
		if err == nil {
			err = p.start()
		}
		for pc := f.begin; err == nil; pc = row.Start {
			if err = p.run(pc); err != nil {
				break
			}
			if !yield(row, nil) || !p.advance() {
				return
			}
		}
		yield(nil, err)
	}
}
