package stackflow_test

import (
	"os"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/debugfind"
	"github.com/corewalk/corewalk/internal/disasm"
	"github.com/corewalk/corewalk/internal/dwarf/cfi"
	"github.com/corewalk/corewalk/internal/image"
	"github.com/corewalk/corewalk/internal/stackflow"
	"github.com/corewalk/corewalk/unwind/arch"
)

// compare compares all functions of a file with its call frame information.
func compare(t *testing.T, a *arch.Arch, path string) *stackflow.Comparison {
	t.Helper()
	im, err := image.NewCache(&debugfind.Finder{}).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &stackflow.Comparison{Arch: a, Code: im.Code(), Table: im.EHFrame()}
	if c.Table == nil {
		t.Skip("no call frame information")
	}
	fdes := slices.Collect(c.Table.FDEs())
	for _, d := range fdes {
		if c.IsEntry(d) {
			c.Function(d)
		}
	}
	total := instructions(c, a, fdes)
	c.Unreached = total - c.Total()
	share := func(n int) float64 { return 100 * float64(n) / float64(max(total, 1)) }
	t.Logf("%s: %d instructions: %.2f%% agree, %.2f%% agree but for lost registers, declined: %.2f%% (not reached %.2f%%, unknown %.2f%%, several %.2f%%); unchecked %.2f%%, disagree %d (%.3f%%)",
		path, total, share(c.Agree), share(c.Lost), share(c.Unreached+c.Unknown+c.Several), share(c.Unreached), share(c.Unknown), share(c.Several), share(c.Unchecked), c.Disagree, share(c.Disagree))
	return c
}

// instructions counts the instructions that FDEs cover, one after the other.
func instructions(c *stackflow.Comparison, a *arch.Arch, fdes []cfi.FDE) int {
	n := 0
	var in disasm.Inst
	for _, d := range fdes {
		for pc := d.Start; pc < d.End; {
			if disasm.DecodeInto(&in, a, c.Code.CodeAt(pc), pc) != nil {
				break
			}
			pc += uint64(in.Len)
			if in.Kind != disasm.Nop {
				n++
			}
		}
	}
	return n
}

func TestAgainstFile(t *testing.T) {
	path := os.Getenv("STACKFLOW_FILE")
	if path == "" {
		t.Skip("STACKFLOW_FILE names no file")
	}
	c := compare(t, archs[os.Getenv("STACKFLOW_ARCH")], path)
	for i, m := range c.Messages {
		if i < 40 {
			t.Log(m)
		}
	}
}

var archs = map[string]*arch.Arch{"": arch.AMD64, "i386": arch.X86, "arm64": arch.ARM64, "arm": arch.ARM, "ppc64le": arch.PPC64LE, "ppc64": arch.PPC64,
	"ppc": arch.PPC, "s390x": arch.S390X, "mips": arch.MIPS, "mipsel": arch.MIPSEL, "mips64el": arch.MIPS64EL, "riscv64": arch.RISCV64, "loong64": arch.Loong64}
