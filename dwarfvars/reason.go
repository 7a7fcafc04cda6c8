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

// Why a value is not known: the errors of Value.Err, and the reasons of GlvvEUnknown. Test for
// them with errors.Is. The text of an error has the details.
var (
	// ErrOptimisedOut: the compiler kept no value of the variable here, or (Go) only parts that cannot be told apart.
	ErrOptimisedOut = unknown.ErrOptimisedOut
	// ErrSometimesConstant: the debugging information has no location of the variable, only
	// a constant that it has at some times.
	ErrSometimesConstant = unknown.ErrSometimes
	// ErrRegister: the value was in a register that a called function may have changed.
	ErrRegister = unknown.ErrRegister
	// ErrMemory: the bytes of the value cannot be read. The error also wraps one of
	// package arch.
	ErrMemory = unknown.ErrMemory
	// ErrNoCFA: the frame's canonical frame address is not known, because the walk ended
	// there.
	ErrNoCFA = unknown.ErrNoCFA
	// ErrNoFrame: the variable is in the function's frame, which is not set up yet.
	ErrNoFrame = unknown.ErrNoFrame
	// ErrEntryValue: only the caller's call site could tell the value, and it does not.
	ErrEntryValue = unknown.ErrEntry
	// ErrTLS: the variable is thread-local, and the thread's storage was not found.
	ErrTLS = unknown.ErrTLS
	// ErrImplicitPointer: the pointer has no value, because the object that it points to was
	// optimised away.
	ErrImplicitPointer = unknown.ErrImplicit
	// ErrIncompleteType: the debugging information has only the name of the type.
	ErrIncompleteType = unknown.ErrType
	// ErrUnsupportedOp: the location uses an operator that this package cannot evaluate.
	ErrUnsupportedOp = unknown.ErrOperator
	// ErrCorrupt: the location or the object there is damaged.
	ErrCorrupt = unknown.ErrCorrupt
	// ErrLength: the debugging information does not say how many elements an array has, or the number is not
	// known: then the error also wraps the reason.
	ErrLength = unknown.ErrLength
	// ErrLimit: a limit on nesting or size was reached.
	ErrLimit = unknown.ErrLimit
)
