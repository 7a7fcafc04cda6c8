package op

// A Kind is the kind of a Location.
type Kind uint8

const (
	// Empty: the object has no location; it was optimised out.
	Empty Kind = iota
	// Memory: the object is at Location.Addr.
	Memory
	// Register: the object is in the register Location.Reg.
	Register
	// StackValue: the object has no location; its value is Location.Value.
	StackValue
	// ImplicitValue: the object has no location; its bytes are Location.Bytes.
	ImplicitValue
	// ImplicitPointer: the object is a pointer without a location. It points to the object
	// whose DIE is at Location.DIE in .debug_info, Location.Offset bytes from its start.
	ImplicitPointer
	// Composite: the object consists of Location.Pieces, in order from its first byte (for
	// bit pieces, its first bit).
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

// A Location is where an object is, or its value if it has no location. Fields that its
// Kind does not mention are zero.
type Location struct {
	Kind   Kind
	Addr   uint64
	Reg    uint64 // DWARF register number
	DIE    uint64
	Offset int64
	Value  Value
	Bytes  []byte  // a slice of the expression, not a copy
	Pieces []Piece // owned by the Machine; valid until its next evaluation
	Why    error   // of an Empty location that is not optimised out: why there is none; the Machine sets none
}

// A Piece is a part of a composite location.
type Piece struct {
	Loc Location // never Composite
	// BitSize is the part's size in bits. BitOffset is the offset in bits from the start of
	// Loc; only DW_OP_bit_piece sets it.
	BitSize, BitOffset uint64
}
