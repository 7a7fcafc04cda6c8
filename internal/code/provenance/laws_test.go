package provenance

import (
	"math/rand/v2"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestInstructions decodes random code: the rules rely on all instructions to be so.
func TestInstructions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, a := range []*arch.Arch{arch.AMD64, arch.X32, arch.X86, arch.ARM64, arch.ARM, arch.PPC64LE, arch.PPC, arch.RISCV64, arch.S390X, arch.Loong64} {
		for range 3000 {
			code := make([]byte, 16)
			for i := range code {
				code[i] = byte(random.Uint32())
			}
			pc := uint64(base)
			if a.Mode != arch.NoReg {
				pc |= random.Uint64() & 1
			}
			var in disasm.Inst
			if disasm.DecodeInto(&in, a, code, pc) != nil {
				continue
			}
			ms := in.Mems()
			ok := true
			switch in.Kind {
			case disasm.Mov, disasm.MovImm:
				ok = in.Writes == arch.Mask(in.Dst)
			case disasm.Lea:
				ok = in.Writes == arch.Mask(in.Dst) && len(ms) == 1 && in.Mem() != nil
			case disasm.Load, disasm.Pop, disasm.Leave:
				ok = in.Writes&^arch.Mask(a.SP) == 0 || len(ms) == 1 && ms[0].Read && ms[0].BitIndex == arch.NoReg && !ms[0].Vector
			case disasm.Store:
				ok = len(ms) == 1
			case disasm.Push:
				ok = len(ms) == 1 || len(ms) == 2 && in.Mem() != nil
			case disasm.Jump:
				ok = !in.Conditional
			}
			for i := range ms {
				ok = ok && ms[i].AddrSize > 0
			}
			if !ok {
				t.Fatalf("%s: % x: %s, writes %v, destination %d, memory %+v", a.Name, in.Bytes(), in.Kind, in.Writes, in.Dst, ms)
			}
		}
	}
}
