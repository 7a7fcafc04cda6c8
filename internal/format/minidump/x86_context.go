package minidump

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Flags of CONTEXT records of x86 and amd64 (winnt.h).
const (
	partControl  = 1
	partInteger  = 2
	partSegments = 4
	partFloat    = 8
	partExtended = 0x20
	partXState   = 0x40
)

// contextX86 is the CONTEXT of 32-bit x86, and WOW64_CONTEXT. ExtendedRegisters is the
// FXSAVE area.
var contextX86 = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: func(bool) *arch.Arch { return arch.X86 },
		cpu:  0x00010000, need: 0xc8, size: 716,
		parts: []part{
			{flag: partControl, fields: run(0xb4, 4, arch.EBP, arch.EIP, arch.X86CS, arch.X86EFLAGS, arch.ESP, arch.X86SS)},
			{flag: partInteger, fields: run(0x9c, 4, arch.EDI, arch.ESI, arch.EBX, arch.EDX, arch.ECX, arch.EAX)},
			{flag: partSegments, fields: run(0x8c, 4, arch.X86GS, arch.X86FS, arch.X86ES, arch.X86DS)},
		},
		vector: part{flag: partExtended, off: 0xcc}, vectorLen: 512,
		xstate: partXState,
	}
}}

// contextAMD64 is the CONTEXT of x64. Its flags follow the home space of six arguments.
var contextAMD64 = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch:  func(bool) *arch.Arch { return arch.AMD64 },
		flags: 0x30, cpu: 0x00100000, need: 0x100, size: 1232,
		parts: []part{
			{flag: partControl, fields: join(run(0x38, 2, arch.CS), run(0x42, 2, arch.SS), run(0x44, 4, arch.EFLAGS),
				run(0x98, 8, arch.RSP), run(0xf8, 8, arch.RIP))},
			{flag: partInteger, fields: join(run(0x78, 8, arch.RAX, arch.RCX, arch.RDX, arch.RBX), run(0xa0, 8, arch.RBP, arch.RSI, arch.RDI),
				run(0xb8, 8, from(arch.R8, 8)...))},
			{flag: partSegments, fields: run(0x3a, 2, arch.DS, arch.ES, arch.FS, arch.GS)},
		},
		vector: part{flag: partFloat, off: 0x100}, vectorLen: 512,
		xstate: partXState,
	}
}}
