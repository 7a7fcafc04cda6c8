package provenance

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestArithmetic(t *testing.T) {
	trace(t, arch.AMD64, arch.RAX, []traceCase{
		{"a sum", `
			48 89 f8 # mov rax,rdi
			48 01 f0 # add rax,rsi
			c3 # ret`, "(rdi+rsi*1+0)"},
		{"a sum with a number", `
			48 89 f8 # mov rax,rdi
			48 83 c0 18 # add rax,24
			c3 # ret`, "(rdi+24)"},
		{"a difference", `
			48 89 f8 # mov rax,rdi
			48 83 e8 18 # sub rax,24
			c3 # ret`, "(rdi+-24)"},
		{"a difference of registers", `
			48 89 f8 # mov rax,rdi
			48 29 f0 # sub rax,rsi
			c3 # ret`, "unknown"},
		{"a short sum", `
			48 89 f8 # mov rax,rdi
			83 c0 18 # add eax,24
			c3 # ret`, "unknown"},
		{"a short sum of registers", `
			48 89 f8 # mov rax,rdi
			01 f0 # add eax,esi
			c3 # ret`, "unknown"},
		{"a sum with the stack pointer", `
			48 89 f8 # mov rax,rdi
			48 01 e0 # add rax,rsp
			c3 # ret`, "unknown"},
		{"masked", `
			48 89 f8 # mov rax,rdi
			48 83 e0 f0 # and rax,-16
			c3 # ret`, "unknown"},
		{"extended", `
			48 89 f8 # mov rax,rdi
			48 98 # cdqe
			c3 # ret`, "low4(rdi)"},
		{"a half extended", `
			48 89 f8 # mov rax,rdi
			98 # cwde
			c3 # ret`, "unknown"},
		{"extended by a copy", `
			48 63 c7 # movsxd rax,edi
			c3 # ret`, "low4(rdi)"},
		{"a byte copied", `
			40 0f b6 c7 # movzx eax,dil
			c3 # ret`, "unknown"},
		{"exchanged", `
			48 89 f8 # mov rax,rdi
			48 96 # xchg rax,rsi
			c3 # ret`, "unknown"},
		{"multiplied", `
			48 89 f8 # mov rax,rdi
			48 f7 e6 # mul rsi
			c3 # ret`, "unknown"},
		{"a number", `
			48 c7 c0 fe ff ff ff # mov rax,-2
			c3 # ret`, "-2"},
		{"a short number", `
			b8 fe ff ff ff # mov eax,-2
			c3 # ret`, "4294967294"},
		{"a number of two bytes", `
			66 b8 02 00 # mov ax,2
			c3 # ret`, "unknown"},
		{"a long number", `
			48 b8 bc 9a 78 56 34 12 00 00 # movabs rax,0x123456789abc
			c3 # ret`, "20015998343868"},
		{"an address", `
			48 8d 47 08 # lea rax,[rdi+8]
			c3 # ret`, "(rdi+8)"},
		{"an address with an index", `
			48 8d 44 b7 08 # lea rax,[rdi+rsi*4+8]
			c3 # ret`, "(rdi+rsi*4+8)"},
		{"a multiple", `
			48 8d 04 b5 00 00 00 00 # lea rax,[rsi*4]
			c3 # ret`, "(rsi*4+0)"},
		{"a short address", `
			8d 47 08 # lea eax,[rdi+8]
			c3 # ret`, "unknown"},
		{"an address of 32 bits", `
			67 48 8d 47 08 # lea rax,[edi+8]
			c3 # ret`, "unknown"},
		{"a fixed address", `
			48 8d 05 09 00 00 00 # lea rax,[rip+9]
			c3 # ret`, "4112"},
		{"a load from a fixed address", `
			48 8b 05 09 00 00 00 # mov rax,[rip+9]
			c3 # ret`, "[4112]8"},
		{"a load from an absolute address", `
			48 8b 04 25 00 50 00 00 # mov rax,[0x5000]
			c3 # ret`, "[20480]8"},
		{"a load by a short address", `
			67 48 8b 07 # mov rax,[edi]
			c3 # ret`, "unknown"},
		{"a short load", `
			8b 07 # mov eax,[rdi]
			c3 # ret`, "[rdi+0]4"},
		{"a byte", `
			0f b6 07 # movzx eax,byte ptr [rdi]
			c3 # ret`, "unknown"},
		{"two bytes", `
			0f b7 07 # movzx eax,word ptr [rdi]
			c3 # ret`, "unknown"},
		{"a vector's", `
			48 89 f8 # mov rax,rdi
			66 48 0f 7e c0 # movq rax,xmm0
			c3 # ret`, "unknown"},
		{"the result of an indirect call", `
			51 # push rcx
			ff d3 # call rbx
			59 # pop rcx
			c3 # ret`, "result@0x1001"},
		{"the result of a system call", `
			0f 05 # syscall
			c3 # ret`, "unknown"},
		{"after a pop of another", `
			48 89 f8 # mov rax,rdi
			56 # push rsi
			59 # pop rcx
			c3 # ret`, "rdi"},
		{"an exchange with memory", `
			48 89 f8 # mov rax,rdi
			48 87 06 # xchg [rsi],rax
			c3 # ret`, "unknown"},
		{"a string load", `
			48 89 f8 # mov rax,rdi
			48 ad # lodsq
			c3 # ret`, "unknown"},
		{"exclusive or of two", `
			48 89 f8 # mov rax,rdi
			48 31 f0 # xor rax,rsi
			c3 # ret`, "unknown"},
	})
	trace(t, arch.AMD64, arch.RCX, []traceCase{
		{"a quotient's other register", `
			48 89 f9 # mov rcx,rdi
			48 c7 c0 01 00 00 00 # mov rax,1
			48 99 # cqo
			48 f7 fe # idiv rsi
			c3 # ret`, "rdi"},
		{"changed beside the load", `
			48 89 f9 # mov rcx,rdi
			f3 a4 # rep movsb
			c3 # ret`, "unknown"},
	})
	trace(t, arch.AMD64, arch.RSP, []traceCase{
		{"the stack pointer is not traced", `
			57 # push rdi
			c3 # ret`, "unknown"},
	})
	trace(t, arch.AMD64, arch.RBP, []traceCase{
		{"the frame pointer", `
			55 # push rbp
			48 89 e5 # mov rbp,rsp
			c3 # ret`, "&stack-16"},
		{"the frame pointer's copy", `
			55 # push rbp
			48 89 fd # mov rbp,rdi
			c3 # ret`, "rdi"},
	})
	trace(t, arch.X86, arch.EAX, []traceCase{
		{"an argument on the stack", `
			8b 44 24 04 # mov eax,[esp+4]
			c3 # ret`, "slot(stack+0)"},
		{"extended", `
			8b 44 24 04 # mov eax,[esp+4]
			98 # cwde
			c3 # ret`, "unknown"},
		{"a load", `
			8b 4c 24 08 # mov ecx,[esp+8]
			8b 41 04 # mov eax,[ecx+4]
			c3 # ret`, "[slot(stack+4)+4]4"},
		{"a negative number", `
			b8 fe ff ff ff # mov eax,-2
			c3 # ret`, "4294967294"},
		{"a number stored", `
			6a 07 # push 7
			58 # pop eax
			c3 # ret`, "slot(7)"},
	})
}

