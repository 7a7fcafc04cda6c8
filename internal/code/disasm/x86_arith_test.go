package disasm

import (
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestArith(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, want string }{
		{"48 01 d8", "rax+rbx"},
		{"48 03 03", "rax+mem"},
		{"01 d8", "rax+rbx"},
		{"48 29 d8", "rax-rbx"},
		{"48 2b 07", "rax-mem"},
		{"48 f7 d8", "-rax"},
		{"48 c1 e0 04", "rax<<4"},
		{"48 d1 e0", "rax<<1"},
		{"48 c1 f8 03", "rax>>>3"},
		{"48 c1 e8 03", "rax>>3"},
		{"c1 e0 21", "rax<<1"}, // counts 5 bits
		{"48 6b c1 18", "rcx*24"},
		{"48 69 c1 00 01 00 00", "rcx*256"},
		{"48 0f af c1", "rax*rcx"},
		{"0f af 45 f8", "rax*mem"},
		{"83 c0 ff", "rax+-1"},
		{"83 e8 03", "rax-3"},
		{"2d 10 00 00 00", "rax-16"},
		{"83 e0 07", "rax&7"},
		{"83 c8 07", "rax|7"},
		{"ff c0", "rax+1"},
		{"ff c8", "rax+-1"},
		// No arithmetic on a register, or of another kind.
		{"48 01 03", ""},       // add [rbx], rax
		{"48 39 d8", ""},       // cmp
		{"48 11 d8", ""},       // adc
		{"48 19 d8", ""},       // sbb
		{"66 01 d8", ""},       // of 2 bytes
		{"00 d8", ""},          // of 1 byte
		{"48 83 03 01", ""},    // add qword [rbx], 1
		{"48 83 f8 01", ""},    // cmp
		{"48 c1 c0 04", ""},    // rol
		{"48 d3 e0", ""},       // by cl
		{"48 f7 e3", ""},       // mul
		{"48 f7 d0", ""},       // not
		{"48 f7 f3", ""},       // div
		{"48 6b 07 18", ""},    // imul rax, [rdi], 24
		{"48 8b 03", ""},       // mov
		{"48 8d 04 18", ""},    // lea
		{"48 0f a3 d8", ""},    // bt
		{"48 ff 03", ""},       // inc qword [rbx]
		{"c4 e2 78 f2 c1", ""}, // andn
	} {
		in := decodeHex(t, c.code)
		got := ""
		if a, ok := in.Arith(); ok {
			op := [...]string{Plus: "+", Minus: "-", Times: "*", BitAnd: "&", BitOr: "|", ShiftLeft: "<<", ShiftRight: ">>", ShiftSigned: ">>>", Negate: "-"}[a.Op]
			switch {
			case a.Op == Negate:
				got = op + arch.AMD64.RegName(a.A)
			case a.Mem:
				got = arch.AMD64.RegName(a.A) + op + "mem"
			case a.B != arch.NoReg:
				got = arch.AMD64.RegName(a.A) + op + arch.AMD64.RegName(a.B)
			default:
				got = arch.AMD64.RegName(a.A) + op + strconv.FormatInt(a.Imm, 10)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.code, got, c.want)
		}
	}
}

func TestExtends(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code   string
		from   int
		to     int
		signed bool
	}{
		{"0f b6 07", 1, 4, false},
		{"0f b7 07", 2, 4, false},
		{"0f be c1", 1, 4, true},
		{"48 0f bf c1", 2, 8, true},
		{"40 0f b6 c4", 1, 4, false}, // spl
		{"0f b6 c4", 0, 0, false},    // ah
		{"66 0f b6 07", 0, 0, false}, // to 2 bytes
		{"8a 07", 0, 0, false},
		{"8b 07", 0, 0, false},
		{"c5 f9 be 07", 0, 0, false},
	} {
		in := decodeHex(t, c.code)
		if from, to, signed, ok := in.Extends(); from != c.from || to != c.to || signed != c.signed || ok != (c.from > 0) {
			t.Errorf("%s: %d %d %v %v", c.code, from, to, signed, ok)
		}
	}
	for code, want := range map[string]bool{"88 27": true, "40 88 27": false, "88 07": false, "66 89 27": false} {
		in := decodeHex(t, code)
		if got := in.StoresHigh(); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}

func decodeHex(t *testing.T, code string) Inst {
	t.Helper()
	raw, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	in, err := Decode(arch.AMD64, raw, 0x1000)
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return in
}

func TestAdds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, want string }{
		{"48 83 45 f0 01", "1"},
		{"83 45 f0 ff", "-1"},
		{"48 81 45 f0 00 01 00 00", "256"},
		{"48 83 6d f0 08", "-8"},
		{"48 ff 45 f0", "1"},
		{"ff 4d f0", "-1"},
		// Of another kind, or not of memory.
		{"48 83 c0 01", ""},        // add rax, 1
		{"48 ff c0", ""},           // inc rax
		{"66 83 45 f0 01", ""},     // of 2 bytes
		{"80 45 f0 01", ""},        // of 1 byte
		{"48 01 45 f0", ""},        // add [rbp-16], rax
		{"48 83 7d f0 01", ""},     // cmp
		{"48 83 4d f0 01", ""},     // or
		{"48 83 55 f0 01", ""},     // adc
		{"48 ff 75 f0", ""},        // push
		{"48 f7 5d f0", ""},        // neg
		{"48 c1 45 f0 01", ""},     // rol
		{"f0 48 83 45 f0 01", "1"}, // lock
	} {
		in := decodeHex(t, c.code)
		got := ""
		if k, ok := in.Adds(); ok {
			got = strconv.FormatInt(k, 10)
		}
		if got != c.want {
			t.Errorf("%s: adds %q, want %q", c.code, got, c.want)
		}
	}
}
