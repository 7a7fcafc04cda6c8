package cfi

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A ValueKind says where a caller's register is.
type ValueKind uint8

const (
	// ValueUnspecified: the row has no rule for the register; the ABI decides.
	ValueUnspecified ValueKind = iota
	// ValueUndefined: the register cannot be recovered.
	ValueUndefined
	// ValueSame: the register has the same value as in this frame.
	ValueSame
	// ValueMemory: the register is the word at Value.Addr.
	ValueMemory
	// ValueKnown: the register is Value.Bits.
	ValueKnown
	// ValueRegister: the register is this frame's register Value.Reg.
	ValueRegister
)

// A Value is a caller's register according to a row's rule. Fields that its Kind does not
// mention are zero.
type Value struct {
	Kind ValueKind
	Addr uint64
	Bits uint64
	Reg  uint64 // DWARF register number
}

// CFAValue computes the canonical frame address from the registers of the frame for which
// the row was looked up. The error is op.ErrRegister if a register it needs is unknown, and
// ErrNoRule if the row has no rule for the CFA.
func (r *Row) CFAValue(m *op.Machine, regs op.Registers, mem arch.Memory) (uint64, error) {
	switch r.cfa.kind {
	case Register:
		v, err := regs.DWARFReg(uint64(r.cfa.from))
		if err != nil {
			return 0, fmt.Errorf("CFA: %w", op.ErrRegister{Reg: uint64(r.cfa.from), Err: err})
		}
		return (v + uint64(r.cfa.n)) & mask(int(r.addrSize)), nil
	case Expression:
		v, err := m.EvalValue(r.env(regs, mem), r.public(r.cfa).Expr, false, 0)
		if err != nil {
			return 0, fmt.Errorf("CFA: %w", err)
		}
		return v.Bits & mask(int(r.addrSize)), nil
	}
	return 0, fmt.Errorf("row at %#x: %w", r.Start, ErrNoRule)
}

// Recover applies the rule for register reg, given the CFA. It reads memory only for
// expressions: for ValueMemory, the caller reads the word.
func (r *Row) Recover(reg, cfa uint64, m *op.Machine, regs op.Registers, mem arch.Memory) (Value, error) {
	if reg > maxRegister {
		return Value{}, nil
	}
	i := r.set.find(uint16(reg))
	if i < 0 {
		return Value{}, nil
	}
	e := r.set.rules[i]
	cut := mask(int(r.addrSize))
	switch e.kind {
	case Undefined:
		return Value{Kind: ValueUndefined}, nil
	case SameValue:
		return Value{Kind: ValueSame}, nil
	case Offset:
		return Value{Kind: ValueMemory, Addr: (cfa + uint64(e.n)) & cut}, nil
	case ValOffset:
		return Value{Kind: ValueKnown, Bits: (cfa + uint64(e.n)) & cut}, nil
	case Register:
		return Value{Kind: ValueRegister, Reg: uint64(e.from)}, nil
	case Expression, ValExpression:
		v, err := m.EvalValue(r.env(regs, mem), r.public(e).Expr, true, cfa)
		if err != nil {
			return Value{}, fmt.Errorf("register %d: %w", reg, err)
		}
		if e.kind == Expression {
			return Value{Kind: ValueMemory, Addr: v.Bits & cut}, nil
		}
		return Value{Kind: ValueKnown, Bits: v.Bits & cut}, nil
	}
	return Value{}, nil
}

func (r *Row) env(regs op.Registers, mem arch.Memory) op.Env {
	return op.Env{Big: r.big, AddrSize: int(r.addrSize), Bias: r.Bias, Regs: regs, Mem: mem}
}
