package cfi

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
)

// Format returns the row as text: "rsp+16; rbp at cfa-16; ra at cfa-8". The CFA comes first
// and the return address last, with the name ra; the other registers are in the order in
// which the program first mentions them. name returns the name of a DWARF register number;
// if it is nil, names are like r7.
func (r *Row) Format(name func(uint64) string) string {
	if name == nil {
		name = func(n uint64) string { return fmt.Sprintf("r%d", n) }
	}
	var b strings.Builder
	cfa := r.CFA()
	switch cfa.Kind {
	case Register:
		fmt.Fprintf(&b, "%s%+d", name(cfa.Reg), cfa.Offset)
	case Expression:
		fmt.Fprintf(&b, "[%s]", r.formatExpr(cfa.Expr, name))
	default:
		b.WriteString("no rule")
	}
	for reg, rule := range r.Rules() {
		if reg != r.RetAddrReg {
			b.WriteString("; " + r.formatRule(name(reg), rule, name))
		}
	}
	if ra := r.Rule(r.RetAddrReg); ra.Kind != Unspecified {
		b.WriteString("; " + r.formatRule("ra", ra, name))
	}
	return b.String()
}

func (r *Row) formatRule(reg string, rule Rule, name func(uint64) string) string {
	switch rule.Kind {
	case Undefined:
		return reg + " undefined"
	case SameValue:
		return reg + " unchanged"
	case Offset:
		return fmt.Sprintf("%s at cfa%+d", reg, rule.Offset)
	case ValOffset:
		return fmt.Sprintf("%s = cfa%+d", reg, rule.Offset)
	case Register:
		return fmt.Sprintf("%s in %s", reg, name(rule.Reg))
	case Expression:
		return fmt.Sprintf("%s at [%s]", reg, r.formatExpr(rule.Expr, name))
	case ValExpression:
		return fmt.Sprintf("%s = [%s]", reg, r.formatExpr(rule.Expr, name))
	}
	return reg + " unspecified"
}

func (r *Row) formatExpr(expr []byte, name func(uint64) string) string {
	return op.Format(expr, op.Style{Big: r.big, AddrSize: int(r.addrSize), RegName: name})
}
