package minidump

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

func onlyARM64(bool) *arch.Arch { return arch.ARM64 }

// contextARM64 is the CONTEXT of Windows on ARM64 (ARM64_NT_CONTEXT), used by all newer
// writers.
var contextARM64 = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: onlyARM64,
		cpu:  0x00400000, need: 0x110, size: 912,
		parts: []part{
			{flag: partControl, fields: join(run(4, 4, arch.ARM64CPSR), run(8+29*8, 8, arch.ARM64FP, arch.ARM64LR, arch.ARM64SP, arch.ARM64PC))},
			{flag: partInteger, fields: run(8, 8, from(arch.ARM64X0, 29)...)},
			{flag: 4, fields: spread(0x110+8*16, 16, 8, from(arch.ARM64D8, 8)...)},
		},
		vector: part{flag: 4, off: 0x110}, vectorLen: 32*16 + 8,
	}
}}

// contextARM64Old is Breakpad's first ARM64 record (MDRawContextARM64_Old): its flags have
// 64 bits, and one flag covers all general registers.
var contextARM64Old = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: onlyARM64,
		cpu:  0x80000000, wide: true, need: 0x110, size: 796,
		parts: []part{
			{flag: partInteger, fields: join(run(8, 8, from(arch.ARM64X0, 33)...), run(0x110, 4, arch.ARM64CPSR))},
			{flag: 4, fields: spread(0x11c+8*16, 16, 8, from(arch.ARM64D8, 8)...)},
		},
		vector: part{flag: 4, off: 0x114}, vectorLen: 8 + 32*16,
	}
}}
