package dwarfvars

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Code is the answer of GetLocalVariableValue, with StackwalkerAPI's numbers.
type Code int

// The answers.
const (
	// GlvvSuccess: the value is in the buffer.
	GlvvSuccess Code = 0
	// GlvvEParam: no such frame, no variable, or one of another function.
	GlvvEParam Code = -1
	// GlvvEOutOfScope: the function has the variable, but not at this address.
	GlvvEOutOfScope Code = -2
	// GlvvEBufferSize: the value is larger than the buffer.
	GlvvEBufferSize Code = -3
	// GlvvEUnknown: the value cannot be known; the reason says why.
	GlvvEUnknown Code = -4
)

// String gives StackwalkerAPI's name: "glvv_Success".
func (c Code) String() string {
	switch c {
	case GlvvSuccess:
		return "glvv_Success"
	case GlvvEParam:
		return "glvv_EParam"
	case GlvvEOutOfScope:
		return "glvv_EOutOfScope"
	case GlvvEBufferSize:
		return "glvv_EBufferSize"
	case GlvvEUnknown:
		return "glvv_EUnknown"
	}
	return fmt.Sprintf("Code(%d)", int(c))
}

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

// BufferSize is the reason of GlvvEBufferSize.
type BufferSize struct {
	Need, Have int // bytes
}

func (e *BufferSize) Error() string {
	return fmt.Sprintf("%d bytes, the buffer has %d", e.Need, e.Have)
}

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
		types *IncompleteType
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
	case errors.As(err, &types):
		return types
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
