package dwarfvars

import "fmt"

// A Code is the result of GetLocalVariableValue, with StackwalkerAPI's numbers.
type Code int

// The results of GetLocalVariableValue.
const (
	// GlvvSuccess: the value is in the buffer.
	GlvvSuccess Code = 0
	// GlvvEParam: there is no such frame, or the variable is nil or of another function.
	GlvvEParam Code = -1
	// GlvvEOutOfScope: the variable is of the frame's function, but not in scope there.
	GlvvEOutOfScope Code = -2
	// GlvvEBufferSize: the value is larger than the buffer.
	GlvvEBufferSize Code = -3
	// GlvvEUnknown: the value is not known; the reason says why.
	GlvvEUnknown Code = -4
)

// String returns StackwalkerAPI's name: "glvv_Success".
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
