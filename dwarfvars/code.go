package dwarfvars

import "fmt"

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
