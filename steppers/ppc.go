package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// The PowerPC architectures of Linux. A function saves its return address in its
// caller's frame, to which the back chain leads.
var (
	ppc64le = machine{
		arch:  arch.PPC64LE,
		chain: &frameChain{ra: 16, back: true},
		inst:  &ppc64InstFrame,
	}
	ppc64 = machine{
		arch:  arch.PPC64,
		chain: &frameChain{ra: 16, back: true},
		inst:  &ppc64InstFrame,
	}
	ppc = machine{
		arch:  arch.PPC,
		chain: &frameChain{ra: 4, back: true},
	}
)

// ppc64InstFrame is what is known of the frame of Dyninst's instrumentation: above
// 48 bytes of linkage, 128 of arguments and 256 of registers lies the link register.
var ppc64InstFrame = instFrame{regs: []savedReg{{arch.PPCLR, 432, 8}}, back: true}
