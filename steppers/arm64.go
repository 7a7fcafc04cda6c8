package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// arm64 is aarch64 Linux. A frame record (AAPCS64, 6.4.6) may lie anywhere in its frame.
//
// The signal frame is struct rt_sigframe of the kernel's
// arch/arm64/kernel/signal.c: struct siginfo, then struct ucontext, whose
// uc_mcontext (struct sigcontext, arch/arm64/include/uapi/asm/sigcontext.h) is
// aligned to 16 bytes.
var arm64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch:  arch.ARM64,
		chain: &frameChain{ra: 8, fp: 0, cfa: 16, low: true, ends: true},
		restorers: []restorer{
			// mov x8, 139; svc 0: the vDSO's, musl's, Go's.
			{code: codeWords(arch.ARM64, 0xd2801168, 0xd4000001), stops: []stop{{0, 0}, {4, 0}}},
		},
		sigFrame: &sigFrame{saved: arm64Saved(), signo: 0, asked: true, hasInfo: true, blocked: 168, trap: trapARM64, more: arm64SavedVectors},
		threadExits: []codePattern{
			// mov x8, 93; svc 0: clone of glibc and musl.
			codeWords(arch.ARM64, 0xd2800ba8, 0xd4000001),
			// mov w0, 111; mov x8, 93; svc 0: Go's runtime.clone.
			codeWords(arch.ARM64, 0x52800de0, 0xd2800ba8, 0xd4000001),
		},
		// ret, then mov x0, 0; bl _exit: make_fcontext's. No call returns behind a ret.
		fiberEnds: []codePattern{codeWords(arch.ARM64, 0xd65f03c0, 0xd2800000)},
		fiberBack: 4,
		fiberCall: 8,
		threadBirths: []codePattern{
			// svc 0; cmp x0, 0; b.eq: glibc's clone.
			codeWords(arch.ARM64, 0xd4000001, 0xf100001f),
			// svc 0; cmp x0, xzr: Go's runtime.clone.
			codeWords(arch.ARM64, 0xd4000001, 0xeb1f001f),
			// svc 0; cbz x0, 8; ret: musl's __clone.
			codeWords(arch.ARM64, 0xd4000001, 0xb4000040, 0xd65f03c0),
		},
		birthPC:     4,
		birthResult: arch.ARM64X0,
		entryCode:   0x40,
		loaderCode:  0x50,
		// mov x0, x0: what follows, a call of runtime.goexit1, is at no fixed distance.
		goExit:   codeWords(arch.ARM64, 0xaa0003e0),
		goExitPC: 4,
		goPanic:  16,
		inst:     arm64InstFrame(),
	}
}}

const (
	// arm64Context is where struct sigcontext begins in the signal frame.
	arm64Context = 128 + 176
	// arm64Records is where the records of other registers begin: x0 to x30, sp,
	// pc and pstate are before them, and the fault's address.
	arm64Records     = arm64Context + 288
	arm64RecordsSize = 4096

	arm64FPSIMDMagic = 0x46508001
	arm64ESRMagic    = 0x45535201
	arm64ExtraMagic  = 0x45585401
	// arm64MaxRecords is more than there are kinds of records.
	arm64MaxRecords = 32
)

func arm64Saved() []savedReg {
	var saved []savedReg
	for r := arch.ARM64X0; r <= arch.ARM64CPSR; r++ {
		saved = append(saved, savedReg{r, arm64Context + 8 + 8*uint64(r), 8})
	}
	return saved
}

// arm64SavedVectors restores d8 to d15 from struct fpsimd_context. (SVE's record has no
// others: the low halves are in both.)
func arm64SavedVectors(in, out *unwind.Frame, base arch.Address) {
	mem := in.Walker().ProcessState()
	arm64SavedRecords(mem, base, func(magic uint32, at arch.Address) bool {
		if magic != arm64FPSIMDMagic {
			return true
		}
		arm64ReadVectors(mem, out, at+16) // behind the head, fpsr and fpcr
		return false
	})
}

// arm64SavedRecords calls yield with the magic number and the address of each record
// behind the general registers, and of the further ones that struct extra_context points
// at, until it returns false.
func arm64SavedRecords(mem arch.Memory, base arch.Address, yield func(magic uint32, at arch.Address) bool) {
	at, end := base+arm64Records, base+arm64Records+arm64RecordsSize
	for range arm64MaxRecords {
		head, err := mem.ReadWord(at)
		if err != nil {
			return
		}
		magic, size := uint32(head), head>>32
		if magic == arm64ExtraMagic {
			data, err := mem.ReadWord(at + 8)
			if err != nil {
				return
			}
			extra, err := arch.ARM64.ReadUint(mem, at+16, 4)
			if err != nil {
				return
			}
			at, end = data, data+extra // only the end follows
			continue
		}
		if !yield(magic, at) || size < 8 || size%16 != 0 || at+size >= end {
			return
		}
		at += size
	}
}

func arm64ReadVectors(mem arch.Memory, out *unwind.Frame, at arch.Address) {
	for r := arch.ARM64D8; r <= arch.ARM64D15; r++ {
		saved := at + 16*uint64(8+r-arch.ARM64D8)
		if v, err := mem.ReadWord(saved); err == nil {
			out.SetReg(r, v, unwind.AtAddress(saved))
		}
	}
}

// arm64InstFrame is what Dyninst's instrumentation saves: 20 bytes of special
// registers, 32 floating point registers of 16 bytes, then the general ones, down
// from a multiple of 8. The frame pointer is the stack pointer there.
func arm64InstFrame() *instFrame {
	return &instFrame{regs: arm64InstRegs(), size: 784, fpIsSP: true}
}

func arm64InstRegs() []savedReg {
	var regs []savedReg
	for r := arch.ARM64X0; r <= arch.ARM64LR; r++ {
		regs = append(regs, savedReg{r, 528 + 8*uint64(r), 8})
	}
	return regs
}
