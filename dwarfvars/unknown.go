package dwarfvars

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Errors of this package that have nothing to tell but themselves.
var (
	// ErrNoFunction: no debugging information describes the frame's function.
	ErrNoFunction = errors.New("no debugging information for the frame's function")
	// ErrParam: see GlvvEParam.
	ErrParam = errors.New("not a variable of the frame's function")
	// ErrOptimisedOut: the compiler kept no value of the object here.
	ErrOptimisedOut = errors.New("optimised out")
	// ErrOutOfScope: see GlvvEOutOfScope.
	ErrOutOfScope = errors.New("not in scope here")
	// ErrLimit: a bound on nesting or size was reached.
	ErrLimit = errors.New("exceeds a limit")
	// ErrNoCFA: the frame's canonical frame address is not known, because the
	// walk did not go on from it.
	ErrNoCFA = errors.New("the frame's CFA is not known")
)

// RegisterNotRecovered is the reason for a value that was in a register which a
// callee may have changed since.
type RegisterNotRecovered struct {
	DWARF uint64 // DWARF number
	Name  string // "xmm0"; "register 99" where it has no name
}

func (e *RegisterNotRecovered) Error() string { return e.Name + " not recovered" }

// MemoryNotInDump is the reason for a value whose bytes cannot be read.
type MemoryNotInDump struct {
	Addr arch.Address
	Err  error // one of arch's errors
}

func (e *MemoryNotInDump) Error() string {
	if errors.Is(e.Err, arch.ErrUnmapped) {
		return fmt.Sprintf("no memory at %#x", e.Addr)
	}
	return fmt.Sprintf("memory not in the dump: %#x", e.Addr)
}

func (e *MemoryNotInDump) Unwrap() error { return e.Err }

// UnsupportedOp is the reason for a value whose location uses an operator that
// cannot be evaluated for a dead process.
type UnsupportedOp struct{ Op string }

func (e *UnsupportedOp) Error() string { return e.Op + " is not supported" }

// CorruptExpression is the reason for a value whose location makes no sense.
type CorruptExpression struct{ Err error }

func (e *CorruptExpression) Error() string { return "corrupt location: " + e.Err.Error() }

func (e *CorruptExpression) Unwrap() error { return e.Err }

// IncompleteType is the reason for a value of a type of which the debugging
// information has the name only.
type IncompleteType struct{ Name string }

func (e *IncompleteType) Error() string { return "incomplete type " + e.Name }

// NoEntryValue is the reason for a value that only the function's caller could
// tell, and does not. Why says in words what was missing.
type NoEntryValue struct{ Why string }

func (e *NoEntryValue) Error() string { return "value on entry not known" }

// NoTLS is the reason for thread-local storage that cannot be found.
type NoTLS struct{ Why string }

func (e *NoTLS) Error() string { return "thread-local storage not found: " + e.Why }

// ImplicitPointer is the reason for a pointer without an address: what it points
// to is known, but lies nowhere.
type ImplicitPointer struct{}

func (*ImplicitPointer) Error() string { return "points to an object that was optimised away" }

// reason turns what evaluating an expression failed with into one of the errors
// above.
func reason(err error) error {
	var (
		reg   *RegisterNotRecovered
		entry *NoEntryValue
		tls   *NoTLS
		mem   *arch.MemError
		uns   op.ErrUnsupportedOp
		gone  *MemoryNotInDump
		whole *IncompleteType
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &reg):
		return reg
	case errors.As(err, &entry):
		return entry
	case errors.As(err, &tls):
		return tls
	case errors.As(err, &gone):
		return gone
	case errors.As(err, &whole):
		return whole
	case errors.As(err, &mem):
		return &MemoryNotInDump{mem.Addr, mem.Err}
	case errors.As(err, &uns):
		return &UnsupportedOp{uns.Op.String()}
	}
	for _, plain := range [...]error{ErrOptimisedOut, ErrNoCFA, ErrOutOfScope} {
		if errors.Is(err, plain) {
			return plain
		}
	}
	return &CorruptExpression{err}
}

// errLength is the error of a container that cannot have that many elements.
type errLength uint64

func (e errLength) Error() string { return fmt.Sprintf("a length of %d", int64(e)) }

// ErrNoFrame: the function has not set up the frame yet that the variable is in.
var ErrNoFrame = errors.New("the function has not set its frame up here")

// A SometimesConstant is the reason for a variable of which the debugging information
// has no place but a number that it holds at times: clang writes the last constant
// that it knew a variable to be, whatever else was assigned to it.
type SometimesConstant struct{ Value int64 }

func (e *SometimesConstant) Error() string {
	return fmt.Sprintf("optimised out: %d at times", e.Value)
}
