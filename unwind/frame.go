package unwind

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Frame is one physical frame of a call stack: the state of the machine when control
// returns to it. Inlined and tail-called functions have no Frame.
//
// Once the Walker has accepted a Frame, it does not change and several goroutines may use
// it. Before that (a stepper's out frame, or one made by NewFrame) only one goroutine may
// use it.
type Frame struct {
	ra, sp, fp Address
	cfa        Address

	// Registers are stored as changes from the callee's; see frameregs.go.
	changes []regChange
	inherit arch.RegMask
	full    *fullRegs
	prev    *Frame // callee

	walker  *Walker
	stepper FrameStepper
	next    FrameStepper
	name    *nameCache
	trace   *trace
	thread  ThreadID

	sinceFull uint8
	trust     Trust
	flags     frameFlags
}

type frameFlags uint16

const (
	flagTop frameFlags = 1 << iota
	flagBottom
	flagNonCall
	flagTrampoline
	flagAccepted
	flagHasRA
	flagHasSP
	flagHasCFA
	flagPlainSP     // sp is the stack pointer and was computed; no regChange records it
	flagDoubtfulSP  // sp is plain and doubtful
	flagDoubtfulCFA // nothing proves the cfa
	flagAllDoubtful // perhaps the frame is not on the stack: every register is doubtful
	flagDoubt       // the stepper said that what it found is doubtful
	flagNoDoubt     // it said that it is not
	flagCalled      // a top frame whose pc is after the instruction it stands for: the process walks itself, or hit a breakpoint
	flagVerified    // later steppers were asked for it, too
)

func (f *Frame) has(x frameFlags) bool { return f.flags&x != 0 }

// NewFrame makes a frame that does not come from a walk, as a start for
// Walker.WalkStackFromFrame. The locations of its registers are unknown, and it counts as a
// frame that made a call. The error is ErrBadParam if w is nil.
func NewFrame(ra, sp, fp Address, w *Walker) (*Frame, error) {
	if w == nil {
		return nil, fmt.Errorf("new frame without a walker: %w", ErrBadParam)
	}
	f := &Frame{walker: w, thread: NullThread}
	f.SetRA(ra)
	f.SetSP(sp)
	f.SetFP(fp)
	return f, nil
}

// RA is the address at which execution resumes in this frame: the pc of a top frame,
// otherwise a return address or the pc at which a signal interrupted the frame.
func (f *Frame) RA() Address { return f.ra }

// SP is the stack pointer in this frame, without what the call and the callee pushed.
func (f *Frame) SP() Address { return f.sp }

// FP is the value of the frame pointer register in this frame, or 0 if it is unknown (Reg
// tells an unknown value from 0).
func (f *Frame) FP() Address { return f.fp }

// CFA is the frame's canonical frame address. It is known once the walk has stepped from
// the frame; false means unknown (a bottom frame, or the last frame of a walk that stopped
// early).
func (f *Frame) CFA() (Address, bool) { return f.cfa, f.has(flagHasCFA) }

// CFADoubtful reports whether nothing proves the CFA: it was guessed, or computed from a register that is doubtful.
func (f *Frame) CFADoubtful() bool { return f.has(flagDoubtfulCFA) }

// RALocation is where RA was found. If it is doubtful, nothing proves that the frame is on the stack.
func (f *Frame) RALocation() Location { return f.locationOf(f.arch().PC) }

// SPLocation is where SP was found. It is usually unknown because SP is usually computed.
func (f *Frame) SPLocation() Location { return f.locationOf(f.arch().SP) }

// FPLocation is where FP was found.
func (f *Frame) FPLocation() Location { return f.locationOf(f.arch().FP) }

// The setters work until the Walker accepts the frame; after that they change nothing and
// return false.

// SetRA sets the address at which execution resumes.
func (f *Frame) SetRA(v Address) bool {
	return f.SetReg(f.arch().PC, v, f.locationOf(f.arch().PC))
}

// SetSP sets the stack pointer.
func (f *Frame) SetSP(v Address) bool { return f.SetReg(f.arch().SP, v, Location{}) }

// SetFP sets the frame pointer.
func (f *Frame) SetFP(v Address) bool { return f.SetReg(f.arch().FP, v, Location{}) }

// SetRALocation sets where RA was found.
func (f *Frame) SetRALocation(l Location) bool { return f.setLocation(f.arch().PC, l) }

// SetSPLocation sets where SP was found.
func (f *Frame) SetSPLocation(l Location) bool { return f.setLocation(f.arch().SP, l) }

// SetFPLocation sets where FP was found.
func (f *Frame) SetFPLocation(l Location) bool { return f.setLocation(f.arch().FP, l) }

// SetNonCall says whether the frame is at an instruction that is not a call, because a
// signal interrupted it or because it is instrumented code.
func (f *Frame) SetNonCall(v bool) bool { return f.setFlag(flagNonCall, v) }

// SetTrust says how the frame was found.
func (f *Frame) SetTrust(t Trust) bool {
	if f.has(flagAccepted) {
		return false
	}
	f.trust = t
	return true
}

// SetDoubtful says whether the place from which the stepper computed the caller is in doubt: then everything that it sets
// is doubtful, but for what the callee has in a register. If a stepper does not say, the place is in doubt if the callee's
// stack or frame pointer is, or if the stepper scanned for it.
func (f *Frame) SetDoubtful(v bool) bool {
	f.setFlag(flagNoDoubt, !v)
	return f.setFlag(flagDoubt, v)
}

// SetCalleeCFA sets the canonical frame address of the callee: the frame that the stepper
// was given as in.
func (f *Frame) SetCalleeCFA(cfa Address) bool {
	if f.has(flagAccepted) {
		return false
	}
	f.cfa = cfa
	f.flags |= flagHasCFA
	return true
}