// TestARM traces instructions that take effect under a condition, and loads and stores of several registers.
func TestARM(t *testing.T) {
	trace(t, arch.ARM, 0, []traceCase{
		{"a copy", `
			01 00 a0 e1 # mov r0,r1
			1e ff 2f e1 # bx lr`, "r1"},
		{"a copy under a condition", `
			01 00 a0 01 # moveq r0,r1
			1e ff 2f e1 # bx lr`, "unknown"},
		{"a load under a condition", `
			00 00 91 05 # ldreq r0,[r1]
			1e ff 2f e1 # bx lr`, "unknown"},
		{"stored under a condition", `
			08 10 2d e5 # str r1,[sp,#-8]!
			00 20 8d 05 # streq r2,[sp]
			08 00 9d e4 # ldr r0,[sp],#8
			1e ff 2f e1 # bx lr`, "slot(unknown)"},
		{"the lowest of a list", `
			0e 00 2d e9 # push {r1,r2,r3}
			00 00 9d e5 # ldr r0,[sp]
			0c d0 8d e2 # add sp,sp,#12
			1e ff 2f e1 # bx lr`, "slot(r1)"},
		{"the second of a list", `
			16 00 2d e9 # push {r1,r2,r4}
			04 00 9d e5 # ldr r0,[sp,#4]
			0c d0 8d e2 # add sp,sp,#12
			1e ff 2f e1 # bx lr`, "slot(r2)"},
		{"the highest of a list", `
			16 00 2d e9 # push {r1,r2,r4}
			08 00 9d e5 # ldr r0,[sp,#8]
			0c d0 8d e2 # add sp,sp,#12
			1e ff 2f e1 # bx lr`, "slot(r4)"},
		{"loaded in a list", `
			0e 00 2d e9 # push {r1,r2,r3}
			0d 00 bd e8 # pop {r0,r2,r3}
			1e ff 2f e1 # bx lr`, "slot(r1)"},
		{"loaded last in a list", `
			26 00 94 e8 # ldm r4,{r1,r2,r5}
			05 00 a0 e1 # mov r0,r5
			1e ff 2f e1 # bx lr`, "[r4+8]4"},
		{"a list's base", `
			26 00 b0 e8 # ldm r0!,{r1,r2,r5}
			1e ff 2f e1 # bx lr`, "unknown"},
		{"a literal", `
			04 00 9f e5 # ldr r0,[pc,#4]
			1e ff 2f e1 # bx lr`, "[4108]4"},
		{"a sum", `
			02 00 81 e0 # add r0,r1,r2
			1e ff 2f e1 # bx lr`, "(r1+r2*1+0)"},
		{"a half word", `
			b0 00 d1 e1 # ldrh r0,[r1]
			1e ff 2f e1 # bx lr`, "unknown"},
		{"two words", `
			d0 00 c4 e1 # ldrd r0,r1,[r4]
			1e ff 2f e1 # bx lr`, "[r4+0]4"},
		{"the second of two words", `
			d0 20 c4 e1 # ldrd r2,r3,[r4]
			03 00 a0 e1 # mov r0,r3
			1e ff 2f e1 # bx lr`, "[r4+4]4"},
	})
	trace(t, arch.RISCV64, 10, []traceCase{
		{"a load", `
			03 b5 85 00 # ld a0,8(a1)
			67 80 00 00 # ret`, "[a1+8]8"},
		{"stored", `
			13 01 01 ff # addi sp,sp,-16
			23 34 b1 00 # sd a1,8(sp)
			03 35 81 00 # ld a0,8(sp)
			13 01 01 01 # addi sp,sp,16
			67 80 00 00 # ret`, "slot(a1)"},
		{"zero stored", `
			13 01 01 ff # addi sp,sp,-16
			23 34 01 00 # sd zero,8(sp)
			03 35 81 00 # ld a0,8(sp)
			13 01 01 01 # addi sp,sp,16
			67 80 00 00 # ret`, "slot(unknown)"},
		{"a vector stored", `
			13 01 01 ff # addi sp,sp,-16
			27 34 a1 00 # fsd fa0,8(sp)
			03 35 81 00 # ld a0,8(sp)
			13 01 01 01 # addi sp,sp,16
			67 80 00 00 # ret`, "slot(unknown)"},
	})
	trace(t, arch.PPC64LE, 3, []traceCase{
		{"a load", `
			08 00 64 e8 # ld 3,8(4)
			20 00 80 4e # blr`, "[r4+8]8"},
		{"a float stored at an odd offset", `
			c6 ff 21 d0 # stfs 1,-58(1)
			c6 ff 61 80 # lwz 3,-58(1)
			20 00 80 4e # blr`, "slot(unknown)"},
	})
}

