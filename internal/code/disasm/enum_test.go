package disasm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// enumerate generates every opcode of every encoding, map and prefix, with memory operands
// for each opcode extension and with a register, in slots of 16 bytes.
func enumerate() []byte {
	var out []byte
	emit := func(prefix []byte, op byte) {
		for _, modrm := range []byte{0x40, 0x48, 0x50, 0x58, 0x60, 0x68, 0x70, 0x78, 0xc3, 0xcb, 0xd3, 0xdb, 0xe3, 0xeb, 0xf3, 0xfb} {
			slot := append(append([]byte{}, prefix...), op, modrm, 0x01, 0x00)
			for len(slot) < 16 {
				slot = append(slot, 0x90)
			}
			out = append(out, slot...)
		}
	}
	mandatory := [][]byte{nil, {0x66}, {0xf3}, {0xf2}}
	for op := range 256 {
		b := byte(op)
		for pp, p := range mandatory {
			for w := range byte(2) {
				legacy := p
				if w == 1 {
					legacy = append(append([]byte{}, p...), 0x48)
				}
				for _, escape := range [][]byte{nil, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}} {
					emit(append(append([]byte{}, legacy...), escape...), b)
				}
				for l := range byte(2) {
					for m := byte(1); m <= 3; m++ {
						emit([]byte{0xc4, 0xe0 | m, w<<7 | 0x78 | l<<2 | byte(pp)}, b)
					}
				}
				for l := range byte(3) {
					for _, m := range []byte{1, 2, 3, 5, 6} {
						for bc := range byte(2) {
							emit([]byte{0x62, 0xf0 | m, w<<7 | 0x7c | byte(pp), l<<5 | bc<<4 | 0x08}, b)
						}
					}
				}
			}
		}
	}
	return out
}

// TestEncodings compares every encoding with objdump. It takes some seconds and
// needs an objdump that knows AVX-512 FP16, so it runs when asked for only.
func TestEncodings(t *testing.T) {
	t.Parallel()
	if os.Getenv("COREWALK_DISASM_ENCODINGS") == "" {
		t.Skip("COREWALK_DISASM_ENCODINGS is not set")
	}
	file := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(file, enumerate(), 0o600); err != nil {
		t.Fatal(err)
	}
	n, bad := 0, 0
	objdumpLines(t, func(l objdumpLine) {
		if l.addr%16 != 0 {
			return
		}
		n++
		in, err := Decode(arch.AMD64, l.code, l.addr)
		if diff := compareObjdump(l, &in, err); diff != "" {
			if bad++; bad < 4000 {
				t.Errorf("% x: %s: %s", l.code, l.text, diff)
			}
		}
	}, "-D", "-z", "-b", "binary", "-m", "i386:x86-64", file)
	t.Logf("%d instructions, %d differ", n, bad)
}

// TestEncodings32 compares every encoding in 32-bit mode.
func TestEncodings32(t *testing.T) {
	t.Parallel()
	if os.Getenv("COREWALK_DISASM_ENCODINGS") == "" {
		t.Skip("COREWALK_DISASM_ENCODINGS is not set")
	}
	file := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(file, enumerate(), 0o600); err != nil {
		t.Fatal(err)
	}
	n, bad := 0, 0
	objdumpLines(t, func(l objdumpLine) {
		testRegister := strings.Contains(l.text, " tr") || strings.Contains(l.text, ",tr") // of the 486
		if l.addr%16 != 0 || onlyPrefixes(l.code) || objdumpOddity(l) || testRegister {
			return
		}
		n++
		in, err := Decode(arch.X86, append(l.code[:len(l.code):len(l.code)], 0), l.addr)
		if diff := compareObjdump(l, &in, err); diff != "" {
			if bad++; bad < 4000 {
				t.Errorf("% x: %s: %s", l.code, l.text, diff)
			}
		}
	}, "-D", "-z", "-b", "binary", "-m", "i386", file)
	t.Logf("%d instructions, %d differ", n, bad)
}
