package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// sparc64 is sparc64 Linux.
//
// The signal frame is struct rt_signal_frame of the kernel's
// arch/sparc/kernel/signal_64.c: a stack frame of 192 bytes, which begins with the
// window of what was interrupted (eight local registers, eight in registers),
// siginfo in 128 bytes, and struct pt_regs: the global and out registers, tstate,
// pc, npc, y. SP stands 2047 below all of that.
var sparc64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch:    arch.SPARC64,
		windows: true,
		restorers: []restorer{
			// mov 101,%g1; ta 0x6d: glibc's and musl's.
			{code: codePattern{0x82, 0x10, 0x20, 0x65, 0x91, 0xd0, 0x20, 0x6d}, stops: []stop{{at: 0}, {at: 4}}},
		},
		sigFrame: &sigFrame{
			saved: append(append(savedWords(2047, 8, arch.SPARCL0, arch.SPARCI7),
				savedWords(2047+320+8, 8, arch.SPARCG0+1, arch.SPARCO7)...),
				savedReg{arch.SPARCTSt, 2047 + 448, 8}, savedReg{arch.SPARCPC, 2047 + 456, 8}, savedReg{arch.SPARCNPC, 2047 + 464, 8},
				savedReg{arch.SPARCY, 2047 + 472, 4}),
			signo: 2047 + 192, info: 2047 + 192, hasInfo: true,
		},
		threadExits: []codePattern{
			// mov 1,%g1; ta 0x6d: glibc's clone.
			{0x82, 0x10, 0x20, 1, 0x91, 0xd0, 0x20, 0x6d},
		},
		entryCode:  0x2c,
		loaderCode: 0x60, // _start and _dl_start_user
	}
}}
