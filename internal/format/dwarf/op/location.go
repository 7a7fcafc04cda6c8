package op

// A Kind is what a Location is.
type Kind uint8

const (
	// Empty: the object is nowhere; it was optimised out.
	Empty Kind = iota
	// Memory: the object lies at Location.Addr.
	Memory
	// Register: the object is in the register Location.Reg.
	Register
	// StackValue: the object is nowhere, its value is Location.Value.
	StackValue
	// ImplicitValue: the object is nowhere, its bytes are Location.Bytes.
	ImplicitValue
	// ImplicitPointer: the object is a pointer that is nowhere, into an object
	// whose DIE is at Location.DIE of .debug_info, Location.Offset bytes from
	// its start.
	ImplicitPointer
	// Composite: the object is made of Location.Pieces, in order from its first
	// byte (bit, for bit pieces).
	Composite
)

// String returns k's name in lower case.
func (k Kind) String() string {
	switch k {
	case Empty:
		return "empty"
	case Memory:
		return "memory"
	case Register:
		return "register"
	case StackValue:
		return "stack value"
	case ImplicitValue:
		return "implicit value"
	case ImplicitPointer:
		return "implicit pointer"
	case Composite:
		return "composite"
	}
	return "?"
}

// A Location is where an object is, or what its value is when it has no place.
// Fields that its Kind does not mention are zero.
type Location struct {
	Kind   Kind
	Addr   uint64
	Reg    uint64 // DWARF register number
	DIE    uint64
	Offset int64
	Value  Value
	Bytes  []byte  // part of the expression, not a copy
	Pieces []Piece // belongs to the Machine, until its next evaluation
}

// A Piece is a part of a composite location.
type Piece struct {
	Loc Location // never Composite
	// BitSize is the part's size in bits; BitOffset counts from where Loc says
	// it starts, in bits, and is not zero for DW_OP_bit_piece only.
	BitSize, BitOffset uint64
}
