package disasm

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// testRegs sets the general registers to recognisable values.
func testRegs() arch.RegSet {
	var s arch.RegSet
	for r := arch.RAX; r <= arch.R15; r++ {
		s.Set(r, 0x1000*uint64(r+1))
	}
	s.Set(arch.RIP, testPC)
	s.Set(arch.FSBase, 0x7f0000000000)
	s.Set(arch.GSBase, 0x7e0000000000)
	return s
}

func TestFaultAccess(t *testing.T) {
	t.Parallel()
	// rax 1000, rdx 2000, rcx 3000, rbx 4000, rsi 5000, rdi 6000, rbp 7000, rsp 8000, r8 9000
	type acc struct {
		addr uint64
		size int
		rw   string
	}
	for _, c := range []struct {
		name, code string
		want       []acc
	}{
		{"mov eax, [rax+8]", "8b 40 08", []acc{{0x1008, 4, "r"}}},
		{"mov [rdi-4], al", "88 47 fc", []acc{{0x5ffc, 1, "w"}}},
		{"add [rdi+rsi*8], rax", "48 01 04 f7", []acc{{0x6000 + 8*0x5000, 8, "rw"}}},
		{"cmp byte [rip+1], 0", "80 3d 01 00 00 00 00", []acc{{testPC + 8, 1, "r"}}},
		{"mov rax, fs:[0x28]", "64 48 8b 04 25 28 00 00 00", []acc{{0x7f0000000028, 8, "r"}}},
		{"mov eax, gs:[rdi]", "65 8b 07", []acc{{0x7e0000006000, 4, "r"}}},
		{"ds does nothing", "3e 8b 07", []acc{{0x6000, 4, "r"}}},
		{"mov eax, [edi-0x7000]", "67 8b 87 00 90 ff ff", []acc{{0xfffff000, 4, "r"}}},
		{"push rbp", "55", []acc{{0x7ff8, 8, "w"}}},
		{"push [rdi]", "ff 37", []acc{{0x6000, 8, "r"}, {0x7ff8, 8, "w"}}},
		{"pop rbx", "5b", []acc{{0x8000, 8, "r"}}},
		{"pop [rsp+8]", "8f 44 24 08", []acc{{0x8010, 8, "w"}, {0x8000, 8, "r"}}},
		{"call rel32", "e8 00 00 00 00", []acc{{0x7ff8, 8, "w"}}},
		{"call [rax]", "ff 10", []acc{{0x1000, 8, "r"}, {0x7ff8, 8, "w"}}},
		{"jmp [rax+rcx*8]", "ff 24 c8", []acc{{0x1000 + 8*0x3000, 8, "r"}}},
		{"ret", "c3", []acc{{0x8000, 8, "r"}}},
		{"leave", "c9", []acc{{0x7000, 8, "r"}}},
		{"iretq", "48 cf", []acc{{0x8000, 40, "r"}}},
		{"rep movsb", "f3 a4", []acc{{0x5000, 1, "r"}, {0x6000, 1, "w"}}},
		{"rep stosq", "f3 48 ab", []acc{{0x6000, 8, "w"}}},
		{"repe cmpsb", "f3 a6", []acc{{0x5000, 1, "r"}, {0x6000, 1, "r"}}},
		{"scasb", "ae", []acc{{0x6000, 1, "r"}}},
		{"movaps [rsp+8], xmm0", "0f 29 44 24 08", []acc{{0x8008, 16, "w misaligned"}}},
		{"movups [rsp+8], xmm0", "0f 11 44 24 08", []acc{{0x8008, 16, "w"}}},
		{"paddd xmm0, [rsp+8]", "66 0f fe 44 24 08", []acc{{0x8008, 16, "r misaligned"}}},
		{"vpaddd xmm0, xmm0, [rsp+8]", "c5 f9 fe 44 24 08", []acc{{0x8008, 16, "r"}}},
		{"vmovdqa ymm0, [rsp+0x10]", "c5 fd 6f 44 24 10", []acc{{0x8010, 32, "r misaligned"}}},
		{"vmovdqu64 zmm0, [rsp+0x40]", "62 f1 fe 48 6f 44 24 01", []acc{{0x8040, 64, "r"}}},
		{"vaddps zmm0, zmm0, [rdi+8]{1to16}", "62 f1 7c 58 58 47 02", []acc{{0x6008, 4, "r"}}},
		{"cmpxchg16b [rdi+8]", "48 0f c7 4f 08", []acc{{0x6008, 16, "rw misaligned"}}},
		{"bt [rdi], rax: bit 4096 of rdi's bitmap", "48 0f a3 07", []acc{{0x6000 + 0x1000/8, 8, "r"}}},
		{"movsd xmm0, [rdi]", "f2 0f 10 07", []acc{{0x6000, 8, "r"}}},
		{"fstp tbyte [rdi]", "db 3f", []acc{{0x6000, 10, "w"}}},
		{"fxsave [rdi]", "0f ae 07", []acc{{0x6000, 512, "w"}}},
		{"maskmovdqu xmm0, xmm1", "66 0f f7 c1", []acc{{0x6000, 16, "w"}}},
		{"vpextrb [rdi], xmm0, 1", "c4 e3 79 14 07 01", []acc{{0x6000, 1, "w"}}},
		{"lea", "48 8d 07", nil},
		{"nop", "0f 1f 40 00", nil},
		{"prefetcht0", "0f 18 0f", nil},
		{"ud2", "0f 0b", nil},
		{"idiv [rdi]", "f7 3f", []acc{{0x6000, 4, "r"}}},
	} {
		in, err := Decode(arch.AMD64, unhex(t, c.code), testPC)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		regs := testRegs()
		var got []acc
		for _, a := range FaultAccess(nil, &in, &regs) {
			rw := ""
			if a.Read {
				rw += "r"
			}
			if a.Write {
				rw += "w"
			}
			if a.Misaligned {
				rw += " misaligned"
			}
			if !a.Known || a.NonCanon {
				rw += " unknown"
			}
			got = append(got, acc{a.Addr, a.Size, rw})
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %x; want %x", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %#x; want %#x", c.name, got[i], c.want[i])
			}
		}
	}
}

