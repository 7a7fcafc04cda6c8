package stackflow_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/unwind/arch"
)

// bytesAt is code and data at base.
type bytesAt struct {
	base uint64
	b    []byte
}

func (c bytesAt) CodeAt(addr uint64) []byte {
	if off := addr - c.base; off < uint64(len(c.b)) {
		return c.b[off:]
	}
	return nil
}

func (c bytesAt) DataAt(addr uint64) []byte { return c.CodeAt(addr) }
func (c bytesAt) FuncAt(addr uint64) bool   { return addr%64 == 3 }
func (c bytesAt) NoReturn(addr uint64) bool { return addr%64 == 5 }

// FuzzAnalyze analyses arbitrary bytes as code of some architecture.
func FuzzAnalyze(f *testing.F) {
	all := []*arch.Arch{arch.AMD64, arch.X86, arch.ARM64, arch.ARM, arch.PPC64LE, arch.PPC, arch.RISCV64, arch.S390X, arch.MIPS, arch.Loong64, arch.SPARC64, arch.M68K, arch.Alpha, arch.HPPA}
	for _, c := range cases {
		f.Add(c.code, uint8(0), uint16(len(c.code)))
	}
	f.Fuzz(func(t *testing.T, code []byte, machine uint8, end uint16) {
		a := all[int(machine)%len(all)]
		const base = 0x1000
		if len(code) > 1<<14 {
			return
		}
		fn := stackflow.Analyze(a, bytesAt{base, code}, base|uint64(machine>>7), base+uint64(end))
		if fn == nil {
			return
		}
		for pc := uint64(base); pc < base+uint64(len(code)); pc++ {
			rows, sure := fn.Rows(nil, pc)
			if sure && len(rows) == 0 {
				t.Fatalf("sure of no row at %#x", pc)
			}
		}
		stackflow.CallTargets(a, code, base)
		stackflow.StartsByPadding(a, code, base, base+uint64(end), 16)
	})
}
