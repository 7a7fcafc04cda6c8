package stackflow

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Tally counts instructions by the result of comparing the analysis with call frame
// information.
type Tally struct {
	Agree     int // CFA, return address and every register known
	Lost      int // these agree, but some register is unknown
	Unreached int // no known path leads there
	Unknown   int // the CFA or the return address is unknown
	Several   int // several stack pointers are possible
	Unchecked int // the information is an expression that the test cannot evaluate
	Disagree  int
	// Guessed and Wrong count rows of doubtful paths that agree and disagree. The other
	// fields do not count these rows.
	Guessed, Wrong int

	Messages []string // disagreements, the first of each function
	// Disagreeing counts disagreements by function.
	Disagreeing map[uint64]int
}

func (t *Tally) Total() int {
	return t.Guessed + t.Wrong + t.Agree + t.Lost + t.Unreached + t.Unknown + t.Several + t.Unchecked + t.Disagree
}

// A Comparison compares the functions of a file with its call frame information.
type Comparison struct {
	Arch  *arch.Arch
	Code  Code
	Table *cfi.Table
	Tally
	row  cfi.Row
	done map[uint64]bool
	said bool
	soft bool // comparing a guess
	// Real is the set of actual instructions, if known.
	Real map[uint64]bool
}

// Function analyses the function of an FDE and compares at every instruction in it, and at
// those outside it that are in no other function's FDE.
func (c *Comparison) Function(d cfi.FDE) {
	if c.done == nil {
		c.done = map[uint64]bool{}
	}
	c.said = false
	x := &analysis{}
	x.reset(c.Arch, c.Code, d.Start, d.End)
	if !x.run() {
		return
	}
	f := x.finish()
	if f == nil {
		return
	}
	for i := range x.blocks {
		b := &x.blocks[i]
		for _, v := range b.in {
			x.cur.load(&x.states[v])
			for i := b.first; i <= b.last; i++ {
				c.instruction(x, f, &x.ops[i], d)
				x.step(&x.ops[i])
			}
		}
	}
}

// IsEntry reports whether an FDE begins at a function's entry, with nothing pushed.
func (c *Comparison) IsEntry(d cfi.FDE) bool {
	m := machineOf(c.Arch, c.Arch.CalleeSaved)
	if c.Table.Row(d.Start, &c.row) != nil {
		return false
	}
	r := c.row.CFA()
	reg, _ := c.Arch.FromDWARF(r.Reg)
	var in disasm.Inst
	if disasm.DecodeInto(&in, c.Arch, c.Code.CodeAt(d.Start), d.Start) == nil && in.Kind == disasm.Nop && c.Arch.Family != arch.FamilyPPC {
		return false // the instruction that belongs to a cold part's row is missing; linkers of PowerPC leave nops at entries
	}
	return r.Kind == cfi.Register && reg == c.Arch.SP && r.Offset == m.cfa && !c.row.Signal
}

func (c *Comparison) instruction(x *analysis, f *Func, o *op, d cfi.FDE) {
	if c.done[o.addr] || c.Real != nil && !c.Real[o.addr] {
		return
	}
	if o.addr < d.Start || o.addr >= d.End {
		if start, end, ok := c.Table.FDEForPC(o.addr); !ok || c.IsEntry(cfi.FDE{Start: start, End: end}) {
			return
		}
	}
	if c.Table.Row(o.addr, &c.row) != nil || c.row.Signal {
		return
	}
	c.done[o.addr] = true
	if o.slot { // no pc is ever seen there, but after a call
		delete(c.Real, o.addr)
		return
	}
	rows, sure := f.Rows(nil, o.addr)
	if sure && x.cur.soft {
		return
	}
	if len(rows) != 1 {
		c.Several++
		return
	}
	// Several states with the same row are equivalent.
	before := c.Tally
	c.soft = !sure
	if c.judge(x, rows[0], o); sure {
		return
	}
	after := c.Tally
	c.Tally = before
	switch {
	case after.Disagree > before.Disagree:
		c.Wrong++
	case after.Agree+after.Lost > before.Agree+before.Lost:
		c.Guessed++
	default:
		c.Unknown++
	}
}

