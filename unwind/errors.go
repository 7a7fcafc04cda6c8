package unwind

import "errors"

// Errors of the stack walking interface. Test for them with errors.Is.
var (
	ErrBadParam       = errors.New("bad parameter")
	ErrNoStepper      = errors.New("no stepper can walk through this frame")
	ErrStackBottom    = errors.New("bottom of the stack")
	ErrStepper        = errors.New("a stepper gave the walk up")
	ErrLoop           = errors.New("the stack runs in a circle")
	ErrMaxFrames      = errors.New("limit on frames reached")
	ErrNoSymbolLookup = errors.New("the walker has no symbol lookup")
	ErrNoSymbol       = errors.New("no symbol covers the address")
	ErrNoLibTracker   = errors.New("the process's libraries are not known")
	ErrNoLibrary      = errors.New("no library covers the address")
	ErrNoGroup        = errors.New("the walker has no stepper group")
	ErrNoThread       = errors.New("no such thread")
	ErrUnsupported    = errors.New("not supported")
)

// VersionMajor, VersionMinor and VersionMaintenance are the version of the
// walking interface.
const (
	VersionMajor       = 0
	VersionMinor       = 1
	VersionMaintenance = 0
)

// Version returns the version of the walking interface.
func Version() (major, minor, maintenance int) {
	return VersionMajor, VersionMinor, VersionMaintenance
}
