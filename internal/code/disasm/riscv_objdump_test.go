package disasm

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

// crossObjdump runs a target's objdump on the libc of its cross compiler, and calls f for
// every instruction, of a sample as objdumpColumns says, with the address, the columns of code as objdump groups them, and the
// text. It skips the test if either is missing.
func crossObjdump(t *testing.T, triple string, f func(addr uint64, code []string, text string)) {
	t.Helper()
	fixture.Tools(t)
	tool, err := exec.LookPath(triple + "-objdump")
	lib := "/usr/" + triple + "/lib/libc.so.6"
	if _, missing := os.Stat(lib); err != nil || missing != nil {
		t.Skipf("%s-objdump or %s is not installed (Debian: binutils-%s, libc6-*-cross; make deps)", triple, lib, triple)
	}
	if testing.Short() {
		t.Skip("decodes a whole library")
	}
	n := 0
	if err := objdumpColumns(t, func(addr uint64, code, text string) bool {
		n++
		f(addr, strings.Fields(code), text)
		return true
	}, tool, "-d", "-w", lib); err != nil || n < 50_000 {
		t.Errorf("%d instructions compared, %v", n, err)
	}
	t.Logf("%d instructions compared", n)
}

var (
	textTarget = regexp.MustCompile(`([0-9a-f]+) <`)
	riscvMem   = regexp.MustCompile(`(-?\d+)\(([a-z0-9]+)\)$`)
)

// riscvKinds are the kinds implied by mnemonics, including objdump's aliases.
var riscvKinds = map[string]Kind{
	"ret": Ret, "jr": JumpIndirect, "j": Jump, "ecall": Syscall, "ebreak": Int3, "unimp": Trap, "nop": Nop, "li": MovImm, "lui": MovImm, "auipc": MovImm,
	"ld": Load, "lw": Load, "lwu": Load, "lh": Load, "lhu": Load, "lb": Load, "lbu": Load, "fld": Load, "flw": Load,
	"sd": Store, "sw": Store, "sh": Store, "sb": Store, "fsd": Store, "fsw": Store,
}

func riscvWant(name, operands string) (Kind, bool) {
	switch {
	case name == "jal" && strings.HasPrefix(operands, "zero,"):
		return Jump, true
	case name == "jal":
		return Call, true
	case name == "jalr":
		return CallIndirect, true
	case name == "mv" && operands == "s0,sp":
		return MovSPtoFP, true
	case name == "mv" && operands == "sp,s0":
		return MovFPtoSP, true
	case name == "mv":
		return Mov, true
	case name[0] == 'b' && textTarget.MatchString(operands):
		return CondJump, true
	case (name == "add" || name == "addi") && strings.HasPrefix(operands, "sp,sp,-"):
		return SubSP, true
	case name == "addi" && strings.HasPrefix(operands, "sp,sp,"):
		return AddSP, true
	case strings.HasPrefix(operands, "sp,") && (name == "addi" || name == "add"):
		return 0, false
	}
	k, ok := riscvKinds[name]
	return k, ok
}

func compareRISCV(in *Inst, text string) string {
	name, operands, _ := strings.Cut(text, "\t")
	operands, _, _ = strings.Cut(operands, " #")
	if want, ok := riscvWant(name, operands); ok && in.Kind != want {
		return fmt.Sprintf("%v, want %v", in.Kind, want)
	}
	if m := textTarget.FindStringSubmatch(operands); m != nil && in.Target != 0 {
		if want, _ := strconv.ParseUint(m[1], 16, 64); want != in.Target {
			return fmt.Sprintf("target %#x", in.Target)
		}
	}
	if m := riscvMem.FindStringSubmatch(operands); m != nil && (in.Kind == Load || in.Kind == Store) {
		want, _ := strconv.ParseInt(m[1], 10, 64)
		if op := in.Mem(); op == nil || op.Disp != want || op.Base != arch.NoReg && in.arch.RegName(op.Base) != m[2] {
			return fmt.Sprintf("operand %+v", op)
		}
	}
	dst, _, _ := strings.Cut(operands, ",")
	if r, ok := in.arch.RegByName(dst); ok && r != arch.RISCVX0 && in.Kind != Store && in.Kind != CondJump && in.Kind != JumpIndirect &&
		!in.Writes.Has(r) && !strings.HasPrefix(name, "fence") && !strings.HasPrefix(name, "fs") && !strings.HasPrefix(name, "csr") && in.Kind != CallIndirect {
		return "does not write " + dst
	}
	return ""
}

func TestRISCVAgainstObjdump(t *testing.T) {
	t.Parallel()
	bad := 0
	crossObjdump(t, "riscv64-linux-gnu", func(addr uint64, code []string, text string) {
		word, err := strconv.ParseUint(code[0], 16, 64)
		if err != nil || bad > 20 || strings.HasPrefix(text, ".") {
			return
		}
		b := make([]byte, len(code[0])/2)
		for i := range b {
			b[i] = byte(word >> (8 * i))
		}
		in, err := Decode(arch.RISCV64, b, addr)
		diff := ""
		switch {
		case err != nil:
			diff = err.Error()
		case in.Len != len(b):
			diff = fmt.Sprintf("length %d", in.Len)
		default:
			diff = compareRISCV(&in, text)
		}
		if diff != "" {
			bad++
			t.Errorf("%x: %s %q: %s", addr, code[0], text, diff)
		}
	})
}

func TestRISCVCalls(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code []byte
		want CallSite
		ok   bool
	}{
		{[]byte{0xef, 0x00, 0x00, 0x01}, CallSite{Len: 4, Target: 0x1000c, Direct: true}, true},                                    // jal ra,+16
		{[]byte{0x6f, 0x00, 0x00, 0x01}, CallSite{}, false},                                                                        // j +16
		{[]byte{0x82, 0x97}, CallSite{Len: 2}, true},                                                                               // jalr a5
		{[]byte{0x82, 0x80}, CallSite{}, false},                                                                                    // ret
		{[]byte{0xe7, 0x80, 0x07, 0x00}, CallSite{Len: 4}, true},                                                                   // jalr a5, long
		{[]byte{0x97, 0x10, 0, 0, 0xe7, 0x80, 0x80, 0xff}, CallSite{Len: 4, Target: 0x10000 - 8 + 0x1000 - 8, Direct: true}, true}, // auipc ra,1; jalr -8(ra)
	} {
		if got, ok := CallBefore(arch.RISCV64, tt.code, 0x10000); got != tt.want || ok != tt.ok {
			t.Errorf("% x: %+v, %v; want %+v, %v", tt.code, got, ok, tt.want, tt.ok)
		}
	}
}

func TestRISCVText(t *testing.T) {
	t.Parallel()
	for want, code := range map[string][]byte{
		"jal 0x10010 <f>": {0xef, 0x00, 0x00, 0x01},
		"lw a5,0(a5)":     {0x83, 0xa7, 0x07, 0x00},
		"sd s0,16(sp)":    {0x22, 0xe8},
	} {
		in, err := Decode(arch.RISCV64, code, 0x10000)
		if got := in.Text(TextOptions{Symbol: func(uint64) (string, uint64) { return "f", 0x10010 }}); err != nil || got != want {
			t.Errorf("% x: %q, %v; want %q", code, got, err, want)
		}
	}
}
