package disasm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

var (
	mipsMem   = regexp.MustCompile(`(-?\d+)\(([a-z0-9]+)\)$`)
	mipsKinds = map[string]Kind{
		"jalr": CallIndirect, "jal": Call, "bal": Call, "j": Jump, "b": Jump, "syscall": Syscall, "nop": Nop, "li": MovImm, "lui": MovImm,
		"beq": CondJump, "bne": CondJump, "beqz": CondJump, "bnez": CondJump, "blez": CondJump, "bgtz": CondJump, "bltz": CondJump, "bgez": CondJump,
		"bc1t": CondJump, "bc1f": CondJump, "beqzl": CondJump, "bnezl": CondJump,
		"lw": Load, "ld": Load, "lb": Load, "lbu": Load, "lh": Load, "lhu": Load, "lwu": Load, "lwc1": Load, "ldc1": Load, "ll": Load,
		"sw": Store, "sd": Store, "sb": Store, "sh": Store, "swc1": Store, "sdc1": Store,
	}
)

func mipsWant(name, operands string) (Kind, bool) {
	switch {
	case name == "jr" && operands == "ra":
		return Ret, true
	case name == "jr":
		return JumpIndirect, true
	case name == "move" && operands == "s8,sp":
		return MovSPtoFP, true
	case name == "move" && operands == "sp,s8":
		return MovFPtoSP, true
	case name == "move" && strings.HasSuffix(operands, ",zero"):
		return MovImm, true
	case name == "move":
		return Mov, true
	case strings.HasSuffix(name, "addiu") && strings.HasPrefix(operands, "sp,sp,-"):
		return SubSP, true
	case strings.HasSuffix(name, "addiu") && strings.HasPrefix(operands, "sp,sp,"):
		return AddSP, true
	}
	k, ok := mipsKinds[name]
	return k, ok
}

// mipsWritesFirst reports whether the instruction writes the general register
// that its text names first.
func mipsWritesFirst(name string) bool {
	for _, not := range []string{"s", "b", "j", "mult", "div", "dmult", "ddiv", "mt", "dmt", "ct", "t", "pref", "madd", "msub", "cache"} {
		if strings.HasPrefix(name, not) && !strings.HasPrefix(name, "sl") && !strings.HasPrefix(name, "sr") && !strings.HasPrefix(name, "se") &&
			!strings.HasPrefix(name, "sub") && name != "sc" && name != "scd" {
			return false
		}
	}
	return true
}

func compareMIPS(in *Inst, text string) string {
	name, operands, _ := strings.Cut(text, "\t")
	if want, ok := mipsWant(name, operands); ok && in.Kind != want {
		return fmt.Sprintf("%v, want %v", in.Kind, want)
	}
	if m := textTarget.FindStringSubmatch(operands); m != nil && in.Target != 0 {
		if want, _ := strconv.ParseUint(m[1], 16, 64); want != in.Target {
			return fmt.Sprintf("target %#x", in.Target)
		}
	}
	if m := mipsMem.FindStringSubmatch(operands); m != nil && (in.Kind == Load || in.Kind == Store) {
		want, _ := strconv.ParseInt(m[1], 10, 64)
		if op := in.Mem(); op == nil || op.Disp != want || op.Base != arch.NoReg && mipsRegName(in.arch, op.Base) != m[2] {
			return fmt.Sprintf("operand %+v", op)
		}
	}
	dst, _, _ := strings.Cut(operands, ",")
	for r := arch.Reg(1); r < 32; r++ {
		if mipsRegName(in.arch, r) == dst && mipsWritesFirst(name) && !in.Writes.Has(r) {
			return "does not write " + dst
		}
	}
	return ""
}

func mipsRegName(a *arch.Arch, r arch.Reg) string {
	if r == arch.MIPSFP {
		return "s8"
	}
	if a.RegSize == 8 && r >= 8 && r <= 15 { // n64's names
		return [...]string{"a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3"}[r-8]
	}
	return a.RegName(r)
}

func TestMIPSAgainstObjdump(t *testing.T) {
	t.Parallel()
	for triple, a := range map[string]*arch.Arch{"mips-linux-gnu": arch.MIPS, "mipsel-linux-gnu": arch.MIPSEL, "mips64el-linux-gnuabi64": arch.MIPS64EL} {
		t.Run(triple, func(t *testing.T) {
			bad := 0
			crossObjdump(t, triple, func(addr uint64, code []string, text string) {
				word, err := strconv.ParseUint(code[0], 16, 32)
				if err != nil || bad > 20 || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "0x") {
					return
				}
				b := make([]byte, 4)
				a.ByteOrder.PutUint32(b, uint32(word))
				in, err := Decode(a, b, addr)
				diff := ""
				if err != nil {
					diff = err.Error()
				} else {
					diff = compareMIPS(&in, text)
				}
				if diff != "" {
					bad++
					t.Errorf("%x: %s %q: %s", addr, code[0], text, diff)
				}
			})
		})
	}
}

func TestMIPSCallsAndText(t *testing.T) {
	t.Parallel()
	jal := []byte{0x0c, 0x00, 0x40, 0x00, 0x24, 0x04, 0x00, 0x01} // jal 0x10000; li a0,1
	if got, ok := CallBefore(arch.MIPS, jal, 0x20008); !ok || got != (CallSite{Len: 8, Target: 0x10000, Direct: true}) {
		t.Errorf("jal: %+v, %v", got, ok)
	}
	if _, ok := CallBefore(arch.MIPS, jal[4:], 0x20008); ok {
		t.Error("a call without its delay slot was found")
	}
	for text, code := range map[string][]byte{
		"jal 0x10000":       jal[:4],
		"lw v0, 8(a0)":      {0x8c, 0x82, 0x00, 0x08},
		"sw zero, -4(sp)":   {0xaf, 0xa0, 0xff, 0xfc},
		"jr ra":             {0x03, 0xe0, 0x00, 0x08},
		"move fp, sp":       {0x03, 0xa0, 0xf0, 0x25},
		"addiu sp, sp, -32": {0x27, 0xbd, 0xff, 0xe0},
	} {
		in, err := Decode(arch.MIPS, code, 0x20000)
		if got := in.Text(TextOptions{}); err != nil || got != text {
			t.Errorf("% x: %q, %v; want %q", code, got, err, text)
		}
	}
}