func TestUnknownAddresses(t *testing.T) {
	t.Parallel()
	decode := func(code string) Inst {
		in, err := Decode(arch.AMD64, unhex(t, code), testPC)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	in := decode("8b 04 8f") // mov eax, [rdi+rcx*4]
	regs := testRegs()
	regs.Clear(arch.RCX)
	a := FaultAccess(nil, &in, &regs)
	if len(a) != 1 || a[0].Known || a[0].Missing != arch.Mask(arch.RCX) {
		t.Errorf("without rcx: %+v", a)
	}
	if _, ok := in.EffectiveAddress(&regs); ok {
		t.Error("an address was computed without rcx")
	}
	in = decode("c4 e2 75 90 04 97") // vpgatherdd
	regs = testRegs()
	if a := FaultAccess(nil, &in, &regs); len(a) != 1 || a[0].Known || !a[0].Operand.Vector || a[0].Size != 4 {
		t.Errorf("gather: %+v", a)
	}
	in = decode("8b 00")
	regs.Set(arch.RAX, 0x4141414141414141)
	if a := FaultAccess(nil, &in, &regs); len(a) != 1 || !a[0].NonCanon {
		t.Errorf("non-canonical: %+v", a)
	}
	in = decode("f3 a4")
	regs.Set(arch.RCX, 0)
	if a := FaultAccess(nil, &in, &regs); len(a) != 0 {
		t.Errorf("rep movsb of nothing: %+v", a)
	}
	in = decode("48 0f a3 07") // bt [rdi], rax
	regs.Set(arch.RAX, ^uint64(0))
	if addr, ok := in.EffectiveAddress(&regs); !ok || addr != 0x6000-8 {
		t.Errorf("bit -1: %#x, %v", addr, ok)
	}
}
