package disasm

import (
	"debug/elf"
	"math/rand/v2"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// quickDiff decodes with the quick decoder and with the one for everything. taken
// says that the quick one took the instruction, same that both say the same.
func quickDiff(a *arch.Arch, code []byte, pc uint64) (taken, same bool) {
	m := x86ModeOf(a)
	got := Inst{Dst: arch.NoReg, Src: arch.NoReg, Dst2: arch.NoReg, Src2: arch.NoReg}
	want := got
	if !m.quick(&got, a, code, pc) {
		return false, true
	}
	err := m.decodeAny(&want, a, code, pc)
	return true, err == nil && got == want
}

// TestQuickForms compares the two decoders for every opcode of the maps that the
// quick one knows, with every REX prefix and modrm.
func TestQuickForms(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	code := make([]byte, 16)
	n, failed := 0, 0
	for _, a := range []*arch.Arch{arch.AMD64, arch.X32} {
		for rex := 0x3f; rex <= 0x4f; rex++ {
			for op := range 512 {
				for modrm := range 256 {
					for i := range code {
						code[i] = byte(rnd.Uint32())
					}
					rest := code
					if rex >= 0x40 {
						rest[0], rest = byte(rex), rest[1:]
					}
					if op >= 256 {
						rest[0], rest = 0x0f, rest[1:]
					}
					rest[0], rest[1] = byte(op), byte(modrm)
					taken, same := quickDiff(a, code, 0x401000)
					if taken {
						n++
					}
					if !same && failed < 20 {
						failed++
						t.Errorf("%s: % x differs", a.Name, code)
					}
				}
			}
		}
	}
	if n < 1000000 {
		t.Errorf("the quick decoder took %d only", n)
	}
}

// TestQuickLibrary compares them at every byte of a C library's code.
func TestQuickLibrary(t *testing.T) {
	f, err := elf.Open("../../../testdata/sysroot/amd64/usr/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range code {
		taken, same := quickDiff(arch.AMD64, code[i:], text.Addr+uint64(i))
		if taken {
			n++
		}
		if !same {
			t.Fatalf("%#x: % x differs", text.Addr+uint64(i), code[i:min(i+MaxLen, len(code))])
		}
	}
	if 10*n < 6*len(code) {
		t.Errorf("the quick decoder took %d of %d", n, len(code))
	}
}

func BenchmarkDecodeLibrary(b *testing.B) {
	f, err := elf.Open("../../../testdata/sysroot/amd64/usr/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		b.Fatal(err)
	}
	var in Inst
	n := 0
	for b.Loop() {
		n = 0
		for i := 0; i < 1<<16; {
			if DecodeInto(&in, arch.AMD64, code[i:], text.Addr+uint64(i)) != nil {
				i++
				continue
			}
			n++
			i += in.Len
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/inst")
}
