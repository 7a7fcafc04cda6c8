package cfi

// A RuleKind says how to find a register of the caller (DWARF 5, section 6.4.1).
type RuleKind uint8

const (
	// Unspecified: there is no rule for the register. In common ABIs, a callee-saved
	// register is then unchanged, any other is lost, and the stack pointer is the CFA.
	Unspecified RuleKind = iota
	// Undefined: the register cannot be recovered. If this is the return address, the frame
	// is the outermost one.
	Undefined
	// SameValue: the register is unchanged.
	SameValue
	// Offset: the register is saved at CFA + Rule.Offset.
	Offset
	// ValOffset: the register's value is CFA + Rule.Offset.
	ValOffset
	// Register: the register is in register Rule.Reg. As a CFA rule: the CFA is register
	// Rule.Reg + Rule.Offset.
	Register
	// Expression: the register is saved at the address that Rule.Expr computes. As a CFA
	// rule: the CFA is that address.
	Expression
	// ValExpression: the register's value is what Rule.Expr computes.
	ValExpression
)

// String returns the specification's name of k.
func (k RuleKind) String() string {
	switch k {
	case Unspecified:
		return "unspecified"
	case Undefined:
		return "undefined"
	case SameValue:
		return "same value"
	case Offset:
		return "offset"
	case ValOffset:
		return "val_offset"
	case Register:
		return "register"
	case Expression:
		return "expression"
	case ValExpression:
		return "val_expression"
	}
	return "?"
}

// A Rule says how to find one register of the caller, or the CFA. Fields that its Kind does
// not mention are zero.
type Rule struct {
	Kind   RuleKind
	Reg    uint64 // DWARF register number
	Offset int64  // bytes
	Expr   []byte // a slice of the section, not a copy
}

// A rule is a Rule in 16 bytes, with its register. n is the offset or, for an expression,
// its position in the section; from is the register of a Register rule or the expression's
// length.
type rule struct {
	n    int64
	from uint32
	reg  uint16
	kind RuleKind
}

// maxRegister is the highest register number for which rules are accepted. The highest
// number that an ABI assigns is 8,191 (RISC-V's control and status registers).
const maxRegister = 1<<16 - 1

func (r *Row) public(e rule) Rule {
	v := Rule{Kind: e.kind}
	switch e.kind {
	case Offset, ValOffset:
		v.Offset = e.n
	case Register:
		v.Reg, v.Offset = uint64(e.from), e.n
	case Expression, ValExpression:
		v.Expr = r.data[e.n : e.n+int64(e.from) : e.n+int64(e.from)]
	}
	return v
}
