package disasm

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

var (
	armRegNames = []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "sl", "fp", "ip", "sp", "lr", "pc"}
	armCond     = `(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?`
	armWidth    = `(\.n|\.w)?$`
	armKinds    = []struct {
		name *regexp.Regexp
		kind Kind
	}{
		{regexp.MustCompile(`^bl` + armCond + armWidth), Call},
		{regexp.MustCompile(`^cbn?z$`), CondJump},
		{regexp.MustCompile(`^svc` + armCond), Syscall},
		{regexp.MustCompile(`^udf`), Trap},
		{regexp.MustCompile(`^bkpt`), Int3},
		{regexp.MustCompile(`^push` + armCond + armWidth), Store},
		{regexp.MustCompile(`^tb[bh]$`), JumpIndirect},
		{regexp.MustCompile(`^str[bh]?t?` + armCond + armWidth), Store},
		{regexp.MustCompile(`^strd` + armCond + armWidth), Store},
		{regexp.MustCompile(`^stm(ia|ib|da|db)?` + armCond + armWidth), Store},
		{regexp.MustCompile(`^(vpush|vstr)` + armCond + `$`), Store},
		{regexp.MustCompile(`^(vpop|vldr)` + armCond + `$`), Load},
		{regexp.MustCompile(`^it[te]*$`), Nop},
		{regexp.MustCompile(`^mov[wt]` + armCond + `$`), numKinds},
	}
	armLoads      = regexp.MustCompile(`^(ldrd|ldrs?[bh]?t?|ldm(ia|ib|da|db)?|pop)` + armCond + armWidth)
	armMemText    = regexp.MustCompile(`\[(\w+)(?:, #(-?\d+))?\](!)?(?:, #(-?\d+))?$`)
	armList       = regexp.MustCompile(`\{([^}]*)\}`)
	armByRegister = regexp.MustCompile(`\], -?[a-z]|, -?[a-z][^,\]]*(, \w+ #\d+|, rrx)?\]!`) // writes back what is not known
	// armNoWrite are mnemonics whose first operand is not written.
	armNoWrite = regexp.MustCompile(`^(str|stm|fldm|fstm|stl|stc|stf|ldm|ldc|ldf|cf|push|cmp|cmn|tst|teq|cb|b|msr|pl[di]|svc|udf|v|nop|it|tb|cps|setend|d[ms]b|isb|mc|cdp|clrex|hl|smc|hvc|rfe|srs|sev|wf|yield|dbg|esb|csdb|ssbb|pssbb|<|\.)`)
	armDoes    = regexp.MustCompile(`^(bfi|bfc|bic|strex|stlex)`)
	armBare    = regexp.MustCompile(`^(bx|blx|b|mov|movs|mvn|sub|subs|subw|add|adds|addw|cpy)` + armCond + armWidth)
	armSPImm   = regexp.MustCompile(`^sp, (sp, )?#\d+$`)
	armIT      = regexp.MustCompile(`^it[te]*$`)
	armLong    = regexp.MustCompile(`^([us]mu?l+a?l|[us]ml[as]ld?x?|umaal|smlal..|ldrd)` + armCond + `s?` + armWidth)
)

func armReg(name string) arch.Reg {
	switch name {
	case "r10":
		name = "sl"
	case "r11":
		name = "fp"
	case "r12":
		name = "ip"
	case "r13":
		name = "sp"
	case "r14":
		name = "lr"
	case "r15":
		name = "pc"
	}
	if i := slices.Index(armRegNames, name); i >= 0 {
		return arch.Reg(i)
	}
	return arch.NoReg
}

// armRegList returns the mask of a register list in text.
func armRegList(text string) (mask arch.RegMask) {
	for _, part := range strings.Split(text, ", ") {
		first, last, ranged := strings.Cut(part, "-")
		a, b := armReg(first), armReg(first)
		if ranged {
			b = armReg(last)
		}
		if a == arch.NoReg {
			return 0
		}
		for r := a; r <= b; r++ {
			mask |= arch.Mask(r)
		}
	}
	return mask
}

