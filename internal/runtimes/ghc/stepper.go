package ghc

import (
	"bytes"
	"encoding/binary"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/jitcode"
	"github.com/corewalk/corewalk/libstate"
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

	mu  sync.Mutex
	has map[*libstate.Library]bool // which have GHC's runtime
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
	s, found := syms.SymbolAt(lib, in.RA())
	entered := in.NonCall() && known // a frame of Haskell's stack, whose code has not begun to run
	named := found && called(s.Name)
	other := found && !named && s.Size != 0 // a function of C, say
	if !entered && !named && (other || !known || !h.holds(syms, lib)) {
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
	if !entered && !named {
		if !e.ends(sp, in.SP()) {
			return unwind.StatusNotMe
		}
		s = unwind.Symbol{Addr: in.LookupAddr() - min(in.LookupAddr(), longestBlock), Size: 2 * longestBlock}
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

// holds reports whether a library has GHC's runtime. Code between its functions may be Haskell's, too: most of what is returned to has no symbol.
func (h *Haskell) holds(syms unwind.SymbolReader, lib *libstate.Library) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	has, ok := h.has[lib]
	if !ok {
		_, has = syms.SymbolByName(lib, stopThread)
		if h.has == nil {
			h.has = map[*libstate.Library]bool{}
		}
		h.has[lib] = has
	}
	return has
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

// mostFrames is how many frames are looked at before code without a name is taken for Haskell's.
const mostFrames = 1 << 17

// ends reports whether frames of Haskell's stack follow each other from sp to the last one, and whether what is on the native stack, above native, called them.
func (e *engine) ends(sp, native uint64) bool {
	for range mostFrames {
		next, why := e.next(sp, 0, false)
		switch {
		case why != "" || next != 0 && e.p.Spend(1) != nil:
			return false
		case next == 0:
			_, ok := e.runs(native)
			return ok
		}
		sp = next
	}
	return false
}

// leave goes on where Haskell's code returns to: in StgRun. The stack pointer is lower than there by what the youngest call needed, if there was one.
func (e *engine) leave(in, out *unwind.Frame) unwind.Status {
	at, ok := e.runs(in.SP())
	if !ok {
		return gap(out, "no call of StgRun is where it should have left its registers")
	}
	out.ForgetRegs()
	out.SetRA(e.leaves)
	out.SetSP(at)
	out.SetNonCall(true)
	out.SetTrust(unwind.TrustCFI)
	return unwind.StatusSuccess
}

// runs returns the stack pointer of StgRun, which runs Haskell's code whose stack pointer is sp.
func (e *engine) runs(sp uint64) (at uint64, ok bool) {
	if sp%16 == 0 { // StgRun was called, too
		sp += 8
	}
	for at := sp; at-sp <= mostArguments; at += 16 {
		if ra, ok := e.LookupWord(at + room + saved); ok && e.callsRun(ra-5) {
			return at, true
		}
	}
	return 0, false
}

// callsRun reports whether a call of StgRun is at an address. Shared libraries do not export it: it ends with what they export as StgReturn.
func (e *engine) callsRun(at uint64) bool {
	const longest = 64
	if to, ok := e.callee(at); ok && e.run == 0 {
		return to < e.leaves && e.leaves-to <= longest
	}
	return e.calls(at, e.run)
}

// callee returns what a call at an address calls.
func (e *engine) callee(at uint64) (to uint64, ok bool) {
	b := e.Bytes(at, 5)
	if len(b) != 5 || b[0] != 0xe8 {
		return 0, false
	}
	return at + 5 + relative(b[1:]), true
}

// calls reports whether there is a call of a function: its own, or that of code which leads there by the table of a linker (PLT).
func (e *engine) calls(at, function uint64) bool {
	to, ok := e.callee(at)
	return ok && function != 0 && (to == function || e.leadsTo(to, function))
}

// leadsTo reports whether code jumps to a function by a word of memory: endbr64, bnd and the jump, of which the first two may be missing.
func (e *engine) leadsTo(at, function uint64) bool {
	b := e.Some(at, 12)
	for _, first := range [...]string{"\xf3\x0f\x1e\xfa", "\xf2"} {
		if bytes.HasPrefix(b, []byte(first)) {
			b, at = b[len(first):], at+uint64(len(first))
		}
	}
	return len(b) >= 6 && b[0] == 0xff && b[1] == 0x25 && e.Word(at+6+relative(b[2:])) == function
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
		if b[i] == 0xe8 && e.calls(pc+uint64(i), e.resume) {
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
