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
		{"a pointer that moves on by an increment", Reg(arch.RDI), 0, `
			80 3f 00 # 0 cmp [rdi],0x0
			74 05 # 3 je a
			48 ff c7 # 5 inc rdi
			eb f6 # 8 jmp 0
			c3 # 10 ret`, "rdi"},
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
			c3 # 13 ret`, "rdi | reread"},
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
		{"as far as is believed", Reg(arch.RDI), 0, `
			80 3f 00 # 0 cmp [rdi],0x0
			74 09 # 3 je e
			48 81 c7 00 10 00 00 # 5 add rdi,0x1000
			eb f2 # 12 jmp 0
			c3 # 14 ret`, "rdi"},
		{"one byte farther", Reg(arch.RDI), 0, `
			80 3f 00 # 0 cmp [rdi],0x0
			74 09 # 3 je e
			48 81 c7 01 10 00 00 # 5 add rdi,0x1001
			eb f2 # 12 jmp 0
			c3 # 14 ret`, "(again+4097) | rdi"},
		{"by an index", Reg(arch.RDI), 0, `
			80 3f 00 # 0 cmp [rdi],0x0
			74 07 # 3 je c
			48 8d 7c 37 08 # 5 lea rdi,[rdi+rsi*1+0x8]
			eb f4 # 10 jmp 0
			c3 # 12 ret`, "(again+rsi*1+8) | rdi"},
		{"both unknown", Reg(arch.RDI), 0, `
			48 0f cf # 0 bswap rdi
			48 0f ce # 3 bswap rsi
			48 85 f6 # 6 test rsi,rsi
			75 f5 # 9 jne 0
			c3 # 11 ret`, "rdi | unknown"},
		{"flags of something else", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 ff # 4 test rdi,rdi
			48 83 c6 01 # 7 add rsi,0x1
			75 f3 # 11 jne 0
			c3 # 13 ret`, "[again+8]8 | rdi"},
		{"a move between", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 ff # 4 test rdi,rdi
			48 89 d6 # 7 mov rsi,rdx
			75 f4 # 10 jne 0
			c3 # 12 ret`, "rdi"},
		{"a conditional move between", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 ff # 4 test rdi,rdi
			48 0f 44 f2 # 7 cmove rsi,rdx
			75 f3 # 11 jne 0
			c3 # 13 ret`, "rdi"},
		{"compared with another", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 39 f7 # 4 cmp rdi,rsi
			75 f7 # 7 jne 0
			c3 # 9 ret`, "[again+8]8 | rdi"},
		{"compared with memory", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 3b 3e # 4 cmp rdi,[rsi]
			75 f7 # 7 jne 0
			c3 # 9 ret`, "[again+8]8 | rdi"},
		{"some bits of another", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 f7 # 4 test rdi,rsi
			75 f7 # 7 jne 0
			c3 # 9 ret`, "[again+8]8 | rdi"},
		{"not below it", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 ff # 4 test rdi,rdi
			79 f7 # 7 jns 0
			c3 # 9 ret`, "[again+8]8 | rdi"},
		{"above it", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 ff # 4 test rdi,rdi
			7f f7 # 7 jg 0
			c3 # 9 ret`, "rdi"},
		{"both ways of the jump lead there", Reg(arch.RDI), 13, `
			48 85 ff # 0 test rdi,rdi
			74 08 # 3 je d
			48 8b 3e # 5 mov rdi,[rsi]
			48 85 ff # 8 test rdi,rdi
			75 00 # 11 jne d
			c3 # 13 ret`, "[rsi+0]8 | rdi"},
		{"the frame changes between", Reg(arch.RDI), 11, `
			52 # 0 push rdx
			eb 08 # 1 jmp b
			48 89 14 24 # 3 mov [rsp],rdx
			48 8b 7f 08 # 7 mov rdi,[rdi+0x8]
			48 83 7f 08 00 # 11 cmp [rdi+0x8],0x0
			75 f1 # 16 jne 3
			5a # 18 pop rdx
			c3 # 19 ret`, "rdi | reread"},
		{"memory is read between", Reg(arch.RDI), 9, `
			eb 07 # 0 jmp 9
			48 8b 0e # 2 mov rcx,[rsi]
			48 8b 7f 08 # 5 mov rdi,[rdi+0x8]
			48 83 7f 08 00 # 9 cmp [rdi+0x8],0x0
			75 f2 # 14 jne 2
			c3 # 16 ret`, "rdi | reread"},
		{"a system call between", Reg(arch.RBX), 11, `
			48 89 fb # 0 mov rbx,rdi
			eb 06 # 3 jmp b
			0f 05 # 5 syscall
			48 8b 5b 08 # 7 mov rbx,[rbx+0x8]
			48 83 7b 08 00 # 11 cmp [rbx+0x8],0x0
			75 f3 # 16 jne 5
			c3 # 18 ret`, "[again+8]8 | rdi"},
		{"half of what is compared is read", Reg(arch.RDI), 5, `
			eb 03 # 0 jmp 5
			8b 7f 08 # 2 mov edi,DWORD PTR [rdi+0x8]
			48 83 7f 08 00 # 5 cmp [rdi+0x8],0x0
			75 f6 # 10 jne 2
			c3 # 12 ret`, "[again+8]4 | rdi"},
		{"an indexed one is compared", Reg(arch.RDI), 6, `
			eb 04 # 0 jmp 6
			48 8b 7f 08 # 2 mov rdi,[rdi+0x8]
			48 83 7c d7 08 00 # 6 cmp [rdi+rdx*8+0x8],0x0
			75 f4 # 12 jne 2
			c3 # 14 ret`, "[again+8]8 | rdi"},
		{"an indexed one is read", Reg(arch.RDI), 7, `
			eb 05 # 0 jmp 7
			48 8b 7c d7 08 # 2 mov rdi,[rdi+rdx*8+0x8]
			48 83 7f 08 00 # 7 cmp [rdi+0x8],0x0
			75 f4 # 12 jne 2
			c3 # 14 ret`, "[again+rdx*8+8]8 | rdi"},
		{"a variable of the program", Reg(arch.RDI), 10, `
			eb 08 # 0 jmp a
			48 8b 3c 25 00 40 00 00 # 2 mov rdi,ds:0x4000
			48 83 3c 25 00 40 00 00 00 # 10 cmp ds:0x4000,0x0
			75 ed # 19 jne 2
			c3 # 21 ret`, "rdi | reread"},
		{"a variable, and a member there", Reg(arch.RDI), 10, `
			eb 08 # 0 jmp a
			48 8b 3c 25 00 40 00 00 # 2 mov rdi,ds:0x4000
			48 83 bf 00 40 00 00 00 # 10 cmp [rdi+0x4000],0x0
			75 ee # 18 jne 2
			c3 # 20 ret`, "[16384]8 | rdi"},
		{"in the frame, a list", Frame(-16, 8), 15, `
			57 # 0 push rdi
			eb 0c # 1 jmp f
			48 8b 04 24 # 3 mov rax,[rsp]
			48 8b 40 08 # 7 mov rax,[rax+0x8]
			48 89 04 24 # 11 mov [rsp],rax
			48 8b 04 24 # 15 mov rax,[rsp]
			48 8b 40 08 # 19 mov rax,[rax+0x8]
			48 85 c0 # 23 test rax,rax
			75 e7 # 26 jne 3
			5f # 28 pop rdi
			c3 # 29 ret`, "rdi | reread"},
		{"two ways round, compared afterwards", Reg(arch.RDI), 0, `
			48 85 d2 # 0 test rdx,rdx
			74 06 # 3 je b
			48 8b 7f 08 # 5 mov rdi,[rdi+0x8]
			eb 04 # 9 jmp f
			48 8b 7f 10 # 11 mov rdi,[rdi+0x10]
			48 85 ff # 15 test rdi,rdi
			75 ec # 18 jne 0
			c3 # 20 ret`, "rdi"},
		{"two ways round, each compared", Reg(arch.RDI), 0, `
			48 85 d2 # 0 test rdx,rdx
			74 0b # 3 je 10
			48 8b 7f 08 # 5 mov rdi,[rdi+0x8]
			48 85 ff # 9 test rdi,rdi
			74 10 # 12 je 1e
			eb 09 # 14 jmp 19
			48 8b 7f 10 # 16 mov rdi,[rdi+0x10]
			48 85 ff # 20 test rdi,rdi
			74 05 # 23 je 1e
			48 89 d1 # 25 mov rcx,rdx
			eb e2 # 28 jmp 0
			c3 # 30 ret`, "rdi"},
		{"two ways round, one compared", Reg(arch.RDI), 0, `
			48 85 d2 # 0 test rdx,rdx
			74 0b # 3 je 10
			48 8b 7f 08 # 5 mov rdi,[rdi+0x8]
			48 85 ff # 9 test rdi,rdi
			74 0b # 12 je 19
			eb 04 # 14 jmp 14
			48 8b 7f 10 # 16 mov rdi,[rdi+0x10]
			48 89 d1 # 20 mov rcx,rdx
			eb e7 # 23 jmp 0
			c3 # 25 ret`, "[again+16]8 | rdi"},
		{"a conditional move of null", Reg(arch.RAX), 10, `
			48 8b 07 # 0 mov rax,[rdi]
			48 85 d2 # 3 test rdx,rdx
			48 0f 44 c2 # 6 cmove rax,rdx
			c3 # 10 ret`, "[rdi+0]8 | rdx"},
		{"a conditional move if another is null", Reg(arch.RAX), 10, `
			48 8b 07 # 0 mov rax,[rdi]
			48 85 c0 # 3 test rax,rax
			48 0f 45 c2 # 6 cmovne rax,rdx
			c3 # 10 ret`, "[rdi+0]8 | rdx"},
		{"read before memory changes, and compared again", Reg(arch.RDI), 0, `
			48 89 f8 # 0 mov rax,rdi
			48 8b 78 08 # 3 mov rdi,[rax+0x8]
			48 89 16 # 7 mov [rsi],rdx
			48 83 78 08 00 # 10 cmp [rax+0x8],0x0
			75 ef # 15 jne 0
			c3 # 17 ret`, "[again+8]8 | rdi"},
		{"memory changes afterwards", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 ff # 4 test rdi,rdi
			74 05 # 7 je e
			48 89 16 # 9 mov [rsi],rdx
			eb f2 # 12 jmp 0
			c3 # 14 ret`, "rdi"},
		{"one of two ways does not compare", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 f6 # 4 test rsi,rsi
			74 05 # 7 je e
			48 85 ff # 9 test rdi,rdi
			74 05 # 12 je 13
			48 89 d1 # 14 mov rcx,rdx
			eb ed # 17 jmp 0
			c3 # 19 ret`, "[again+8]8 | rdi"},
		{"what is kept of it in the frame is no step", Reg(arch.RDI), 1, `
			57 # 0 push rdi
			80 3f 00 # 1 cmp [rdi],0x0
			74 0e # 4 je 14
			48 89 3c 24 # 6 mov [rsp],rdi
			48 8b 3c 24 # 10 mov rdi,[rsp]
			48 83 c7 00 # 14 add rdi,0x0
			eb ed # 18 jmp 1
			5f # 20 pop rdi
			c3 # 21 ret`, "(slot(again)+0) | rdi"},
		{"an address and null", Reg(arch.RDI), 0, `
			48 8d 3c 25 08 00 00 00 # 0 lea rdi,ds:0x8
			48 85 f6 # 8 test rsi,rsi
			75 f3 # 11 jne 0
			c3 # 13 ret`, "8 | rdi"},
		{"added to something else", Frame(-16, 8), 1, `
			57 # 0 push rdi
			48 8b 04 24 # 1 mov rax,[rsp]
			80 38 00 # 5 cmp [rax],0x0
			74 0b # 8 je 15
			48 89 34 24 # 10 mov [rsp],rsi
			48 83 04 24 01 # 14 add [rsp],0x1
			eb ec # 19 jmp 1
			5f # 21 pop rdi
			c3 # 22 ret`, "rdi | slot(rsi)+1"},
		{"another variable of the frame moves on", Frame(-16, 8), 6, `
			57 # 0 push rdi
			48 89 74 24 f8 # 1 mov [rsp-0x8],rsi
			48 8b 04 24 # 6 mov rax,[rsp]
			80 38 00 # 10 cmp [rax],0x0
			74 0f # 13 je 1e
			48 8b 4c 24 f8 # 15 mov rcx,[rsp-0x8]
			48 83 c1 01 # 20 add rcx,0x1
			48 89 0c 24 # 24 mov [rsp],rcx
			eb e8 # 28 jmp 6
			5f # 30 pop rdi
			c3 # 31 ret`, "(slot(rsi)+1) | rdi"},
		{"another list beside it", Reg(arch.RDI), 0, `
			48 8b 52 08 # 0 mov rdx,[rdx+0x8]
			48 8b 7f 08 # 4 mov rdi,[rdi+0x8]
			48 85 ff # 8 test rdi,rdi
			75 f3 # 11 jne 0
			c3 # 13 ret`, "rdi"},
		{"one of two ways does not compare, the other order", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 f6 # 4 test rsi,rsi
			74 07 # 7 je 10
			48 85 ff # 9 test rdi,rdi
			74 0a # 12 je 18
			eb 03 # 14 jmp 13
			48 89 d1 # 16 mov rcx,rdx
			48 89 d0 # 19 mov rax,rdx
			eb e8 # 22 jmp 0
			c3 # 24 ret`, "[again+8]8 | rdi"},
		{"a variable of the frame changes between", Reg(arch.RDI), 11, `
			56 # 0 push rsi
			eb 08 # 1 jmp b
			48 89 14 24 # 3 mov [rsp],rdx
			48 8b 3c 24 # 7 mov rdi,[rsp]
			48 83 3c 24 00 # 11 cmp [rsp],0x0
			75 f1 # 16 jne 3
			5e # 18 pop rsi
			c3 # 19 ret`, "rdi | slot(rdx)"},
		{"bases that are not known", Reg(arch.RDI), 9, `
			eb 07 # 0 jmp 9
			48 0f ce # 2 bswap rsi
			48 8b 7e 08 # 5 mov rdi,[rsi+0x8]
			48 0f ce # 9 bswap rsi
			48 83 7e 08 00 # 12 cmp [rsi+0x8],0x0
			75 ef # 17 jne 2
			c3 # 19 ret`, "[unknown+8]8 | rdi"},
		{"a round that changes nothing", Reg(arch.RDI), 0, `
			80 3e 00 # 0 cmp [rsi],0x0
			74 fb # 3 je 0
			48 8b 7f 08 # 5 mov rdi,[rdi+0x8]
			48 85 ff # 9 test rdi,rdi
			75 f2 # 12 jne 0
			c3 # 14 ret`, "rdi"},
		{"flags of the caller", Reg(arch.RDI), 8, `
			48 8b 3f # 0 mov rdi,[rdi]
			75 03 # 3 jne 8
			48 89 d7 # 5 mov rdi,rdx
			c3 # 8 ret`, "[rdi+0]8 | rdx"},
		{"compared on one of two ways to the jump", Reg(arch.RDI), 16, `
			48 8b 3f # 0 mov rdi,[rdi]
			48 85 d2 # 3 test rdx,rdx
			74 03 # 6 je b
			48 85 ff # 8 test rdi,rdi
			75 03 # 11 jne 10
			48 89 f7 # 13 mov rdi,rsi
			c3 # 16 ret`, "[rdi+0]8 | rsi"},
		{"by parity", Reg(arch.RDI), 11, `
			48 8b 3f # 0 mov rdi,[rdi]
			48 85 ff # 3 test rdi,rdi
			7b 03 # 6 jnp b
			48 89 d7 # 8 mov rdi,rdx
			c3 # 11 ret`, "[rdi+0]8 | rdx"},
		{"a loop within a loop, of which nothing is compared", Reg(arch.RDI), 0, `
			48 85 f6 # 0 test rsi,rsi
			48 85 d2 # 3 test rdx,rdx
			74 06 # 6 je e
			48 8b 7f 08 # 8 mov rdi,[rdi+0x8]
			eb f5 # 12 jmp 3
			48 85 f6 # 14 test rsi,rsi
			75 ed # 17 jne 0
			c3 # 19 ret`, "[one of again | rdi+8]8 | rdi"},
		{"compared in one of two rounds", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 f6 # 4 test rsi,rsi
			74 f7 # 7 je 0
			48 85 ff # 9 test rdi,rdi
			75 f2 # 12 jne 0
			c3 # 14 ret`, "[again+8]8 | rdi"},
		{"compared too far away", Reg(arch.RDI), 0, `
			48 8b 7f 08 # 0 mov rdi,[rdi+0x8]
			48 85 ff # 4 test rdi,rdi
			75 01 # 7 jne a
			c3 # 9 ret
			` + strings.Repeat("90 ", maxGuards+6) + `
			eb ae # 80 jmp 0`, "[again+8]8 | rdi"},
		{"a member of another, as far from it as what is kept in the frame", Reg(arch.RDI), 1, `
			57 # 0 push rdi
			80 3f 00 # 1 cmp [rdi],0x0
			74 0e # 4 je 14
			48 89 3c 24 # 6 mov [rsp],rdi
			48 8b 7e f0 # 10 mov rdi,[rsi-0x10]
			48 83 c7 08 # 14 add rdi,0x8
			eb ed # 18 jmp 1
			5f # 20 pop rdi
			c3 # 21 ret`, "([rsi+-16]8+8) | rdi"},
		{"what is kept of it in the caller's frame", Reg(arch.RDI), 0, `
			80 3f 00 # 0 cmp [rdi],0x0
			74 0c # 3 je 11
			48 89 7c 24 10 # 5 mov [rsp+0x10],rdi
			48 8b 7c 24 10 # 10 mov rdi,[rsp+0x10]
			eb ef # 15 jmp 0
			c3 # 17 ret`, "rdi | slot(again)"},
		{"bits of it, and a member that far in it is compared", Reg(arch.RDI), 6, `
			eb 04 # 0 jmp 6
			48 83 e7 08 # 2 and rdi,0x8
			48 83 7f 08 00 # 6 cmp [rdi+0x8],0x0
			75 f5 # 11 jne 2
			c3 # 13 ret`, "8 bytes of op5 again 8 | rdi"},
	} {
		f := function(t, arch.AMD64, c.code)
		f.Before(base+c.at, Reg(arch.RDX)) // which may be another join
		v := f.Before(base+c.at, c.place)
		if v.Kind != Join {
			t.Errorf("%s: no join: %s", c.name, text(f, v))
			continue
		}
		used := base + c.at
		if c.place.size > 0 {
			used += 4 // behind the load from the frame
		}
		var left []string
		for _, a := range v.Alternatives() {
			switch f.NotNull(v, a, used) {
			case Possible:
				left = append(left, within(f, a, []*Value{v}))
			case Reread:
				left = append(left, "reread")
			case Compared, Advanced:
			default:
				t.Errorf("%s: %s: no denial", c.name, text(f, a))
			}
		}
		slices.Sort(left)
		if got := strings.Join(left, " | "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A loop that goes on without a use says nothing of what its pointer was before.
func TestNotNullUnused(t *testing.T) {
	f := function(t, arch.AMD64, `
		48 85 f6 # 0 test rsi,rsi
		74 05 # 3 je 10
		80 3f 00 # 5 cmp byte ptr [rdi],0
		74 06 # 8 je 16
		48 83 c7 01 # 10 add rdi,1
		eb f0 # 14 jmp 0
		c3 # 16 ret`)
	v := f.Before(base, Reg(arch.RDI))
	for _, a := range v.Alternatives() {
		if got := f.NotNull(v, a, base+5); got != Possible {
			t.Errorf("%s: %d", within(f, a, []*Value{v}), got)
		}
	}
}

// TestNotNullLost: code that can no longer be read has compared nothing.
func TestNotNullLost(t *testing.T) {
	for _, c := range []struct {
		code string
		at   uint64
		reg  arch.Reg
		lost []uint64
	}{
		{"48 8b 7f 08 # 0 mov rdi,[rdi+8]\n90 # 4 nop\n48 85 ff # 5 test rdi,rdi\n90 # 8 nop\n75 f5 # 9 jne 0\nc3 # 11 ret", 0, arch.RDI, []uint64{5, 8, 9}},
		{"48 8b 07 # 0 mov rax,[rdi]\n48 85 c0 # 3 test rax,rax\n48 0f 44 c2 # 6 cmove rax,rdx\nc3 # 10 ret", 10, arch.RAX, []uint64{3, 6}},
	} {
		for _, gone := range append(c.lost, 0x100) {
			f := function(t, arch.AMD64, c.code)
			v := f.Before(base+c.at, Reg(c.reg))
			compared := 0
			reread(f).gone, f.at = base+gone, -1
			for _, a := range v.Alternatives() {
				switch f.NotNull(v, a, base+c.at) {
				case Possible:
				case Compared:
					compared++
				default:
					t.Errorf("without the code at %d: %s", gone, text(f, a))
				}
			}
			if want := gone == 0x100; (compared == 1) != want || compared > 1 {
				t.Errorf("without the code at %d: %d compared", gone, compared)
			}
		}
	}
}