// armWantKind returns the kind according to objdump's text.
func armWantKind(name, operands string) (Kind, bool) {
	first, rest, _ := strings.Cut(operands, ", ")
	bare := armBare.FindStringSubmatch(name)
	if bare != nil {
		switch op := strings.TrimSuffix(bare[1], "w"); {
		case op == "b":
			if bare[2] != "" {
				return CondJump, true
			}
			return Jump, true
		case op == "blx" && armReg(first) != arch.NoReg:
			return CallIndirect, true
		case op == "blx":
			return Call, true
		case op == "bx" && first == "lr":
			return Ret, true
		case op == "bx":
			return JumpIndirect, true
		case op == "mov" && operands == "fp, sp":
			return MovSPtoFP, true
		case op == "mov" && operands == "sp, fp":
			return MovFPtoSP, true
		case op == "mov" && operands == "pc, lr":
			return Ret, true
		case op == "mov" && first != "pc" && strings.HasPrefix(rest, "#"):
			return MovImm, true
		case op == "mov" && first != "pc" && armReg(rest) != arch.NoReg && rest != "pc":
			return Mov, true
		case op == "sub" && armSPImm.MatchString(operands):
			return SubSP, true
		case op == "add" && armSPImm.MatchString(operands):
			return AddSP, true
		}
		return 0, false
	}
	if armLoads.MatchString(name) {
		m := armList.FindStringSubmatch(operands)
		switch {
		case strings.Contains(operands, "^"):
			return 0, false
		case m == nil && first != "pc" || m != nil && !armRegList(m[1]).Has(arch.ARMPC):
			return Load, true
		case strings.HasPrefix(name, "pop"):
			return Ret, true
		}
		return 0, false
	}
	for _, k := range armKinds {
		if k.name.MatchString(name) {
			return k.kind, k.kind != numKinds
		}
	}
	return 0, false
}

// compareARM returns how in differs from objdump's text, or "".
func compareARM(in *Inst, text string) string {
	text, _, _ = strings.Cut(text, "\t@")
	text, _, _ = strings.Cut(text, "\t;")
	name, operands, _ := strings.Cut(text, "\t")
	operands, _, _ = strings.Cut(strings.TrimSpace(operands), " @")
	want, ok := armWantKind(name, operands)
	if ok && in.Kind != want && !(in.Kind == Other && in.Writes.Has(baseOf(in)) && armByRegister.MatchString(operands)) {
		return fmt.Sprintf("%v, want %v", in.Kind, want)
	}
	if m := textTarget.FindStringSubmatch(operands); m != nil && in.Target != 0 {
		if want, _ := strconv.ParseUint(m[1], 16, 64); uint64(uint32(want)) != in.Target {
			return fmt.Sprintf("target %#x", in.Target)
		}
	}
	if m := armList.FindStringSubmatch(operands); m != nil && (in.Kind == Load || in.Kind == Store) && !strings.HasPrefix(name, "v") && (in.List != 0 || strings.Contains(m[1], ", ")) {
		if mask := armRegList(m[1]); mask != in.List {
			return fmt.Sprintf("list %x", in.List)
		}
	}
	first, rest, _ := strings.Cut(operands, ", ")
	first = strings.TrimSuffix(first, "!")
	if r := armReg(first); r < arch.ARMPC && (armDoes.MatchString(name) || !armNoWrite.MatchString(name)) && !in.Writes.Has(r) {
		return "does not write " + first
	}
	second, _, _ := strings.Cut(rest, ", ")
	if armLong.MatchString(name) && armReg(second) < 15 && !in.Writes.Has(armReg(second)) {
		return "does not write " + second
	}
	if m := armMemText.FindStringSubmatch(operands); m != nil && (in.Kind == Load || in.Kind == Store) && m[1] != "pc" {
		disp, _ := strconv.ParseInt(m[2], 10, 64)
		post, _ := strconv.ParseInt(m[4], 10, 64)
		if m[3] != "" {
			post = disp
		}
		if op := in.Mem(); op == nil || op.Base != armReg(m[1]) || op.Disp != disp || in.Writeback != post {
			return fmt.Sprintf("operand %+v, writeback %d", op, in.Writeback)
		}
	}
	return ""
}

func baseOf(in *Inst) arch.Reg {
	if m := in.Mem(); m != nil {
		return m.Base
	}
	return arch.NoReg
}

// armDiff compares a line of objdump's output; code is an A32 word, or one or two T32
// halves.
func armDiff(addr uint64, code []string, text string) string {
	var b []byte
	pc := addr
	for _, part := range code {
		v, err := strconv.ParseUint(part, 16, 32)
		if err != nil {
			return ""
		}
		if len(part) == 8 {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		} else {
			b, pc = binary.LittleEndian.AppendUint16(b, uint16(v)), addr|1
		}
	}
	in, err := Decode(arch.ARM, b, pc)
	if err != nil {
		if armUnallocated.MatchString(text) {
			return ""
		}
		return err.Error()
	}
	if in.Len != len(b) {
		return fmt.Sprintf("length %d", in.Len)
	}
	return compareARM(&in, text)
}

