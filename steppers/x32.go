package steppers

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// x32 is x86-64 Linux with 32-bit pointers. Its numbers of system calls have bit
// 30 set.
var x32 = lazy.Value[*machine]{Make: func() *machine {
	return &machine{
		arch:  arch.X32,
		chain: &frameChain{ra: 8, fp: 0, cfa: 16},
		restorers: []restorer{
			// mov $0x40000201,%rax; syscall: glibc, musl.
			{code: codePattern{0x48, 0xc7, 0xc0, 0x01, 0x02, 0, 0x40, 0x0f, 0x05}, stops: []stop{{at: 0}, {at: 7}}},
			// mov $0x40000201,%eax; syscall.
			{code: codePattern{0xb8, 0x01, 0x02, 0, 0x40, 0x0f, 0x05}, stops: []stop{{at: 0}, {at: 5}}},
		},
		// struct rt_sigframe_x32 of the kernel's arch/x86/include/asm/sigframe.h: its struct
		// ucontext_x32 has pointers of 32 bits, so that struct sigcontext_64 begins at byte
		// 24 of it.
		sigFrame: rtSigFrame64(24),
		sigKept:  []arch.Reg{arch.FSBase, arch.GSBase, arch.DS, arch.ES, arch.FS, arch.GS},
		threadExits: []codePattern{
			// mov %rax,%rdi; mov $0x4000003c,%eax; syscall: glibc's clone and clone3.
			{0x48, 0x89, 0xc7, 0xb8, 60, 0, 0, 0x40, 0x0f, 0x05},
		},
		threadBirths: []codePattern{
			// syscall; test %rax,%rax; jl: glibc's clone.
			{0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c},
			// syscall; test %eax,%eax; jl: its clone3.
			{0x0f, 0x05, 0x85, 0xc0, 0x7c},
		},
		birthPC:     2,
		birthResult: arch.RAX,
		entryCode:   0x30,
		loaderCode:  0x40, // _start and _dl_start_user
	}
}}
