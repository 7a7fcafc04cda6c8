package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// For tests of the rules that the steppers share.
var (
	StackEnd    = stackEnd
	MappingAt   = mappingAt
	IsCode      = isCode
	OffStack    = offStack
	Derailed    = derailed
	CallBefore  = callBefore
	UnreadCode  = unreadCode
	ThroughStub = throughStub
	DecodeAt    = decodeAt
	Instruction = instruction
	EntryLen    = entryLen
	ReadCode    = readCode
	StepAs      = (*DebugStepper).stepAs
)

// CodeAt is codePattern.at.
func CodeAt(code string, mem arch.Memory, a *arch.Arch, addr uint64) (bool, error) {
	return codePattern(code).at(mem, a, addr)
}

// MayBegin reports whether the first word of code may be a pattern's, skip bytes in.
func MayBegin(code string, mem arch.Memory, a *arch.Arch, addr uint64, skip int) bool {
	g, ok := glanceAt(mem, a, addr)
	return ok && g.mayBe(codePattern(code), skip)
}
