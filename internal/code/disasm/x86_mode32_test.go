package disasm

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestDecode32(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code string
		kind Kind
		text string
	}{
		{"f3 0f 1e fb", Endbr, "endbr32"},
		{"55", Push, "push ebp"},
		{"89 e5", MovSPtoFP, "mov ebp, esp"},
		{"8b ec", MovSPtoFP, "mov ebp, esp"},
		{"89 ec", MovFPtoSP, "mov esp, ebp"},
		{"83 ec 1c", SubSP, "sub esp, 0x1c"},
		{"83 e4 f0", AndSP, "and esp, -0x10"},
		{"8d 64 24 f8", LeaSP, "lea esp, [esp-8]"},
		{"8d 61 fc", LeaSP, "lea esp, [ecx-4]"},
		{"48", Other, "dec eax"}, // a REX prefix in 64-bit mode
		{"45", Other, "inc ebp"},
		{"60", Push, "pushad"},
		{"61", Pop, "popad"},
		{"06", Push, "push es"},
		{"c9", Leave, "leave"},
		{"c2 04 00", Ret, "ret 4"},
		{"cd 80", Syscall, "int 0x80"},
		{"0f 34", Syscall, "sysenter"},
		{"cd 03", Interrupt, "int 3"},
		{"e8 fb 0f 00 00", Call, "call 0x402000"},
		{"65 ff 15 10 00 00 00", CallIndirect, "call dword ptr gs:[0x10]"},
		{"ff a3 0c 00 00 00", JumpIndirect, "jmp dword ptr [ebx+0xc]"},
		{"ff 25 0c 40 05 08", JumpIndirect, "jmp dword ptr [0x805400c]"},
		{"9a 78 56 34 12 23 00", CallIndirect, "call far 0x23, 0x12345678"},
		{"c4 06", Other, "les eax, fword ptr [esi]"},
		{"c5 06", Other, "lds eax, fword ptr [esi]"},
		{"62 06", Other, "bound eax, qword ptr [esi]"},
		{"c5 fe 6f 06", Other, "vmovdqu ymm0, [esi]"},
		{"62 f1 fe 48 6f 46 01", Other, "vmovdqu64 zmm0, [esi+0x40]"},
		{"67 8b 40 08", Load, "mov eax, [bx+si+8]"},
		{"67 8b 46 00", Load, "mov eax, [bp]"},
		{"67 a1 34 12", Load, "mov eax, [0x1234]"},
		{"67 8b 0e 34 12", Load, "mov ecx, [0x1234]"},
		{"8b 0d 34 12 00 00", Load, "mov ecx, [0x1234]"}, // no relative addressing
		{"65 a1 14 00 00 00", Load, "mov eax, gs:[0x14]"},
		{"8b 04 24", Load, "mov eax, [esp]"},
		{"66 89 06", Store, "mov [esi], ax"},
		{"f3 a5", Other, "rep movsd [edi], [esi]"},
		{"d9 06", Other, "fld dword ptr [esi]"},
	} {
		code := unhex(t, c.code)
		in, err := Decode(arch.X86, append(code, 0x90, 0x90), testPC)
		if err != nil {
			t.Errorf("%s: %v", c.code, err)
			continue
		}
		if in.Len != len(code) || in.Kind != c.kind || in.Text(TextOptions{}) != c.text {
			t.Errorf("%s: %d bytes, %v, %q; want %d, %v, %q", c.code, in.Len, in.Kind, in.Text(TextOptions{}), len(code), c.kind, c.text)
		}
	}
	if _, err := Decode(arch.X86, unhex(t, "c4 e4 78 00"), 0); !errors.Is(err, ErrUnknown) {
		t.Errorf("VEX map 4: %v", err)
	}
}

// In x32 code, a 32-bit operation on the stack or frame pointer changes all of it, because
// addresses have no more bits.
func TestDecodeX32(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]Kind{
		"89 e5": MovSPtoFP, "48 89 e5": MovSPtoFP, "83 ec 18": SubSP, "48 83 ec 18": SubSP, "67 8d 64 24 08": LeaSP, "55": Push,
	} {
		in, err := Decode(arch.X32, unhex(t, code), testPC)
		if err != nil || in.Kind != want {
			t.Errorf("%s: %v, %v; want %v", code, in.Kind, err, want)
		}
	}
	if in, err := Decode(arch.AMD64, unhex(t, "89 e5"), testPC); err != nil || in.Kind != Mov {
		t.Errorf("mov ebp, esp of x86-64: %v, %v; it cuts the stack pointer", in.Kind, err)
	}
	in, _ := Decode(arch.X32, unhex(t, "e8 00 00 00 00"), testPC)
	if d, ok := in.StackDelta(); d != -8 || !ok {
		t.Errorf("a call moves the stack by %d, %v; want -8", d, ok)
	}
}

