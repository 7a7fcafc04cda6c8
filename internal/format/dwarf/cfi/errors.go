package cfi

import "errors"

// Reasons why there is no row. Errors wrap one of these and give an offset in the section,
// except ErrNoFDE, which is returned as it is.
var (
	// ErrNoFDE: no FDE covers the address. It is not wrapped because an unwinder gets it
	// very often.
	ErrNoFDE = errors.New("no FDE covers the address")
	// ErrMalformed: an entry or an instruction in it is invalid.
	ErrMalformed = errors.New("malformed call frame information")
	// ErrUnsupported: an entry has an unknown version, augmentation or pointer encoding.
	ErrUnsupported = errors.New("unsupported call frame information")
	// ErrNoRule: the row has no rule for the CFA.
	ErrNoRule = errors.New("no rule for the CFA")
)
