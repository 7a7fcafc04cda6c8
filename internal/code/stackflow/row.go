package stackflow

import (
	"slices"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A LocKind says how to find a value of the caller.
type LocKind uint8

const (
	Lost  LocKind = iota // unknown
	InReg                // register Reg plus Off
	AtCFA                // saved at CFA+Off
	AtReg                // saved at Reg+Off
)

// A Loc says where a value of the caller is. Off is in bytes.
type Loc struct {
	Kind LocKind
	Reg  arch.Reg
	Off  int64
}

// A CFARule says how to compute the canonical frame address from the registers of the
// frame: Reg+Off or, with Deref, the word at Reg+Off plus Add.
type CFARule struct {
	Reg   arch.Reg // NoReg if unknown
	Deref bool
	Off   int64
	Add   int64
}

// A SavedReg is where the caller's value of a register is.
type SavedReg struct {
	Reg arch.Reg
	Loc Loc
}

// A Row is what is known at one instruction: the content of a row of call frame
// information.
type Row struct {
	// CFA uses the frame pointer if that is the function's own. BySP is the same by the
	// stack pointer, for frames with an unknown frame pointer.
	CFA, BySP CFARule
	// CallerSP is the offset in bytes of the caller's stack pointer from the CFA.
	CallerSP int64
	RA       Loc
	// Saved are the callee-saved registers whose values in the caller are known, including
	// unchanged ones. Do not write to it.
	Saved []SavedReg
	// FrameReg says that the frame pointer is the function's own: it points into the frame.
	FrameReg bool
}

// Loc returns where the caller's register r is.
func (r *Row) Loc(reg arch.Reg) Loc {
	for _, s := range r.Saved {
		if s.Reg == reg {
			return s.Loc
		}
	}
	return Loc{}
}

func (r *Row) equal(s *Row) bool {
	return r.CFA == s.CFA && r.BySP == s.BySP && r.RA == s.RA && r.FrameReg == s.FrameReg && slices.Equal(r.Saved, s.Saved)
}

// A rowBuilder collects the rows of a function.
type rowBuilder struct {
	rows    []Row
	saved   []SavedReg
	scratch []SavedReg
	last    int32

	// State from which the row with index last was made.
	inRows  arch.RegMask
	version uint64 // of the words; 0 if there is no row
	alone   bool
	from    [arch.MaxRegs]value
	words   []slot

	stored  arch.RegMask // the registers in onStack
	onStack [arch.MaxRegs]storedReg
}

// reset forgets the rows, which now belong to a Func.
func (b *rowBuilder) reset() { b.rows, b.saved, b.last, b.version = nil, nil, 0, 0 }

// isLast reports, by a fast check, whether the last row also applies to s.
func (b *rowBuilder) isLast(s *state, alone bool) bool {
	if b.version == 0 || b.inRows != s.inRows || b.alone != alone {
		return false
	}
	for m := s.inRows; m != 0; m &= m - 1 {
		if r := m.First() & (arch.MaxRegs - 1); b.from[r] != s.regs[r] {
			return false
		}
	}
	if b.version != s.version && !slices.Equal(b.words, s.slots) {
		return false
	}
	b.version = s.version
	return true
}

// note records the state from which the last row was made.
func (b *rowBuilder) note(s *state, alone bool) {
	b.version, b.inRows, b.alone = s.version, s.inRows, alone
	b.words = append(b.words[:0], s.slots...)
	for m := s.inRows; m != 0; m &= m - 1 {
		r := m.First() & (arch.MaxRegs - 1)
		b.from[r] = s.regs[r]
	}
}

// sameFrame reports whether two rows are equal except for BySP.
func (r *Row) sameFrame(s *Row) bool {
	return r.CFA == s.CFA && r.RA == s.RA && slices.Equal(r.Saved, s.Saved)
}

// maxSameRow is how many previous rows a new one is compared with, to store equal ones
// once.
const maxSameRow = 32

// add returns the index of the row for s. alone says that control arrives with only one
// stack pointer.
func (b *rowBuilder) add(m *machine, s *state, alone bool) int32 {
	if b.isLast(s, alone) {
		return b.last
	}
	b.note(s, alone)
	b.scratch = b.scratch[:0]
	b.findSaved(m, s)
	row := Row{CFA: m.cfaRule(s), BySP: CFARule{Reg: arch.NoReg}, RA: b.locate(m, s, m.ra), CallerSP: -m.cfa}
	if m.pushesRA {
		row.CallerSP += m.word
	}
	for mask := m.saved; mask != 0; mask &= mask - 1 {
		r := mask.First()
		if l := b.locate(m, s, r); l.Kind != Lost {
			b.scratch = append(b.scratch, SavedReg{r, l})
		}
	}
	row.Saved = b.scratch
	if want := entryOf(m.arch.SP, m.cfa); alone && row.CFA.Reg != m.arch.SP && s.get(m.arch.SP).sameBase(want) {
		row.BySP = CFARule{Reg: m.arch.SP, Off: want.k - s.get(m.arch.SP).k}
	}
	if fp := s.get(m.arch.FP); m.onStack(fp) {
		row.FrameReg = true
	}
	if int(b.last) < len(b.rows) && b.rows[b.last].equal(&row) {
		return b.last
	}
	for i := len(b.rows) - 1; i >= 0 && i > len(b.rows)-maxSameRow; i-- {
		if b.rows[i].equal(&row) {
			b.last = int32(i)
			return b.last
		}
	}
	n := len(b.saved)
	b.saved = append(b.saved, b.scratch...)
	row.Saved = b.saved[n:len(b.saved):len(b.saved)]
	b.rows = append(b.rows, row)
	b.last = int32(len(b.rows) - 1)
	return b.last
}

// reach returns a register from which addr can be computed, and the offset to add.
func (m *machine) reach(s *state, addr value) (arch.Reg, int64, bool) {
	for _, r := range [...]arch.Reg{m.arch.FP, m.arch.SP} {
		if v := s.get(r); v.sameBase(addr) {
			return r, addr.k - v.k, true
		}
	}
	for k := s.known; k != 0; k &= k - 1 {
		if v := s.regs[k.First()]; v.sameBase(addr) {
			return k.First(), addr.k - v.k, true
		}
	}
	return arch.NoReg, 0, false
}

func (m *machine) cfaRule(s *state) CFARule {
	if r, off, ok := m.reach(s, entryOf(m.arch.SP, m.cfa)); ok {
		return CFARule{Reg: r, Off: off}
	}
	for _, x := range s.slots {
		if x.val.kind != entry || x.val.reg != m.arch.SP {
			continue
		}
		if r, off, ok := m.reach(s, x.at); ok {
			return CFARule{Reg: r, Off: off, Deref: true, Add: m.cfa - x.val.k}
		}
	}
	return CFARule{Reg: arch.NoReg}
}

// findSaved records in b.onStack where the stack has registers' values from the entry that
// have not been popped. If there are several places, the one with the highest address
// counts.
func (b *rowBuilder) findSaved(m *machine, s *state) {
	b.stored = 0
	for i := range s.slots {
		x := &s.slots[i]
		r := x.val.reg
		if x.val.kind != entry || x.val.k != 0 || r >= arch.MaxRegs || b.stored.Has(r) && x.at.k <= b.onStack[r].at || !m.live(s, x.at) {
			continue
		}
		l := Loc{Kind: AtCFA, Reg: arch.NoReg, Off: x.at.k - m.cfa}
		if x.at.kind != entry || x.at.reg != m.arch.SP {
			base, off, ok := m.reach(s, x.at)
			if !ok {
				continue
			}
			l = Loc{Kind: AtReg, Reg: base, Off: off}
		}
		b.stored |= 1 << r
		b.onStack[r] = storedReg{l, x.at.k}
	}
}

// A storedReg is where a register is on the stack; at is the offset from the base of its
// address.
type storedReg struct {
	loc Loc
	at  int64
}

// locate returns where the entry's value of register r is: on the stack as long as it has
// not been popped, since a function with other conventions may have changed the register;
// otherwise in a register.
func (b *rowBuilder) locate(m *machine, s *state, r arch.Reg) Loc {
	if b.stored.Has(r) {
		return b.onStack[r].loc
	}
	if s.get(r) == entryOf(r, 0) {
		return Loc{Kind: InReg, Reg: r}
	}
	for k := s.known; k != 0; k &= k - 1 {
		if v := &s.regs[k.First()]; v.kind == entry && v.reg == r {
			return Loc{Kind: InReg, Reg: k.First(), Off: -v.k}
		}
	}
	return Loc{}
}

// live reports whether the word at addr is in the frame, that is, not below the stack
// pointer.
func (m *machine) live(s *state, addr value) bool {
	sp := s.get(m.arch.SP)
	return m.arch.StackGrowsUp || !sp.sameBase(addr) || addr.k >= sp.k
}
