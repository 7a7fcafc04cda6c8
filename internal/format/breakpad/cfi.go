package breakpad

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/unwindrules"
)

// maxRules limits the number of registers with rules at one address.
const maxRules = 256

// Rules are the STACK CFI rules at one address: an expression for each register.
type Rules struct {
	Start, Size uint64 // the code covered by the INIT record; Size is in bytes
	list        []rule
}

// A rule is an expression for the caller's value of a register. Names have no "$".
type rule struct{ reg, expr string }

// CFI returns the rules at an address: those of the INIT record that covers it, modified by
// the following records up to the address. It returns nil and no error if no INIT record
// covers the address.
func (f *File) CFI(addr uint64) (*Rules, error) {
	i := before(f.cfi, addr)
	for n := 0; n < maxOverlap && i > 0; n++ {
		i--
		line, rest := f.line(f.cfi[i], "STACK CFI INIT ")
		var r Rules
		text, ok := numbers(line, 16, &r.Start, &r.Size)
		if !ok || addr-r.Start >= r.Size {
			continue
		}
		f.parsed(text)
		if err := r.add(text); err != nil {
			return nil, fmt.Errorf("STACK CFI INIT record at offset %#x: %w", f.cfi[i].off, err)
		}
		return &r, r.deltas(f, rest, addr)
	}
	return nil, nil
}

// deltas applies the records that follow an INIT record.
func (r *Rules) deltas(f *File, rest []byte, addr uint64) error {
	for len(rest) > 0 {
		var line []byte
		line, rest = cutLine(rest)
		line, ok := bytes.CutPrefix(line, []byte("STACK CFI "))
		if !ok {
			return nil
		}
		at, text, ok := number(line, 16)
		if !ok || at > addr {
			return nil // the next INIT record, or a record for later code
		}
		f.parsed(line)
		if err := r.add(text); err != nil {
			return fmt.Errorf("STACK CFI record for %#x: %w", at, err)
		}
	}
	return nil
}

// add adds the rules of one record; a later rule for a register replaces an earlier one.
func (r *Rules) add(text []byte) error {
	s := strings.TrimSpace(string(text))
	for s != "" {
		reg, rest, ok := strings.Cut(s, ":")
		if !ok || reg == "" || strings.ContainsRune(reg, ' ') {
			return fmt.Errorf("%.40q is not a rule: %w", s, ErrFormat)
		}
		expr := rest
		if colon := strings.IndexByte(rest, ':'); colon >= 0 {
			expr = rest[:max(strings.LastIndexByte(rest[:colon], ' '), 0)]
		}
		s = strings.TrimLeft(rest[len(expr):], " ")
		expr = strings.TrimSpace(expr)
		if expr == "" {
			return fmt.Errorf("%s has no expression: %w", reg, ErrFormat)
		}
		if err := r.set(strings.TrimPrefix(reg, "$"), expr); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rules) set(reg, expr string) error {
	for i := range r.list {
		if r.list[i].reg == reg {
			r.list[i].expr = expr
			return nil
		}
	}
	if len(r.list) == maxRules {
		return fmt.Errorf("rules for more than %d registers: %w", maxRules, ErrFormat)
	}
	r.list = append(r.list, rule{reg, expr})
	return nil
}

func (r *Rules) expr(reg string) string {
	for _, x := range r.list {
		if x.reg == reg {
			return x.expr
		}
	}
	return ""
}

func (r *Rules) String() string {
	var b strings.Builder
	for i, x := range r.list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(x.reg + ": " + x.expr)
	}
	return b.String()
}

// A Caller is the caller's frame according to the rules.
type Caller struct {
	CFA, RA unwindrules.Value
	// Outermost: the rules say that there is no return address.
	Outermost bool
	Regs      []Reg // the registers with rules, in the order of the file
}

// A Reg is a register's value in the caller. The name has no "$".
type Reg struct {
	Name string
	unwindrules.Value
	// Lost: the value is unknown, because its rule says so or cannot be evaluated.
	Lost bool
}

// undefined is the rule for a register without a value.
const undefined = ".undef"

// Apply evaluates the rules. m must have the frame's word size, registers and memory; its
// variables are lost. An error concerns .cfa or .ra, without which there is no caller. The
// caller's stack pointer is CFA and its pc is RA unless a rule says otherwise; registers
// without rules keep their values. Apply reuses c's memory.
func (r *Rules) Apply(c *Caller, m *unwindrules.Machine) (err error) {
	m.Reset()
	*c = Caller{Regs: c.Regs[:0]}
	if c.CFA, err = m.Value(r.expr(".cfa")); err != nil {
		return fmt.Errorf("rule of .cfa: %w", err)
	}
	m.Set(".cfa", c.CFA.Bits)
	ra := r.expr(".ra")
	if c.Outermost = ra == undefined; c.Outermost {
		return nil
	}
	if ra == ".ra" {
		ra = "ra" // where a call puts it, for MIPS
	}
	if c.RA, err = m.Value(ra); err != nil {
		return fmt.Errorf("rule of .ra: %w", err)
	}
	m.Set(".ra", c.RA.Bits)
	for _, x := range r.list {
		if x.reg == ".cfa" || x.reg == ".ra" {
			continue
		}
		v, err := m.Value(x.expr)
		c.Regs = append(c.Regs, Reg{Name: x.reg, Value: v, Lost: err != nil})
	}
	return nil
}
