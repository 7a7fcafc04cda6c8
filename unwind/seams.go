package unwind

import (
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An Address is an address in the analysed process.
type Address = arch.Address

// A ThreadID identifies a thread: the kernel's thread id on Linux.
type ThreadID int64

// NullThread means the default thread wherever a ThreadID is accepted.
const NullThread ThreadID = -1

// A ProcessState gives access to the analysed process: its registers, memory, threads and
// libraries. Dumps and live processes implement it; a FrameStepper must not depend on which
// it is given.
//
// Implementations must allow concurrent use, except of PreStackwalk and PostStackwalk,
// which the Walker calls one at a time.
type ProcessState interface {
	arch.Memory

	// Arch describes the process's architecture.
	Arch() *arch.Arch
	// ProcessID is the process's id, or 0 if a dump does not record it.
	ProcessID() int
	// ThreadIDs lists the threads that can be walked; the first is the default.
	ThreadIDs() ([]ThreadID, error)
	// DefaultThread is the crashing thread of a dump, else the initial thread.
	DefaultThread() (ThreadID, error)
	// Registers returns the general registers of a thread, or ErrNoThread if there is no
	// such thread.
	Registers(ThreadID) (arch.RegSet, error)
	// PreStackwalk and PostStackwalk surround the walk of one thread, so that a live
	// process can be stopped meanwhile. Nested or overlapping walks of a thread call them
	// once.
	PreStackwalk(ThreadID) error
	PostStackwalk(ThreadID) error
	// IsFirstParty reports whether the process analyses itself. The pc of its thread is
	// then a return address: the youngest frame made the call that captured the registers.
	IsFirstParty() bool
	// LibraryTracker returns the process's libraries, or nil if they are unknown.
	LibraryTracker() libstate.LibraryState
	// ExecutablePath is the main program's path as the process knew it, or "".
	ExecutablePath() string
}

// A CodeMasker is a ProcessState that knows which bits of its code pointers are not part of
// the address (NT_ARM_PAC_MASK). For other processes Arch.CodeMask is used.
type CodeMasker interface {
	CodeMask() arch.Address
}

// A TrapState is a ProcessState that knows which threads have their pc after the
// instruction that stopped them, as x86's int3 leaves it. As after a call, such a frame is
// looked up by the address before its pc.
type TrapState interface {
	BehindTrap(ThreadID) bool
}

// A FrameStepper walks through one kind of stack frame.
//
// A stepper is registered with a StepperGroup and must be comparable with == (normally a
// pointer). It may be called by several goroutines at once and keeps no state between
// calls.
type FrameStepper interface {
	// CallerFrame fills in out, the frame that called in, and returns StatusSuccess; any
	// other status says why it does not. On success it must have set RA and SP of out. FP
	// and the other callee-saved registers keep the values they have in in unless they are
	// set or forgotten. The Walker passes every stepper a fresh out.
	CallerFrame(in, out *Frame) Status
	// Priority orders the steppers that cover an address: lower numbers are asked first,
	// equal ones in order of registration.
	Priority() uint32
	// Name is the stepper's name in reports.
	Name() string
}

// A BottomStepper is a FrameStepper that knows callers of frames in which unwind tables see the bottom of the stack: code of a
// runtime whose tables do not say where it is.
type BottomStepper interface {
	// PastBottom fills in out as CallerFrame does, for a frame that another stepper took for the last one; not for frames that
	// steppers of PriorityStackBottom know to be that.
	PastBottom(in, out *Frame) Status
}

// A GroupRegistrar is a FrameStepper that chooses its own address ranges when it is
// registered with a group. Other steppers are asked about every address.
type GroupRegistrar interface {
	RegisterStepperGroup(StepperGroup) error
}

// A LibraryNotifier is a FrameStepper that is notified when libraries are loaded and
// unloaded, for instance to register ranges inside them.
type LibraryNotifier interface {
	NewLibraryNotification(lib *libstate.Library, change libstate.Change)
}

// A StepperGroup chooses the FrameStepper for an address. AddrRangeGroup is the default.
type StepperGroup interface {
	// RegisterStepper adds a stepper over the ranges it chooses (GroupRegistrar),
	// or over the whole address space.
	RegisterStepper(FrameStepper) error
	// AddStepper adds a stepper over [start, end).
	AddStepper(s FrameStepper, start, end Address) error
	// AddAddressRanges and RemoveAddressRanges change the ranges of a stepper. Removing a
	// range that was never added is not an error.
	AddAddressRanges(ranges []AddrRange, s FrameStepper) error
	RemoveAddressRanges(ranges []AddrRange, s FrameStepper) error
	// FindStepperForAddr returns the stepper to ask about addr: the first, or the one after
	// lastTried. The error is ErrNoStepper if none is left, and ErrBadParam if lastTried
	// does not cover addr.
	FindStepperForAddr(addr Address, lastTried FrameStepper) (FrameStepper, error)
	// NewLibraryNotification notifies the group's steppers of a change.
	NewLibraryNotification(lib *libstate.Library, change libstate.Change)
	// Steppers lists the steppers in registration order.
	Steppers() []FrameStepper
}

// A SymbolLookup names code addresses.
type SymbolLookup interface {
	// LookupAtAddr returns the name of the function containing addr, and a value that the
	// lookup chooses. The error is ErrNoSymbol if addr is not in a function.
	LookupAtAddr(addr Address) (name string, value any, err error)
}

// A Call is one function activation at source level. A physical frame has several if calls
// were inlined.
type Call struct {
	Name        string // as shown to users
	LinkageName string // as the linker sees it; "" if the same or unknown
	File        string // full path as compiled; "" if unknown
	Line        int    // 1-based; 0 if unknown
	Column      int    // 1-based; 0 if unknown
	Approximate bool   // the code belongs to no line: Line is that of the code before it, or unknown
	Inlined     bool   // inlined into the next Call
	NoReturn    bool   // its declaration says that it never returns
	Declared    int    // the line of its declaration; 0 if unknown
	Entry       Address
}

// A CallLookup is a SymbolLookup that also knows source lines and inlined calls.
type CallLookup interface {
	SymbolLookup
	// LookupCalls appends to buf the calls at addr, innermost first; the last is
	// the function itself.
	LookupCalls(addr Address, buf []Call) ([]Call, error)
}

// A TailCallLookup is a SymbolLookup that can name the functions that ran between a caller
// and its callee and left by a tail call.
type TailCallLookup interface {
	SymbolLookup
	// LookupTailCalls appends to buf, youngest first, the functions that must have run
	// between the call that returns to ra and the function containing the address callee,
	// and that left by a tail call. It appends nothing if there are none or if there is
	// more than one possible path. target is the address that was called, where the caller
	// knows it from the registers and the code; 0 otherwise.
	LookupTailCalls(ra, target, callee Address, buf []Call) []Call
}

// A Symbol is a named address range of a library, as loaded in the process.
type Symbol struct {
	Name string
	Addr Address
	Size uint64 // 0 if unknown
}

// A SymbolReader reads the symbol tables of libraries, for steppers that need to locate
// functions. It must allow concurrent use.
type SymbolReader interface {
	// SymbolByName finds a defined symbol; false if there is none.
	SymbolByName(lib *libstate.Library, name string) (Symbol, bool)
	// SymbolAt finds the function containing addr; false if there is none.
	SymbolAt(lib *libstate.Library, addr Address) (Symbol, bool)
}

// A MadeCodeReader is a SymbolReader that also knows functions of no library: code that the process made itself, by the records
// of its compilers.
type MadeCodeReader interface {
	// MadeCodeAt finds the function containing addr, which is there from its beginning to its end; false if there is none.
	MadeCodeAt(addr Address) (Symbol, bool)
}

// A MadeTableReader is a MadeCodeReader that also has unwind tables of such functions.
type MadeTableReader interface {
	MadeCodeReader
	// MadeTableAt returns the table of the function containing addr, which is there from its beginning to its end; false if there is none.
	MadeTableAt(addr Address) (MadeTable, bool)
}

// A MadeTable is the unwind table of one function, from Start up to End.
type MadeTable struct {
	Start, End Address
	EHFrame    []byte  // as in a section .eh_frame, in the process's byte order
	Addr       Address // that the addresses in the table are relative to: that of its beginning
}
