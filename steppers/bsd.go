package steppers

import (
	"slices"

	"github.com/corewalk/corewalk/unwind/arch"
)

// The code that returns from signal handlers on FreeBSD and OpenBSD: the kernel maps a
// page with code that calls the handler, and continues in that code. (NetBSD's is in
// its C library, with call frame information.)

// freeBSDAMD64 is sigcode of FreeBSD's sys/amd64/amd64/sigtramp.S after its call:
// lea 16(%rsp),%rdi; push $0; mov $417,%rax; syscall. The signal frame is struct
// sigframe of sys/x86/include/sigframe.h: struct ucontext is at byte 16, its
// mcontext (sys/x86/include/ucontext.h) 16 bytes on.
func freeBSDAMD64() restorer {
	return restorer{
		code:  codePattern{0x48, 0x8d, 0x7c, 0x24, 0x10, 0x6a, 0, 0x48, 0xc7, 0xc0, 0xa1, 1, 0, 0, 0x0f, 0x05},
		stops: []stop{{at: 0}, {at: 5}},
		frame: &sigFrame{saved: slices.Concat(
			savedInOrder(40, 8, arch.RDI, arch.RSI, arch.RDX, arch.RCX, arch.R8, arch.R9, arch.RAX, arch.RBX, arch.RBP, arch.R10, arch.R11,
				arch.R12, arch.R13, arch.R14, arch.R15),
			savedInOrder(164, 2, arch.FS, arch.GS), savedInOrder(180, 2, arch.ES, arch.DS),
			savedInOrder(192, 8, arch.RIP, arch.CS, arch.EFLAGS, arch.RSP, arch.SS),
		), signo: noSigno, trap: trapFreeBSD},
	}
}

// openBSDAMD64 is sigcode of OpenBSD's sys/arch/amd64/amd64/locore.S after its
// call: mov %rsp,%rdi; push %rdi; mov $103,%rax; syscall. SP is at struct
// sigcontext of sys/arch/amd64/include/signal.h.
func openBSDAMD64() restorer {
	return restorer{
		code:  codePattern{0x48, 0x89, 0xe7, 0x57, 0x48, 0xc7, 0xc0, 0x67, 0, 0, 0, 0x0f, 0x05},
		stops: []stop{{at: 0}, {at: 3}},
		frame: &sigFrame{saved: slices.Concat(
			savedInOrder(0, 8, arch.RDI, arch.RSI, arch.RDX, arch.RCX, arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14,
				arch.R15, arch.RBP, arch.RBX, arch.RAX, arch.GS, arch.FS, arch.ES, arch.DS),
			savedInOrder(168, 8, arch.RIP, arch.CS, arch.EFLAGS, arch.RSP, arch.SS),
		), signo: noSigno},
	}
}

// freeBSDX86 is sigcode of FreeBSD's sys/i386/i386/sigtramp.S after its call: lea
// 32(%esp),%eax; push %eax; testl $0x20000,84(%eax). The signal's number is at SP,
// struct ucontext at byte 32, its mcontext 16 bytes on.
var freeBSDX86 = restorer{
	code:  codePattern{0x8d, 0x44, 0x24, 0x20, 0x50, 0xf7, 0x40, 0x54, 0, 0, 2, 0},
	stops: []stop{{at: 0}, {at: 4}},
	frame: &sigFrame{saved: []savedReg{
		{arch.X86GS, 52, 2}, {arch.X86FS, 56, 2}, {arch.X86ES, 60, 2}, {arch.X86DS, 64, 2}, {arch.EDI, 68, 4}, {arch.ESI, 72, 4},
		{arch.EBP, 76, 4}, {arch.EBX, 84, 4}, {arch.EDX, 88, 4}, {arch.ECX, 92, 4}, {arch.EAX, 96, 4}, {arch.EIP, 108, 4},
		{arch.X86CS, 112, 2}, {arch.X86EFLAGS, 116, 4}, {arch.ESP, 120, 4}, {arch.X86SS, 124, 2},
	}, signo: 0},
}
