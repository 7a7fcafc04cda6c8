package unwind

import "errors"

// Errors returned by this package. Test for them with errors.Is.
var (
	ErrBadParam       = errors.New("bad parameter")
	ErrNoStepper      = errors.New("no stepper can walk through this frame")
	ErrStackBottom    = errors.New("bottom of the stack")
	ErrStepper        = errors.New("stepper failed")
	ErrLoop           = errors.New("the stack loops")
	ErrMaxFrames      = errors.New("frame limit reached")
	ErrNoSymbolLookup = errors.New("walker has no symbol lookup")
	ErrNoSymbol       = errors.New("no symbol at this address")
	ErrNoLibTracker   = errors.New("the libraries of the process are unknown")
	ErrNoLibrary      = errors.New("no library at this address")
	ErrNoGroup        = errors.New("walker has no stepper group")
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
