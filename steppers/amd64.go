package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// amd64 is x86-64 Linux.
//
// The signal frame is struct rt_sigframe of the kernel's
// arch/x86/include/asm/sigframe.h: when the restorer runs, the handler's ret has
// popped pretcode and SP is at struct ucontext, whose uc_mcontext (struct
// sigcontext_64, arch/x86/include/uapi/asm/sigcontext.h) begins at byte 40.
var amd64 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch:  arch.AMD64,
		chain: &frameChain{ra: 8, fp: 0, cfa: 16},
		restorers: []restorer{
			// mov $15,%rax; syscall: glibc, musl, Go before 1.17.
			{code: codePattern{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, stops: []stop{{0, 0}, {7, 0}}},
			// mov $15,%eax; syscall.
			{code: codePattern{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}, stops: []stop{{0, 0}, {5, 0}}},
			freeBSDAMD64(), openBSDAMD64(),
		},
		sigFrame: rtSigFrame64(40),
		sigKept:  []arch.Reg{arch.FSBase, arch.GSBase, arch.DS, arch.ES, arch.FS, arch.GS},
		threadExits: []codePattern{
			// mov %rax,%rdi; mov $60,%eax; syscall: glibc's clone and clone3.
			{0x48, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05},
			// mov $111,%edi; mov $60,%eax; syscall: Go's runtime.clone.
			{0xbf, 0x6f, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05},
			// mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall: musl's __clone.
			{0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05},
		},
		threadBirths: []codePattern{
			// syscall; test %rax,%rax; jl: glibc's clone and clone3.
			{0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c},
			// syscall; test %eax,%eax; jnz; xor %ebp,%ebp: musl's __clone.
			{0x0f, 0x05, 0x85, 0xc0, 0x75, 0x0f, 0x31, 0xed},
		},
		birthPC:     2,
		birthResult: arch.RAX,
		entryCode:   0x30,
		loaderCode:  0x40, // _start and _dl_start_user
		// mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi: glibc's __start_context.
		contextEnd: codePattern{0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff},
		// push %rbp; jmp *%rbx, then xor %rdi,%rdi; call _exit: make_fcontext's, the second with an endbr64.
		fiberEnds: []codePattern{{0x55, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8}, {0x55, 0xff, 0xe3, 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x31, 0xff, 0xe8}},
		fiberBack: 3,
		// nop; call runtime.goexit1.
		goExit: codePattern{0x90, 0xe8},
		inst:   &x86InstFrame,
	}
}}

// rtSigFrame64 is the frame whose struct sigcontext_64 begins at context. Behind it are
// the blocked signals and struct siginfo, which is written only for handlers with
// SA_SIGINFO.
func rtSigFrame64(context uint64) *sigFrame {
	const mask, info = 256, 264
	return &sigFrame{
		saved: sigContext64(context), signo: context + info, asked: true, info: context + info, hasInfo: true, blocked: context + mask,
		trap: trapX86(arch.AMD64, 8, context+160, context+152, context+176),
	}
}

// sigContext64 lists what struct sigcontext_64 at SP+at saves.
func sigContext64(at uint64) []savedReg {
	return append(savedInOrder(at, 8, arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14, arch.R15, arch.RDI, arch.RSI,
		arch.RBP, arch.RBX, arch.RDX, arch.RAX, arch.RCX, arch.RSP, arch.RIP, arch.EFLAGS),
		savedReg{arch.CS, at + 144, 2}, savedReg{arch.SS, at + 150, 2})
}
