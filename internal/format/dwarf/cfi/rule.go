package cfi

// A RuleKind says how a register of the caller is found (DWARF 5, section 6.4.1).
type RuleKind uint8

const (
	// Unspecified: nothing is said of the register. By the usual ABIs, one that
	// a function must preserve is unchanged and any other is lost; the stack
	// pointer is the CFA.
	Unspecified RuleKind = iota
	// Undefined: the register cannot be recovered. Said of the return address,
	// it marks the outermost frame.
	Undefined
	// SameValue: the register is unchanged.
	SameValue
	// Offset: the register is saved at CFA + Rule.Offset.
	Offset
	// ValOffset: the register's value is CFA + Rule.Offset.
	ValOffset
	// Register: the register is kept in register Rule.Reg. As a CFA rule: the
	// CFA is register Rule.Reg + Rule.Offset.
	Register
	// Expression: the register is saved where Rule.Expr computes; the CFA is
	// what it computes.
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

// A Rule says how one register of the caller, or the CFA, is found. Fields that
// its Kind does not mention are zero.
type Rule struct {
	Kind   RuleKind
	Reg    uint64 // DWARF register number
	Offset int64  // bytes
	Expr   []byte // part of the section, not a copy
}

// A rule is a Rule as rows keep it, with the register it is for: 16 bytes. n is
// the offset, and of an expression the place in the section; from is the
// register of a Register rule, and the expression's length.
type rule struct {
	n    int64
	from uint32
	reg  uint16
	kind RuleKind
}

// maxRegister bounds the registers that rules may be for. The highest number
// that an ABI assigns is 8,191 (RISC-V's control and status registers).
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
