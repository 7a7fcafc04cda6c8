package minidump

import (
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/unwind/arch"
)

// contextSPARC is Breakpad's record of SPARC on Solaris (minidump_cpu_sparc.h): the
// registers of the current window, then ccr, pc, npc, y, asi, fprs.
var contextSPARC = lazy.Value[*layout]{Make: func() *layout {
	return &layout{
		arch: CPUSPARC.Arch,
		cpu:  0x10000000, need: 0x118, size: 576,
		parts: []part{
			{flag: partControl | partInteger, fields: join(run(8, 8, from(arch.SPARCG0, 32)...), run(0x110, 8, arch.SPARCPC, arch.SPARCNPC, arch.SPARCY))},
		},
	}
}}
