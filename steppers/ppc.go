package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The PowerPC architectures of Linux. A function saves its return address in its
// caller's frame, to which the back chain leads; the chain ends with 0.
var (
	ppc64le = lazy.Value[*machine]{Make: func() *machine {
		return &machine{
			arch:         arch.PPC64LE,
			chain:        &frameChain{ra: 16, back: true},
			restorers:    ppcRestorers64(arch.PPC64LE),
			sigFrame:     ppcSigFrame64(arch.PPC64LE, 128),
			threadExits:  []codePattern{codeWords(arch.PPC64LE, ppcExitV2...)},
			threadBirths: []codePattern{codeWords(arch.PPC64LE, ppcBirth64...)},
			birthPC:      4,
			birthResult:  arch.PPCR0 + 3,
			entryCode:    0x38,
			loaderCode:   0x40, // _start and _dl_start_user
			inst:         &ppc64InstFrame,
		}
	}}
	ppc64 = lazy.Value[*machine]{Make: func() *machine {
		return &machine{
			arch:         arch.PPC64,
			chain:        &frameChain{ra: 16, back: true},
			restorers:    ppcRestorers64(arch.PPC64),
			sigFrame:     ppcSigFrame64(arch.PPC64, 128),
			threadExits:  []codePattern{codeWords(arch.PPC64, ppcExitV1...), codeWords(arch.PPC64, ppcExitV2...)},
			threadBirths: []codePattern{codeWords(arch.PPC64, ppcBirth64...)},
			birthPC:      4,
			birthResult:  arch.PPCR0 + 3,
			entryCode:    0x38,
			loaderCode:   0x40,
			descriptors:  true,
			inst:         &ppc64InstFrame,
		}
	}}
	ppc = lazy.Value[*machine]{Make: func() *machine {
		return &machine{
			arch:  arch.PPC,
			chain: &frameChain{ra: 4, back: true},
			restorers: []restorer{
				// li r0,172; sc: rt_sigreturn.
				{code: codeWords(arch.PPC, 0x380000ac, 0x44000002), stops: []stop{{0, 0}, {4, 0}}},
				// li r0,119; sc: sigreturn.
				{code: codeWords(arch.PPC, 0x38000077, 0x44000002), stops: []stop{{0, 0}, {4, 0}}, frame: ppcOldSigFrame()},
			},
			sigFrame:     ppcSigFrame(),
			threadExits:  []codePattern{codeWords(arch.PPC, ppcExit...)},
			threadBirths: []codePattern{codeWords(arch.PPC, ppcBirth...)},
			birthPC:      4,
			birthResult:  arch.PPCR0 + 3,
			entryCode:    0x3c,
			loaderCode:   0x40,
		}
	}}
)

// The trampoline of 64 bits, in the vDSO or on the stack: addi r1,r1,128;
// li r0,172; sc. 128 is __SIGNAL_FRAMESIZE of the kernel's
// arch/powerpc/include/asm/ptrace.h: what lies below the signal frame is a frame
// for the handler's use.
var (
	ppcSigCode64  = []uint32{0x38210080, 0x380000ac, 0x44000002}
	ppcSigStops64 = []stop{{0, 0}, {4, 128}, {8, 128}}
)

// ppcRestorers64 are those of 64 bits. qemu has one of its own, li r0,172; sc, and
// puts 16 bytes more below the signal frame, as on 32 bits.
func ppcRestorers64(a *arch.Arch) []restorer {
	return []restorer{
		{code: codeWords(a, ppcSigCode64...), stops: ppcSigStops64},
		{code: codeWords(a, ppcSigCode64[1:]...), stops: []stop{{0, 0}, {4, 0}}, frame: ppcSigFrame64(a, 144)},
	}
}

// What glibc's clone does when the thread's function returns: the table of
// contents is restored, then li r0,1; sc. On 32 bits there is none.
var (
	ppcExitV2 = []uint32{0xe8410018, 0x38000001, 0x44000002}
	ppcExitV1 = []uint32{0xe8410028, 0x38000001, 0x44000002}
	ppcExit   = []uint32{0x38000001, 0x44000002}
	// sc; cmpdi cr1,r3,0 (cmpwi on 32 bits); crandc cr1.eq,cr1.eq,so.
	ppcBirth64 = []uint32{0x44000002, 0x2ca30000, 0x4c861902}
	ppcBirth   = []uint32{0x44000002, 0x2c830000, 0x4c861902}
)

// ppcSigFrame64 is struct rt_sigframe of the kernel's
// arch/powerpc/kernel/signal_64.c, above the bytes below it: struct ucontext, whose
// struct sigcontext at byte 168 has the signal's number at 32, the general
// registers at 64 and the floating-point registers at 448.
func ppcSigFrame64(a *arch.Arch, below uint64) *sigFrame {
	context := below + 168
	return &sigFrame{
		saved: ppcSaved(context+64, 8, context+448),
		signo: context + 32,
		trap:  trapPPC(a, context+64, 8),
	}
}

// ppcSigFrame is that of 32 bits, in signal_32.c, above 64 bytes and 16: siginfo
// of 128 bytes, then struct ucontext, whose struct mcontext begins at byte 192.
func ppcSigFrame() *sigFrame {
	return &sigFrame{
		saved: ppcSaved(80+128+192, 4, 80+128+192+192),
		signo: 80, info: 80, hasInfo: true,
		trap: trapPPC(arch.PPC, 80+128+192, 4),
	}
}

// ppcOldSigFrame is struct sigframe of the same file, for handlers without
// SA_SIGINFO: struct sigcontext of 32 bytes, then struct mcontext.
func ppcOldSigFrame() *sigFrame {
	return &sigFrame{
		saved: ppcSaved(64+32, 4, 64+32+192),
		signo: 64 + 16,
		trap:  trapPPC(arch.PPC, 64+32, 4),
	}
}

// ppcSaved lists the registers of a signal frame: general ones of size bytes from
// gregs on (struct pt_regs), floating-point ones from fregs on.
func ppcSaved(gregs uint64, size uint8, fregs uint64) []savedReg {
	regs := make([]savedReg, 0, 39+18)
	for r := arch.PPCR0; r <= arch.PPCCCR; r++ {
		regs = append(regs, savedReg{r, gregs + uint64(r-arch.PPCR0)*uint64(size), size})
	}
	for r := arch.PPCF14; r <= arch.PPCF31; r++ {
		regs = append(regs, savedReg{r, fregs + 8*uint64(14+r-arch.PPCF14), 8})
	}
	return regs
}

// ppc64InstFrame is what is known of the frame of Dyninst's instrumentation: above
// 48 bytes of linkage, 128 of arguments and 256 of registers lies the link register.
var ppc64InstFrame = instFrame{regs: []savedReg{{arch.PPCLR, 432, 8}}, back: true}
