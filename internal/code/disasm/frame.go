package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// A FrameType says how a function's prologue uses the frame pointer.
type FrameType uint8

// The frame types, with StackwalkerAPI's names.
const (
	UnknownFrame    FrameType = iota
	NoFrame                   // leaves the frame pointer alone
	StandardFrame             // saves it next to the return address and points it there
	SaveFPOnlyFrame           // saves it and uses it for something else
)

// String returns StackwalkerAPI's name.
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

// An FPState says how far a frame is set up before an instruction executes.
type FPState uint8

// The states, with StackwalkerAPI's names.
const (
	FPUnknown FPState = iota
	FPUnset           // the frame pointer is the caller's and not saved: before the push, or after the pop or leave
	FPHalfSet         // saved, but still the caller's
	FPSet             // saved, and set to the function's own
)

// String returns StackwalkerAPI's name.
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

// FrameState returns the kind of frame that a function has, and how far it is set up at pc.
// code is the function's code from its first byte, at start; it should end with the
// function, but may end earlier. FrameState decodes the instructions up to pc, tracks the
// stack across early exits using the forward branches it finds, and decodes further from pc
// on to recognise epilogues. It returns UnknownFrame if pc is outside code or not at an
// instruction, or if code cannot be decoded. It does not allocate.
func FrameState(a *arch.Arch, code []byte, start, pc uint64) (FrameType, FPState) {
	if familyOf(a) != arch.FamilyX86 || pc < start || pc-start >= uint64(len(code)) {
		return UnknownFrame, FPUnknown
	}
	s := newFrameScan(a, start)
	return s.frameState(code, start, pc, nil)
}

// FrameStateNear is FrameState for an unknown function start: code is some code around pc,
// at addr. It recognises what the instructions at pc and the bytes directly before it show;
// otherwise it returns unknown. A known state can come with an unknown type.
func FrameStateNear(a *arch.Arch, code []byte, addr, pc uint64) (FrameType, FPState) {
	if familyOf(a) != arch.FamilyX86 || pc < addr || pc-addr >= uint64(len(code)) {
		return UnknownFrame, FPUnknown
	}
	off := pc - addr
	return x86FrameNear(a, code[:off], code[off:], pc)
}
