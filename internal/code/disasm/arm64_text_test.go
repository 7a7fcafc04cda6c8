package disasm

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestARM64Text(t *testing.T) {
	t.Parallel()
	for word, want := range map[uint32]string{
		0xb9001801: "str w1, [x0,#24]",
		0xa9bf7bfd: "stp x29, x30, [sp,#-16]!",
		0xd65f0bff: "retaa",
		0xd63f081f: "blraaz x0",
		0xd73f0801: "blraa x0, x1",
		0xd61f0fff: "brabz xzr",
		0xf8e10002: "ldaddal x1, x2, [x0]",
		0x88e1fc02: "casal w1, w2, [x0]",
		0xf8bfc020: "ldapr x0, [x1]",
		0xd503233f: "paciasp",
		0xd503245f: "bti c",
		0xd503219f: "autia1716",
		0xdac11020: "autia x0, x1",
		0xdac11fe2: "autdb x2, sp",
		0xdac133e0: "autiza x0",
		0xdac13fe0: "autdzb x0",
		0xdac13020: "(bytes 20 30 c1 da)", // Z, with a register
		0xdac10020: "pacia x0, x1",
		0xdac143e0: "xpaci x0",
		0xdac147e1: "xpacd x1",
		0x9ac23020: "pacga x0, x1, x2",
		0xf8200420: "ldraa x0, [x1]",
		0xf8fffc20: "ldrab x0, [x1,#-8]!",
		0xf82027e3: "ldraa x3, [sp,#16]",
		0xf8e007e3: "ldrab x3, [sp,#-4096]",
		0x00000000: "udf #0",
		0x94000001: "bl 0x1004 <f>",
		0xd50b7428: "dc zva, x8",
		0xe59e1ec9: "(bytes c9 1e 9e e5)",
	} {
		in, err := Decode(arch.ARM64, binary.LittleEndian.AppendUint32(nil, word), 0x1000)
		if err != nil {
			t.Errorf("%08x: %v", word, err)
			continue
		}
		opts := TextOptions{Symbol: func(addr uint64) (string, uint64) { return "f", addr }}
		if got := in.Text(opts); got != want {
			t.Errorf("%08x: %q, want %q", word, got, want)
		}
	}
}

// Accesses whose index register is extended.
func TestARM64Index(t *testing.T) {
	t.Parallel()
	var regs arch.RegSet
	regs.Set(1, 0x1000)
	regs.Set(2, 0xdeadbeef_fffffffe)
	for word, want := range map[uint32]uint64{
		0xb8625820: 0x1000 + 4*0xfffffffe, // ldr w0, [x1, w2, uxtw #2]
		0xb862d820: 0x1000 - 8,            // ldr w0, [x1, w2, sxtw #2]
		0xb862c820: 0x1000 - 2,            // ldr w0, [x1, w2, sxtw]
		0x38626820: 0xdeadbef0_00000ffe,   // ldrb w0, [x1, x2]
	} {
		in, err := Decode(arch.ARM64, binary.LittleEndian.AppendUint32(nil, word), 0x1000)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := in.EffectiveAddress(&regs); !ok || got != want {
			t.Errorf("%08x: %#x, %v, want %#x", word, got, ok, want)
		}
	}
}

func BenchmarkARM64Decode(b *testing.B) {
	code := []byte{0xfd, 0x7b, 0xbf, 0xa9}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(arch.ARM64, code, 0x1000); err != nil {
			b.Fatal(err)
		}
	}
}
