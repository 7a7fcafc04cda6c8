package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// loong64 is loongarch64 Linux.
//
// The signal frame is struct rt_sigframe of the kernel's
// arch/loongarch/kernel/signal.c: struct siginfo, then struct ucontext, whose
// uc_mcontext begins at byte 176 with the pc and the registers.
var loong64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch:  arch.Loong64,
		chain: &frameChain{ra: -8, fp: -16, cfa: 0},
		restorers: []restorer{
			// ori a7, zero, 139; syscall 0: the vDSO's; addi.w too.
			{code: codePattern{0x0b, 0x2c, 0x82, 0x03, 0, 0, 0x2b, 0}, stops: []stop{{0, 0}, {4, 0}}},
			{code: codePattern{0x0b, 0x2c, 0x82, 0x02, 0, 0, 0x2b, 0}, stops: []stop{{0, 0}, {4, 0}}},
		},
		sigFrame: &sigFrame{saved: loongSaved(), signo: 0, hasInfo: true},
		threadExits: []codePattern{
			// ori a7, zero, 93 or addi.w; syscall 0: glibc's and musl's clone.
			{0x0b, 0x74, 0x81, 0x03, 0, 0, 0x2b, 0},
			{0x0b, 0x74, 0x81, 0x02, 0, 0, 0x2b, 0},
		},
		entryCode:  0x40,
		loaderCode: 0x60,
	}
}}

// loongContext is where the pc is in the signal frame; the registers follow it.
const loongContext = 128 + 176

func loongSaved() []savedReg {
	saved := []savedReg{{arch.LoongPC, loongContext, 8}}
	for r := arch.LoongRA; r < 32; r++ {
		saved = append(saved, savedReg{r, loongContext + 8 + 8*uint64(r), 8})
	}
	return saved
}
