package minidump

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// mipsGeneral are the registers covered by one flag. They have 64 bits, also on 32-bit
// machines, except that there status and cause have fewer.
func mipsGeneral(epc, status int) []field {
	list := join(run(8, 8, from(arch.MIPSR0, 32)...), run(8+32*8, 8, arch.MIPSHI, arch.MIPSLO), run(epc, 8, arch.MIPSPC, arch.MIPSBadV))
	return append(list, run(epc+16, status, arch.MIPSStatus, arch.MIPSCause)...)
}

// contextMIPS is Breakpad's MIPS record (minidump_cpu_mips.h).
var contextMIPS = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: CPUMIPS.Arch,
		cpu:  0x00040000, need: 320, size: 600,
		parts: []part{
			{flag: partInteger, fields: mipsGeneral(312, 4)},
			{flag: 4, fields: run(336+20*8, 8, from(arch.MIPSF20, 12)...)},
		},
		vector: part{flag: 4, off: 336}, vectorLen: 32*8 + 8,
	}
}}

// contextMIPS64Breakpad is Breakpad's MIPS record for 64-bit processes.
var contextMIPS64Breakpad = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: CPUMIPS64.Arch,
		cpu:  0x00080000, need: 320, size: 600,
		parts:  contextMIPS.Get().parts,
		vector: contextMIPS.Get().vector, vectorLen: contextMIPS.Get().vectorLen,
	}
}}

// contextMIPS64 is Crashpad's record (MinidumpContextMIPS64): flags, DSP registers, status
// and cause have 64 bits. It differs from Breakpad's in size.
var contextMIPS64 = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: CPUMIPS64.Arch,
		cpu:  0x00080000, wide: true, need: 601, size: 656,
		parts: []part{
			{flag: partInteger, fields: mipsGeneral(336, 8)},
			{flag: 4, fields: run(368+20*8, 8, from(arch.MIPSF20, 12)...)},
		},
		vector: part{flag: 4, off: 368}, vectorLen: 32*8 + 16,
	}
}}
