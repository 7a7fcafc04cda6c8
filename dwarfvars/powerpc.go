package dwarfvars

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind"
)

// PowerPC of 64 and 32 bits. DWARF numbers: 64-Bit ELF V2 ABI, section 2.4
// (https://files.openpower.foundation), Power Architecture 32-bit ABI Supplement, 3.8.
// gcc numbers the vector registers from 1124, as the older ABI did; the newer ABI and
// clang from 77.

// Floating-point registers hold doubles only.
func ppcFloats() bank {
	return bank{first: 32, count: 32, name: "f%d", read: plain(noteFP, 0, 8, 8), doubles: true}
}

var ppc64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks: []bank{
			ppcFloats(),
			{first: 1124, count: 32, name: "vr%d", read: plain(notePPCVMX, 0, 16, 16)},
			{first: 77, count: 32, name: "vr%d", read: plain(notePPCVMX, 0, 16, 16)},
		},
		interrupted: ppc64Interrupted,
		tls:         &tlsABI{pointer: tpRegister(13), above: true, bias: 0x7000, glibcDTV: -1, muslDTV: -1, muslEntry: 0x8000},
		longDouble:  values.PairFormat,
		maxAlign:    16,
	}
}}

var ppc = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		banks: []bank{
			ppcFloats(),
			{first: 1124, count: 32, name: "vr%d", read: plain(notePPCVMX, 0, 16, 16)},
		},
		interrupted: ppcInterrupted,
		tls:         &tlsABI{pointer: tpRegister(2), above: true, bias: 0x7000, glibcDTV: -1, muslDTV: -1, muslEntry: 0x8000},
		longDouble:  values.PairFormat,
		maxAlign:    16,
	}
}}

// Layout of a signal frame: a caller's part of 128 bytes, struct ucontext with the
// address of the general registers, these registers, the floating-point registers, and
// the address of the vector registers (arch/powerpc/include/uapi/asm/sigcontext.h of
// Linux).
const (
	ppc64SigRegs = 128 + 224
	ppc64SigGPRs = 128 + 232
	ppc64SigFPRs = 128 + 616
	ppc64SigVMX  = 128 + 880
)

func ppc64Interrupted(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool) {
	sp := tramp.SP()
	if r.kernelWord(sp+ppc64SigRegs, 8) != sp+ppc64SigGPRs {
		sp += 16 // qemu's signal frames are higher by this much
		if r.kernelWord(sp+ppc64SigRegs, 8) != sp+ppc64SigGPRs {
			return nil, false
		}
	}
	switch n {
	case noteFP:
		return r.readBlock(sp+ppc64SigFPRs, 33*8)
	case notePPCVMX:
		return r.readBlock(r.kernelWord(sp+ppc64SigVMX, 8), 32*16)
	}
	return nil, false
}

// Layout of the signal frames of 32 bits. For a handler that takes a siginfo: a
// caller's part of 80 bytes, siginfo, and struct ucontext with the address of the
// registers. For other handlers: a caller's part of 64 bytes, and struct sigcontext
// with that address (arch/powerpc/kernel/signal_32.c of Linux). The floating-point
// registers follow 48 words.
const (
	ppcSigRegs   = 80 + 128 + 48
	ppcSigGPRs   = 80 + 128 + 192
	ppcPlainRegs = 64 + 28
	ppcPlainGPRs = 64 + 32
	ppcSigFPRs   = 48 * 4 // from the general registers
)

func ppcInterrupted(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool) {
	sp := tramp.SP()
	switch {
	case n != noteFP:
	case r.kernelWord(sp+ppcSigRegs, 4) == r.arch.Truncate(sp+ppcSigGPRs):
		return r.readBlock(sp+ppcSigGPRs+ppcSigFPRs, 33*8)
	case r.kernelWord(sp+ppcPlainRegs, 4) == r.arch.Truncate(sp+ppcPlainGPRs):
		return r.readBlock(sp+ppcPlainGPRs+ppcSigFPRs, 33*8)
	}
	return nil, false
}