func TestARMAgainstObjdump(t *testing.T) {
	t.Parallel()
	bad, predicated := 0, 0
	crossObjdump(t, "arm-linux-gnueabihf", func(addr uint64, code []string, text string) {
		if bad > 40 || strings.HasPrefix(text, ".") || strings.Contains(text, "??") || strings.HasPrefix(text, "bf") && strings.Contains(text, "<") {
			return
		}
		if predicated > 0 && len(code[0]) == 4 { // its name has a condition that its code has not
			predicated--
			return
		}
		if name, _, _ := strings.Cut(text, "\t"); len(code[0]) == 4 && armIT.MatchString(name) {
			predicated = len(name) - 1
		}
		if diff := armDiff(addr, code, text); diff != "" {
			bad++
			t.Errorf("%x: %s %q: %s", addr, code, text, diff)
		}
	})
}

// The library is mostly T32 and old: random words are compared, too.
func TestARMRandomWords(t *testing.T) {
	t.Parallel()
	fixture.Tools(t)
	tool, err := exec.LookPath("arm-linux-gnueabihf-objdump")
	if err != nil {
		t.Skip("arm-linux-gnueabihf-objdump is not installed (Debian: binutils-arm-linux-gnueabihf)")
	}
	words := 70_000
	if !fixture.IsLong(t) {
		words /= 4
	}
	for name, flags := range map[string][]string{"A32": nil, "T32": {"-M", "force-thumb"}} {
		t.Run(name, func(t *testing.T) {
			var code []byte
			x := uint32(1)
			for range words {
				x = x*1664525 + 1013904223
				w := x ^ x>>16
				if name == "T32" {
					w = w<<16 | w>>16 | 0xe000 // nearly all of four bytes
				}
				code = binary.LittleEndian.AppendUint32(code, w)
			}
			file := filepath.Join(t.TempDir(), "words")
			if err := os.WriteFile(file, code, 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(tool, append([]string{"-D", "-b", "binary", "-m", "arm", file}, flags...)...).Output()
			if err != nil {
				t.Fatal(err)
			}
			bad, n := 0, 0
			for _, line := range strings.Split(string(out), "\n") {
				parts := strings.SplitN(line, "\t", 3)
				if len(parts) < 3 || strings.HasPrefix(parts[2], ".") || armDoubtful.MatchString(parts[2]) {
					continue
				}
				addr, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(parts[0]), ":"), 16, 64)
				n++
				if diff := armDiff(addr, strings.Fields(parts[1]), parts[2]); diff != "" && bad < 40 {
					bad++
					t.Errorf("%s %q: %s", parts[1], parts[2], diff)
				}
			}
			t.Logf("%d words compared", n)
			if n < 2*words/7 {
				t.Errorf("%d words compared", n)
			}
		})
	}
}

// armUnallocated are texts that objdump prints for words that are not instructions of
// today's architecture.
var armUnallocated = regexp.MustCompile(`UNDEFINED|UNPREDICTABLE|^(tst|teq|cmp|cmn|ldc|stc|lfm|sfm|pldw|cf|ldf|stf|msr)|^(ld|st)rs?[bh]?\.w\t\w+, \[\w+, [a-z]`)

// armDoubtful are instructions that no compiler generates and that are decoded only as
// having no effect on anything tracked.
var armDoubtful = regexp.MustCompile(`UNDEFINED|UNPREDICTABLE|undefined|IMPOSSIBLE|illegal|unpredictable|\?\?|<|\^$|^cdp|^ldc|^stc|^mcr|^mrc|^cf|^bf|^b[a-z][a-z]\.n\t|^ldf|^stf|^v|^it|^autg|^pacg|^bxaut|^bxns|^blxns|t\t[^,]*, pc|^\w+\tr\d+, pc|-0\b`)

func FuzzARM(f *testing.F) {
	f.Add([]byte{0x00, 0x48, 0x2d, 0xe9}, uint64(0x10000))
	f.Add([]byte{0x2d, 0xe9, 0xf0, 0x41}, uint64(0x10001))
	f.Fuzz(func(t *testing.T, code []byte, pc uint64) {
		in, err := Decode(arch.ARM, code, pc)
		if err != nil {
			return
		}
		if in.Len != 4 && (in.Len != 2 || pc&1 == 0) {
			t.Errorf("length %d", in.Len)
		}
		in.Text(TextOptions{})
		in.ALU()
		in.StackDelta()
		FaultAccess(nil, &in, &arch.RegSet{})
	})
}
