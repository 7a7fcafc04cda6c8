// Package where goes from a register or an address to the variable that lives there, the
// other way round than package dwarfvars goes for its callers. A Frame and a Process are what
// dwarfvars knows of one of its Activations and of its Reader beside their public methods:
// FrameOf and ProcessOf reach them.
package where

import (
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Frame finds the variables of one frame's function. It is for one goroutine, and valid
// until its Activation is closed.
type Frame interface {
	// InRegister lists the variables that live in register r at the instruction pc of the
	// function, those of the innermost inlined call first. Where the frame itself is does
	// not matter.
	InRegister(pc arch.Address, r arch.Reg) []Held
	// InMemory lists the variables that live in size bytes of memory at addr, at the
	// instruction pc of the function, the innermost first.
	InMemory(pc, addr arch.Address, size int) []Held
	// Pointers lists the variables that are pointers or references and in scope at the instruction pc of
	// the function, those of the innermost inlined call first, also if their values are
	// nowhere.
	Pointers(pc arch.Address) []Held
	// Momentary lists the variables of inlined calls that the register r held for no more than
	// the moment before the instruction pc ran: the calls began or ended there.
	Momentary(pc arch.Address, r arch.Reg) []Held
	// Object is the whole variable that holds the address addr at the instruction pc, and
	// where it begins and ends; false where there is none.
	Object(pc, addr arch.Address) (h Held, low, high arch.Address, ok bool)
	// Leads calls yield for what the variables in scope at the instruction pc have and lead to in memory, the nearest first: members,
	// elements of containers, what pointers point to; until it returns false. It does not go on for ever. Of variables that belong to no function
	// those of the function's unit count.
	Leads(pc arch.Address, yield func(Lead) bool)
	// Global is the variable that holds an address of the process's memory and belongs to
	// no function: its name, its type, and where in it the address is. The type is nil
	// where only a symbol is known. Types are looked for in the unit of the function.
	Global(addr arch.Address) (name string, t *types.Type, off uint64)
	// CameIn reports whether h, of the instruction pc, is a parameter of an inlined call, and the
	// instruction at is outside of that call.
	CameIn(h *Held, pc, at arch.Address) bool
	// Ended lists the inlined calls that the instruction at is of and the instruction pc is not,
	// the innermost first.
	Ended(at, pc arch.Address) []InlinedCall
	// Number is the value in the frame of the whole variable that h is of, where it is a
	// number or a pointer.
	Number(h *Held) (uint64, bool)
	// Record adds to in what variables are computed from, until it is called with nil.
	Record(in *Inputs)
	// Convention is how functions of the function's language call one another.
	Convention() Convention
}

// A Lead is an object in memory.
type Lead struct {
	Text string // the expression
	Addr arch.Address
	Size uint64 // bytes
	Type *types.Type
	// Global is the variable by which it was come to, if that belongs to no function.
	Global *Global
}

// An InlinedCall is a function that was inlined.
type InlinedCall struct {
	Function string      // as of a Held
	Known    bool        // what it returns is known
	LLVM     bool        // clang or rustc inlined it: both call themselves "clang"
	Result   *types.Type // of what it returns; nil for nothing
}

// A Convention is a way of calls.
type Convention uint8

const (
	ConventionC          Convention = iota // of the platform
	ConventionGoStack                      // of Go on the stack
	ConventionGoInternal                   // of Go in registers, since Go 1.17
)

// A Process answers for the code of one process. It may be used by several goroutines.
type Process interface {
	// Forget drops what is kept of the frames of a stack that nobody will ask about again.
	Forget(frames []*unwind.Frame)
	// ForgetAll drops what is kept of all frames.
	ForgetAll()
	// SameInputs reports whether inputs are the same in another stack at the same instructions.
	SameInputs(in *Inputs, frames []*unwind.Frame) bool
	// Bounds tells where the function, or the part of one, begins and ends that holds an
	// address of code, by call frame information.
	Bounds(addr arch.Address) (low, high arch.Address, ok bool)
	// Ask says whom to ask what calls led to. It is called before anything else, if at all.
	Ask(Callers)
	// ReturnsNothing reports whether the function at an address of code is known to have
	// no result.
	ReturnsNothing(addr arch.Address) bool
	// Signature is the type of what the function at an address of code returns, nil if that is nothing or not known, and
	// those of the parameters that the source gives it, its object among them.
	Signature(addr arch.Address) (result *types.Type, params []*types.Type)
	// Globals calls yield for the variables with fixed addresses that belong to no function of a library, until it returns false. Only
	// files at hand are read, and of debugging information that is very large not all.
	Globals(lib *libstate.Library, yield func(Global) bool)
	// TypeNamed is the type with a name, as its language writes it.
	TypeNamed(name string) (*types.Type, bool)
	// TypeOfUnit is the type with a name that the unit has of which the code at an address is. Only files at hand are read.
	TypeOfUnit(code arch.Address, name string) (*types.Type, bool)
	// GoType is the type that a library's descriptor of one is of, at an address. like is another type of the program.
	GoType(lib *libstate.Library, like *types.Type, descriptor arch.Address) (*types.Type, bool)
	// ThreadLocal is the address of an object in a thread's own copy of a library's
	// thread-local storage, by what code passes to __tls_get_addr: the library's number
	// in the process and an offset.
	ThreadLocal(tid unwind.ThreadID, module, offset uint64) (arch.Address, error)
}

// A Global is a variable that belongs to no function.
type Global struct {
	Name      string
	Low, Size uint64 // where it lies in the process's memory
	Type      *types.Type
}

// Held is a variable, or a part of one, that some place holds.
type Held struct {
	Variable   string // its name
	Param      bool
	Artificial bool   // made by the compiler: this
	Function   string // that has it: the one of the frame or one inlined there; "" for one without a name
	Path       string // of the part: ".head.next"; "" for the whole
	Type       *types.Type
	Whole      *types.Type // of the variable; nil where nobody looked for a part
	Of         any         // the variable itself, for the Frame that found it
}

// Name is the variable's name with the part's path.
func (h *Held) Name() string { return h.Variable + h.Path }

// Callers know what calls led to, by the code and the registers of who called. They may be asked about any frame, in any order.
type Callers interface {
	// CalledAs returns the address that the call in frame number number of a stack was of, which led to the frame before; 0 if that is
	// not certain.
	CalledAs(frames []*unwind.Frame, number int) arch.Address
}
