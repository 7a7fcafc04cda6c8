package disasm

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// arm64Word decodes an instruction of A64.
func arm64Word(t *testing.T, w uint32) Inst {
	t.Helper()
	in, err := Decode(arch.ARM64, binary.LittleEndian.AppendUint32(nil, w), 0x1000)
	if err != nil {
		t.Fatalf("%#x: %v", w, err)
	}
	return in
}

// TestArm64Compare: what compares and does nothing else, and what leaves the flags alone, as GNU's assembler writes it.
func TestArm64Compare(t *testing.T) {
	t.Parallel()
	none := arch.NoReg
	for _, c := range []struct {
		name  string
		code  uint32
		want  Compare
		size  uint8
		ok    bool
		keeps bool
	}{
		{name: "cmp x3, x1", code: 0xeb01007f, want: Compare{A: 3, B: 1}, size: 8, ok: true},
		{name: "cmp w3, w1", code: 0x6b01007f, want: Compare{A: 3, B: 1}, size: 4, ok: true},
		{name: "cmp x1, #8", code: 0xf100203f, want: Compare{A: 1, B: none, Imm: 8}, size: 8, ok: true},
		{name: "cmp x1, #1, lsl #12", code: 0xf140043f, want: Compare{A: 1, B: none, Imm: 4096}, size: 8, ok: true},
		{name: "cmp sp, #16", code: 0xf10043ff, want: Compare{A: arch.ARM64.SP, B: none, Imm: 16}, size: 8, ok: true},
		{name: "cmn x1, #5", code: 0xb100143f, want: Compare{A: 1, B: none, Imm: -5}, size: 8, ok: true},
		{name: "cmn x1, #0, which carries nothing", code: 0xb100003f},
		{name: "tst x1, #1", code: 0xf240003f, want: Compare{And: true, A: 1, B: none, Imm: 1}, size: 8, ok: true},
		{name: "tst x1, x2", code: 0xea02003f, want: Compare{And: true, A: 1, B: 2}, size: 8, ok: true},
		{name: "cmp x1, xzr", code: 0xeb1f003f, want: Compare{A: 1, B: none}, size: 8, ok: true},
		{name: "cmp xzr, x1", code: 0xeb0103ff},
		{name: "cmp x1, x2, lsl #3", code: 0xeb020c3f},
		{name: "cmp x1, w2, uxtw", code: 0xeb22403f},
		{name: "subs x0, x1, x2", code: 0xeb020020},
		{name: "sub x0, x1, x2", code: 0xcb020020},
		{name: "ands x0, x1, x2", code: 0xea020020},
		{name: "cmn x1, x2", code: 0xab02003f},
		{name: "ccmp x1, x2, #0, eq", code: 0xfa420020},
		{name: "adds x0, x1, #8", code: 0xb1002020},
		{name: "bl", code: 0x94000000},
		{name: "ldr x0, [x1]", code: 0xf9400020, keeps: true},
		{name: "mov x0, x1", code: 0xaa0103e0, keeps: true},
		{name: "add x0, x1, #8", code: 0x91002020, keeps: true},
		{name: "nop", code: 0xd503201f, keeps: true},
		{name: "b.hi", code: 0x54000048, keeps: true},
	} {
		in := arm64Word(t, c.code)
		if got, ok := in.Compare(); ok != c.ok || ok && (got != c.want || in.Size != c.size) {
			t.Errorf("%s: %+v of %d bytes, %v; want %+v, %v", c.name, got, in.Size, ok, c.want, c.ok)
		}
		if in.KeepsFlags() != c.keeps {
			t.Errorf("%s: keeps flags %v", c.name, !c.keeps)
		}
	}
}

// TestArm64JumpsAfter: the conditions of A64 after a comparison. Carry is the opposite of x86's.
func TestArm64JumpsAfter(t *testing.T) {
	t.Parallel()
	const ones = 0xffffffffffffffff
	// Which of the conditions eq ne cs cc mi pl vs vc hi ls ge lt gt le hold.
	for _, c := range []struct {
		name string
		and  bool
		size uint8
		a, b uint64
		want string
	}{
		{"equal", false, 8, 5, 5, "1010" + "0101" + "0110" + "01"},
		{"less", false, 8, 3, 5, "0101" + "1001" + "0101" + "01"},
		{"above, less", false, 4, ones, 5, "0110" + "1001" + "1001" + "01"},
		{"above, more", false, 8, 9, 5, "0110" + "0101" + "1010" + "10"},
		{"only the size counts", false, 4, 1<<32 | 5, 5, "1010" + "0101" + "0110" + "01"},
		{"overflow", false, 4, 0x80000000, 1, "0110" + "0110" + "1001" + "01"},
		{"no bit", true, 8, 2, 1, "1001" + "0101" + "0110" + "01"},
		{"the sign", true, 4, 0x80000000, ones, "0101" + "1001" + "0101" + "01"},
	} {
		for cond := range uint32(14) {
			in := arm64Word(t, 0x54000040|cond)
			jumps, ok := in.JumpsAfter(&Compare{And: c.and}, c.size, c.a, c.b)
			if want := c.want[cond] == '1'; !ok || jumps != want {
				t.Errorf("%s, condition %d: %v %v, want %v", c.name, cond, jumps, ok, want)
			}
		}
	}
	for name, w := range map[string]uint32{"cbz x1": 0xb4000041, "b.al": 0x5400004e, "csel": 0x9a9f3020} {
		in := arm64Word(t, w)
		if _, ok := in.JumpsAfter(&Compare{}, 8, 1, 1); ok {
			t.Errorf("%s depends on no comparison before it", name)
		}
	}
	in := arm64Word(t, 0x54000040)
	if _, ok := in.JumpsAfter(&Compare{}, 2, 1, 1); ok {
		t.Error("nothing compares two bytes")
	}
}

// TestTestsSign: branches that jump by the highest bit of a register.
func TestTestsSign(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		code  uint32
		size  uint8
		jumps bool
		ok    bool
	}{
		{"tbnz x1, #63", 0xb7f80001, 8, true, true},
		{"tbz w1, #31", 0x36f80001, 4, false, true},
		{"tbnz w1, #30", 0x37f00001, 0, false, false},
		{"tbnz x1, #32", 0xb7000001, 0, false, false},
		{"cbnz x1", 0xb5f80001, 0, false, false},
		{"b.eq", 0x54f80001, 0, false, false},
	} {
		in := arm64Word(t, c.code)
		r, size, jumps, ok := in.TestsSign()
		if ok != c.ok || size != c.size || jumps != c.jumps || ok && r != 1 {
			t.Errorf("%s: %v, %d bytes, jumps %v, %v", c.name, r, size, jumps, ok)
		}
	}
	in := comparison(t, "78 00")
	if _, _, _, ok := in.TestsSign(); ok {
		t.Error("js tests no register itself")
	}
}
