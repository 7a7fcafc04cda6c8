package stackflow_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/unwind/arch"
)

const shipped = "../../../testdata/sysroot/amd64/usr/lib/x86_64-linux-gnu/"

// agreements says how far the analysis must agree with a file's call frame information. The
// shares are percentages of all instructions covered by that information.
var agreements = []struct {
	path string
	arch *arch.Arch
	// known is the minimum share that agrees, including guesses.
	known float64
	// wrong is the maximum share of wrong guesses.
	wrong float64
	// explained are the functions with disagreements that are not our fault, by start, with
	// the reason.
	explained map[uint64]string
	// disagree is the maximum share that disagrees in files that are not shipped, whose
	// functions are unknown: assembly with wrong information.
	disagree float64
}{
	{path: shipped + "libc.so.6", arch: arch.AMD64, known: 99.3, wrong: 0.001, explained: map[uint64]string{
		0x3be30:  "__longjmp: the information is of the target",
		0x3be90:  "__longjmp for the stack of a context: the information is of the target",
		0x1180b0: "____longjmp_chk: the information is of the target",
		0x40fe0:  "setcontext: the information is of the target",
		0x4c6e0:  "mpn assembly that pushes without saying so",
		0x4e140:  "mpn assembly that pushes without saying so",
		0x108b4a: "clone's child, which pops the thread's function and argument",
	}},
	{path: shipped + "libm.so.6", arch: arch.AMD64, known: 99, wrong: 0.05},
	{path: shipped + "libgcc_s.so.1", arch: arch.AMD64, known: 98.5, wrong: 0.25, explained: map[uint64]string{
		0x16ce0: "_Unwind_RaiseException, which leaves for the handler's frame",
		0x17080: "_Unwind_ForcedUnwind, which leaves for the handler's frame",
		0x17260: "_Unwind_Resume, which leaves for the handler's frame",
		0x17440: "_Unwind_Resume_or_Rethrow, which leaves for the handler's frame",
	}},
	{path: shipped + "libstdc++.so.6", arch: arch.AMD64, known: 96, wrong: 0.02},
	{path: "/usr/lib32/libc.so.6", arch: arch.X86, known: 94, wrong: 0.3, disagree: 0.8},
	{path: "/usr/lib32/libm.so.6", arch: arch.X86, known: 98, wrong: 0.15, disagree: 0.02},
	{path: "/usr/libx32/libc.so.6", arch: arch.X32, known: 98.5, wrong: 0.01, disagree: 0.06},
	{path: "/usr/aarch64-linux-gnu/lib/libc.so.6", arch: arch.ARM64, known: 98.5, wrong: 0.05, disagree: 0.01},
	{path: "/usr/powerpc64le-linux-gnu/lib/libc.so.6", arch: arch.PPC64LE, known: 97.5, wrong: 0.01, disagree: 0.08},
	{path: "/usr/powerpc64-linux-gnu/lib/libc.so.6", arch: arch.PPC64, known: 98.5, wrong: 0.01, disagree: 0.09},
	{path: "/usr/powerpc-linux-gnu/lib/libc.so.6", arch: arch.PPC, known: 99, wrong: 0.01, disagree: 0.08},
	{path: "/usr/mips-linux-gnu/lib/libc.so.6", arch: arch.MIPS, known: 98.5, wrong: 0.01, disagree: 0.03},
	{path: "/usr/mipsel-linux-gnu/lib/libc.so.6", arch: arch.MIPSEL, known: 98.5, wrong: 0.01, disagree: 0.03},
	{path: "/usr/mips64el-linux-gnuabi64/lib/libc.so.6", arch: arch.MIPS64EL, known: 98.5, wrong: 0.01, disagree: 0.03},
	{path: "/usr/riscv64-linux-gnu/lib/libc.so.6", arch: arch.RISCV64, known: 98.5, wrong: 0.01, disagree: 0.05},
	{path: "/usr/s390x-linux-gnu/lib/libc.so.6", arch: arch.S390X, known: 99, wrong: 0.01, disagree: 0.25},
}

