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
	} {
		f := function(t, arch.AMD64, c.code)
		larger, smaller, ok := f.Compared(base + c.at)
		got := ""
		if ok {
			got = name(larger) + " " + name(smaller)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
