package disasm

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	none := arch.NoReg
	for _, c := range []struct {
		name, code string
		want       Compare
		ok         bool
	}{
		{"cmp edi, esi", "39 f7", Compare{A: arch.RDI, B: arch.RSI}, true},
		{"cmp rdi, rsi by the other opcode", "48 3b fe", Compare{A: arch.RDI, B: arch.RSI}, true},
		{"cmp [rdi], esi", "39 37", Compare{A: none, B: arch.RSI, MemA: true}, true},
		{"cmp esi, [rdi]", "3b 37", Compare{A: arch.RSI, B: none, MemB: true}, true},
		{"cmp edi, -1", "83 ff ff", Compare{A: arch.RDI, B: none, Imm: -1}, true},
		{"cmp eax, 256", "3d 00 01 00 00", Compare{A: arch.RAX, B: none, Imm: 256}, true},
		{"cmp byte [rdi], 7", "80 3f 07", Compare{A: none, B: none, MemA: true, Imm: 7}, true},
		{"test rdi, rdi", "48 85 ff", Compare{And: true, A: arch.RDI, B: arch.RDI}, true},
		{"test dil, 1", "40 f6 c7 01", Compare{And: true, A: arch.RDI, B: none, Imm: 1}, true},
		{"test bl, 1", "f6 c3 01", Compare{And: true, A: arch.RBX, B: none, Imm: 1}, true},
		{"test al, 1", "a8 01", Compare{And: true, A: arch.RAX, B: none, Imm: 1}, true},
		{"test bh, 1", "f6 c7 01", Compare{}, false},
		{"cmp al, ah", "38 e0", Compare{}, false},
		{"cmp [rdi], ah", "38 27", Compare{}, false},
		{"sub edi, esi", "29 f7", Compare{}, false},
		{"add edi, 1", "83 c7 01", Compare{}, false},
		{"neg edi", "f7 df", Compare{}, false},
	} {
		in := comparison(t, c.code)
		if got, ok := in.Compare(); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v %v, want %+v %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestKeepsFlags(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"90": true, "89 f8": true, "8b 07": true, "89 07": true, "48 8d 47 01": true, "b8 01 00 00 00": true,
		"31 c0": false, "29 c0": false, "ff c7": false, "83 c7 01": false, "48 83 ec 08": false, "e8 00 00 00 00": false,
	} {
		if in := comparison(t, code); in.KeepsFlags() != want {
			t.Errorf("%s: %v", code, !want)
		}
	}
}

func TestJumpsAfter(t *testing.T) {
	t.Parallel()
	const ones = 0xffffffffffffffff
	// Which of the conditions o no b ae e ne be a s ns p np l ge le g hold; ? for those that are not computed.
	for _, c := range []struct {
		name string
		and  bool
		size uint8
		a, b uint64
		want string
	}{
		{"equal", false, 4, 5, 5, "01011010" + "01??0110"},
		{"less", false, 4, 3, 5, "01100110" + "10??1010"},
		{"above, less", false, 4, ones, 5, "01010101" + "10??1010"},
		{"only the size counts", false, 4, 1<<32 | 5, 5, "01011010" + "01??0110"},
		{"overflow", false, 1, 0x80, 1, "10010101" + "01??1010"},
		{"no bit", true, 8, 2, 1, "01011010" + "01??0110"},
		{"the sign", true, 4, 0x80000000, ones, "01010101" + "10??1010"},
	} {
		for cond := range 16 {
			in, err := Decode(arch.AMD64, []byte{0x70 + byte(cond), 0}, 0x1000)
			long, err2 := Decode(arch.AMD64, []byte{0x0f, 0x80 + byte(cond), 0, 0, 0, 0}, 0x1000)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			for _, in := range []Inst{in, long} {
				got := byte('?')
				if jumps, ok := in.JumpsAfter(&Compare{And: c.and}, c.size, c.a, c.b); ok {
					got = '0'
					if jumps {
						got = '1'
					}
				}
				if got != c.want[cond] {
					t.Errorf("%s, condition %d: %c, want %c", c.name, cond, got, c.want[cond])
				}
			}
		}
	}
	in := comparison(t, "e3 00") // jrcxz
	if _, ok := in.JumpsAfter(&Compare{}, 4, 1, 1); ok {
		t.Error("jrcxz does not depend on flags")
	}
}

// comparison decodes an instruction of x86-64 in hexadecimal.
func comparison(t *testing.T, code string) Inst {
	t.Helper()
	in, err := Decode(arch.AMD64, unhex(t, code), 0x1000)
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return in
}
