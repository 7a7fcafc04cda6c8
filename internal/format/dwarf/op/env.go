package op

import "github.com/corewalk/corewalk/unwind/arch"

// Registers returns registers by their DWARF number, in the frame that the
// expression is evaluated for. It answers an error for a register whose value
// is unknown; the machine wraps it in an ErrRegister.
type Registers interface {
	DWARFReg(n uint64) (uint64, error)
}

// An Env is what an expression is evaluated with. Any of its interfaces may be
// nil: operators that need it then fail.
type Env struct {
	Big      bool // byte order of the expression and of memory
	AddrSize int  // bytes in an address, and in an entry of generic type: 4 or 8
	// RefSize is the size in bytes of a reference into .debug_info: 4 in 32-bit
	// DWARF, 8 in 64-bit DWARF, an address's size in DWARF 2. 0 means 4.
	RefSize int
	// Bias is added to the addresses that the file holds (DW_OP_addr, DW_OP_addrx).
	Bias uint64

	Regs     Registers
	Mem      arch.Memory
	Resolver Resolver
}

// A Resolver answers what an expression needs of debug information outside of
// itself. GNU operators are asked for by the standard operator they became,
// where there is one. An implementation answers ErrUnsupportedOp for what it
// does not know. It must not use the Machine that asks.
type Resolver interface {
	// Value returns the value that an operator stands for:
	//
	//	Fbreg              the frame base's address
	//	CallFrameCFA       the frame's CFA
	//	PushObjectAddress  the address of the object under evaluation
	//	FormTLSAddress     the address of thread-local storage at offset arg
	//	Addrx, Constx      entry arg of the unit's part of .debug_addr, without bias
	//	EntryValue         what the expression block gave on entry to the function
	//	GNUVariableValue   the value of the variable whose DIE is at arg of .debug_info
	//	GNUParameterRef    what the parameter whose DIE is at arg of the unit was passed
	Value(op Op, arg uint64, block []byte) (Value, error)

	// Expr returns the location expression of a DIE: at arg of the unit for
	// Call2 and Call4, at arg of .debug_info for CallRef. A DIE without a
	// location gives an empty one. The second result is asked while that
	// expression is evaluated (it may belong to another unit); nil means the
	// same Resolver.
	Expr(op Op, arg uint64) ([]byte, Resolver, error)

	// BaseType returns the base type whose DIE is at offset die of the unit.
	BaseType(die uint64) (Type, error)
}
