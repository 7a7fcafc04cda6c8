package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Frames with register windows (SPARC Architecture Manual V9, 6.3.6; the SPARC
// supplement of the System V ABI). The save instruction gives a function a window of
// its own, whose in registers are its caller's out registers. The caller's local and in
// registers are on the stack at its SP, where the kernel writes them before it dumps a
// process.

// windowSize is the size of a saved window in bytes: eight local registers,
// eight in registers.
const windowSize = 16 * 8

// byWindow steps from a frame on a machine with register windows.
func (s *FrameFuncStepper) byWindow(in, out *unwind.Frame) unwind.Status {
	if interrupted(in) && !s.hasWindow(in) {
		return s.withoutWindow(in, out)
	}
	fp, _, err := s.inRegister(in, arch.SPARCFP)
	if err != nil {
		note(out, "the caller's stack pointer: "+err.Error())
		return unwind.StatusNotMe
	}
	link, linkLoc, err := s.inRegister(in, arch.SPARCI7)
	p, a := in.Walker().ProcessState(), s.m.arch
	top := fp + a.StackBias
	switch {
	case err != nil:
		return unwind.StatusNotMe
	case fp == 0 || link == 0:
		note(out, "the chain of windows ends: the outermost frame")
		return unwind.StatusStackBottom
	case fp <= in.SP() || top%8 != 0 || top > stackEnd(p, in.SP()+a.StackBias)-windowSize:
		if out.Tracing() {
			out.Notef("the caller's stack pointer %#x is not on the stack above SP %#x", fp, in.SP())
		}
		return unwind.StatusNotMe
	}
	ra := link + a.ReturnOffset
	if _, ok := callBefore(p, ra); !ok && !mayReturnTo(s.m, p, ra) {
		if out.Tracing() {
			out.Notef("%#x, %s, does not follow a call", ra, linkLoc.Describe(a))
		}
		return unwind.StatusNotMe
	}
	out.ForgetRegs()
	out.SetPC(ra, linkLoc)
	for i := range arch.Reg(8) { // the seventh is SP
		if v, loc, err := s.inRegister(in, arch.SPARCI0+i); err == nil {
			out.SetReg(arch.SPARCO0+i, v, loc)
		}
	}
	for i := range arch.Reg(16) {
		at := top + 8*uint64(i)
		if v, err := a.ReadReg(p, at); err == nil {
			out.SetReg(arch.SPARCL0+i, v, unwind.AtAddress(at))
		}
	}
	out.SetCalleeCFA(top)
	out.SetTrust(unwind.TrustFramePointer)
	return unwind.StatusSuccess
}

// inRegister returns a local or in register of the frame: from its window on the stack,
// unless it is known otherwise.
func (s *FrameFuncStepper) inRegister(in *unwind.Frame, r arch.Reg) (uint64, unwind.Location, error) {
	if v, loc, ok := in.Reg(r); ok {
		return v, loc, nil
	}
	at := in.SP() + s.m.arch.StackBias + 8*uint64(r-arch.SPARCL0)
	v, err := s.m.arch.ReadReg(in.Walker().ProcessState(), at)
	return v, unwind.AtAddress(at), err
}

// withoutWindow steps from a function that has no window of its own (yet): all
// registers are its caller's, and o7 has the address of the call.
func (s *FrameFuncStepper) withoutWindow(in, out *unwind.Frame) unwind.Status {
	a := s.m.arch
	link, loc, ok := in.Reg(arch.SPARCO7)
	if !ok {
		return unwind.StatusNotMe
	}
	ra := link + a.ReturnOffset
	if _, ok := callBefore(in.Walker().ProcessState(), ra); !ok {
		if out.Tracing() {
			out.Notef("%#x, in o7, does not follow a call", ra)
		}
		return unwind.StatusNotMe
	}
	out.SetPC(ra, loc)
	out.SetSP(in.SP())
	out.SetCalleeCFA(in.SP() + a.StackBias)
	out.SetTrust(unwind.TrustFramePointer)
	return unwind.StatusSuccess
}

// maxWindowCode is how much of a function to search for save, in bytes.
const maxWindowCode = 4096

// hasWindow reports whether the interrupted function had executed save. If its start is
// not known, or its code cannot be read, the answer is yes: most functions have.
func (s *FrameFuncStepper) hasWindow(in *unwind.Frame) bool {
	p, pc := in.Walker().ProcessState(), in.RA()
	start, _, ok := functionAt(in.Walker(), pc)
	if !ok {
		// o7 has the function's own call, or the last one that it made. An indirect call
		// has the target 0, which is far away, like one above the pc.
		link, _, _ := in.Reg(arch.SPARCO7)
		site, _ := callBefore(p, link+s.m.arch.ReturnOffset)
		start = site.Target
	}
	if pc-start > maxWindowCode {
		return true
	}
	for at := start; at < pc; at += 4 {
		insn, err := s.m.arch.ReadUint(p, at&^7, 8)
		if err != nil {
			return true
		}
		if at&7 == 0 {
			insn >>= 32
		}
		if w := uint32(insn); w>>30 == 2 && w>>19&0x3f == 0x3c {
			return true
		}
	}
	return false
}
