package steppers

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// callWindow is how many bytes before a return address to read: a call has at most
// seven, without unusual prefixes.
const callWindow = 8

// codePointer returns raw, a code pointer as the process stores it, with only the
// address and the bit for the instruction set left.
func codePointer(w *unwind.Walker, raw uint64) arch.Address {
	addr := w.CodeAddress(raw)
	if w.ProcessState().Arch().Mode != arch.NoReg {
		addr |= raw & 1
	}
	return addr
}

// callBefore returns the call that returns to ra, a code pointer; false if ra is not in
// executable memory just after a call, or if the code cannot be read.
func callBefore(p unwind.ProcessState, ra arch.Address) (disasm.CallSite, bool) {
	if !isCode(p, ra-1) {
		return disasm.CallSite{}, false
	}
	return callIn(p, ra)
}

// unreadCode reports whether ra is in executable memory whose bytes are not available. The
// end of such memory is not in it: only a call that is seen there may return to it.
func unreadCode(p unwind.ProcessState, ra arch.Address) bool {
	if ra < callWindow || !isCode(p, ra-1) || !isCode(p, ra) {
		return false
	}
	_, err := readCode(p, p.Arch(), withoutMode(p.Arch(), ra)-callWindow, callWindow)
	return err != nil
}

// callIn is callBefore for an address known to be code.
func callIn(p unwind.ProcessState, ra arch.Address) (disasm.CallSite, bool) {
	a := p.Arch()
	code, err := readCode(p, a, withoutMode(a, ra)-callWindow, callWindow)
	if err != nil {
		return disasm.CallSite{}, false
	}
	return disasm.CallBefore(a, code[:callWindow], ra)
}

// withoutMode is the address of a code pointer.
func withoutMode(a *arch.Arch, ptr arch.Address) arch.Address {
	if a.Mode != arch.NoReg {
		return ptr &^ 1
	}
	return ptr
}

// instruction returns the address of the frame's instruction: the one about to run, or
// the call in progress. If no call is found before RA, it is RA.
func instruction(f *unwind.Frame) arch.Address {
	if interrupted(f) {
		return f.RA()
	}
	site, _ := callIn(f.Walker().ProcessState(), f.CodePointer())
	return f.RA() - uint64(site.Len)
}

// decodeAt decodes the instruction at pc, a code pointer; false if it cannot be read.
func decodeAt(p unwind.ProcessState, pc arch.Address) (disasm.Inst, bool) {
	a := p.Arch()
	n := 2 * callWindow
	code, err := readCode(p, a, withoutMode(a, pc), n)
	if err != nil { // near the end of a mapping
		n = callWindow
		if code, err = readCode(p, a, withoutMode(a, pc), n); err != nil {
			return disasm.Inst{}, false
		}
	}
	in, err := disasm.Decode(a, code[:n], pc)
	return in, err == nil
}

// maxStub is the largest number of instructions in a linkage stub.
const maxStub = 3

// throughStub follows a procedure linkage stub (endbr64; jmp *slot) to its target. It
// returns entry itself if there is no stub, and false if the stub is not bound yet.
func throughStub(p unwind.ProcessState, entry arch.Address) (arch.Address, bool) {
	pc := entry
	for range maxStub {
		in, ok := decodeAt(p, pc)
		if !ok {
			return entry, true
		}
		switch in.Kind {
		case disasm.Endbr, disasm.Nop:
			pc = in.Next()
			continue
		case disasm.JumpIndirect:
			m := in.Mem()
			switch {
			case m == nil || m.Index != arch.NoReg:
				return entry, true
			case m.RIPRelative, p.Arch() == arch.X86 && m.Base == arch.NoReg:
			case p.Arch() == arch.X86 && m.Base == arch.EBX:
				return entry, false // the slot is relative to a register that is not known here
			default:
				return entry, true
			}
			to, err := p.ReadWord(p.Arch().Truncate(uint64(m.Disp)))
			if err != nil || !isCode(p, to) || to == in.Next() {
				return entry, false
			}
			return to, true
		}
		return entry, true
	}
	return entry, true
}
