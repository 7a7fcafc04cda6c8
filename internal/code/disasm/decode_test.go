package disasm

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// unhex decodes hexadecimal bytes with spaces between them.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const testPC = 0x401000

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code string
		kind Kind
		text string
	}{
		{"f3 0f 1e fa", Endbr, "endbr64"},
		{"f3 0f 1e fb", Endbr, "endbr32"},
		{"f3 48 0f 1e c8", Other, "rdsspq rax"},
		{"f3 0f ae e9", Other, "incsspd ecx"},
		{"f3 48 0f ae e8", Other, "incsspq rax"},
		{"f3 0f 01 ea", Other, "saveprevssp"},
		{"c5 f8 77", Other, "vzeroupper"},
		{"c5 fe 6f 06", Other, "vmovdqu ymm0, [rsi]"},
		{"62 f1 fe 48 6f 46 01", Other, "vmovdqu64 zmm0, [rsi+0x40]"},
		{"62 f1 7c 58 58 41 02", Other, "vaddps zmm0, zmm0, dword ptr [rcx+8]{1to16}"},
		{"c4 e2 7a f7 c1", Other, "sarx eax, ecx, eax"},
		{"8f e9 78 d7 c0", Other, "(bytes 8f e9 78 d7 c0)"},
		{"3e ff e0", JumpIndirect, "notrack jmp rax"},
		{"3e ff 24 c5 10 20 40 00", JumpIndirect, "notrack jmp qword ptr [rax*8+0x402010]"},
		{"f2 ff 25 7d 2f 00 00", JumpIndirect, "bnd jmp qword ptr [0x403f84]"},
		{"66 0f 1f 84 00 00 00 00 00", Nop, "nop"},
		{"66 66 2e 0f 1f 84 00 00 00 00 00", Nop, "nop"},
		{"90", Nop, "nop"},
		{"66 90", Nop, "nop"},
		{"f3 90", Nop, "pause"},
		{"0f 0b", Trap, "ud2"},
		{"0f b9 40 02", Trap, "ud1"},
		{"0f ff 00", Trap, "ud0"},
		{"cc", Int3, "int3"},
		{"f4", Halt, "hlt"},
		{"0f 05", Syscall, "syscall"},
		{"c7 f8 02 00 00 00", CondJump, "xbegin 0x401008"},
		{"55", Push, "push rbp"},
		{"41 54", Push, "push r12"},
		{"6a ff", Push, "push -1"},
		{"ff 75 f8", Push, "push qword ptr [rbp-8]"},
		{"5d", Pop, "pop rbp"},
		{"c9", Leave, "leave"},
		{"c8 20 00 00", Enter, "enter 0x20, 0"},
		{"48 89 e5", MovSPtoFP, "mov rbp, rsp"},
		{"48 8b ec", MovSPtoFP, "mov rbp, rsp"},
		{"48 89 ec", MovFPtoSP, "mov rsp, rbp"},
		{"48 83 ec 18", SubSP, "sub rsp, 0x18"},
		{"48 81 c4 00 01 00 00", AddSP, "add rsp, 0x100"},
		{"48 83 e4 f0", AndSP, "and rsp, -0x10"},
		{"48 8d 64 24 f8", LeaSP, "lea rsp, [rsp-8]"},
		{"c3", Ret, "ret"},
		{"f3 c3", Ret, "ret"},
		{"c2 10 00", Ret, "ret 0x10"},
		{"e8 fb 0f 00 00", Call, "call 0x402000"},
		{"ff d0", CallIndirect, "call rax"},
		{"ff 15 fa 2f 00 00", CallIndirect, "call qword ptr [0x404000]"},
		{"eb fe", Jump, "jmp 0x401000"},
		{"0f 84 fa 0f 00 00", CondJump, "je 0x402000"},
		{"31 c0", MovImm, "xor eax, eax"},
		{"b8 ff ff ff ff", MovImm, "mov eax, 0xffffffff"},
		{"48 b8 88 77 66 55 44 33 22 11", MovImm, "movabs rax, 0x1122334455667788"},
		{"48 89 c7", Mov, "mov rdi, rax"},
		{"8b 40 08", Load, "mov eax, [rax+8]"},
		{"8b 40 14", Load, "mov eax, [rax+0x14]"},
		{"88 07", Store, "mov [rdi], al"},
		{"c7 45 fc 00 00 00 00", Store, "mov dword ptr [rbp-4], 0"},
		{"0f b6 00", Load, "movzx eax, byte ptr [rax]"},
		{"48 63 04 b9", Load, "movsxd rax, dword ptr [rcx+rdi*4]"},
		{"64 48 8b 04 25 28 00 00 00", Load, "mov rax, fs:[0x28]"},
		{"67 8b 00", Load, "mov eax, [eax]"},
		{"48 8d 3d f9 0f 00 00", Lea, "lea rdi, [0x402000]"},
		{"48 f7 7f 08", Div, "idiv qword ptr [rdi+8]"},
		{"f0 0f b1 17", Other, "lock cmpxchg [rdi], edx"},
		{"f3 48 a5", Other, "rep movsq [rdi], [rsi]"},
		{"f3 a4", Other, "rep movsb [rdi], [rsi]"},
		{"f2 ae", Other, "repne scasb al, [rdi]"},
		{"83 3f 05", Other, "cmp dword ptr [rdi], 5"},
		{"d3 27", Other, "shl dword ptr [rdi], cl"},
		{"f3 0f 10 07", Other, "movss xmm0, dword ptr [rdi]"},
		{"0f 29 47 10", Other, "movaps [rdi+0x10], xmm0"},
		{"dd 45 f8", Other, "fld qword ptr [rbp-8]"},
	} {
		code := unhex(t, c.code)
		in, err := Decode(arch.AMD64, append(code, 0x90, 0x90), testPC)
		if err != nil {
			t.Errorf("%s: %v", c.code, err)
			continue
		}
		if in.Len != len(code) || in.Kind != c.kind || in.Text(TextOptions{}) != c.text {
			t.Errorf("%s: %d bytes, %v, %q; want %d, %v, %q", c.code, in.Len, in.Kind, in.Text(TextOptions{}), len(code), c.kind, c.text)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code string
		want error
	}{
		{"", ErrTruncated},
		{"48", ErrTruncated},
		{"66 66 66", ErrTruncated},
		{"0f", ErrTruncated},
		{"e8 00 00 00", ErrTruncated},
		{"48 b8 00 00 00 00 00 00 00", ErrTruncated},
		{"c5", ErrTruncated},
		{"62 f1 7c", ErrTruncated},
		{"8b 04", ErrTruncated},
		{"06", ErrUnknown},             // push es is gone in 64-bit mode
		{"0f 04", ErrUnknown},          // never defined
		{"c4 e4 78 00", ErrUnknown},    // VEX map 4
		{"62 00 00 00 00", ErrUnknown}, // EVEX with its fixed bits wrong
		{"66 c5 f8 77", ErrUnknown},    // a prefix before VEX
		{strings.Repeat("66 ", 20), ErrUnknown},
	} {
		_, err := Decode(arch.AMD64, unhex(t, c.code), testPC)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", c.code, err, c.want)
		}
	}
	if _, err := Decode(&arch.Arch{Name: "pdp-11"}, []byte{0}, 0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("an unknown architecture: %v", err)
	}
	if _, err := Decode(nil, []byte{0}, 0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("no architecture: %v", err)
	}
}

