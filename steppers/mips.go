package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The MIPS architectures of Linux. There is no convention for frame pointers.
var (
	mips      = lazy.Value[*machine]{Make: func() *machine { return mipsMachine(arch.MIPS, o32) }}
	mipsel    = lazy.Value[*machine]{Make: func() *machine { return mipsMachine(arch.MIPSEL, o32) }}
	mipsn32   = lazy.Value[*machine]{Make: func() *machine { return mipsMachine(arch.MIPSN32, n32) }}
	mipsn32el = lazy.Value[*machine]{Make: func() *machine { return mipsMachine(arch.MIPSN32EL, n32) }}
	mips64    = lazy.Value[*machine]{Make: func() *machine { return mipsMachine(arch.MIPS64, n64) }}
	mips64el  = lazy.Value[*machine]{Make: func() *machine { return mipsMachine(arch.MIPS64EL, n64) }}
)

// A mipsABI is what the kernel does differently for programs of an ABI: the
// numbers of system calls (arch/mips/include/uapi/asm/unistd.h), and where in
// struct rt_sigframe (arch/mips/kernel/signal.c, signal32.c and signal_n32.c)
// struct sigcontext begins.
type mipsABI struct {
	exit, sigreturn, rtSigreturn uint32 // 0 for none
	context                      uint64
	exitPrefix                   []uint32 // what clone does before it ends its thread
}

var (
	o32 = mipsABI{exit: 4001, sigreturn: 4119, rtSigreturn: 4193, context: 176, exitPrefix: []uint32{0x8fbc001c, 0x00402025}} // lw gp, 28(sp); move a0, v0
	n32 = mipsABI{exit: 6058, rtSigreturn: 6211, context: 176, exitPrefix: []uint32{0x00402025}}
	n64 = mipsABI{exit: 5058, rtSigreturn: 5211, context: 192, exitPrefix: []uint32{0x00402025}}
)

const (
	mipsLiV0    = 0x24020000 // addiu v0, zero, imm
	mipsSyscall = 0x0000000c
	// mipsOldContext is where struct sigcontext begins in struct sigframe.
	mipsOldContext = 24
)

func mipsMachine(a *arch.Arch, abi mipsABI) *machine {
	m := &machine{
		arch:      a,
		sigFrame:  mipsSigFrame(a, abi.context, 24),
		restorers: []restorer{mipsRestorer(a, abi.rtSigreturn, nil)},
		threadExits: []codePattern{
			codeWords(a, append(abi.exitPrefix[:len(abi.exitPrefix):len(abi.exitPrefix)], mipsLiV0|abi.exit, mipsSyscall)...),
		},
		// syscall; bnez a3: glibc's clone.
		threadBirths: []codePattern{codeWords(a, mipsSyscall, 0x14e00006), codeWords(a, mipsSyscall, 0x14e00007)},
		birthPC:      4,
		birthResult:  2, // v0
		entryCode:    0x60,
		loaderCode:   0x80,
	}
	if abi.sigreturn != 0 {
		m.restorers = append(m.restorers, mipsRestorer(a, abi.sigreturn, mipsSigFrame(a, mipsOldContext, noSigno)))
	}
	return m
}

// mipsRestorer is li v0, number; syscall: the vDSO's, and the one that older
// kernels put on the stack.
func mipsRestorer(a *arch.Arch, number uint32, frame *sigFrame) restorer {
	return restorer{code: codeWords(a, mipsLiV0|number, mipsSyscall), stops: []stop{{0, 0}, {4, 0}}, frame: frame}
}

// mipsSigFrame is the signal frame whose struct sigcontext begins at context
// (arch/mips/include/uapi/asm/sigcontext.h). That of o32 has registers of eight
// bytes all the same.
func mipsSigFrame(a *arch.Arch, context, signo uint64) *sigFrame {
	f := &sigFrame{signo: signo}
	if signo != noSigno {
		f.info, f.hasInfo = signo, true
	}
	size, low := uint8(a.RegSize), uint64(0)
	pc, regs := context+576, context
	if a.RegSize == 4 {
		pc, regs = context+8, context+16
		if a.Big() {
			low = 4
		}
	} else {
		for r := arch.MIPSF20; r <= arch.MIPSF31; r++ {
			f.saved = append(f.saved, savedReg{r, context + 256 + 8*uint64(r-arch.MIPSF20+20), 8})
		}
	}
	for r := arch.MIPSR0 + 1; r <= arch.MIPSRA; r++ {
		f.saved = append(f.saved, savedReg{r, regs + 8*uint64(r) + low, size})
	}
	f.saved = append(f.saved, savedReg{arch.MIPSPC, pc + low, size})
	return f
}
