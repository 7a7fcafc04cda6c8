package provenance

import (
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestCompared: which operand of the comparison on the only way to an instruction must have been the larger one.
func TestCompared(t *testing.T) {
	name := func(o Operand) string {
		if o.Reg != arch.NoReg {
			return arch.AMD64.RegName(o.Reg)
		}
		return fmt.Sprint(o.Value.Kind, o.Value.K)
	}
	held := func(f *Func, o Operand) bool { return o.Reg == arch.NoReg || o.Value == f.Before(o.At, Reg(o.Reg)) }
	for _, c := range []struct {
		name, code string
		at         uint64
		want       string
	}{
		{"not below", `
			48 39 df # 0 cmp rdi,rbx
			73 01 # 3 jae 6
			c3 # 5 ret
			c3 # 6 ret`, 6, "rdi rbx"},
		{"below or equal", `
			48 39 fb # 0 cmp rbx,rdi
			76 01 # 3 jbe 6
			c3 # 5 ret
			c3 # 6 ret`, 6, "rdi rbx"},
		{"not taken", `
			48 39 df # 0 cmp rdi,rbx
			72 01 # 3 jb 6
			90 # 5 nop
			c3 # 6 ret`, 5, "rdi rbx"},
		{"a constant", `
			48 83 fb 08 # 0 cmp rbx,8
			73 01 # 4 jae 7
			c3 # 6 ret
			c3 # 7 ret`, 7, "rbx const 8"},
		{"memory, and moves on the way", `
			48 3b 48 18 # 0 cmp rcx,[rax+24]
			73 01 # 4 jae 7
			c3 # 6 ret
			48 89 c8 # 7 mov rax,rcx
			c3 # 10 ret`, 10, "rcx load 24"},
		{"equal", `
			48 39 df # 0 cmp rdi,rbx
			74 01 # 3 je 6
			c3 # 5 ret
			c3 # 6 ret`, 6, ""},
		{"signed", `
			48 39 df # 0 cmp rdi,rbx
			7d 01 # 3 jge 6
			c3 # 5 ret
			c3 # 6 ret`, 6, ""},
		{"bits", `
			48 85 df # 0 test rdi,rbx
			73 01 # 3 jae 6
			c3 # 5 ret
			c3 # 6 ret`, 6, ""},
		{"ways that meet", `
			48 39 df # 0 cmp rdi,rbx
			73 05 # 3 jae 10
			48 39 d6 # 5 cmp rsi,rdx
			72 01 # 8 jb 11
			c3 # 10 ret
			c3 # 11 ret`, 10, ""},
		{"a call between", `
			48 39 df # 0 cmp rdi,rbx
			73 01 # 3 jae 6
			c3 # 5 ret
			e8 00 00 00 00 # 6 call 11
			c3 # 11 ret`, 11, ""},
		{"no instruction", `
			48 39 df # 0 cmp rdi,rbx
			73 02 # 3 jae 7
			c3 # 5 ret
			c3 # 6 ret
			90 # 7 nop
			90 # 8 nop
			90 # 9 nop
			48 89 c8 # 10 mov rax,rcx
			c3 # 13 ret`, 12, ""},
		{"unknown jumps", `
			53 # 0 push rbx
			48 39 df # 1 cmp rdi,rbx
			73 02 # 4 jae 8
			ff e2 # 6 jmp rdx
			5b # 8 pop rbx
			c3 # 9 ret`, 8, ""},
		{"where the function begins", `
			48 39 df # 0 cmp rdi,rbx
			73 fb # 3 jae 0
			c3 # 5 ret`, 0, ""},
		{"both ways lead there", `
			48 39 df # 0 cmp rdi,rbx
			72 06 # 3 jb 11
			48 39 d6 # 5 cmp rsi,rdx
			73 00 # 8 jae 10
			90 # 10 nop
			c3 # 11 ret`, 10, ""},
		{"flags of the caller", `
			73 01 # 0 jae 3
			c3 # 2 ret
			c3 # 3 ret`, 3, ""},
		{"flags of the caller, or of the round before", `
			73 05 # 0 jae 7
			48 39 df # 2 cmp rdi,rbx
			eb f9 # 5 jmp 0
			c3 # 7 ret`, 7, ""},
		{"compared on one of two ways to the jump", `
			48 85 f6 # 0 test rsi,rsi
			74 03 # 3 je 8
			48 39 df # 5 cmp rdi,rbx
			73 01 # 8 jae 11
			c3 # 10 ret
			c3 # 11 ret`, 11, ""},
		{"compared on the first of two ways to the jump", `
			48 39 df # 0 cmp rdi,rbx
			73 01 # 3 jae 6
			c3 # 5 ret
			85 f6 # 6 test esi,esi
			eb f9 # 8 jmp 3`, 6, ""},
		{"by parity", `
			48 39 df # 0 cmp rdi,rbx
			7a 01 # 3 jp 6
			c3 # 5 ret
			c3 # 6 ret`, 6, ""},
		{"only the sign of the difference", `
			48 39 df # 0 cmp rdi,rbx
			78 01 # 3 js 6
			c3 # 5 ret
			c3 # 6 ret`, 6, ""},
	} {
		f := function(t, arch.AMD64, c.code)
		larger, smaller, ok := f.Compared(base + c.at)
		got := ""
		if ok {
			got = name(larger) + " " + name(smaller)
			if !held(f, larger) || !held(f, smaller) || larger.At != smaller.At {
				t.Errorf("%s: %+v, %+v", c.name, larger, smaller)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestComparedLost: code that can no longer be read compared nothing.
func TestComparedLost(t *testing.T) {
	const code = "48 39 df # 0 cmp rdi,rbx\n73 01 # 3 jae 6\nc3 # 5 ret\n90 # 6 nop\nc3 # 7 ret"
	for _, gone := range []uint64{0, 3, 6} {
		f := function(t, arch.AMD64, code)
		reread(f).gone = base + gone
		if larger, smaller, ok := f.Compared(base + 7); ok {
			t.Errorf("without the code at %d: %+v, %+v", gone, larger, smaller)
		}
	}
}

// TestComparedOnARM64 is TestCompared for aarch64.
func TestComparedOnARM64(t *testing.T) {
	for _, c := range []struct {
		name, code string
		at         uint64
		want       string
	}{
		{"not below", `
			7f 00 01 eb # 0 cmp x3,x1
			42 00 00 54 # 4 b.cs 12
			c0 03 5f d6 # 8 ret
			c0 03 5f d6 # 12 ret`, 12, "x3 x1"},
		{"below or the same", `
			7f 00 02 eb # 0 cmp x3,x2
			49 00 00 54 # 4 b.ls 12
			c0 03 5f d6 # 8 ret
			c0 03 5f d6 # 12 ret`, 12, "x2 x3"},
		{"a constant, and an address on the way", `
			3f 20 00 f1 # 0 cmp x1,8
			62 00 00 54 # 4 b.cs 16
			c0 03 5f d6 # 8 ret
			1f 20 03 d5 # 12 nop
			40 20 00 91 # 16 add x0,x2,8
			c0 03 5f d6 # 20 ret`, 20, "x1 const 8"},
		{"signed", `
			7f 00 01 eb # 0 cmp x3,x1
			4a 00 00 54 # 4 b.ge 12
			c0 03 5f d6 # 8 ret
			c0 03 5f d6 # 12 ret`, 12, ""},
		{"other flags", `
			7f 00 01 eb # 0 cmp x3,x1
			20 20 00 b1 # 4 adds x0,x1,8
			42 00 00 54 # 8 b.cs 16
			c0 03 5f d6 # 12 ret
			c0 03 5f d6 # 16 ret`, 16, ""},
	} {
		f := function(t, arch.ARM64, c.code)
		larger, smaller, ok := f.Compared(base + c.at)
		got := ""
		if ok {
			got = arch.ARM64.RegName(larger.Reg) + " "
			if smaller.Reg == arch.NoReg {
				got += fmt.Sprint(smaller.Value.Kind, smaller.Value.K)
			} else {
				got += arch.ARM64.RegName(smaller.Reg)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
