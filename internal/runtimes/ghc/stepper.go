package ghc

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/jitcode"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Haskell walks the frames of GHC's code. It looks for GHC's runtime when it is first asked about code that is called as GHC calls its own.
type Haskell struct {
	jitcode.Silent // threads of Haskell that do not run are not listed, and frames have the names of their symbols
	process        func() *tasks.Process

	once   sync.Once
	p      *tasks.Process
	engine *engine
	err    error
}

// New returns the stepper of a process; process is called once, if at all.
func New(process func() *tasks.Process) *Haskell { return &Haskell{process: process} }

// Find finds GHC's runtime in a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	h := New(func() *tasks.Process { return p })
	if h.once.Do(h.open); h.engine == nil {
		return nil, h.err
	}
	return h, nil
}

// Name implements unwind.FrameStepper and tasks.Runtime.
func (h *Haskell) Name() string { return "GHC" }

// Priority implements unwind.FrameStepper: after unwind tables, before what guesses.
func (h *Haskell) Priority() uint32 { return unwind.PriorityDebugStepper + 9 }

// called reports whether a symbol is one that GHC gives to code: of closures, their fast entries, and primitive operations.
func called(symbol string) bool {
	for _, end := range [...]string{"_info", "_fast", "_slow", "_ret", "_entry", "zh"} {
		if strings.HasSuffix(symbol, end) {
			return true
		}
	}
	return false
}

// CallerFrame implements unwind.FrameStepper.
func (h *Haskell) CallerFrame(in, out *unwind.Frame) unwind.Status {
	state := in.Walker().ProcessState()
	libs, syms := state.LibraryTracker(), in.Walker().SymbolReader()
	if libs == nil || syms == nil || state.Arch() != arch.AMD64 {
		return unwind.StatusNotMe
	}
	lib, ok := libs.LibraryAt(in.RA())
	if !ok {
		return unwind.StatusNotMe
	}
	sp, _, known := in.Reg(arch.RBP)
	s, named := syms.SymbolAt(lib, in.RA())
	entered := in.NonCall() && known // a frame of Haskell's stack, whose code has not begun to run
	if !entered && (!named || !called(s.Name)) {
		return unwind.StatusNotMe
	}
	h.once.Do(h.open)
	e := h.engine
	if e == nil {
		if h.err != nil {
			out.Notef("%v", h.err)
		}
		return unwind.StatusNotMe
	}
	if entered {
		if at, ok := e.LookupWord(sp); !ok || at != in.RA() {
			return unwind.StatusNotMe
		}
	}
	if !known {
		return gap(out, "the frame of Haskell's stack is not known: rbp was not recovered")
	}
	if entered || e.own(in, s, sp) {
		next, why := e.next(sp, in.RA(), entered)
		switch {
		case next == 0 && why == "":
			return e.leave(in, out)
		case next == 0:
			return gap(out, why)
		}
		sp = next
	}
	return e.caller(sp, in, out)
}

// gap ends a walk: what is on the native stack of Haskell's code is not its caller, and would look like the stack's end.
func gap(out *unwind.Frame, why string) unwind.Status {
	out.Notef("the rest of Haskell's stack is not known: %s", why)
	return unwind.StatusError
}

// caller fills in the frame at an address of Haskell's stack. The native stack pointer stays.
func (e *engine) caller(sp uint64, in, out *unwind.Frame) unwind.Status {
	code, ok := e.LookupWord(sp)
	if !ok {
		return gap(out, "its memory is not there")
	}
	if _, ok := e.info(code); !ok {
		return gap(out, "what should be a return address leads to no table of a frame")
	}
	out.ForgetRegs()
	out.SetRA(code)
	out.SetRALocation(unwind.AtAddress(sp))
	out.SetSP(in.SP())
	out.SetReg(arch.RBP, sp, unwind.Location{})
	out.SetNonCall(true)
	out.SetTrust(unwind.TrustCFI)
	return unwind.StatusSuccess
}

