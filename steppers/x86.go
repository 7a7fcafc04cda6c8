package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// x86 is i386 Linux.
var x86 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch:  arch.X86,
		chain: &frameChain{ra: 4, fp: 0, cfa: 8},
		restorers: []restorer{
			// mov $173,%eax; int $0x80.
			{code: codePattern{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}, stops: []stop{{at: 0}, {at: 5}}},
			// pop %eax; mov $119,%eax; int $0x80. What the pop takes is the signal's number.
			{
				code:  codePattern{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80},
				stops: []stop{{at: 0}, {1, 4}, {6, 4}},
				frame: x86SigFrame(),
			},
			freeBSDX86,
		},
		sigFrame: x86RTSigFrame(),
		sigKept:  []arch.Reg{arch.X86FSBase, arch.X86GSBase},
		threadExits: []codePattern{
			// mov %eax,%ebx; mov $1,%eax; call *%gs:0x10: glibc's clone and clone3.
			{0x89, 0xc3, 0xb8, 1, 0, 0, 0, 0x65, 0xff, 0x15, 0x10, 0, 0, 0},
			// The same with int $0x80, in a static program.
			{0x89, 0xc3, 0xb8, 1, 0, 0, 0, 0xcd, 0x80},
			// mov %eax,%ebx; xor %eax,%eax; inc %eax; int $0x80: musl's __clone.
			{0x89, 0xc3, 0x31, 0xc0, 0x40, 0xcd, 0x80},
		},
		threadBirths: []codePattern{
			// int $0x80; pop %edi; pop %esi; pop %ebx; test %eax,%eax; jl: glibc's clone.
			{0xcd, 0x80, 0x5f, 0x5e, 0x5b, 0x85, 0xc0, 0x0f, 0x8c},
			// int $0x80; test %eax,%eax; je; pop %esi; pop %ebx: its clone3.
			{0xcd, 0x80, 0x85, 0xc0, 0x74, 0x09, 0x5e, 0x5b},
			// int $0x80; test %eax,%eax; jnz; mov %ebp,%eax; xor %ebp,%ebp: musl's __clone.
			{0xcd, 0x80, 0x85, 0xc0, 0x75, 0x0e, 0x89, 0xe8, 0x31, 0xed},
		},
		birthPC:     2,
		birthResult: arch.EAX,
		entryCode:   0x30,
		loaderCode:  0x50, // _start and _dl_start_user
		// lea (%esp,%ebx,4),%esp; cmpl $0,(%esp): the end of glibc's makecontext.
		contextEnd: codePattern{0x8d, 0x24, 0x9c, 0x83, 0x3c, 0x24, 0},
		// push %ebp; jmp *%ebx, then call and pop %ebx: make_fcontext's.
		fiberEnds: []codePattern{{0x55, 0xff, 0xe3, 0xe8, 0, 0, 0, 0, 0x5b}},
		fiberBack: 3,
		// nop; call runtime.goexit1.
		goExit: codePattern{0x90, 0xe8},
		inst:   &x86InstFrame,
	}
}}

// The signal frames of i386: struct sigframe_ia32 and struct rt_sigframe_ia32 of
// the kernel's arch/x86/include/asm/sigframe.h. When the code that the handler
// returns to runs, its ret has popped pretcode, and SP is at the handler's first
// argument, the signal's number. Of a handler without SA_SIGINFO, struct
// sigcontext_32 (arch/x86/include/uapi/asm/sigcontext.h) is next; of one with it,
// two addresses, a siginfo of 128 bytes and 20 bytes of struct ucontext_ia32 come
// before.
func x86SigFrame() *sigFrame {
	return &sigFrame{saved: x86SigContext(4), signo: 0, trap: x86Trap(4)}
}

func x86RTSigFrame() *sigFrame {
	return &sigFrame{saved: x86SigContext(160), signo: 0, info: 12, hasInfo: true, trap: x86Trap(160)}
}

// x86Trap reads the exception in struct sigcontext_32 at SP+at.
func x86Trap(at uint64) func(arch.Memory, arch.Address) Trap {
	return trapX86(arch.X86, 4, at+48, at+52, at+84)
}

// x86SigContext lists what struct sigcontext_32 at SP+at saves.
func x86SigContext(at uint64) []savedReg {
	return []savedReg{
		{arch.X86GS, at, 2}, {arch.X86FS, at + 4, 2}, {arch.X86ES, at + 8, 2}, {arch.X86DS, at + 12, 2},
		{arch.EDI, at + 16, 4}, {arch.ESI, at + 20, 4}, {arch.EBP, at + 24, 4}, {arch.ESP, at + 28, 4},
		{arch.EBX, at + 32, 4}, {arch.EDX, at + 36, 4}, {arch.ECX, at + 40, 4}, {arch.EAX, at + 44, 4},
		{arch.EIP, at + 56, 4}, {arch.X86CS, at + 60, 2}, {arch.X86EFLAGS, at + 64, 4}, {arch.X86SS, at + 72, 2},
	}
}
