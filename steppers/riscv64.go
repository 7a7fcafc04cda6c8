package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// riscv64 is riscv64 Linux.
//
// The signal frame is struct rt_sigframe of the kernel's
// arch/riscv/kernel/signal.c: struct siginfo, then struct ucontext, whose
// uc_mcontext begins at byte 176 with the registers as ptrace has them.
var riscv64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch:  arch.RISCV64,
		chain: &frameChain{ra: -8, fp: -16, cfa: 0},
		restorers: []restorer{
			// li a7, 139; ecall: the vDSO's.
			{code: codePattern{0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0}, stops: []stop{{0, 0}, {4, 0}}},
		},
		sigFrame: &sigFrame{saved: riscvSaved(), signo: 0, hasInfo: true},
		threadExits: []codePattern{
			// li a7, 93; ecall: clone of glibc and musl.
			{0x93, 0x08, 0xd0, 0x05, 0x73, 0, 0, 0},
		},
		threadBirths: []codePattern{
			// ecall; bltz a0: glibc's clone.
			{0x73, 0, 0, 0, 0x63, 0x45, 0x05, 0},
		},
		birthPC:     4,
		birthResult: arch.RISCVA0,
		entryCode:   0x30,
		loaderCode:  0x40,
	}
}}

// riscvContext is where the registers begin in the signal frame: pc, then x1.
// Behind the 32 words of them are the floating-point registers.
const riscvContext = 128 + 176

func riscvSaved() []savedReg {
	saved := []savedReg{{arch.RISCVPC, riscvContext, 8}}
	for r := arch.RISCVRA; r < 32; r++ {
		saved = append(saved, savedReg{r, riscvContext + 8*uint64(r), 8})
	}
	for i := arch.Reg(0); i < 12; i++ {
		n := uint64(i) + 8
		if i >= 2 {
			n = uint64(i) + 16
		}
		saved = append(saved, savedReg{arch.RISCVFS0 + i, riscvContext + 256 + 8*n, 8})
	}
	return saved
}
