package provenance

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestABI compares the conventions with the documents: the processor supplements of the System V ABI, the
// procedure call standards of ARM, RISC-V, LoongArch and PowerPC (ELFv2), and Microsoft's x64 convention.
func TestABI(t *testing.T) {
	for _, c := range []struct {
		arch         *arch.Arch
		windows      bool
		args, result string
		more         string // preserved, beyond CalleeSaved and the stack pointer
	}{
		{arch.AMD64, false, "rdi rsi rdx rcx r8 r9", "rax", ""},
		{arch.X32, false, "rdi rsi rdx rcx r8 r9", "rax", ""},
		{arch.AMD64, true, "rcx rdx r8 r9", "rax", "rsi rdi"},
		{arch.X86, false, "", "eax", ""},
		{arch.X86, true, "", "eax", ""},
		{arch.ARM64, false, "x0 x1 x2 x3 x4 x5 x6 x7", "x0", ""},
		{arch.ARM64, true, "x0 x1 x2 x3 x4 x5 x6 x7", "x0", ""},
		{arch.ARM, false, "r0 r1 r2 r3", "r0", ""},
		{arch.RISCV64, false, "a0 a1 a2 a3 a4 a5 a6 a7", "a0", ""},
		{arch.Loong64, false, "a0 a1 a2 a3 a4 a5 a6 a7", "a0", ""},
		{arch.PPC64LE, false, "r3 r4 r5 r6 r7 r8 r9 r10", "r3", ""},
		{arch.S390X, false, "r2 r3 r4 r5 r6", "r2", ""},
		{arch.SPARC64, false, "", "", ""},
	} {
		abi := ABIOf(c.arch, c.windows)
		var args []string
		for _, r := range abi.Args {
			args = append(args, c.arch.RegName(r))
		}
		if got := strings.Join(args, " "); got != c.args {
			t.Errorf("%s: arguments in %s, want %s", c.arch.Name, got, c.args)
		}
		want := arch.Reg(arch.NoReg)
		if c.result != "" {
			want, _ = c.arch.RegByName(c.result)
		}
		if abi.Return != want {
			t.Errorf("%s: result in %s, want %s", c.arch.Name, c.arch.RegName(abi.Return), c.result)
		}
		preserved := c.arch.CalleeSaved | arch.Mask(c.arch.SP)
		for _, name := range strings.Fields(c.more) {
			r, _ := c.arch.RegByName(name)
			preserved |= arch.Mask(r)
		}
		if abi.Preserved != preserved {
			t.Errorf("%s: preserved %v, want %v", c.arch.Name, abi.Preserved, preserved)
		}
	}
}

func TestKindNames(t *testing.T) {
	for k, want := range map[Kind]string{Unknown: "unknown", Entry: "entry", EntrySlot: "entry-slot", Const: "const", StackAddr: "stack-address",
		Load: "load", Slot: "slot", Sum: "sum", Cut: "cut", Result: "result", Join: "join"} {
		if got := k.String(); got != want {
			t.Errorf("%d: %q, want %q", k, got, want)
		}
	}
}
