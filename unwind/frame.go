package unwind

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Frame is one physical frame of a call stack: the state of the machine when
// control returns to it. Inlined and tail-called functions have no Frame.
//
// A Frame does not change once the Walker has accepted it; from then on it may
// be used by several goroutines. Before that (a stepper's out, or a frame made
// with NewFrame) it belongs to one.
type Frame struct {
	ra, sp, fp Address
	cfa        Address

	// Registers as changes from the callee's: see frameregs.go.
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
	flagPlainSP // sp is the stack pointer, computed: no change says so
	flagCalled  // a top frame whose pc is behind its instruction: of a process which walks itself, of a breakpoint
)

func (f *Frame) has(x frameFlags) bool { return f.flags&x != 0 }

// NewFrame makes a frame that no walk produced, to start one from
// (Walker.WalkStackFromFrame). Its locations are unknown and it counts as a
// frame that made a call. ErrBadParam without a walker.
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

// RA is the address at which control resumes in this frame: the pc of a top
// frame, else a return address or the pc that a signal interrupted.
func (f *Frame) RA() Address { return f.ra }

// SP is the stack pointer in this frame, with what the callee and the call
// itself pushed taken off again.
func (f *Frame) SP() Address { return f.sp }

// FP is the frame pointer register's value in this frame; 0 when it is not known
// (Reg tells the two apart).
func (f *Frame) FP() Address { return f.fp }

// CFA is the frame's canonical frame address, known once the walk has stepped
// from it; false when it is not (a bottom frame, or a walk that ended here).
func (f *Frame) CFA() (Address, bool) { return f.cfa, f.has(flagHasCFA) }

// RALocation is where RA was found.
func (f *Frame) RALocation() Location { return f.locationOf(f.arch().PC) }

// SPLocation is where SP was found; unknown when it was computed, as most are.
func (f *Frame) SPLocation() Location { return f.locationOf(f.arch().SP) }

// FPLocation is where FP was found.
func (f *Frame) FPLocation() Location { return f.locationOf(f.arch().FP) }

// The setters work until the Walker accepts the frame; after that they change
// nothing and answer false.

// SetRA sets the address at which control resumes.
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

// SetNonCall says whether the frame is at an instruction that made no call: a
// signal interrupted it, or instrumentation was placed there.
func (f *Frame) SetNonCall(v bool) bool { return f.setFlag(flagNonCall, v) }

// SetTrust says how the frame was found.
func (f *Frame) SetTrust(t Trust) bool {
	if f.has(flagAccepted) {
		return false
	}
	f.trust = t
	return true
}

// SetCalleeCFA tells the canonical frame address of the frame that was walked
// through (in, not this one).
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

// NonCall reports whether the frame is at an instruction that made no call: a
// signal interrupted it, or it is instrumented code.
func (f *Frame) NonCall() bool { return f.has(flagNonCall) }

// IsTrampoline reports whether the frame is the kernel's call of a signal
// handler: the code that returns from a signal. Known once the walk has stepped
// from it.
func (f *Frame) IsTrampoline() bool { return f.has(flagTrampoline) }

// LookupAddr is the address to look the frame up by, in CFI, symbols, lines and
// variables alike: inside the call instruction (RA-1) where the frame made a
// call, RA itself where it did not. A breakpoint instruction is like a call where it
// leaves the pc behind itself (TrapState).
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

// NextStepper is the stepper that went from this frame to its caller; nil where
// the stack ends.
func (f *Frame) NextStepper() FrameStepper { return f.next }

// PrevFrame is the callee: the next younger frame of the walk, or nil.
func (f *Frame) PrevFrame() *Frame { return f.prev }

// Name is the name of the frame's function, from the walker's SymbolLookup.
// ErrNoSymbolLookup or ErrNoSymbol where there is none.
func (f *Frame) Name() (string, error) {
	name, _, err := f.lookup()
	return name, err
}

// Object is the value that the walker's SymbolLookup keeps for the frame.
func (f *Frame) Object() (any, error) {
	_, v, err := f.lookup()
	return v, err
}

// LibOffset returns the path of the library that the frame's code is in, RA's
// offset from its load bias (an address of the file), and the library itself.
// ErrNoLibTracker or ErrNoLibrary where there is none.
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

// Equal reports whether two frames are the same frame of the same stack: RA, SP,
// FP and their locations, stepper, walker and thread. Names are not compared.
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

// A nameCache keeps one lookup. It is apart from the Frame to keep that small,
// and is made with the frame so that reading it needs no lock but its own.
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
			return c.name, c.value, c.err // may still move
		}
		f.name = c
	}
	return f.name.name, f.name.value, f.name.err
}
