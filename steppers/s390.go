package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The S/390 architectures of Linux. There is no frame pointer by convention, and the
// back chain at SP is optional (-mbackchain). But a function that calls others saves
// r14 and r15 in the area above SP that its caller reserved for it.
var (
	s390x = lazy.Value[*machine]{Make: func() *machine { return s390Machine(arch.S390X, 336, 168, 176) }}
	s390  = lazy.Value[*machine]{Make: func() *machine { return s390Machine(arch.S390, 256, 100, 112) }}
)

// s390Machine describes one of the two. regs and info are the offsets of the registers
// (_sigregs) and of siginfo in struct rt_sigframe of the kernel's
// arch/s390/kernel/signal.c, and old the offset of the registers in struct sigframe, in
// bytes from SP.
func s390Machine(a *arch.Arch, regs, info, old uint64) *machine {
	saved := s390Saved(a, old)
	end := saved[len(saved)-1]
	return &machine{
		arch:  a,
		chain: &frameChain{ra: 14 * int64(a.RegSize), save: 15 * int64(a.RegSize)},
		restorers: []restorer{
			{code: codePattern{0x0a, 173}, stops: []stop{{0, 0}}}, // svc 173: rt_sigreturn
			{code: codePattern{0x0a, 119}, stops: []stop{{0, 0}}, // svc 119: sigreturn
				frame: &sigFrame{saved: saved, signo: end.addr + uint64(end.size)}},
		},
		sigFrame: &sigFrame{saved: s390Saved(a, regs), signo: info, info: info, hasInfo: true},
		// svc 1: glibc's clone.
		threadExits: []codePattern{{0x0a, 1}},
		// svc 120; ltgr %r2,%r2 or ltr %r2,%r2.
		threadBirths: []codePattern{{0x0a, 120, 0xb9, 0x02, 0x00, 0x22}, {0x0a, 120, 0x12, 0x22}},
		birthPC:      2,
		birthResult:  arch.S390R0 + 2,
		entryCode:    0x50,
		loaderCode:   0x60,
	}
}

// s390Saved lists the registers of _sigregs at off: the program status word, 16 general
// and 16 access registers, then the control word of the floating-point registers, and
// these.
func s390Saved(a *arch.Arch, off uint64) []savedReg {
	word := uint64(a.WordSize)
	regs := []savedReg{{arch.S390PSWM, off, uint8(word)}, {arch.S390PC, off + word, uint8(word)}}
	off += 2 * word
	for r := arch.S390R0; r <= arch.S390SP; r++ {
		regs = append(regs, savedReg{r, off + word*uint64(r-arch.S390R0), uint8(word)})
	}
	off += 16 * word
	regs = append(regs, savedReg{arch.S390A0, off, 4}, savedReg{arch.S390A1, off + 4, 4})
	off += 16*4 + 8
	for r := arch.S390F0; r <= arch.S390F15; r++ {
		regs = append(regs, savedReg{r, off + 8*uint64(r-arch.S390F0), 8})
	}
	return regs
}
