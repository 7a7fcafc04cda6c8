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
	instructions(c, a, fdes)
	for _, d := range fdes {
		if c.IsEntry(d) {
			c.Function(d)
		}
	}
	total := len(c.Real)
	c.Unreached = total - c.Total()
	share := func(n int) float64 { return 100 * float64(n) / float64(max(total, 1)) }
	t.Logf("%s: %d instructions: %.2f%% agree, %.2f%% agree but for lost registers, guessed %.2f%% (wrong %.3f%%), declined: %.2f%% (not reached %.2f%%, unknown %.2f%%, several %.2f%%); unchecked %.2f%%, disagree %d (%.3f%%)",
		path, total, share(c.Agree), share(c.Lost), share(c.Guessed), share(c.Wrong), share(c.Unreached+c.Unknown+c.Several), share(c.Unreached), share(c.Unknown), share(c.Several), share(c.Unchecked), c.Disagree, share(c.Disagree))
	return c
}

// instructions notes where the instructions that FDEs cover are, one after the
// other; padding does not count.
func instructions(c *stackflow.Comparison, a *arch.Arch, fdes []cfi.FDE) {
	c.Real = map[uint64]bool{}
	var in disasm.Inst
	for _, d := range fdes {
		for pc := d.Start; pc < d.End; pc += uint64(in.Len) {
			if disasm.DecodeInto(&in, a, c.Code.CodeAt(pc), pc) != nil {
				break
			}
			if in.Kind != disasm.Nop {
				c.Real[pc] = true
			}
		}
	}
}

func TestAgainstFile(t *testing.T) {
	path := os.Getenv("STACKFLOW_FILE")
	if path == "" {
		t.Skip("STACKFLOW_FILE names no file")
	}
	a := archs[os.Getenv("STACKFLOW_ARCH")]
	c := compare(t, a, path)
	for start, list := range c.Declined {
		if len(list) > 30 {
			t.Logf("unknown or several in %#x: %d, first %#x", start, len(list), slices.Min(list))
		}
	}
	var in disasm.Inst
	for d := range c.Table.FDEs() {
		var missing []uint64
		for pc := d.Start; pc < d.End; pc += uint64(in.Len) {
			if disasm.DecodeInto(&in, a, c.Code.CodeAt(pc), pc) != nil {
				missing = append(missing, pc)
				break
			}
			if in.Kind != disasm.Nop && !c.Done(pc) {
				missing = append(missing, pc)
			}
		}
		if len(missing) > 100 {
			t.Logf("not reached in %#x-%#x: %d, first %#x, entry %v", d.Start, d.End, len(missing), missing[0], c.IsEntry(d))
		}
	}
	for i, m := range c.Messages {
		if i < 40 {
			t.Log(m)
		}
	}
}

var archs = map[string]*arch.Arch{"": arch.AMD64, "i386": arch.X86, "arm64": arch.ARM64, "arm": arch.ARM, "ppc64le": arch.PPC64LE, "ppc64": arch.PPC64,
	"ppc": arch.PPC, "s390x": arch.S390X, "mips": arch.MIPS, "mipsel": arch.MIPSEL, "mips64el": arch.MIPS64EL, "riscv64": arch.RISCV64, "loong64": arch.Loong64,
	"x32": arch.X32, "sparc64": arch.SPARC64, "m68k": arch.M68K, "hppa": arch.HPPA, "alpha": arch.Alpha, "s390": arch.S390}