func TestRegistersAndStack(t *testing.T) {
	t.Parallel()
	m := arch.Mask
	for _, c := range []struct {
		code          string
		reads, writes arch.RegMask
		dst, src      arch.Reg
		delta         int64
		known         bool
	}{
		{"48 89 c7", m(arch.RAX), m(arch.RDI), arch.RDI, arch.RAX, 0, true},
		{"8b 44 9f 08", m(arch.RDI, arch.RBX), m(arch.RAX), arch.RAX, arch.NoReg, 0, true},
		{"48 39 fe", m(arch.RSI, arch.RDI), 0, arch.RSI, arch.RDI, 0, true},
		{"48 3b fe", m(arch.RSI, arch.RDI), 0, arch.RDI, arch.RSI, 0, true},
		{"31 ff", 0, m(arch.RDI), arch.RDI, arch.NoReg, 0, true},
		{"00 e0", m(arch.RAX), m(arch.RAX), arch.RAX, arch.RAX, 0, true}, // add al, ah
		{"40 00 e0", m(arch.RAX, arch.RSP), m(arch.RAX), arch.RAX, arch.RSP, 0, true},
		{"0f b6 c4", m(arch.RAX), m(arch.RAX), arch.RAX, arch.RAX, 0, true},    // movzx eax, ah
		{"41 0f b6 f4", m(arch.R12), m(arch.RSI), arch.RSI, arch.R12, 0, true}, // movzx esi, r12b
		{"48 f7 f9", m(arch.RAX, arch.RDX, arch.RCX), m(arch.RAX, arch.RDX), arch.NoReg, arch.RCX, 0, true},
		{"48 0f c7 c8", 0, 0, arch.NoReg, arch.NoReg, 0, true},
		{"0f c7 f0", 0, m(arch.RAX), arch.RAX, arch.NoReg, 0, true}, // rdrand
		{"48 d3 e7", m(arch.RDI, arch.RCX), m(arch.RDI), arch.RDI, arch.NoReg, 0, true},
		{"48 0f 7e c2", 0, m(arch.RDX), arch.RDX, arch.NoReg, 0, true},                                               // movq rdx, xmm0
		{"f2 48 0f 2a c7", m(arch.RDI), 0, arch.NoReg, arch.RDI, 0, true},                                            // cvtsi2sd
		{"c4 e2 fb f6 c1", m(arch.RCX, arch.RDX), m(arch.RAX), arch.RAX, arch.RCX, 0, true},                          // mulx rax, rax, rcx
		{"c4 e2 c8 f3 cf", m(arch.RDI), m(arch.RSI), arch.RSI, arch.RDI, 0, true},                                    // blsr rsi, rdi
		{"f3 a4", m(arch.RSI, arch.RDI, arch.RCX), m(arch.RSI, arch.RDI, arch.RCX), arch.NoReg, arch.NoReg, 0, true}, // rep movsb
		{"55", m(arch.RBP, arch.RSP), m(arch.RSP), arch.NoReg, arch.RBP, -8, true},
		{"66 50", m(arch.RAX, arch.RSP), m(arch.RSP), arch.NoReg, arch.RAX, -2, true},
		{"5b", m(arch.RSP), m(arch.RSP, arch.RBX), arch.RBX, arch.NoReg, 8, true},
		{"5c", m(arch.RSP), m(arch.RSP), arch.RSP, arch.NoReg, 8, false},
		{"9c", m(arch.RSP), m(arch.RSP), arch.NoReg, arch.NoReg, -8, true},
		{"e8 00 00 00 00", m(arch.RSP), m(arch.RSP), arch.NoReg, arch.NoReg, -8, true},
		{"ff d0", m(arch.RSP, arch.RAX), m(arch.RSP), arch.NoReg, arch.RAX, -8, true},
		{"c2 08 00", m(arch.RSP), m(arch.RSP), arch.NoReg, arch.NoReg, 16, true},
		{"48 83 ec 18", m(arch.RSP), m(arch.RSP), arch.RSP, arch.NoReg, -24, true},
		{"48 83 c4 80", m(arch.RSP), m(arch.RSP), arch.RSP, arch.NoReg, -128, true},
		{"48 8d 64 24 10", m(arch.RSP), m(arch.RSP), arch.RSP, arch.NoReg, 16, true},
		{"48 8d 65 d8", m(arch.RBP), m(arch.RSP), arch.RSP, arch.NoReg, -40, false},
		{"48 83 e4 f0", m(arch.RSP), m(arch.RSP), arch.RSP, arch.NoReg, 0, false},
		{"48 29 c4", m(arch.RSP, arch.RAX), m(arch.RSP), arch.RSP, arch.RAX, 0, false},
		{"c9", m(arch.RBP), m(arch.RBP, arch.RSP), arch.NoReg, arch.NoReg, 0, false},
	} {
		in, err := Decode(arch.AMD64, unhex(t, c.code), testPC)
		if err != nil {
			t.Errorf("%s: %v", c.code, err)
			continue
		}
		if in.Reads != c.reads || in.Writes != c.writes || in.Dst != c.dst || in.Src != c.src {
			t.Errorf("%s (%s): reads %#x writes %#x dst %d src %d; want %#x %#x %d %d", c.code, in.Text(TextOptions{}),
				in.Reads, in.Writes, in.Dst, in.Src, c.reads, c.writes, c.dst, c.src)
		}
		if delta, ok := in.StackDelta(); ok != c.known || ok && delta != c.delta {
			t.Errorf("%s (%s): stack moves by %d, %v; want %d, %v", c.code, in.Text(TextOptions{}), delta, ok, c.delta, c.known)
		}
	}
}

