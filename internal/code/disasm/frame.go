package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// A FrameType says what a function's prologue does with the frame pointer.
type FrameType uint8

// The frame types, as StackwalkerAPI names them.
const (
	UnknownFrame    FrameType = iota
	NoFrame                   // leaves the frame pointer alone
	StandardFrame             // saves it next to the return address and points it there
	SaveFPOnlyFrame           // saves it, and uses it for something else
)

// String gives StackwalkerAPI's name.
func (t FrameType) String() string {
	switch t {
	case NoFrame:
		return "no_frame"
	case StandardFrame:
		return "standard_frame"
	case SaveFPOnlyFrame:
		return "savefp_only_frame"
	}
	return "unknown_t"
}

// An FPState says how far a frame is set up at some instruction, which has not
// run yet.
type FPState uint8

// The states, as StackwalkerAPI names them.
const (
	FPUnknown FPState = iota
	FPUnset           // the frame pointer is the caller's, and nothing of it is saved: before the push, after the pop or leave
	FPHalfSet         // saved, but still the caller's
	FPSet             // saved, and the function's own
)

// String gives StackwalkerAPI's name.
func (s FPState) String() string {
	switch s {
	case FPUnset:
		return "unset"
	case FPHalfSet:
		return "halfset"
	case FPSet:
		return "set"
	}
	return "unknown_s"
}

// FrameState says what kind of frame a function has, and how far it is set up
// at pc. code is the function's code from its first byte, at start; it should
// end where the function ends, and may end sooner. FrameState decodes the
// instructions up to pc, follows the stack through early exits by the forward
// branches it meets, and decodes on from pc to recognise epilogues. It answers
// UnknownFrame when pc is outside code, is not at an instruction, or code is
// not decodable. It does not allocate.
func FrameState(a *arch.Arch, code []byte, start, pc uint64) (FrameType, FPState) {
	if familyOf(a) != arch.FamilyX86 || pc < start || pc-start >= uint64(len(code)) {
		return UnknownFrame, FPUnknown
	}
	return x86FrameState(a, code, start, pc)
}

// FrameStateNear is FrameState where the function's start is unknown: code is
// some code around pc, at addr. It recognises what the instructions at pc and
// the bytes directly before it show, and answers unknown otherwise; a known
// state can come with an unknown type.
func FrameStateNear(a *arch.Arch, code []byte, addr, pc uint64) (FrameType, FPState) {
	if familyOf(a) != arch.FamilyX86 || pc < addr || pc-addr >= uint64(len(code)) {
		return UnknownFrame, FPUnknown
	}
	off := pc - addr
	return x86FrameNear(a, code[:off], code[off:], pc)
}
