package provenance

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestNotNull(t *testing.T) {
	for _, c := range []struct {
		name  string
		place Place
		at    uint64 // where the place is looked at, from the function's start
		code  string
		want  string // what it may be if it is null
	}{
		{"a pointer that moves on", Reg(arch.RDI), 0, `
			80 3f 00 # 0 cmp [rdi],0x0
			74 06 # 3 je b
			48 83 c7 01 # 5 add rdi,0x1
			eb f5 # 9 jmp 0
			c3 # 11 ret`, "rdi"},
		{"backwards", Reg(arch.RDI), 0, `
			80 3f 00 # 0 cmp [rdi],0x0
			74 06 # 3 je b
			48 83 ef 01 # 5 sub rdi,0x1
			eb f5 # 9 jmp 0
			c3 # 11 ret`, "(again+-1) | rdi"},
		{"far", Reg(arch.RDI), 0, `
			80 3f 00 # 0 cmp [rdi],0x0
			74 09 # 3 je e
			48 81 c7 00 20 00 00 # 5 add rdi,0x2000
			eb f2 # 12 jmp 0
			c3 # 14 ret`, "(again+8192) | rdi"},
		{"another pointer moves on", Reg(arch.RDI), 0, `
			80 3f 00 # 0 cmp [rdi],0x0
			74 06 # 3 je b
			48 8d 7e 01 # 5 lea rdi,[rsi+0x1]
			eb f5 # 9 jmp 0
			c3 # 11 ret`, "(rsi+1) | rdi"},
		{"in the frame", Frame(-16, 8), 1, `
			57 # 0 push rdi
			48 8b 04 24 # 1 mov rax,[rsp]
			80 38 00 # 5 cmp [rax],0x0
			74 07 # 8 je 11
			48 83 04 24 01 # 10 add [rsp],0x1
			eb f0 # 15 jmp 1
			5f # 17 pop rdi
			c3 # 18 ret`, "rdi"},
		{"in the frame, through a register", Frame(-16, 8), 1, `
			57 # 0 push rdi
			48 8b 04 24 # 1 mov rax,[rsp]
			80 38 00 # 5 cmp [rax],0x0
			74 0a # 8 je 14
			48 83 c0 01 # 10 add rax,0x1
			48 89 04 24 # 14 mov [rsp],rax
			eb ed # 18 jmp 1
			5f # 20 pop rdi
			c3 # 21 ret`, "rdi"},
		{"a list", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 ff # 4 test rdi,rdi
			75 f7 # 7 jne 0
			c3 # 9 ret`, "rdi"},
		{"a list, compared with 0", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 83 ff 00 # 4 cmp rdi,0x0
			75 f6 # 8 jne 0
			c3 # 10 ret`, "rdi"},
		{"a list, compared with 1", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 83 ff 01 # 4 cmp rdi,0x1
			75 f6 # 8 jne 0
			c3 # 10 ret`, "[again+8]8 | rdi"},
		{"a list that ends otherwise", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 ff # 4 test rdi,rdi
			74 f7 # 7 je 0
			c3 # 9 ret`, "[again+8]8 | rdi"},
		{"something else is compared", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 f6 # 4 test rsi,rsi
			75 f7 # 7 jne 0
			c3 # 9 ret`, "[again+8]8 | rdi"},
		{"half of it is compared", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			85 ff # 4 test edi,edi
			75 f8 # 6 jne 0
			c3 # 8 ret`, "[again+8]8 | rdi"},
		{"the next one is compared, and read again", Reg(arch.RDI), 6, `
			eb 04 # 0 jmp 6
			48 8b 7f 08 # 2 mov rdi,[rdi+0x8]
			48 83 7f 08 00 # 6 cmp [rdi+0x8],0x0
			75 f5 # 11 jne 2
			c3 # 13 ret`, "rdi"},
		{"another member is compared", Reg(arch.RDI), 6, `
			eb 04 # 0 jmp 6
			48 8b 7f 08 # 2 mov rdi,[rdi+0x8]
			48 83 7f 10 00 # 6 cmp [rdi+0x10],0x0
			75 f5 # 11 jne 2
			c3 # 13 ret`, "[again+8]8 | rdi"},
		{"that of another is compared", Reg(arch.RDI), 6, `
			eb 04 # 0 jmp 6
			48 8b 7f 08 # 2 mov rdi,[rdi+0x8]
			48 83 7e 08 00 # 6 cmp [rsi+0x8],0x0
			75 f5 # 11 jne 2
			c3 # 13 ret`, "[again+8]8 | rdi"},
		{"memory changes between", Reg(arch.RDI), 9, `
			eb 07 # 0 jmp 9
			48 89 16 # 2 mov [rsi],rdx
			48 8b 7f 08 # 5 mov rdi,[rdi+0x8]
			48 83 7f 08 00 # 9 cmp [rdi+0x8],0x0
			75 f2 # 14 jne 2
			c3 # 16 ret`, "[again+8]8 | rdi"},
		{"a call between", Reg(arch.RBX), 11, `
			48 89 fb # 0 mov rbx,rdi
			eb 06 # 3 jmp b
			ff d6 # 5 call rsi
			48 8b 5b 08 # 7 mov rbx,[rbx+0x8]
			48 83 7b 08 00 # 11 cmp [rbx+0x8],0x0
			75 f3 # 16 jne 5
			c3 # 18 ret`, "[again+8]8 | rdi"},
		{"one of two paths compares", Reg(arch.RDI), 17, `
			48 85 d2 # 0 test rdx,rdx
			74 0c # 3 je 11
			48 8b 3e # 5 mov rdi,[rsi]
			48 85 ff # 8 test rdi,rdi
			75 04 # 11 jne 11
			48 8b 7e 08 # 13 mov rdi,[rsi+0x8]
			c3 # 17 ret`, "[rsi+8]8 | rdi"},
		{"the value before is compared", Reg(arch.RDI), 0, `
			48 85 ff # 0 test rdi,rdi
			74 06 # 3 je b
			48 8b 7f 08 # 5 mov rdi,[rdi+0x8]
			eb f5 # 9 jmp 0
			c3 # 11 ret`, "[again+8]8 | rdi"},
		{"a conditional move in the place of null", Reg(arch.RAX), 10, `
			48 8b 07 # 0 mov rax,[rdi]
			48 85 c0 # 3 test rax,rax
			48 0f 44 c2 # 6 cmove rax,rdx
			c3 # 10 ret`, "rdx"},
		{"a conditional move of another than null", Reg(arch.RAX), 10, `
			48 8b 07 # 0 mov rax,[rdi]
			48 85 d2 # 3 test rdx,rdx
			48 0f 45 c2 # 6 cmovne rax,rdx
			c3 # 10 ret`, "[rdi+0]8"},
		{"a conditional move in the place of another than null", Reg(arch.RAX), 10, `
			48 8b 07 # 0 mov rax,[rdi]
			48 85 c0 # 3 test rax,rax
			48 0f 45 c2 # 6 cmovne rax,rdx
			c3 # 10 ret`, "[rdi+0]8 | rdx"},
		{"a conditional move by something else", Reg(arch.RAX), 10, `
			48 8b 07 # 0 mov rax,[rdi]
			48 85 f6 # 3 test rsi,rsi
			48 0f 44 c2 # 6 cmove rax,rdx
			c3 # 10 ret`, "[rdi+0]8 | rdx"},
	} {
		f := function(t, arch.AMD64, c.code)
		v := f.Before(base+c.at, c.place)
		if v.Kind != Join {
			t.Errorf("%s: no join: %s", c.name, text(f, v))
			continue
		}
		var left []string
		for _, a := range v.Alternatives() {
			if !f.NotNull(v, a) {
				left = append(left, within(f, a, []*Value{v}))
			}
		}
		slices.Sort(left)
		if got := strings.Join(left, " | "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
