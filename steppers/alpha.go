package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// alpha is Alpha Linux.
//
// The signal frames are struct sigframe and struct rt_sigframe of the kernel's
// arch/alpha/kernel/signal.c. The first begins with struct sigcontext
// (arch/alpha/include/uapi/asm/sigcontext.h: a flag, the mask, pc, ps, then the 32
// registers); in the second siginfo, 128 bytes, and 48 bytes of struct ucontext
// come before.
var alpha = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch: arch.Alpha,
		restorers: []restorer{
			// mov sp,a0; lda v0,351; callsys: glibc, the kernel on the stack.
			{code: codePattern{0x10, 0x04, 0xfe, 0x47, 0x5f, 0x01, 0x1f, 0x20, 0x83, 0, 0, 0}, stops: []stop{{at: 0}, {at: 4}, {at: 8}}},
			// mov sp,a0; lda v0,103; callsys.
			{code: codePattern{0x10, 0x04, 0xfe, 0x47, 0x67, 0, 0x1f, 0x20, 0x83, 0, 0, 0}, stops: []stop{{at: 0}, {at: 4}, {at: 8}}, frame: alphaSigFrame()},
		},
		sigFrame:   alphaRTSigFrame(),
		sigKept:    []arch.Reg{arch.AlphaUnique},
		entryCode:  0x3c,
		loaderCode: 0x44, // _start and _dl_start_user
	}
}}

// alphaSigContext lists what struct sigcontext at SP+at saves.
func alphaSigContext(at uint64) []savedReg {
	return append(savedWords(at+32, 8, arch.AlphaR0, arch.AlphaSP), savedReg{arch.AlphaPC, at + 16, 8})
}

func alphaSigFrame() *sigFrame {
	return &sigFrame{saved: alphaSigContext(0), signo: noSigno}
}

func alphaRTSigFrame() *sigFrame {
	return &sigFrame{saved: alphaSigContext(128 + 48), signo: 0, hasInfo: true}
}
