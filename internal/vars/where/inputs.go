package where

import (
	"slices"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Inputs are what values were computed from, of what may differ between two threads whose stacks
// are at the same instructions. If it is the same in another thread, so are the values. It is for
// one goroutine.
type Inputs struct {
	List []Input
	// More says that something else was used, too: nothing is known of other threads.
	More bool
}

// An Input is one of the Inputs.
type Input struct {
	Kind  InputKind
	Known bool // whether there was a value
	Reg   arch.Reg
	Size  uint8 // of memory, in bytes
	Frame int32 // its number in the stack
	Off   int64 // of memory, from the frame's canonical frame address
	Value uint64
}

// An InputKind says what an Input is.
type InputKind uint8

const (
	InputReg    InputKind = iota // a register of the frame
	InputCFA                     // the frame's canonical frame address
	InputMemory                  // a number of Size bytes at Off from the frame's canonical frame address
	InputTarget                  // which address the call was of that led to the frame
)

// maxInputs is how many inputs are worth comparing.
const maxInputs = 64

// Add adds an input. It may be called on nil, which records nothing.
func (in *Inputs) Add(kind InputKind, frame int, r arch.Reg, value uint64, known bool) {
	if in == nil {
		return
	}
	in.AddInput(Input{Kind: kind, Known: known, Reg: r, Frame: int32(frame), Value: value})
}

// AddInput adds an input that is already made.
func (in *Inputs) AddInput(add Input) {
	if in.More {
		return
	}
	for i := range in.List {
		if in.List[i] == add {
			return
		}
	}
	if len(in.List) >= maxInputs {
		in.More = true
		return
	}
	in.List = append(in.List, add)
}

// AddAll adds the inputs of a value that was computed before; nil if they were not recorded.
func (in *Inputs) AddAll(of *Inputs) {
	if in == nil {
		return
	}
	if of == nil || of.More {
		in.More = true
		return
	}
	for _, i := range of.List {
		in.AddInput(i)
	}
}

// Copy returns the inputs as they are now. It may be called on nil.
func (in *Inputs) Copy() Inputs {
	if in == nil {
		return Inputs{}
	}
	return Inputs{slices.Clone(in.List), in.More}
}

// Become makes the inputs what they were when they were copied. It may be called on nil.
func (in *Inputs) Become(was Inputs) {
	if in != nil {
		in.List, in.More = append(in.List[:0], was.List...), was.More
	}
}

// Other says that something else was used. It may be called on nil.
func (in *Inputs) Other() {
	if in != nil {
		in.More = true
	}
}
