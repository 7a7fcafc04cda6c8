package minidump

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

func onlyARM(bool) *arch.Arch { return arch.ARM }

func armFloats() []field { return run(0x50+8*8, 8, from(arch.ARMD8, 8)...) }

// contextARM is the record of Breakpad and Crashpad for 32-bit ARM (minidump_cpu_arm.h).
// Early writers used flag 0x40 to mark it.
var contextARM = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: onlyARM,
		cpu:  0x40000000 | 0x40, need: 0x44, size: 368,
		parts: []part{
			{flag: partInteger, fields: run(4, 4, from(arch.ARMR0, 17)...)},
			{flag: 4, fields: armFloats()},
		},
		vector: part{flag: 4, off: 0x48}, vectorLen: 8 + 32*8,
	}
}}

// contextARMWindows is the CONTEXT of Windows on 32-bit ARM, where all code is Thumb.
var contextARMWindows = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: onlyARM,
		cpu:  0x00200000, need: 0x44, size: 416,
		parts: []part{
			{flag: partControl, fields: run(4+13*4, 4, arch.ARMSP, arch.ARMLR, arch.ARMPC, arch.ARMCPSR)},
			{flag: partInteger, fields: run(4, 4, from(arch.ARMR0, 13)...)},
			{flag: 4, fields: armFloats()},
		},
		vector: part{flag: 4, off: 0x48}, vectorLen: 8 + 32*8,
	}
}}
