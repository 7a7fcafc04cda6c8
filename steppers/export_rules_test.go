package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// For tests of the rules that the steppers share.
var (
	StackEnd    = stackEnd
	CodePointer = codePointer
	LinkedFrame = linkedFrame
	Named       = named
	FunctionAt  = functionAt
	ReadFunc    = readFunc
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

// CalledStarts is called: where calls of a module say that functions begin; each with its end.
func CalledStarts(before int, targets []uint64, addr, mode, bias arch.Address, a *arch.Arch) [][2]uint64 {
	var list [][2]uint64
	for _, s := range called(make([]functionStart, before), targets, addr, mode, bias, a)[before:] {
		list = append(list, [2]uint64{s.addr, s.end})
	}
	return list
}

// PaddedStarts is padded: where padding says that functions begin.
func PaddedStarts(before int, w *unwind.Walker, addr, mode arch.Address) []uint64 {
	return new(Padding).Starts(before, w, addr, mode)
}

// Padding keeps what was learned from one look for padding to the next.
type Padding struct{ flows flows }

// Starts is PaddedStarts.
func (x *Padding) Starts(before int, w *unwind.Walker, addr, mode arch.Address) []uint64 {
	var list []uint64
	for _, s := range x.flows.padded(make([]functionStart, before), w, addr, mode)[before:] {
		list = append(list, s.addr)
	}
	return list
}
