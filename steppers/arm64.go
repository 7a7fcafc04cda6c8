package steppers

import "github.com/corewalk/corewalk/unwind/arch"

// arm64 is aarch64 Linux. A frame record (AAPCS64, 6.4.6) may lie anywhere in its frame.
var arm64 = machine{
	arch:  arch.ARM64,
	chain: &frameChain{ra: 8, fp: 0, cfa: 16, low: true},
	inst:  &arm64InstFrame,
}

// arm64InstFrame is what Dyninst's instrumentation saves: 20 bytes of special
// registers, 32 floating point registers of 16 bytes, then the general ones, down
// from a multiple of 8. The frame pointer is the stack pointer there.
var arm64InstFrame = instFrame{regs: arm64InstRegs(), size: 784, fpIsSP: true}

func arm64InstRegs() []savedReg {
	var regs []savedReg
	for r := arch.ARM64X0; r <= arch.ARM64LR; r++ {
		regs = append(regs, savedReg{r, 528 + 8*uint64(r), 8})
	}
	return regs
}