func (f *Frame) setFlag(x frameFlags, v bool) bool {
	if f.has(flagAccepted) {
		return false
	}
	if f.flags &^= x; v {
		f.flags |= x
	}
	return true
}

// IsTopFrame reports whether the frame is a thread's youngest, made from its
// registers.
func (f *Frame) IsTopFrame() bool { return f.has(flagTop) }

// IsBottomFrame reports whether a stepper recognised the frame as the last of
// its stack.
func (f *Frame) IsBottomFrame() bool { return f.has(flagBottom) }

// NonCall reports whether the frame is at an instruction that is not a call, because a
// signal interrupted it or because it is instrumented code.
func (f *Frame) NonCall() bool { return f.has(flagNonCall) }

// IsTrampoline reports whether the frame is the code that returns from a signal handler
// (the kernel made it the handler's caller). It is known once the walk has stepped from the
// frame.
func (f *Frame) IsTrampoline() bool { return f.has(flagTrampoline) }

// LookupAddr is the address to use for this frame in call frame information, symbols, lines
// and variables: RA-1, inside the call instruction, if the frame made a call; otherwise RA.
// A breakpoint instruction counts as a call if it leaves the pc after itself (TrapState).
func (f *Frame) LookupAddr() Address {
	if f.flags&(flagTop|flagNonCall|flagTrampoline) != 0 && !f.has(flagCalled) || f.ra == 0 {
		return f.ra
	}
	return f.ra - 1
}

// Trust says how the frame was found.
func (f *Frame) Trust() Trust { return f.trust }

// Walker is the walker the frame belongs to.
func (f *Frame) Walker() *Walker { return f.walker }

// Thread is the thread the frame belongs to, or NullThread.
func (f *Frame) Thread() ThreadID { return f.thread }

// Stepper is the stepper that produced the frame; nil for a top frame.
func (f *Frame) Stepper() FrameStepper { return f.stepper }

// NextStepper is the stepper that found this frame's caller, or nil where the stack ends.
func (f *Frame) NextStepper() FrameStepper { return f.next }

// PrevFrame is the callee: the next younger frame of the walk, or nil.
func (f *Frame) PrevFrame() *Frame { return f.prev }

// Spend charges work done for the frame to the walker's Budget: steppers and those who read
// a frame's variables call it in loops whose length the process decides. After an error,
// the work must end with what it has.
func (f *Frame) Spend(units int) error {
	if f.walker == nil {
		return nil
	}
	return f.walker.Spend(units)
}

// Name is the name of the frame's function, from the walker's SymbolLookup. The error is
// ErrNoSymbolLookup or ErrNoSymbol if there is none.
func (f *Frame) Name() (string, error) {
	name, _, err := f.lookup()
	return name, err
}

// Object is the value that the walker's SymbolLookup returned with the name.
func (f *Frame) Object() (any, error) {
	_, v, err := f.lookup()
	return v, err
}

// LibOffset returns the path of the library that contains RA, the offset of RA from the
// library's load bias (an address in the file), and the *libstate.Library itself. The error
// is ErrNoLibTracker or ErrNoLibrary if there is none.
func (f *Frame) LibOffset() (path string, offset uint64, lib any, err error) {
	if f.walker == nil || f.walker.proc.LibraryTracker() == nil {
		return "", 0, nil, ErrNoLibTracker
	}
	l, ok := f.walker.proc.LibraryTracker().LibraryAt(f.LookupAddr())
	if !ok {
		return "", 0, nil, fmt.Errorf("%#x: %w", f.ra, ErrNoLibrary)
	}
	return l.Path, f.ra - l.LoadBias, l, nil
}

// Equal reports whether two frames have the same RA, SP and FP at the same locations, and
// the same stepper, walker and thread. Names are not compared.
func (f *Frame) Equal(g *Frame) bool {
	return f == g || f != nil && g != nil && f.ra == g.ra && f.sp == g.sp && f.fp == g.fp &&
		f.walker == g.walker && f.thread == g.thread && f.stepper == g.stepper &&
		f.RALocation() == g.RALocation() && f.SPLocation() == g.SPLocation() && f.FPLocation() == g.FPLocation()
}

func (f *Frame) String() string { return fmt.Sprintf("pc %#x sp %#x fp %#x", f.ra, f.sp, f.fp) }

func (f *Frame) arch() *arch.Arch {
	if f.walker == nil {
		return arch.AMD64
	}
	return f.walker.arch
}

// numRegs is the number of registers of the frame's architecture.
func (f *Frame) numRegs() int {
	if f.walker == nil {
		return arch.AMD64.NumRegs()
	}
	return f.walker.numRegs
}

// A nameCache keeps the result of one symbol lookup. It is allocated with the frame but
// apart from it: the Frame stays small, and reading the cache needs no lock but the cache's
// own.
type nameCache struct {
	name  string
	value any
	err   error
}

func (f *Frame) lookup() (string, any, error) {
	if f.walker == nil || f.walker.lookup == nil {
		return "", nil, ErrNoSymbolLookup
	}
	f.walker.nameMu.Lock()
	defer f.walker.nameMu.Unlock()
	if f.name == nil {
		name, value, err := f.walker.lookup.LookupAtAddr(f.LookupAddr())
		if err == nil && name == "" {
			err = ErrNoSymbol
		}
		if err != nil && !errors.Is(err, ErrNoSymbol) {
			err = fmt.Errorf("name of %#x: %w", f.ra, err)
		}
		c := &nameCache{name, value, err}
		if !f.has(flagAccepted) {
			return c.name, c.value, c.err // not cached: the frame may still change
		}
		f.name = c
	}
	return f.name.name, f.name.value, f.name.err
}