const (
	// room is what StgRun leaves on the stack for functions of C, and for the registers that it saves, in bytes.
	room, saved = 16384, 48
	// mostArguments is how far a call may have moved the stack pointer for arguments, in bytes.
	mostArguments = 512
)

// leave goes on where Haskell's code returns to: in StgRun. The stack pointer is lower than there by what the youngest call needed, if there was one.
func (e *engine) leave(in, out *unwind.Frame) unwind.Status {
	sp := in.SP()
	if sp%16 == 0 { // StgRun was called, too
		sp += 8
	}
	for at := sp; at-sp <= mostArguments; at += 16 {
		ra, ok := e.LookupWord(at + room + saved)
		if !ok || !e.callsRun(ra) {
			continue
		}
		out.ForgetRegs()
		out.SetRA(e.leaves)
		out.SetSP(at)
		out.SetNonCall(true)
		out.SetTrust(unwind.TrustCFI)
		return unwind.StatusSuccess
	}
	return gap(out, "no call of StgRun is where it should have left its registers")
}

// callsRun reports whether a call of StgRun returns to an address.
func (e *engine) callsRun(ra uint64) bool {
	b := e.Bytes(ra-5, 5)
	if len(b) != 5 {
		return false
	}
	return b[0] == 0xe8 && ra+relative(b[1:]) == e.run
}

// An engine is GHC's runtime in a process. Concurrent use is allowed.
type engine struct {
	procmem.Reader
	p           *tasks.Process
	stop        uint32 // the type of stg_stop_thread
	more        []uint32
	run, leaves uint64 // StgRun, and where it goes on when Haskell's code returns to it
	resume      uint64 // resumeThread; 0 if it is not known
}

// own reports whether the youngest frame of Haskell's stack, at sp, belongs to the code that runs in a frame, and not to its caller. Code called C so that other
// threads of Haskell may run meanwhile, and goes on at its frame: what it calls next is resumeThread. Or it went on from its frame, which stays until it jumps
// elsewhere: no other code that can be returned to begins between that and the call.
func (e *engine) own(in *unwind.Frame, s unwind.Symbol, sp uint64) bool {
	at, ok := e.LookupWord(sp)
	if !ok || at < s.Addr || at-s.Addr >= s.Size {
		return false
	}
	return in.LookupAddr() != in.RA() && e.resumes(in.RA()) || at <= in.LookupAddr() && !e.otherTable(at, in.LookupAddr())
}

// resumes reports whether resumeThread is called right behind an address.
func (e *engine) resumes(pc uint64) bool {
	b := e.Some(pc, behindCall)
	for i := 0; i+5 <= len(b); i++ {
		if b[i] == 0xe8 && pc+uint64(i)+5+relative(b[i+1:]) == e.resume {
			return true
		}
	}
	return false
}

// otherTable reports whether the table of a frame may be between two addresses of code.
func (e *engine) otherTable(from, to uint64) bool {
	if to-from > longestBlock {
		return true
	}
	b := e.Bytes(from, int(to-from))
	for i := 8; i+8 <= len(b); i += 8 {
		if typ := uint32(relative(b[i:])); typ == e.stop-(stop-small) || typ == e.stop-(stop-big) {
			return true
		}
	}
	return false
}

// longestBlock is how much code is looked through, in bytes.
const longestBlock = 1 << 14

// relative is the distance in a call.
func relative(b []byte) uint64 { return uint64(int64(int32(binary.LittleEndian.Uint32(b)))) }

// behindCall is how far behind the call of C that of resumeThread is, at most, in bytes.
const behindCall = 48

// open looks for the runtime.
func (h *Haskell) open() {
	if h.p = h.process(); h.p == nil {
		return
	}
	for _, lib := range h.p.Modules {
		if _, ok := h.p.Symbols.SymbolByName(lib, stopThread); ok {
			h.engine, h.err = openIn(h.p, lib)
			return
		}
	}
}