func (c *Comparison) judge(x *analysis, row *Row, o *op) {
	m, s := &x.machine, &x.cur
	if row.CFA.Reg == arch.NoReg || row.RA.Kind == Lost {
		if c.row.Rule(c.row.RetAddrReg).Kind == cfi.Undefined {
			c.Unchecked++
			return
		}
		c.Unknown++
		return
	}
	cfa, ok := c.cfa(s)
	switch {
	case !ok || c.contradicts(c.row.Rule(c.row.RetAddrReg)):
		c.Unchecked++
		return
	case cfa != entryOf(m.arch.SP, m.cfa):
		c.complain(x, o, "CFA is %v", cfa)
		return
	}
	lost := false
	check := func(r arch.Reg, rule cfi.Rule, l Loc) bool {
		switch rule.Kind {
		case cfi.Undefined:
			return true
		case cfi.Offset, cfi.Expression:
			at := entryOf(m.arch.SP, m.cfa+rule.Offset)
			if rule.Kind == cfi.Expression {
				if at, ok = c.breg(s, rule.Expr); !ok {
					lost = true
					return true
				}
			}
			if l.Kind == Lost {
				lost = true
				return true
			}
			return s.slotAt(at) == entryOf(r, 0)
		case cfi.Register:
			n, _ := m.arch.FromDWARF(rule.Reg)
			return s.get(n) == entryOf(r, 0)
		case cfi.Unspecified, cfi.SameValue:
			if l.Kind == Lost {
				lost = true
				return true
			}
			return s.get(r) == entryOf(r, 0)
		}
		return false
	}
	ra := c.row.Rule(c.row.RetAddrReg)
	if m.pushesRA && ra.Kind == cfi.Unspecified {
		ra = cfi.Rule{Kind: cfi.Undefined}
	}
	if !check(m.ra, ra, row.RA) {
		c.complain(x, o, "return address is %v", row.RA)
		return
	}
	for r := arch.Reg(0); r < arch.MaxRegs; r++ {
		if n := m.arch.DWARF(r); m.saved.Has(r) && n >= 0 && !check(r, c.row.Rule(uint64(n)), row.Loc(r)) {
			c.complain(x, o, "%s is %v", m.arch.RegName(r), row.Loc(r))
			return
		}
	}
	if lost {
		c.Lost++
	} else {
		c.Agree++
	}
}

// contradicts reports whether the information says that a register is saved where the return address is: glibc's assembly for i386
// forgets what it pushed.
func (c *Comparison) contradicts(ra cfi.Rule) bool {
	m := machineOf(c.Arch, c.Arch.CalleeSaved)
	for r := arch.Reg(0); r < arch.MaxRegs; r++ {
		if n := c.Arch.DWARF(r); m.saved.Has(r) && n >= 0 && ra.Kind == cfi.Offset {
			if rule := c.row.Rule(uint64(n)); rule.Kind == cfi.Offset && rule.Offset == ra.Offset {
				return true
			}
		}
	}
	return false
}

// cfa returns the CFA that the information gives in state s.
func (c *Comparison) cfa(s *state) (value, bool) {
	rule := c.row.CFA()
	switch rule.Kind {
	case cfi.Register:
		r, ok := c.Arch.FromDWARF(rule.Reg)
		return s.get(r).plus(rule.Offset), ok
	case cfi.Expression:
		n := len(rule.Expr)
		if n > 0 && rule.Expr[n-1] == 0x06 { // DW_OP_deref
			at, ok := c.breg(s, rule.Expr[:n-1])
			return s.slotAt(at), ok
		}
	}
	return value{}, false
}

// breg evaluates an expression that consists of one DW_OP_breg.
func (c *Comparison) breg(s *state, expr []byte) (value, bool) {
	if len(expr) < 2 || expr[0] < 0x70 || expr[0] > 0x8f {
		return value{}, false
	}
	off, shift := int64(0), 0
	for i, b := range expr[1:] {
		off |= int64(b&0x7f) << shift
		shift += 7
		if b&0x80 == 0 {
			if b&0x40 != 0 {
				off |= -1 << shift
			}
			r, ok := c.Arch.FromDWARF(uint64(expr[0] - 0x70))
			return s.get(r).plus(off), ok && i == len(expr)-2
		}
	}
	return value{}, false
}

func (c *Comparison) complain(x *analysis, o *op, format string, args ...any) {
	c.Disagree++
	if c.soft {
		return
	}
	if c.Disagreeing == nil {
		c.Disagreeing = map[uint64]int{}
	}
	c.Disagreeing[x.start]++
	if c.said {
		return
	}
	c.said = true
	name := func(n uint64) string {
		if r, ok := c.Arch.FromDWARF(n); ok {
			return c.Arch.RegName(r)
		}
		return fmt.Sprint("r", n)
	}
	c.Messages = append(c.Messages, fmt.Sprintf("%#x in function %#x: %s; the information says %s", o.addr, x.start, fmt.Sprintf(format, args...), c.row.Format(name)))
}
