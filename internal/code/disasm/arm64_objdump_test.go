package disasm

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

var (
	arm64MemText = regexp.MustCompile(`\[(\w+)(?:, #(-?\d+))?\](!)?(?:, #(-?\d+))?$`)
	arm64Kinds   = map[string]Kind{
		"bl": Call, "blr": CallIndirect, "b": Jump, "br": JumpIndirect, "ret": Ret, "retaa": Ret, "retab": Ret, "braa": JumpIndirect, "brab": JumpIndirect,
		"braaz": JumpIndirect, "blraa": CallIndirect, "blraaz": CallIndirect, "blrabz": CallIndirect, "cbz": CondJump, "cbnz": CondJump, "tbz": CondJump, "tbnz": CondJump,
		"svc": Syscall, "brk": Trap, "udf": Trap, "nop": Nop, "paciasp": Endbr, "autiasp": Nop, "bti": Endbr, "adr": Lea, "adrp": Lea, "hlt": Interrupt, "eret": Halt,
		"ldr": Load, "ldrb": Load, "ldrh": Load, "ldrsw": Load, "ldrsb": Load, "ldrsh": Load, "ldp": Load, "ldnp": Load, "ldur": Load, "ldurb": Load, "ldpsw": Load,
		"ldar": Load, "ldarb": Load, "ldaxr": Load, "ldxr": Load, "ldapr": Load, "ldapur": Load, "ldraa": Load,
		"str": Store, "strb": Store, "strh": Store, "stp": Store, "stnp": Store, "stur": Store, "sturb": Store, "sturh": Store, "stlr": Store, "stlrb": Store,
		"stxr": Other, "stlxr": Other, "ldadd": Other, "swpal": Other, "cas": Other, "casal": Other, "casp": Other,
		"prfm": Nop,
	}
	arm64NoWrite  = regexp.MustCompile(`^(st|cmp|cmn|tst|ccm|cb|tb|b|msr|prf|svc|brk|udf|ret|br|dc|ic|tlbi|at|sys|fcmp|fccmp|nop|hint|aut.*(sp|z)$|pac.*(sp|z)$|xpaclri|gcs|wfet|wfit|setf|rmif|\.|adr_none|cfp|dvp|cpp|ls64)`)
	arm64Scalable = regexp.MustCompile(`\b[zp]\d+\b`) // SVE has no kinds of its own
	arm64LSE      = regexp.MustCompile(`^(ld(add|clr|eor|set|[su]m(ax|in))|swp)`)
	arm64GPR      = regexp.MustCompile(`^([xw]\d+|sp|wsp)$`)
)

// arm64Reg returns the number of a register from its name in objdump's text.
func arm64Reg(name string) arch.Reg {
	switch name {
	case "sp", "wsp":
		return arch.ARM64SP
	case "xzr", "wzr":
		return arch.NoReg
	}
	n, _ := strconv.Atoi(name[1:])
	return arch.Reg(n)
}

func arm64WantKind(name, operands string) (Kind, bool) {
	switch {
	case strings.HasPrefix(name, "b."):
		if name == "b.al" || name == "b.nv" {
			return Jump, true
		}
		return CondJump, true
	case name == "mov" && operands == "x29, sp":
		return MovSPtoFP, true
	case name == "mov" && operands == "sp, x29":
		return MovFPtoSP, true
	case name == "sub" && regexp.MustCompile(`^sp, sp, #[^,]*(, lsl #12)?$`).MatchString(operands):
		return SubSP, true
	case name == "add" && regexp.MustCompile(`^sp, sp, #[^,]*(, lsl #12)?$`).MatchString(operands):
		return AddSP, true
	case name == "and" && strings.HasPrefix(operands, "sp, "):
		return AndSP, true
	case name == "mov" && strings.Contains(operands, "#") && arm64GPR.MatchString(strings.Split(operands, ",")[0]):
		return MovImm, true
	case name == "brk" && operands == "#0x0":
		return Int3, true
	case name == "prfm":
		return 0, false // of a literal too
	}
	k, ok := arm64Kinds[name]
	return k, ok
}

// compareARM64 returns how in differs from objdump's text, or "".
func compareARM64(in *Inst, text string) string {
	text, _, _ = strings.Cut(text, "\t//")
	if arm64Scalable.MatchString(text) {
		return ""
	}
	name, operands, _ := strings.Cut(text, "\t")
	operands = strings.TrimSpace(operands)
	if want, ok := arm64WantKind(name, operands); ok && in.Kind != want {
		return fmt.Sprintf("%v, want %v", in.Kind, want)
	}
	if m := textTarget.FindStringSubmatch(operands); m != nil {
		want, _ := strconv.ParseUint(m[1], 16, 64)
		if in.Target != want && (in.Mem() == nil || !in.Mem().RIPRelative || uint64(in.Mem().Disp) != want) {
			return fmt.Sprintf("target %#x", in.Target)
		}
	}
	first, rest, _ := strings.Cut(operands, ", ")
	if arm64LSE.MatchString(name) {
		first, _, _ = strings.Cut(rest, ",")
	}
	if arm64GPR.MatchString(first) && !arm64NoWrite.MatchString(name) && arm64Reg(first) != arch.NoReg && !in.Writes.Has(arm64Reg(first)) &&
		!(arm64Reg(first) == arch.ARM64LR && strings.Contains("pacautxpac", name[:3])) {
		return "does not write " + first
	}
	if m := arm64MemText.FindStringSubmatch(operands); m != nil && (in.Kind == Load || in.Kind == Store) {
		return compareARM64Mem(in, m, name, operands)
	}
	return ""
}

