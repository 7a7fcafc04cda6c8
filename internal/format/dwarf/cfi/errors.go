package cfi

import "errors"

// Why there is no row. Errors wrap one of these, and say at which offset of the
// section it happened, unless it is a plain ErrNoFDE.
var (
	// ErrNoFDE: no FDE covers the address. It comes unwrapped, as an unwinder
	// meets it all the time.
	ErrNoFDE = errors.New("no FDE covers the address")
	// ErrMalformed: an entry, or an instruction in it, makes no sense.
	ErrMalformed = errors.New("malformed call frame information")
	// ErrUnsupported: an entry has a version, an augmentation or a pointer
	// encoding that cannot be read.
	ErrUnsupported = errors.New("unsupported call frame information")
	// ErrNoRule: the row has no rule for the CFA.
	ErrNoRule = errors.New("no rule for the CFA")
)
