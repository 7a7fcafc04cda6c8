package cfi

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A ValueKind says where a caller's register is.
type ValueKind uint8

const (
	// ValueUnspecified: the row has no rule for it; the ABI decides.
	ValueUnspecified ValueKind = iota
	// ValueUndefined: it cannot be recovered.
	ValueUndefined
	// ValueSame: it has the value that it has in this frame.
	ValueSame
	// ValueMemory: it is the word at Value.Addr.
	ValueMemory
	// ValueKnown: it is Value.Bits.
	ValueKnown
	// ValueRegister: it is this frame's register Value.Reg.
	ValueRegister
)

// A Value is a caller's register as a row's rule gives it. Fields that its Kind
// does not mention are zero.
type Value struct {
	Kind ValueKind
	Addr uint64
	Bits uint64
	Reg  uint64 // DWARF register number
}

// CFAValue computes the canonical frame address from the registers of the frame
// that the row was looked up for. It fails with op.ErrRegister when a register
// it needs is unknown, and with ErrNoRule when the row says nothing.
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

// Recover applies the rule for register reg, given the CFA. It reads memory for
// expressions only: the word at a ValueMemory is left to the caller.
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