// TestJoin merges the definitions of paths that meet.
func TestJoin(t *testing.T) {
	trace(t, arch.AMD64, arch.RAX, []traceCase{
		{"three ways", `
			48 89 f8 # mov rax,rdi
			48 85 f6 # test rsi,rsi
			74 0b # je L
			48 89 d0 # mov rax,rdx
			48 85 c9 # test rcx,rcx
			74 03 # je L
			4c 89 c0 # mov rax,r8
			c3 # ret`, "one of r8 | rdx | rdi"},
		{"a loop's start and what it leaves", `
			48 89 f8 # mov rax,rdi
			48 85 f6 # test rsi,rsi
			74 05 # je M
			48 89 d0 # mov rax,rdx
			eb f6 # jmp L
			c3 # ret`, "one of rdx | rdi"},
		{"two loops that leave it alone", `
			48 89 f8 # mov rax,rdi
			48 ff ce # dec rsi
			48 ff ca # dec rdx
			75 fb # jne M
			48 85 f6 # test rsi,rsi
			75 f3 # jne L
			c3 # ret`, "rdi"},
		{"entered again from within", `
			48 ff cf # dec rdi
			75 fb # jne L
			48 89 f0 # mov rax,rsi
			c3 # ret`, "rsi"},
		{"changed before entered again", `
			48 89 f0 # mov rax,rsi
			48 89 d6 # mov rsi,rdx
			48 ff cf # dec rdi
			75 f5 # jne L
			c3 # ret`, "one of rdx | rsi"},
		{"stored on one path", `
			48 89 7c 24 f8 # mov [rsp-8],rdi
			48 85 f6 # test rsi,rsi
			74 05 # je L
			48 89 54 24 f8 # mov [rsp-8],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(one of rdx | rdi)"},
		{"unknown on one path", `
			48 89 f8 # mov rax,rdi
			48 85 f6 # test rsi,rsi
			74 03 # je L
			48 f7 e2 # mul rdx
			c3 # ret`, "one of unknown | rdi"},
		{"code to which no path is known", `
			48 89 f8 # mov rax,rdi
			eb 03 # jmp L
			48 89 f0 # mov rax,rsi
			c3 # ret`, "one of unknown | rdi"},
		{"paths of two stack pointers", `
			48 85 f6 # test rsi,rsi
			74 01 # je L
			57 # push rdi
			48 8d 44 24 08 # lea rax,[rsp+8]
			c3 # ret`, "unknown"},
		{"both jump to the same", `
			48 89 f8 # mov rax,rdi
			74 00 # je L
			c3 # ret`, "rdi"},
	})
	// Behind an indirect jump within the frame, joins are not trusted.
	f := function(t, arch.AMD64, `
		53 # push rbx
		48 89 f8 # mov rax,rdi
		48 85 f6 # test rsi,rsi
		74 02 # je L
		ff e2 # jmp rdx
		5b # pop rbx
		74 01 # je M
		90 # nop
		c3 # ret`)
	last := f.steps[len(f.steps)-1].Addr
	if got := text(f, f.Before(last, Reg(arch.RAX)), 0); !f.Opaque() || got != "unknown" {
		t.Errorf("opaque %v: %s, want unknown", f.Opaque(), got)
	}
	f = function(t, arch.AMD64, `
		48 89 f8 # mov rax,rdi
		ff e2 # jmp rdx`)
	if f.Opaque() {
		t.Error("a tail call makes the function opaque")
	}
}

// TestLimits goes to the limits and one beyond them.
func TestLimits(t *testing.T) {
	// joins joins one within the other: each asks for the one before it
	joins := func(n int) string {
		return "48 89 f8\n" + strings.Repeat("48 85 f6\n74 03\n48 ff c9\n", n) + "c3"
	}
	for n, want := range map[int]string{1: "rdi", maxNested: "rdi", maxNested + 1: "unknown"} {
		f := function(t, arch.AMD64, joins(n))
		last := f.steps[len(f.steps)-1].Addr
		if got := text(f, f.Before(last, Reg(arch.RAX)), 0); got != want {
			t.Errorf("%d joins: %s, want %s", n, got, want)
		}
		if f.nested != 0 {
			t.Errorf("%d joins are still waiting", f.nested)
		}
	}
	f := function(t, arch.AMD64, joins(1))
	last := f.steps[len(f.steps)-1].Addr
	steps := func() string { return text(f, f.Before(last, Reg(arch.RAX)), 0) }
	f.left = 0
	if got := steps(); got != "unknown" {
		t.Errorf("no steps left: %s", got)
	}
	for left, want := range []string{"unknown", "unknown", "unknown", "rdi"} {
		f = function(t, arch.AMD64, "48 89 f8\n90\nc3")
		f.left = left
		if got := text(f, f.Before(base+4, Reg(arch.RAX)), 0); got != want {
			t.Errorf("%d steps left: %s, want %s", left, got, want)
		}
	}
	for _, c := range []struct {
		nops int
		ok   bool
	}{{maxCode - 1, true}, {maxCode, false}} {
		code := []byte(strings.Repeat("\x90", c.nops) + "\xc3")
		f := New(arch.AMD64, ABIOf(arch.AMD64, false), fakeCode{base, code}, base, base+uint64(len(code)))
		if (f != nil) != c.ok {
			t.Errorf("%d instructions: followed %v, want %v", len(code), f != nil, c.ok)
		}
	}
}
