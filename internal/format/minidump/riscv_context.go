package minidump

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// contextRISCV64 is the record of Breakpad and Crashpad for 64-bit RISC-V
// (minidump_cpu_riscv.h): pc in place of x0, the other general registers, the
// floating-point registers and fcsr. The flag of the latter has had two values.
var contextRISCV64 = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: CPURISCV64.Arch,
		cpu:  0x08000000, need: 0x20, size: 528,
		parts: []part{
			{flag: partControl, fields: join(run(8, 8, arch.RISCVPC), run(16, 8, from(arch.RISCVRA, 31)...))},
			{flag: 2 | 4, fields: join(run(264+8*8, 8, from(arch.RISCVFS0, 2)...), run(264+18*8, 8, from(arch.RISCVFS0+2, 10)...))},
		},
		vector: part{flag: 2 | 4, off: 264}, vectorLen: 32*8 + 4,
	}
}}
