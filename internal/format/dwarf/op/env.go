package op

import "github.com/corewalk/corewalk/unwind/arch"

// Registers returns registers by their DWARF number, in the frame for which the expression
// is evaluated. It returns an error if a register's value is unknown; the machine wraps it
// in an ErrRegister.
type Registers interface {
	DWARFReg(n uint64) (uint64, error)
}

// An Env is the context in which an expression is evaluated. Its interfaces may be nil:
// operators that need them then fail.
type Env struct {
	Big      bool // byte order of the expression and of memory
	AddrSize int  // size in bytes of an address and of an entry of generic type: 4 or 8
	// RefSize is the size in bytes of a reference into .debug_info: 4 in 32-bit
	// DWARF, 8 in 64-bit DWARF, an address's size in DWARF 2. 0 means 4.
	RefSize int
	// Bias is added to addresses from the file (DW_OP_addr, DW_OP_addrx).
	Bias uint64

	Regs     Registers
	Mem      arch.Memory
	Resolver Resolver
}

// A Resolver provides what an expression needs from other debug information. For a GNU
// operator that has a standard equivalent, it is called with the standard operator. It
// returns ErrUnsupportedOp for operators that it does not support. It must not use the
// Machine that calls it.
type Resolver interface {
	// Value returns the value of an operator:
	//
	//	Fbreg              the frame base's address
	//	CallFrameCFA       the frame's CFA
	//	PushObjectAddress  the address of the object being evaluated
	//	FormTLSAddress     the address of thread-local storage at offset arg
	//	Addrx, Constx      entry arg of the unit's part of .debug_addr, without bias
	//	EntryValue         the value of the expression block on entry to the function
	//	GNUVariableValue   the value of the variable whose DIE is at arg in .debug_info
	//	GNUParameterRef    the argument passed for the parameter whose DIE is at arg in the unit
	Value(op Op, arg uint64, block []byte) (Value, error)

	// Expr returns the location expression of a DIE: at arg in the unit for Call2 and
	// Call4, at arg in .debug_info for CallRef. It is empty if the DIE has no location. The
	// second result is the Resolver to use for that expression, which may belong to another
	// unit; nil means the same Resolver.
	Expr(op Op, arg uint64) ([]byte, Resolver, error)

	// BaseType returns the base type whose DIE is at offset die in the unit.
	BaseType(die uint64) (Type, error)
}
