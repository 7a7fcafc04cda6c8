package steppers

import (
	"encoding/binary"
	"strings"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Mono's handler of faults has a stack of its own. It returns to a function of Mono on the thread's stack, altstack_handle_and_restore, with what looks like a
// call from the code that failed, and with a copy of the registers (MonoContext), which has been right above the call, and is elsewhere in later versions.
// When that function is done it goes on with the copy. So the frames above it begin where the copy says, not behind the call.

const (
	// monoAbove is where the copy may be, above the CFA of the function, in bytes.
	monoAbove = 32
	// mostAbove is more than how far above the CFA the stack pointer of the code that failed is: there is a copy of all registers in between at most.
	mostAbove = 1024
)

// monoRegs are the registers in a MonoContext, in order, and monoSP and monoPC where two of them are in it.
var monoRegs = [...]arch.Reg{arch.RAX, arch.RCX, arch.RDX, arch.RBX, arch.RSP, arch.RBP, arch.RSI, arch.RDI, arch.R8, arch.R9, arch.R10, arch.R11, arch.R12,
	arch.R13, arch.R14, arch.R15, arch.RIP}

const monoSP, monoPC = 4 * 8, 16 * 8

// monoKeeps are the registers of which one leads to the copy while the function calls others.
var monoKeeps = [...]arch.Reg{arch.RBX, arch.RBP, arch.R12, arch.R13, arch.R14, arch.R15}

// monoContext returns where the copy is with which a frame goes on: it has the code to which the frame seems to return, and a stack pointer right above.
func monoContext(f *unwind.Frame, cfa uint64) (at uint64, ok bool) {
	p := f.Walker().ProcessState()
	ra, err := p.ReadWord(cfa - 8)
	if err != nil {
		return 0, false
	}
	is := func(at uint64) bool {
		pc, err := p.ReadWord(at + monoPC)
		if err != nil || pc != ra {
			return false
		}
		sp, err := p.ReadWord(at + monoSP)
		return err == nil && sp-cfa < mostAbove
	}
	if is(cfa + monoAbove) {
		return cfa + monoAbove, true
	}
	for _, r := range monoKeeps {
		if v, _, known := f.Reg(r); known && is(v) {
			return v, true
		}
	}
	return 0, false
}

// mayBeMono reports whether a library may contain Mono: mono-sgen, libmonosgen-2.0.so.1, libmonobdwgc-2.0.so.
func mayBeMono(a *arch.Arch, lib *libstate.Library) bool {
	return a == arch.AMD64 && lib != nil && strings.Contains(lib.Path[strings.LastIndexByte(lib.Path, '/')+1:], "mono")
}

// resume sets out, which is the caller of in as call frame information has it, to the code that failed, if in is the frame of Mono's handler.
func resume(in, out *unwind.Frame) {
	cfa, _ := out.CFA() // of in, until out is accepted
	ctx, ok := monoContext(in, cfa)
	if !ok {
		return
	}
	var regs [8 * len(monoRegs)]byte
	if n, _ := in.Walker().ProcessState().ReadMem(ctx, regs[:]); n < len(regs) {
		return
	}
	out.ForgetRegs()
	for i, r := range monoRegs {
		out.SetReg(r, binary.LittleEndian.Uint64(regs[8*i:]), unwind.AtAddress(ctx+8*uint64(i)))
	}
	out.SetCalleeCFA(cfa)
	out.SetNonCall(true)
	out.SetTrust(unwind.TrustSignal)
	note(out, "Mono's handler goes on with a copy of the registers")
}

// ResumesCopy reports whether a frame is that of Mono's handler, which goes on with a copy of the registers: its own rule says where the copy is, not what the
// registers are.
func ResumesCopy(f *unwind.Frame) bool {
	if !f.IsTrampoline() {
		return false
	}
	_, ok := savedByMono(f)
	return ok
}

// savedByMono returns what the frame of Mono's handler says of the signal: it handles faults of memory, and keeps no more of them.
func savedByMono(f *unwind.Frame) (SavedSignal, bool) {
	p := f.Walker().ProcessState()
	cfa, _ := f.CFA()
	if !mayBeMono(p.Arch(), libraryAt(p, f.RA())) {
		return SavedSignal{}, false
	}
	if _, ok := monoContext(f, cfa); !ok {
		return SavedSignal{}, false
	}
	return SavedSignal{SP: cfa, Trap: Trap{Kind: TrapAccess}}, true
}
