package minidump

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// contextPPC is Breakpad's record of 32-bit PowerPC, found in old Mac OS X dumps
// (minidump_cpu_ppc.h): srr0 (the program counter), srr1, the general registers, cr, xer,
// lr, ctr, mq, vrsave, floating-point registers, vector registers.
var contextPPC = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: CPUPPC.Arch,
		cpu:  0x20000000, need: 0x14, size: 1004,
		parts: []part{
			{flag: partControl, fields: join(run(4, 4, arch.PPCNIP, arch.PPCMSR), run(0xc, 4, from(arch.PPCR0, 32)...),
				run(0x8c, 4, arch.PPCCCR, arch.PPCXER, arch.PPCLR, arch.PPCCTR))},
			{flag: partFloat, fields: run(0xa4+14*8, 8, from(arch.PPCF14, 18)...)},
		},
		vector: part{flag: partFloat, off: 0xa4}, vectorLen: 264,
	}
}}

// contextPPC64 is the record of 64-bit PowerPC (minidump_cpu_ppc64.h), with 64 bits for
// every register.
var contextPPC64 = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: CPUPPC64.Arch,
		cpu:  0x01000000, wide: true, need: 0x28, size: 1160,
		parts: []part{
			{flag: partControl, fields: join(run(8, 8, arch.PPCNIP, arch.PPCMSR), run(0x18, 8, from(arch.PPCR0, 32)...),
				run(0x118, 8, arch.PPCCCR, arch.PPCXER, arch.PPCLR, arch.PPCCTR))},
			{flag: partFloat, fields: run(0x140+14*8, 8, from(arch.PPCF14, 18)...)},
		},
		vector: part{flag: partFloat, off: 0x140}, vectorLen: 264,
	}
}}
