package op

import (
	"errors"
	"fmt"
)

// Why an expression has no result. Errors from Eval wrap one of these, an
// ErrUnsupportedOp, an ErrRegister, or what Memory or the Resolver answered.
var (
	// ErrStackUnderflow: an operator wanted more entries than the stack held.
	ErrStackUnderflow = errors.New("DWARF stack underflow")
	// ErrLimit: the stack, the steps, the nesting or the pieces exceeded their bound.
	ErrLimit = errors.New("DWARF expression exceeds a limit")
	// ErrMalformed: the bytes are no DWARF expression.
	ErrMalformed = errors.New("malformed DWARF expression")
	// ErrDivideByZero: DW_OP_div or DW_OP_mod by zero.
	ErrDivideByZero = errors.New("division by zero in DWARF expression")
	// ErrType: operands of types that the operator does not take, or a type of
	// a size that no stack entry holds.
	ErrType = errors.New("wrong type in DWARF expression")
	// ErrNotValue: a value was wanted and the expression names a place, or
	// nothing at all.
	ErrNotValue = errors.New("DWARF expression gives no value")
)

// ErrUnsupportedOp is the type of the error for an operator that is unknown, or
// that cannot be evaluated with the Env at hand.
type ErrUnsupportedOp struct {
	Op Op
}

func (e ErrUnsupportedOp) Error() string { return fmt.Sprintf("%v is not supported here", e.Op) }

// ErrRegister is the type of the error for a register whose value is unknown.
type ErrRegister struct {
	Reg uint64 // DWARF register number
	Err error  // what Registers answered; nil where there are no Registers
}

func (e ErrRegister) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("register %d is not available", e.Reg)
	}
	return fmt.Sprintf("register %d is not available: %v", e.Reg, e.Err)
}

func (e ErrRegister) Unwrap() error { return e.Err }

// An EvalError says which operator failed, and where.
type EvalError struct {
	Op  Op
	Off int // of the operator, in bytes from the start of its expression
	Err error
}

func (e *EvalError) Error() string { return fmt.Sprintf("%v at offset %#x: %v", e.Op, e.Off, e.Err) }
func (e *EvalError) Unwrap() error { return e.Err }