func TestStack32(t *testing.T) {
	t.Parallel()
	m := arch.Mask
	all := m(arch.EAX, arch.ECX, arch.EDX, arch.EBX, arch.EBP, arch.ESI, arch.EDI)
	for _, c := range []struct {
		code          string
		reads, writes arch.RegMask
		delta         int64
	}{
		{"53", m(arch.EBX, arch.ESP), m(arch.ESP), -4},
		{"66 53", m(arch.EBX, arch.ESP), m(arch.ESP), -2},
		{"5f", m(arch.ESP), m(arch.ESP, arch.EDI), 4},
		{"60", all | m(arch.ESP), m(arch.ESP), -32},
		{"61", m(arch.ESP), all | m(arch.ESP), 32},
		{"e8 00 00 00 00", m(arch.ESP), m(arch.ESP), -4},
		{"c2 04 00", m(arch.ESP), m(arch.ESP), 8},
		{"40", m(arch.EAX), m(arch.EAX), 0},
		{"4d", m(arch.EBP), m(arch.EBP), 0},
		{"67 03 02", m(arch.EBP, arch.ESI, arch.EAX), m(arch.EAX), 0}, // [bp+si]
		{"cd 80", all, m(arch.EAX), 0},
	} {
		in, err := Decode(arch.X86, unhex(t, c.code), testPC)
		if err != nil {
			t.Errorf("%s: %v", c.code, err)
			continue
		}
		delta, ok := in.StackDelta()
		if in.Reads != c.reads || in.Writes != c.writes || delta != c.delta || !ok {
			t.Errorf("%s (%s): reads %#x writes %#x stack %d; want %#x %#x %d", c.code, in.Text(TextOptions{}),
				in.Reads, in.Writes, delta, c.reads, c.writes, c.delta)
		}
	}
}

// There is no eip-relative addressing; the thread pointer is the base of gs.
func TestFaultAccess32(t *testing.T) {
	t.Parallel()
	var regs arch.RegSet
	for i, r := range []arch.Reg{arch.EAX, arch.ECX, arch.EDX, arch.EBX, arch.ESP, arch.EBP, arch.ESI, arch.EDI} {
		regs.Set(r, uint64(i+1)*0x10000)
	}
	regs.Set(arch.X86GSBase, 0xf7000000)
	for _, c := range []struct {
		code string
		addr uint64
		size int
	}{
		{"8b 40 08", 0x10008, 4},
		{"8b 05 10 20 00 00", 0x2010, 4},
		{"65 a1 14 00 00 00", 0xf7000014, 4},
		{"65 8b 40 f0", 0xf700fff0, 4},
		{"8b 44 8b f0", 0xbfff0, 4},
		{"8b 80 00 00 ff ff", 0, 4},          // eax-0x10000
		{"8b 80 f0 ff fe ff", 0xfffffff0, 4}, // around the end of the address space
		{"dd 00", 0x10000, 8},
		{"0f c7 0e", 0x70000, 8}, // cmpxchg8b
		{"50", 0x4fffc, 4},
	} {
		in, err := Decode(arch.X86, unhex(t, c.code), testPC)
		got := FaultAccess(nil, &in, &regs)
		if err != nil || len(got) != 1 || got[0].Addr != c.addr || got[0].Size != c.size || !got[0].Known || got[0].NonCanon {
			t.Errorf("%s (%s): %+v, %v; want %#x of %d bytes", c.code, in.Text(TextOptions{}), got, err, c.addr, c.size)
		}
	}
	in, _ := Decode(arch.X86, unhex(t, "64 a1 14 00 00 00"), testPC)
	if got := FaultAccess(nil, &in, &regs); len(got) != 1 || got[0].Known {
		t.Errorf("through fs, whose base is unknown: %+v", got)
	}
}

func TestFrameState32(t *testing.T) {
	t.Parallel()
	// push ebp; mov ebp,esp; push ebx; sub esp,4; call; leave; ret
	code := unhex(t, "55 89 e5 53 83 ec 04 e8 00 00 00 00 8b 5d fc c9 c3")
	for off, want := range map[uint64]FPState{0: FPUnset, 1: FPHalfSet, 3: FPSet, 7: FPSet, 12: FPSet, 16: FPUnset} {
		for _, a := range []*arch.Arch{arch.X86, arch.X32} {
			typ, state := FrameState(a, code, testPC, testPC+off)
			if typ != StandardFrame || state != want {
				t.Errorf("%s +%d: %v, %v; want standard, %v", a.Name, off, typ, state, want)
			}
		}
	}
	if typ, state := FrameStateNear(arch.X86, code, testPC, testPC+3); typ != StandardFrame || state != FPSet {
		t.Errorf("after the prologue: %v, %v", typ, state)
	}
}

func FuzzDecode32(f *testing.F) {
	for _, s := range []string{"f30f1efb", "6261", "c406", "c5fe6f06", "678b460090", "9a7856341223 00", "cd80", "65a114000000"} {
		f.Add(unhex(f, s))
	}
	var regs arch.RegSet
	for r := range arch.Reg(arch.X86.NumRegs()) {
		regs.Set(r, uint64(r)<<24|0x1234)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		in, err := Decode(arch.X86, code, testPC)
		if err != nil {
			if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrUnknown) {
				t.Fatalf("% x: %v", code, err)
			}
			return
		}
		if in.Len < 1 || in.Len > len(code) || in.Len > MaxLen || in.Text(TextOptions{}) == "" {
			t.Fatalf("% x: %d bytes long, %q", code, in.Len, in.Text(TextOptions{}))
		}
		again, err := Decode(arch.X86, code[:in.Len], testPC)
		if err != nil || again != in {
			t.Fatalf("% x: what follows it matters: %v", code[:in.Len], err)
		}
		in.StackDelta()
		for _, acc := range FaultAccess(nil, &in, &regs) {
			if acc.Known && acc.Addr > 1<<32-1 {
				t.Fatalf("% x: access to %#x", code[:in.Len], acc.Addr)
			}
		}
	})
}
