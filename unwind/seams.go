package unwind

import (
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An Address is an address in the analysed process.
type Address = arch.Address

// A ThreadID identifies a thread: the kernel's thread id on Linux.
type ThreadID int64

// NullThread stands for "the default thread" wherever a ThreadID is taken.
const NullThread ThreadID = -1

// A ProcessState gives access to the analysed process: its registers, its
// memory, its threads and its libraries. A dump and a live process are two
// implementations; no FrameStepper asks which it has.
//
// Implementations must allow concurrent use of everything but PreStackwalk and
// PostStackwalk, which the Walker calls one at a time.
type ProcessState interface {
	arch.Memory

	// Arch describes the process's architecture.
	Arch() *arch.Arch
	// ProcessID is the process's id, or 0 where a dump does not say.
	ProcessID() int
	// ThreadIDs lists the threads that can be walked; the first is the default.
	ThreadIDs() ([]ThreadID, error)
	// DefaultThread is the crashing thread of a dump, else the initial thread.
	DefaultThread() (ThreadID, error)
	// Registers returns the general registers of a thread. An unknown thread is
	// ErrNoThread.
	Registers(ThreadID) (arch.RegSet, error)
	// PreStackwalk and PostStackwalk surround the walk of one thread, so that a
	// live process can stop it meanwhile. Nested walks of a thread call them once.
	PreStackwalk(ThreadID) error
	PostStackwalk(ThreadID) error
	// IsFirstParty reports whether the process analyses itself. Then the pc of its
	// thread is a return address: the youngest frame called for its registers.
	IsFirstParty() bool
	// LibraryTracker is the process's libraries, or nil when they are not known.
	LibraryTracker() libstate.LibraryState
	// ExecutablePath is the main program's path as the process knew it, or "".
	ExecutablePath() string
}

// A CodeMasker is a ProcessState that knows which bits of its code pointers are
// no part of the address (NT_ARM_PAC_MASK); Arch.CodeMask stands in for others.
type CodeMasker interface {
	CodeMask() arch.Address
}

// A TrapState is a ProcessState that knows which threads stand behind the instruction
// that stopped them, as x86's int3 leaves them. Like a thread that made a call, they
// are looked up by the address before their pc.
type TrapState interface {
	BehindTrap(ThreadID) bool
}

// A FrameStepper walks through one kind of stack frame.
//
// A stepper is registered with a StepperGroup and must be comparable with ==
// (a pointer, normally). It may be asked by several goroutines at a time and
// keeps no state from one call to the next.
type FrameStepper interface {
	// CallerFrame fills in out, the frame that called in, and returns
	// StatusSuccess; or says why it does not. On success it must have set out's
	// RA and SP; FP and the other callee-saved registers are taken to be in's
	// unless set or forgotten. The Walker hands every stepper a fresh out.
	CallerFrame(in, out *Frame) Status
	// Priority decides who is asked first where several steppers cover an
	// address: the lower number. Equal priorities go by registration order.
	Priority() uint32
	// Name is what reports print.
	Name() string
}

// A GroupRegistrar is a FrameStepper that chooses its own address ranges when it
// is registered with a group. One that is not is asked about every address.
type GroupRegistrar interface {
	RegisterStepperGroup(StepperGroup) error
}

// A LibraryNotifier is a FrameStepper that wants to hear of libraries coming and
// going, for instance to register ranges inside them.
type LibraryNotifier interface {
	NewLibraryNotification(lib *libstate.Library, change libstate.Change)
}

// A StepperGroup decides which FrameStepper handles which address.
// AddrRangeGroup is the default.
type StepperGroup interface {
	// RegisterStepper adds a stepper over the ranges it chooses (GroupRegistrar),
	// or over the whole address space.
	RegisterStepper(FrameStepper) error
	// AddStepper adds a stepper over [start, end).
	AddStepper(s FrameStepper, start, end Address) error
	// AddAddressRanges and RemoveAddressRanges change the ranges of a stepper.
	// Removing what was never there is no error.
	AddAddressRanges(ranges []AddrRange, s FrameStepper) error
	RemoveAddressRanges(ranges []AddrRange, s FrameStepper) error
	// FindStepperForAddr returns the stepper to ask about addr: the first, or the
	// one after lastTried. ErrNoStepper when there is none left, ErrBadParam
	// when lastTried does not cover addr.
	FindStepperForAddr(addr Address, lastTried FrameStepper) (FrameStepper, error)
	// NewLibraryNotification passes the news on to the group's steppers.
	NewLibraryNotification(lib *libstate.Library, change libstate.Change)
	// Steppers lists the steppers in registration order.
	Steppers() []FrameStepper
}

// A SymbolLookup names code addresses.
type SymbolLookup interface {
	// LookupAtAddr returns the name of the function containing addr, and a value
	// of the lookup's own choosing. ErrNoSymbol when addr is in no function.
	LookupAtAddr(addr Address) (name string, value any, err error)
}

// A Call is one function activation as source code sees it. Several belong to
// one physical frame when calls were inlined.
type Call struct {
	Name        string // as shown to people
	LinkageName string // as the linker sees it; "" when the same or not known
	File        string // full path as compiled; "" when not known
	Line        int    // 1-based; 0 when not known
	Column      int    // 1-based; 0 when not known
	Inlined     bool   // inlined into the call that follows
	Entry       Address
}

// A CallLookup is a SymbolLookup that also knows source lines and inlined calls.
type CallLookup interface {
	SymbolLookup
	// LookupCalls appends to buf the calls at addr, innermost first; the last is
	// the function itself.
	LookupCalls(addr Address, buf []Call) ([]Call, error)
}

// A TailCallLookup is a SymbolLookup that can tell which functions a caller ran
// through by tail calls on the way to its callee.
type TailCallLookup interface {
	SymbolLookup
	// LookupTailCalls appends to buf the functions, youngest first, that must
	// have run between the call that returns to ra and the function containing
	// callee (an address inside it), and left by a tail call. It appends nothing
	// when there are none or when it is ambiguous.
	LookupTailCalls(ra, callee Address, buf []Call) []Call
}

// A Symbol is a named range of a library, in the process's addresses.
type Symbol struct {
	Name string
	Addr Address
	Size uint64 // 0 when not known
}

// A SymbolReader reads the symbol tables of libraries, for steppers that need to
// know where functions are. It must allow concurrent use.
type SymbolReader interface {
	// SymbolByName finds a defined symbol; false when there is none.
	SymbolByName(lib *libstate.Library, name string) (Symbol, bool)
	// SymbolAt finds the function containing addr; false when there is none.
	SymbolAt(lib *libstate.Library, addr Address) (Symbol, bool)
}