func TestTextSymbols(t *testing.T) {
	t.Parallel()
	opts := TextOptions{Symbol: func(addr uint64) (string, uint64) {
		if addr < 0x402000 {
			return "", 0
		}
		return "f", 0x402000
	}}
	for code, want := range map[string]string{
		"e8 fb 0f 00 00":       "call 0x402000 <f>",
		"e8 ff 0f 00 00":       "call 0x402004 <f+0x4>",
		"eb fe":                "jmp 0x401000",
		"8b 05 0a 10 00 00":    "mov eax, [0x402010 <f+0x10>]",
		"48 8d 05 f9 0f 00 00": "lea rax, [0x402000 <f>]",
	} {
		in, err := Decode(arch.AMD64, unhex(t, code), testPC)
		if got := in.Text(opts); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", code, got, err, want)
		}
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	code := unhex(t, "62 f1 7c 58 58 41 02 90 90 90 90 90 90 90 90 90")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Decode(arch.AMD64, code, testPC); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzDecode checks that any bytes are decoded or rejected, and that the length does not
// depend on what follows.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"f30f1efa", "62f17c58584102", "c4e2c8f3cf", "8fe978d7c0", "f348a5", "64488b042528000000", "e8fb0f0000"} {
		f.Add(unhex(f, s))
	}
	var regs arch.RegSet
	for r := range arch.Reg(arch.AMD64.NumRegs()) {
		regs.Set(r, uint64(r)<<40|0x1234)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		in, err := Decode(arch.AMD64, code, testPC)
		if err != nil {
			if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrUnknown) {
				t.Fatalf("% x: %v", code, err)
			}
			return
		}
		if in.Len < 1 || in.Len > len(code) || in.Len > MaxLen {
			t.Fatalf("% x: %d bytes long", code, in.Len)
		}
		again, err := Decode(arch.AMD64, code[:in.Len], testPC)
		if err != nil || again != in {
			t.Fatalf("% x: what follows it matters: %v", code[:in.Len], err)
		}
		if in.Text(TextOptions{}) == "" {
			t.Fatalf("% x: no text", code[:in.Len])
		}
		in.StackDelta()
		FaultAccess(nil, &in, &regs)
	})
}

func BenchmarkDecode(b *testing.B) {
	code := unhex(b, "48 8b 44 9f 08 90 90 90 90 90 90 90 90 90 90 90")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(arch.AMD64, code, testPC); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkText(b *testing.B) {
	in, err := Decode(arch.AMD64, unhex(b, "48 8b 44 9f 08"), testPC)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in.Text(TextOptions{})
	}
}
