package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// The PowerPC architectures of Linux. A function saves its return address in its
// caller's frame, to which the back chain leads.
var (
	ppc64le = machine{
		arch:  arch.PPC64LE,
		chain: &frameChain{ra: 16, back: true},
	}
	ppc64 = machine{
		arch:  arch.PPC64,
		chain: &frameChain{ra: 16, back: true},
	}
	ppc = machine{
		arch:  arch.PPC,
		chain: &frameChain{ra: 4, back: true},
	}
)
