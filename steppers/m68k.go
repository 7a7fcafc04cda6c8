package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// m68k is m68k Linux. The kernel writes the code that returns from handlers into
// the signal frame.
var m68k = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch:  arch.M68K,
		chain: &frameChain{ra: 4, fp: 0, cfa: 8}, // link.w %fp
		restorers: []restorer{
			// moveq #82,%d0; not.b %d0; trap #0: system call 173.
			{code: codePattern{0x70, 0x52, 0x46, 0, 0x4e, 0x40}, stops: []stop{{at: 0}, {at: 2}, {at: 4}}},
			// move.l #173,%d0; trap #0: qemu-user's.
			{code: codePattern{0x20, 0x3c, 0, 0, 0, 0xad, 0x4e, 0x40}, stops: []stop{{at: 0}, {at: 6}}},
			// moveq #119,%d0; trap #0.
			{code: codePattern{0x70, 0x77, 0x4e, 0x40}, stops: []stop{{at: 0}, {at: 2}}, frame: &m68kSigFrame},
		},
		sigFrame: m68kRTSigFrame(),
		threadExits: []codePattern{
			// move.l %d0,%d1; moveq #1,%d0; trap #0: glibc's clone.
			{0x22, 0, 0x70, 1, 0x4e, 0x40},
		},
		threadBirths: []codePattern{
			// trap #0; exg %d2,%a1; move.l (%sp)+,%d4: glibc's clone.
			{0x4e, 0x40, 0xc5, 0x89, 0x28, 0x1f},
		},
		birthPC:     2,
		birthResult: arch.M68KD0,
		entryCode:   0x2a,
		loaderCode:  0x38, // _start and _dl_start_user
	}
}}

// The signal frames of m68k: struct sigframe and struct rt_sigframe of the kernel's
// arch/m68k/kernel/signal.c. When the code that the handler returns to runs, its
// rts has popped pretcode, and SP is at the handler's first argument, the
// signal's number; the third is the address of what was saved: of struct
// sigcontext (arch/m68k/include/uapi/asm/sigcontext.h: the signal mask, usp, d0,
// d1, a0, a1, sr, pc), or of struct ucontext, whose registers begin at byte 24.
var (
	m68kSigFrame = sigFrame{
		via: 8,
		saved: []savedReg{
			{arch.M68KSP, 4, 4}, {arch.M68KD0, 8, 4}, {arch.M68KD0 + 1, 12, 4}, {arch.M68KA0, 16, 4}, {arch.M68KA0 + 1, 20, 4},
			{arch.M68KSR, 24, 2}, {arch.M68KPC, 26, 4},
		},
		// The other registers are the handler's, which has put them back.
		kept: []arch.Reg{2, 3, 4, 5, 6, 7, 10, 11, 12, 13, arch.M68KFP},
	}
)

func m68kRTSigFrame() *sigFrame {
	return &sigFrame{via: 8, saved: append(savedWords(24, 4, arch.M68KD0, arch.M68KPC), savedReg{arch.M68KSR, 24 + 17*4, 4})}
}