func compareARM64Mem(in *Inst, m []string, name, operands string) string {
	op := in.Mem()
	if op == nil || op.Base != arm64Reg(m[1]) {
		return fmt.Sprintf("operand %+v", op)
	}
	disp, _ := strconv.ParseInt(m[2], 10, 64)
	post, _ := strconv.ParseInt(m[4], 10, 64)
	writeback := post
	if m[3] != "" {
		writeback = disp
	}
	if op.Disp != disp || in.Writeback != writeback || writeback != 0 && !in.Writes.Has(op.Base) {
		return fmt.Sprintf("operand %+v, writeback %d", op, in.Writeback)
	}
	if strings.HasPrefix(operands, "{") || strings.Contains(name, "x") && name != "ldxr" && name != "ldaxr" {
		return ""
	}
	regs := strings.Split(operands[:strings.Index(operands, "[")], ", ")
	got := []arch.Reg{in.Dst, in.Dst2}
	if in.Kind == Store {
		got = []arch.Reg{in.Src, in.Src2}
	}
	for i := 0; i < len(regs)-1 && i < 2; i++ {
		if arm64GPR.MatchString(regs[i]) && got[i] != arm64Reg(regs[i]) {
			return fmt.Sprintf("moves %v, not %s", got, regs[i])
		}
	}
	return ""
}

func TestARM64AgainstObjdump(t *testing.T) {
	t.Parallel()
	bad := 0
	crossObjdump(t, "aarch64-linux-gnu", func(addr uint64, code []string, text string) {
		word, err := strconv.ParseUint(code[0], 16, 32)
		if err != nil || bad > 20 || strings.HasPrefix(text, ".") {
			return
		}
		if diff := arm64Diff(addr, uint32(word), text); diff != "" {
			bad++
			t.Errorf("%x: %s %q: %s", addr, code[0], text, diff)
		}
	})
}

func arm64Diff(addr uint64, word uint32, text string) string {
	in, err := Decode(arch.ARM64, binary.LittleEndian.AppendUint32(nil, word), addr)
	if err != nil {
		if strings.Contains(text, "undefined") {
			return ""
		}
		return err.Error()
	}
	return compareARM64(&in, text)
}

// A library of 2022 has few of the newer instructions. Random words are therefore compared,
// too, as far as objdump knows them.
func TestARM64RandomWords(t *testing.T) {
	t.Parallel()
	fixture.Tools(t)
	tool, err := exec.LookPath("aarch64-linux-gnu-objdump")
	if err != nil {
		t.Skip("aarch64-linux-gnu-objdump is not installed (Debian: binutils-aarch64-linux-gnu)")
	}
	var code []byte
	x := uint32(1)
	words := 200_000
	if !fixture.IsLong(t) {
		words /= 5
	}
	for range words {
		x = x*1664525 + 1013904223
		code = binary.LittleEndian.AppendUint32(code, x^x>>16)
	}
	file := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(file, code, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "-D", "-b", "binary", "-m", "aarch64", "-M", "no-aliases=0", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	bad, n := 0, 0
	for _, line := range strings.Split(string(out), "\n") {
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) < 3 || strings.HasPrefix(parts[2], ".") || strings.Contains(parts[2], "undefined") {
			continue
		}
		addr, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(parts[0]), ":"), 16, 64)
		word, err := strconv.ParseUint(strings.TrimSpace(parts[1]), 16, 32)
		if err != nil {
			continue
		}
		n++
		text := regexp.MustCompile(`(0x)([0-9a-f]+)$`).ReplaceAllString(parts[2], "$1$2")
		if diff := arm64Diff(addr, uint32(word), text); diff != "" && bad < 40 {
			bad++
			t.Errorf("%08x %q: %s", word, parts[2], diff)
		}
	}
	t.Logf("%d words compared", n)
	if n < words/4 {
		t.Errorf("%d words compared", n)
	}
}

func FuzzARM64(f *testing.F) {
	f.Add([]byte{0xfd, 0x7b, 0xbf, 0xa9}, uint64(0x400000))
	f.Fuzz(func(t *testing.T, code []byte, pc uint64) {
		in, err := Decode(arch.ARM64, code, pc)
		if err != nil {
			return
		}
		if in.Len != 4 {
			t.Errorf("length %d", in.Len)
		}
		in.Text(TextOptions{})
		in.ALU()
		in.StackDelta()
		FaultAccess(nil, &in, &arch.RegSet{})
	})
}
