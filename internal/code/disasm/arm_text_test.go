package disasm

import (
	"encoding/hex"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestARMText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code string // as it lies in memory
		pc   uint64
		want string
	}{
		{"180083e5", 0x1000, "str r0, [r3, #24]"},
		{"f000f0e7", 0x1000, "udf #0"},
		{"00482de9", 0x1000, "push {fp, lr}"},
		{"feffffeb", 0x1000, "bl 0x1000 <f>"},
		{"1eff2fe1", 0x1000, "bx lr"},
		{"9861", 0x1001, "str r0, [r3, #24]"},
		{"10b5", 0x1001, "push {r4, lr}"},
		{"10bd", 0x1001, "pop {r4, pc}"},
		{"fff7feff", 0x1001, "bl 0x1000 <f>"},
		{"7047", 0x1001, "bx lr"},
		{"53f82120", 0x1001, "ldr r2, [r3, r1, lsl #2]"},
		{"d3e90023", 0x1001, "ldrd r2, r3, [r3]"},
		{"93f90030", 0x1001, "ldrsb r3, [r3]"},
		{"fede", 0x1001, "udf #254"},
		{"88bf", 0x1001, "(bytes 88 bf)"},
	} {
		code, err := hex.DecodeString(test.code)
		if err != nil {
			t.Fatal(err)
		}
		in, err := Decode(arch.ARM, code, test.pc)
		if err != nil {
			t.Errorf("%s: %v", test.code, err)
			continue
		}
		if got := in.Text(TextOptions{Symbol: func(addr uint64) (string, uint64) { return "f", addr }}); got != test.want {
			t.Errorf("%s: %q, want %q", test.code, got, test.want)
		}
	}
}

func TestARMKinds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code        string
		pc          uint64
		kind        Kind
		conditional bool
	}{
		{"1080bd18", 0x1000, Ret, true},           // popne {r4, pc}
		{"04f09de4", 0x1000, Ret, false},          // pop {pc}
		{"00a81be9", 0x1000, Ret, false},          // ldmdb fp, {fp, sp, pc}
		{"00f08ee2", 0x1000, Ret, false},          // add pc, lr, #0
		{"02f18fe0", 0x1000, JumpIndirect, false}, // add pc, pc, r2, lsl #2
		{"0ef0a0e1", 0x1000, Ret, false},          // mov pc, lr
		{"f000f0e7", 0x1000, Trap, false},
		{"00bf", 0x1001, Nop, false},
		{"dfe803f0", 0x1001, JumpIndirect, false}, // tbb [pc, r3]
		{"bde8f081", 0x1001, Ret, false},          // pop {r4-r8, pc}
		{"9847", 0x1001, CallIndirect, false},     // blx r3
	} {
		code, err := hex.DecodeString(test.code)
		if err != nil {
			t.Fatal(err)
		}
		in, err := Decode(arch.ARM, code, test.pc)
		if err != nil || in.Kind != test.kind || in.Conditional != test.conditional {
			t.Errorf("%s: %v, conditional %v, %v; want %v, %v", test.code, in.Kind, in.Conditional, err, test.kind, test.conditional)
		}
	}
	for code, want := range map[string]uint8{"08bf": 1, "04bf": 2, "0cbf": 2, "01bf": 4, "00bf": 0} {
		b, _ := hex.DecodeString(code)
		if in, err := Decode(arch.ARM, b, 0x1001); err != nil || in.Predicates != want {
			t.Errorf("%s: %d predicated, want %d (%v)", code, in.Predicates, want, err)
		}
	}
}

func TestARMCallBefore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code string
		ra   uint64
		want CallSite
		ok   bool
	}{
		{"00000000feffffeb", 0x2000, CallSite{Len: 4, Target: 0x1ffc, Direct: true}, true},
		{"00000000fefffffa", 0x2000, CallSite{Len: 4, Target: 0x1ffd, Direct: true}, true}, // blx to T32
		{"0000000033ff2fe1", 0x2000, CallSite{Len: 4}, true},
		{"0fe0a0e10000a0e1", 0x2000, CallSite{}, false},
		{"0fe0a0e113ff2fe1", 0x2000, CallSite{Len: 4}, true}, // mov lr, pc; bx r3
		{"00000000fff7feff", 0x2001, CallSite{Len: 4, Target: 0x1ffd, Direct: true}, true},
		{"0000000000f000e8", 0x2001, CallSite{Len: 4, Target: 0x2000, Direct: true}, true}, // blx to A32
		{"00000000c0469847", 0x2001, CallSite{Len: 2}, true},
		{"0000000000bf00bf", 0x2001, CallSite{}, false},
	} {
		code, _ := hex.DecodeString(test.code)
		if got, ok := CallBefore(arch.ARM, code, test.ra); ok != test.ok || got != test.want {
			t.Errorf("%s: %+v, %v, want %+v, %v", test.code, got, ok, test.want, test.ok)
		}
	}
}

func BenchmarkARMDecode(b *testing.B) {
	code := []byte{0x2d, 0xe9, 0xf0, 0x41}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(arch.ARM, code, 0x1001); err != nil {
			b.Fatal(err)
		}
	}
}
