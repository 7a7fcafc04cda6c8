package cfi

import "iter"

// A Row says how to find the caller's registers at one address. The zero Row is ready for
// use. Reuse it: its scratch space makes lookups free of allocations. It must not be copied
// or used by two goroutines at once. Its expressions are slices of the section.
type Row struct {
	FDE        FDE
	Start, End uint64 // the row applies to the addresses [Start, End)
	RetAddrReg uint64 // DWARF number of the return address column
	ArgsSize   uint64 // bytes of arguments pushed (DW_CFA_GNU_args_size)
	Signal     bool   // the frame was interrupted and made no call ('S')
	// RASigned says that the saved return address contains an AArch64 pointer
	// authentication code, BKey that it is signed with the B key.
	RASigned, BKey bool
	Source         Source

	// Bias is added to addresses in expressions (DW_OP_addr). Lookups do not change it.
	Bias uint64

	data     []byte
	big      bool
	addrSize uint8
	cfa      rule

	set    ruleSet
	saved  []rule // rules of the remembered states, one state after another
	states []state
	last   lastCIE
}

// A lastCIE caches the CIE of a Row's last lookup and the result of its instructions: the
// frames of a stack are mostly in few files, and nearly all FDEs of a file share a CIE.
type lastCIE struct {
	t       *Table // the table of cie; nil if none
	off     int
	cie     cie
	ran     bool    // initial and state are the result of the instructions
	initial ruleSet // for DW_CFA_restore
	state   state   // without rules
}

// A ruleSet is the rules of a row, in the order in which registers were first mentioned.
type ruleSet struct {
	rules []rule
	low   [2]uint64 // registers below 128 that have an entry in rules
}

// A state is what DW_CFA_remember_state saves; its rules are the last ones in saved.
type state struct {
	n        int // number of rules
	low      [2]uint64
	cfa      rule
	raSigned bool
}

// find returns the index of register reg's rule, or -1.
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

// put sets a rule. It returns false if the set is full.
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

// CFA is the rule for the canonical frame address: Register, Expression, or Unspecified if
// the program sets none.
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

// Rules iterates over the registers that have a rule, in the order in which the program
// first mentions them.
func (r *Row) Rules() iter.Seq2[uint64, Rule] {
	return func(yield func(uint64, Rule) bool) {
		for _, e := range r.set.rules {
			if e.kind != Unspecified && !yield(uint64(e.reg), r.public(e)) {
				return
			}
		}
	}
}

// SetFixed makes r the row of a frame of known size in [start, end), as another table than
// call frame information gives it: the CFA is off bytes from the register sp, and the return
// address, column ra, follows the rule. addrSize is the bytes of an address.
func (r *Row) SetFixed(f FDE, start, end uint64, source Source, addrSize int, sp uint64, off int64, ra uint64, rule Rule) {
	r.FDE, r.Start, r.End, r.Source = f, start, end, source
	r.RetAddrReg, r.ArgsSize, r.Signal, r.RASigned, r.BKey = ra, 0, false, false, false
	r.data, r.addrSize = nil, uint8(addrSize)
	r.cfa = fixed(0, Rule{Kind: Register, Reg: sp, Offset: off})
	r.set.reset()
	r.set.put(fixed(ra, rule))
}

// fixed is a Rule without an expression as rows keep it.
func fixed(reg uint64, v Rule) rule {
	return rule{reg: uint16(reg), kind: v.Kind, from: uint32(v.Reg), n: v.Offset}
}

// Row fills row with the rules at pc, the lookup address: the pc of a frame that was
// interrupted, or the byte before the pc of a frame that made a call. It returns ErrNoFDE
// if nothing covers pc. After an error the contents of row are undefined. It does not
// allocate once row's scratch space has grown and the index, if needed, has been built.
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

// Rows iterates over the rows of an FDE in ascending order. A row's range is empty if the
// program makes several rows for an address. All of them use row. The iteration ends with
// an error if the program is invalid.
func (t *Table) Rows(d FDE, row *Row) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if d.Off > uint64(len(t.data)) {
			yield(nil, malformed(len(t.data), "no FDE at offset %#x", d.Off))
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
