package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// arm is 32-bit ARM Linux. There is no convention for frame pointers that all
// compilers follow.
//
// The signal frames are struct sigframe and struct rt_sigframe of the kernel's
// arch/arm/kernel/signal.h: a struct ucontext, behind a struct siginfo in the
// latter. The kernel has A32 and T32 code that handlers return to in a page of its
// own; it gives every form of the number of the system call.
var arm = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch: arch.ARM,
		restorers: []restorer{
			{code: codeWords(arch.ARM, 0xe3a070ad, 0xef9000ad), stops: []stop{{0, 0}, {4, 0}}}, // mov r7, 173; svc 0x9000ad
			{code: codeWords(arch.ARM, 0xe3a070ad, 0xef000000), stops: []stop{{0, 0}, {4, 0}}}, // mov r7, 173; svc 0: musl, Go
			{code: codePattern{0xad, 0x27, 0x00, 0xdf}, stops: []stop{{0, 0}, {2, 0}}},
			{code: codePattern{0x4f, 0xf0, 0xad, 0x07, 0x00, 0xdf}, stops: []stop{{0, 0}, {4, 0}}}, // mov.w r7, 173; svc 0: glibc
			{code: codeWords(arch.ARM, 0xe3a07077, 0xef900077), stops: []stop{{0, 0}, {4, 0}}, frame: armOldFrame()},
			{code: codeWords(arch.ARM, 0xe3a07077, 0xef000000), stops: []stop{{0, 0}, {4, 0}}, frame: armOldFrame()},
			{code: codePattern{0x77, 0x27, 0x00, 0xdf}, stops: []stop{{0, 0}, {2, 0}}, frame: armOldFrame()},
			{code: codePattern{0x4f, 0xf0, 0x77, 0x07, 0x00, 0xdf}, stops: []stop{{0, 0}, {4, 0}}, frame: armOldFrame()},
		},
		sigFrame: &sigFrame{saved: armSaved(armSiginfo), signo: 0, hasInfo: true, trap: trapARM(armSiginfo + armTrap), more: armSavedVectors},
		threadExits: []codePattern{
			{0x4f, 0xf0, 0x01, 0x07, 0x00, 0xdf},                    // mov.w r7, 1; svc 0: glibc's clone
			codeWords(arch.ARM, 0xe3a07001, 0xef000000),             // mov r7, 1; svc 0: musl's, and glibc's in A32
			codeWords(arch.ARM, 0xe24dd010, 0xe3a00000, 0xe58d0004), // sub sp, 16; mov r0, 0; str r0, [sp, 4]: Go's runtime.clone
		},
		// Each begins with the last two bytes of svc.
		threadBirths: []codePattern{
			{0x00, 0xdf, 0x00, 0x28, 0x03, 0xd0},                         // cmp r0, 0; beq: glibc's clone
			{0x00, 0xef, 0x00, 0x00, 0x10, 0xe1, 0x01, 0x00, 0x00, 0x0a}, // tst r0, r0; beq: musl's __clone
			{0x00, 0xef, 0x00, 0x00, 0x50, 0xe3, 0x01, 0x00, 0x00, 0x0a}, // cmp r0, 0; beq: Go's runtime.clone, and glibc's in A32
		},
		birthPC:     2,
		birthResult: arch.ARMR0,
		entryCode:   0x38,
		loaderCode:  0x60,
		goExit:      codeWords(arch.ARM, 0xe1a00000), // mov r0, r0, before a call of runtime.goexit1
		goExitPC:    4,
		goPanic:     4,
	}
}}

const (
	armSiginfo = 128
	// armContext is where struct sigcontext has r0, from the struct ucontext on: the
	// others follow, then cpsr.
	armContext = 20 + 12
	// armTrap is where struct sigcontext begins, with the exception, and armBlocked what
	// follows it: the blocked signals.
	armTrap    = 20
	armBlocked = armTrap + 84
	// armRecords is where the records of the coprocessors' registers begin (struct
	// aux_sigframe), the first 8 of their bytes being a magic number and the size.
	armRecords     = 232
	armRecordsSize = 512
	armVFPMagic    = 0x56465001
)

func armOldFrame() *sigFrame {
	return &sigFrame{saved: armSaved(0), signo: noSigno, blocked: armBlocked, trap: trapARM(armTrap), more: armOldSavedVectors}
}

func armSaved(context uint64) []savedReg {
	var saved []savedReg
	for r := arch.ARMR0; r <= arch.ARMCPSR; r++ {
		saved = append(saved, savedReg{r, context + armContext + 4*uint64(r), 4})
	}
	return saved
}

func armSavedVectors(in, out *unwind.Frame, base arch.Address) {
	armOldSavedVectors(in, out, base+armSiginfo)
}

// armOldSavedVectors restores d8 to d15 from the record of the floating-point
// unit, which others may precede.
func armOldSavedVectors(in, out *unwind.Frame, base arch.Address) {
	a, mem := arch.ARM, in.Walker().ProcessState()
	for at, end := base+armRecords, base+armRecords+armRecordsSize; at < end; {
		magic, err := mem.ReadWord(at)
		size, err2 := mem.ReadWord(at + 4)
		if err != nil || err2 != nil || size < 8 || size > armRecordsSize {
			return
		}
		if magic != armVFPMagic {
			at += size
			continue
		}
		for r := arch.ARMD8; r <= arch.ARMD15; r++ {
			saved := at + 8 + 8*uint64(8+r-arch.ARMD8)
			if v, err := a.ReadUint(mem, saved, 8); err == nil {
				out.SetReg(r, v, unwind.AtAddress(saved))
			}
		}
		return
	}
}
