package v8

import (
	"bytes"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where the code by which C++ calls JavaScript saved the registers of its caller, in bytes from its frame pointer.
var entrySaved = [...]struct {
	reg    arch.Reg
	offset int64
}{{arch.R12, -24}, {arch.R13, -32}, {arch.R14, -40}, {arch.R15, -48}, {arch.RBX, -56}}

// maxFrame bounds the stack of one frame, in bytes.
const maxFrame = 1 << 24

// Priority implements unwind.FrameStepper: after unwind tables, before what guesses.
func (j *JavaScript) Priority() uint32 { return unwind.PriorityDebugStepper + 8 }

// CallerFrame implements unwind.FrameStepper.
func (j *JavaScript) CallerFrame(in, out *unwind.Frame) unwind.Status {
	pc := in.LookupAddr()
	var lib *libstate.Library
	if libs := in.Walker().ProcessState().LibraryTracker(); libs != nil {
		lib, _ = libs.LibraryAt(pc)
	}
	var e *engine
	if lib != nil {
		if e = j.in(lib); e == nil || e.builtinOf(lib, in) == "" {
			j.say(out)
			return unwind.StatusNotMe
		}
	} else if e = j.anywhere(); e == nil {
		j.say(out)
		return unwind.StatusNotMe
	}
	return e.callerFrame(in, out, lib == nil)
}

// say adds to a frame why V8's frames cannot be walked.
func (j *JavaScript) say(out *unwind.Frame) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		out.Notef("%v", j.err)
	}
}

// callerFrame walks a frame by its frame pointer, which V8's frames all have.
func (e *engine) callerFrame(in, out *unwind.Frame, compiled bool) unwind.Status {
	fp, sp := in.FP(), in.SP()
	if in.LookupAddr() == in.RA() { // interrupted: its frame may not be there
		c := (*code)(nil)
		if compiled {
			c = e.codeAt(in.RA())
		}
		if c == nil {
			return unwind.StatusNotMe
		}
		if depth, ok := e.before(c, in.RA()); ok {
			out.SetFP(fp)
			return e.caller(out, sp+depth, sp+depth+8, depth == 8)
		}
	}
	if fp%8 != 0 || fp < sp || fp-sp > maxFrame {
		return unwind.StatusNotMe
	}
	m := e.marker(fp)
	if m == "" && !e.isFunction(e.Word(from(fp, frameFunction))) {
		return unwind.StatusNotMe
	}
	entry := m == "Entry" || m == "ConstructEntry"
	for _, r := range entrySaved {
		addr := from(fp, r.offset)
		if v, err := e.ReadWord(addr); entry && err == nil {
			out.SetReg(r.reg, v, unwind.AtAddress(addr))
		} else if r.reg != arch.R13 { // in all JavaScript frames it is the isolate's
			out.ForgetReg(r.reg)
		}
	}
	return e.caller(out, fp+8, fp+16, true)
}

// caller fills in a caller whose return address is at ra, the saved frame pointer right below it if saved.
func (e *engine) caller(out *unwind.Frame, ra, sp uint64, saved bool) unwind.Status {
	v, err := e.ReadWord(ra)
	if err != nil || v == 0 {
		return unwind.StatusNotMe
	}
	if saved {
		fp, err := e.ReadWord(ra - 8)
		if err != nil {
			return unwind.StatusNotMe
		}
		out.SetFP(fp)
		out.SetFPLocation(unwind.AtAddress(ra - 8))
	}
	out.SetRA(v)
	out.SetRALocation(unwind.AtAddress(ra))
	out.SetSP(sp)
	out.SetTrust(unwind.TrustCFI)
	return unwind.StatusSuccess
}

// maxPrologue is the most bytes of code before its frame is there.
const maxPrologue = 96

// before reports whether code has no frame at an address, yet or any more, and how far above the stack pointer
// its return address is.
func (e *engine) before(c *code, pc uint64) (depth uint64, ok bool) {
	if b, ok := e.U8(pc); ok && (b == 0xc3 || b == 0xc2) { // ret
		return 0, true
	}
	if pc-c.start >= maxPrologue {
		return 0, false
	}
	makes := []byte{0x55, 0x48, 0x89, 0xe5} // push rbp; mov rbp, rsp
	n := min(maxPrologue, c.size)
	i := bytes.Index(e.Bytes(c.start, int(n)), makes)
	switch at := int(pc - c.start); {
	case i < 0 || at > i+1:
		return 0, false
	case at == i+1:
		return 8, true
	}
	return 0, true
}
