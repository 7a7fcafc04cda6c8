package stackflow

// Code is what an analysis may read. All addresses are of one address space; of
// a function that is in another instruction set than the architecture's main one
// the lowest bit of code addresses is set. It must allow concurrent use.
type Code interface {
	// CodeAt returns the code from addr on, as much as there is in one piece;
	// nothing where there is none.
	CodeAt(addr uint64) []byte
	// DataAt is CodeAt for data that the program does not write.
	DataAt(addr uint64) []byte
	// FuncAt reports whether a function is known to begin at addr.
	FuncAt(addr uint64) bool
	// NoReturn reports whether the function at addr is known never to return.
	NoReturn(addr uint64) bool
}
