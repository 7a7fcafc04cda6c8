package op

import (
	"errors"
	"fmt"
)

// Reasons why an expression has no result. Errors of Eval wrap one of these, an
// ErrUnsupportedOp, an ErrRegister, or an error of Memory or the Resolver.
var (
	// ErrStackUnderflow: an operator needs more entries than the stack has.
	ErrStackUnderflow = errors.New("DWARF stack underflow")
	// ErrLimit: the stack, the number of steps or pieces, or the nesting exceeds its limit.
	ErrLimit = errors.New("DWARF expression exceeds a limit")
	// ErrMalformed: the bytes are not a valid DWARF expression.
	ErrMalformed = errors.New("malformed DWARF expression")
	// ErrDivideByZero: DW_OP_div or DW_OP_mod by zero.
	ErrDivideByZero = errors.New("division by zero in DWARF expression")
	// ErrType: the operator does not support its operands' types, or a type has a size that
	// does not fit a stack entry.
	ErrType = errors.New("wrong type in DWARF expression")
	// ErrLongFloat: the Resolver's base type is a floating-point number of more than 8 bytes, which entries cannot be.
	ErrLongFloat = errors.New("floating-point number of more than 8 bytes")
	// ErrNotValue: a value is needed, but the expression gives a location or nothing.
	ErrNotValue = errors.New("DWARF expression gives no value")
)

// ErrUnsupportedOp is the error for an operator that is unknown or cannot be evaluated with
// the given Env.
type ErrUnsupportedOp struct {
	Op Op
}

func (e ErrUnsupportedOp) Error() string { return fmt.Sprintf("%v is not supported here", e.Op) }

// ErrRegister is the error for a register whose value is unknown.
type ErrRegister struct {
	Reg uint64 // DWARF register number
	Err error  // the error of Registers; nil if there are no Registers
}

func (e ErrRegister) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("register %d is not available", e.Reg)
	}
	return fmt.Sprintf("register %d is not available: %v", e.Reg, e.Err)
}

func (e ErrRegister) Unwrap() error { return e.Err }

// An EvalError says which operator failed.
type EvalError struct {
	Op  Op
	Off int // offset of the operator in its expression, in bytes
	Err error
}

func (e *EvalError) Error() string { return fmt.Sprintf("%v at offset %#x: %v", e.Op, e.Off, e.Err) }
func (e *EvalError) Unwrap() error { return e.Err }
