// Package unknown says why the value of a variable is not known. Each reason can be told
// from the others by errors.Is with one of the Err... below, which package dwarfvars hands
// on to its callers.
package unknown

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Reasons without details.
var (
	ErrOptimisedOut = errors.New("optimised out")
	ErrOutOfScope   = errors.New("not in scope here")
	ErrLimit        = errors.New("exceeds a limit")
	ErrNoCFA        = errors.New("the frame's CFA is not known")
	ErrLength       = errors.New("length not known")
	ErrNoFrame      = errors.New("the function has not set its frame up here")
)

// Reasons that are ErrOptimisedOut, too, of variables of which Go's compiler kept single words.
var (
	// ErrPart: it kept some, and the debugging information does not say which.
	ErrPart error = inPart("optimised out but for unnamed words")
	// ErrCapacity is of a slice's capacity: what is taken for the length may be that.
	ErrCapacity error = inPart("optimised out, or what is taken for the length")
)

type inPart string

func (e inPart) Error() string        { return string(e) }
func (e inPart) Is(target error) bool { return target == ErrOptimisedOut }

// A Span is the size of an array's elements, which was optimised out of its descriptor. Times is how many of them lie between two that follow one another.
type Span struct{ Times uint64 }

func (e *Span) Error() string        { return ErrOptimisedOut.Error() }
func (e *Span) Is(target error) bool { return target == ErrOptimisedOut }

// What the reasons with details are, for errors.Is.
var (
	ErrRegister  = errors.New("register not recovered")
	ErrMemory    = errors.New("memory not in the dump")
	ErrOperator  = errors.New("operator not supported")
	ErrCorrupt   = errors.New("corrupt location")
	ErrType      = errors.New("incomplete type")
	ErrEntry     = errors.New("value on entry not known")
	ErrTLS       = errors.New("thread-local storage not found")
	ErrImplicit  = errors.New("points to an object that was optimised away")
	ErrSometimes = errors.New("optimised out, with a constant at times")
)

// A Register held the value, and a callee may have changed it since.
type Register struct {
	DWARF uint64 // DWARF number
	Name  string // "xmm0"; "register 99" where it has no name
}

func (e *Register) Error() string        { return e.Name + " not recovered" }
func (e *Register) Is(target error) bool { return target == ErrRegister }

// Memory that the value lies in cannot be read.
type Memory struct {
	Addr arch.Address
	Err  error // one of arch's errors
}

func (e *Memory) Error() string {
	if errors.Is(e.Err, arch.ErrUnmapped) {
		return fmt.Sprintf("no memory at %#x", e.Addr)
	}
	return fmt.Sprintf("memory not in the dump: %#x", e.Addr)
}

func (e *Memory) Unwrap() error        { return e.Err }
func (e *Memory) Is(target error) bool { return target == ErrMemory }

// An Operator of the location's expression cannot be evaluated for a dead process.
type Operator struct{ Op string }

func (e *Operator) Error() string        { return e.Op + " is not supported" }
func (e *Operator) Is(target error) bool { return target == ErrOperator }

// Corrupt is a location, or a value, that makes no sense.
type Corrupt struct{ Err error }

func (e *Corrupt) Error() string        { return "corrupt location: " + e.Err.Error() }
func (e *Corrupt) Unwrap() error        { return e.Err }
func (e *Corrupt) Is(target error) bool { return target == ErrCorrupt }

// A Bound or a stride of an array, or the length of a string, that is not known, and why not.
type Bound struct{ Err error }

func (e *Bound) Error() string        { return ErrLength.Error() + ": " + e.Err.Error() }
func (e *Bound) Unwrap() error        { return e.Err }
func (e *Bound) Is(target error) bool { return target == ErrLength }

// An Incomplete type is one of which the debugging information has the name only.
type Incomplete struct{ Name string }

func (e *Incomplete) Error() string        { return "incomplete type " + e.Name }
func (e *Incomplete) Is(target error) bool { return target == ErrType }

// An Entry value is one that only the function's caller could tell, and does not. Why says
// what was missing.
type Entry struct{ Why string }

func (*Entry) Error() string        { return ErrEntry.Error() }
func (*Entry) Is(target error) bool { return target == ErrEntry }

// TLS is thread-local storage that cannot be found.
type TLS struct{ Why string }

func (e *TLS) Error() string        { return ErrTLS.Error() + ": " + e.Why }
func (e *TLS) Is(target error) bool { return target == ErrTLS }

// An Implicit pointer has no address: what it points to is known, but lies nowhere.
type Implicit struct{}

func (*Implicit) Error() string        { return ErrImplicit.Error() }
func (*Implicit) Is(target error) bool { return target == ErrImplicit }

// Sometimes is the reason for a variable of which the debugging information has no place
// but a number that it holds at times: clang writes the last constant that it knew a
// variable to be, whatever else was assigned to it.
type Sometimes struct{ Value int64 }

func (e *Sometimes) Error() string        { return fmt.Sprintf("optimised out: %d at times", e.Value) }
func (e *Sometimes) Is(target error) bool { return target == ErrSometimes }

// A Length is one that no container can have.
type Length uint64

func (e Length) Error() string { return fmt.Sprintf("a length of %d", int64(e)) }

// Reason turns what evaluating an expression failed with into one of the errors above.
func Reason(err error) error {
	var (
		reg   *Register
		entry *Entry
		tls   *TLS
		mem   *arch.MemError
		uns   op.ErrUnsupportedOp
		gone  *Memory
		whole *Incomplete
		bound *Bound
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bound):
		return bound
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
		return &Memory{mem.Addr, mem.Err}
	case errors.As(err, &uns):
		return &Operator{uns.Op.String()}
	}
	for _, plain := range [...]error{ErrPart, ErrCapacity, ErrOptimisedOut, ErrNoCFA, ErrOutOfScope, ErrLength} {
		if errors.Is(err, plain) {
			return plain
		}
	}
	return &Corrupt{err}
}