// TestAgainstCFI compares the analysis with call frame information at every
// instruction of whole libraries. The shipped ones are always compared.
func TestAgainstCFI(t *testing.T) {
	for _, tc := range agreements {
		t.Run(tc.arch.Name+"/"+filepath.Base(tc.path), func(t *testing.T) {
			t.Parallel()
			ours := strings.HasPrefix(tc.path, shipped)
			if _, err := os.Stat(tc.path); err != nil && !ours {
				t.Skipf("%s is not installed (Debian: libc6 of that architecture; make deps)", tc.path)
			}
			if !ours || strings.HasSuffix(tc.path, "libstdc++.so.6") {
				fixture.Long(t)
			}
			check(t, compare(t, tc.arch, tc.path), tc.known, tc.wrong, tc.disagree, tc.explained)
		})
	}
}

// check fails if less than known percent agree, more than wrong percent are wrong guesses,
// or more than disagree percent disagree outside the functions in explained.
func check(t *testing.T, c *stackflow.Comparison, known, wrong, disagree float64, explained map[uint64]string) {
	t.Helper()
	share := func(n int) float64 { return 100 * float64(n) / float64(max(len(c.Real), 1)) }
	if got := share(c.Agree + c.Lost + c.Guessed); got < known {
		t.Errorf("%.2f%% agree; want %.2f%%", got, known)
	}
	if got := share(c.Wrong); got > wrong {
		t.Errorf("%.3f%% are guessed wrongly; at most %.3f%% are expected", got, wrong)
	}
	others := 0
	for start, n := range c.Disagreeing {
		if explained[start] == "" {
			others += n
		}
	}
	if got := share(others); got > disagree {
		t.Errorf("%d instructions (%.3f%%) disagree without a known reason; at most %.3f%% are expected", others, got, disagree)
		for _, m := range c.Messages {
			t.Log(m)
		}
	}
	for start, why := range explained {
		if c.Disagreeing[start] == 0 {
			t.Errorf("nothing disagrees in the function at %#x (%s)", start, why)
		}
	}
}

// compare compares all functions of a file with its call frame information.
func compare(t *testing.T, a *arch.Arch, path string) *stackflow.Comparison {
	t.Helper()
	im, err := image.NewCache(find.New(context.Background(), find.Options{})).Open(path)
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
	t.Logf("%d instructions: %.2f%% agree, %.2f%% do but for registers lost, %.2f%% are guessed (%.3f%% wrongly); not reached %.2f%%, unknown %.2f%%, several %.2f%%, not checked %.2f%%; %d disagree (%.3f%%)",
		total, share(c.Agree), share(c.Lost), share(c.Guessed), share(c.Wrong), share(c.Unreached), share(c.Unknown), share(c.Several), share(c.Unchecked), c.Disagree, share(c.Disagree))
	return c
}

// instructions records where the instructions covered by FDEs are, in order; padding does
// not count.
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

// TestCompiled compares programs compiled with various options.
func TestCompiled(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang"} {
		for _, flags := range []string{"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-omit-frame-pointer", "-O2 -fstack-clash-protection", "-O2 -mavx -mpreferred-stack-boundary=5"} {
			t.Run(compiler+flags, func(t *testing.T) {
				if !slices.Contains([]string{"-O0", "-O2", "-O2 -mavx -mpreferred-stack-boundary=5"}, flags) {
					fixture.Long(t)
				}
				t.Parallel()
				compiled(t, compiler, strings.Fields(flags))
			})
		}
	}
}

func compiled(t *testing.T, compiler string, flags []string) {
	fixture.Tools(t)
	tool, err := exec.LookPath(compiler)
	if err != nil {
		t.Skipf("%s is not installed (make deps installs it on Debian)", compiler)
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the compiler is another architecture's")
	}
	out := filepath.Join(t.TempDir(), "frames")
	args := append(flags, "-nostdlib", "-static", "-fasynchronous-unwind-tables", "-o", out, "testdata/frames.c")
	if text, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Skipf("%s: %v: %s", compiler, err, text)
	}
	check(t, compare(t, arch.AMD64, out), 97, 0, 0, nil)
}
