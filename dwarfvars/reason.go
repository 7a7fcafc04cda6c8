package dwarfvars

import (
	"errors"

	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Why there is no function, or no variable of it.
var (
	// ErrNoFunction: no debugging information describes the frame's function.
	ErrNoFunction = errors.New("no debugging information for the frame's function")
	// ErrParam: see GlvvEParam.
	ErrParam = errors.New("not a variable of the frame's function")
	// ErrOutOfScope: see GlvvEOutOfScope.
	ErrOutOfScope = unknown.ErrOutOfScope
	// ErrBufferSize: see GlvvEBufferSize.
	ErrBufferSize = errors.New("the value is larger than the buffer")
)

// Why a value is not known: what GlvvEUnknown, Value.Err and errors of values inside others
// tell. Test them with errors.Is; the text of an error has the details.
var (
	// ErrOptimisedOut: the compiler kept no value of the object here.
	ErrOptimisedOut = unknown.ErrOptimisedOut
	// ErrSometimesConstant: the debugging information has no place of the variable, but a
	// number that it holds at times.
	ErrSometimesConstant = unknown.ErrSometimes
	// ErrRegister: the value was in a register that a callee may have changed since.
	ErrRegister = unknown.ErrRegister
	// ErrMemory: the bytes of the value cannot be read. The error also wraps one of
	// package arch.
	ErrMemory = unknown.ErrMemory
	// ErrNoCFA: the frame's canonical frame address is not known, because the walk did not
	// go on from it.
	ErrNoCFA = unknown.ErrNoCFA
	// ErrNoFrame: the function has not set up the frame yet that the variable is in.
	ErrNoFrame = unknown.ErrNoFrame
	// ErrEntryValue: only the function's caller could tell the value, and does not.
	ErrEntryValue = unknown.ErrEntry
	// ErrTLS: thread-local storage cannot be found.
	ErrTLS = unknown.ErrTLS
	// ErrImplicitPointer: a pointer has no address, because what it points to lies nowhere.
	ErrImplicitPointer = unknown.ErrImplicit
	// ErrIncompleteType: the debugging information has no more than the name of the type.
	ErrIncompleteType = unknown.ErrType
	// ErrUnsupportedOp: the location uses an operator that cannot be evaluated for a dead
	// process.
	ErrUnsupportedOp = unknown.ErrOperator
	// ErrCorrupt: the location, or what lies there, makes no sense.
	ErrCorrupt = unknown.ErrCorrupt
	// ErrLimit: a bound on nesting or size was reached.
	ErrLimit = unknown.ErrLimit
)
